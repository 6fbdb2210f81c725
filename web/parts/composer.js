/**
 * The field that a message is written in: Enter sends, Shift+Enter starts a line, and an Enter that
 * ends a composition (Japanese, Chinese, Korean ...) does neither.
 */

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
    fit();
  };
  field.addEventListener('input', fit);
  field.addEventListener('keydown', (event) => {
    // Safari says isComposing false for the Enter that ends a composition, but keyCode 229.
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing || event.keyCode === 229)
      return;
    event.preventDefault();
    send();
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    send();
  });
  fit();
}
