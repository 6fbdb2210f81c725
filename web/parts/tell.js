/** A line over the composer that says what was done, and goes again after a while. */

import { element } from './dom.js';

const MILLISECONDS = 6000;

let timer = 0;

/** @param {string} text */
export function tell(text) {
  const told = element('told', HTMLElement);
  told.textContent = text;
  clearTimeout(timer);
  timer = window.setTimeout(() => told.replaceChildren(), MILLISECONDS);
}

/** Copies a text and says so. @param {string} text */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    tell('Copied.');
  } catch {
    tell('The browser refused to copy.');
  }
}
