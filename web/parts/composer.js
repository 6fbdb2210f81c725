/**
 * The field that a message is written in: Enter sends, Shift+Enter starts a line, and an Enter that
 * ends a composition (Japanese, Chinese, Korean ...) does neither.
 */

/**
 * Whether an Enter belongs to the text. Safari says isComposing false for the Enter that ends a
 * composition, but keyCode 229.
 * @param {KeyboardEvent} event
 */
export function writesLine(event) {
  return event.shiftKey || event.isComposing || event.keyCode === 229;
}

/**
 * @param {HTMLFormElement} form
 * @param {HTMLTextAreaElement} field
 * @param {(text: string) => boolean} onSend Returns whether the text was taken.
 */
export function startComposer(form, field, onSend) {
  const fit = () => {
    field.style.height = 'auto';
    field.style.height = `${field.scrollHeight}px`;
  };
  const send = () => {
    const text = field.value.trim();
    if (!text || !onSend(text)) return;
    field.value = '';
    field.dispatchEvent(new Event('input'));
  };
  field.addEventListener('input', fit);
  field.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || writesLine(event)) return;
    event.preventDefault();
    send();
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    send();
  });
  fit();
}
