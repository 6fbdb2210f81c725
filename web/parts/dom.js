/** Elements found and made. */

/**
 * The page's element with this id.
 * @template {HTMLElement} T
 * @param {string} id
 * @param {new () => T} type
 * @returns {T}
 */
export function element(id, type) {
  const found = document.getElementById(id);
  if (found instanceof type) return found;
  throw new Error(`expected an element ${id}`);
}

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} name
 * @param {string} [className]
 * @param {(Node | string)[]} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function make(name, className = '', ...children) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

/**
 * @param {string} text
 * @param {string} [className]
 * @returns {HTMLButtonElement}
 */
export function makeButton(text, className = '') {
  const button = make('button', className, text);
  button.type = 'button';
  return button;
}

/** Offers a text as a file. @param {string} name @param {string} text @param {string} type */
export function download(name, text, type) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  // Not at once: the browser reads it later.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
