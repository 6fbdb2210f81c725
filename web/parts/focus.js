/** The keyboard's focus never falls out of the page. */

/**
 * Hides or shows an element; a focus in it goes on to another.
 * @param {HTMLElement} element
 * @param {boolean} hidden
 * @param {HTMLElement} next
 */
export function setHidden(element, hidden, next) {
  const had = hidden && element.contains(document.activeElement);
  element.hidden = hidden;
  if (had) next.focus();
}
