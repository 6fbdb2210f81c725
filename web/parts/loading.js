/**
 * The strip that tells how a load goes: what has come, that nothing comes, why it failed; with a
 * button that cancels, or tries again.
 *
 * @import { Progress } from '../lib/messages.js'
 */

import { setHidden } from './focus.js';
import { megabytes } from './format.js';

const SILENT_MILLISECONDS = 5000;

export class Loading {
  #box;
  #state;
  #bar;
  #button;
  #close;
  #next;
  #text = '';
  #action = () => {};
  #silence = 0;

  /**
   * @param {HTMLElement} box Holds the others.
   * @param {HTMLElement} state
   * @param {HTMLProgressElement} bar
   * @param {HTMLButtonElement} button
   * @param {HTMLButtonElement} close Puts away what went wrong, where a model talks all the same.
   * @param {HTMLElement} next Gets the focus of what disappears.
   */
  constructor(box, state, bar, button, close, next) {
    this.#box = box;
    this.#state = state;
    this.#bar = bar;
    this.#button = button;
    this.#close = close;
    this.#next = next;
    button.addEventListener('click', () => this.#action());
    close.addEventListener('click', () => this.done());
  }

  /** @param {string} text @param {() => void} cancel */
  begin(text, cancel) {
    this.#box.hidden = false;
    this.#box.classList.remove('failed');
    this.#bar.removeAttribute('value');
    setHidden(this.#close, true, this.#button);
    this.#offer('Cancel', cancel);
    this.#text = '';
    this.#say(text);
  }

  /** @param {Progress} progress @param {string} name */
  progress({ phase, loaded, total }, name) {
    if (phase === 'weights' && total) this.#bar.value = Math.min(1, loaded / total);
    else this.#bar.removeAttribute('value');
    const bytes = total ? `: ${megabytes(loaded)} of ${megabytes(total)}` : '';
    this.#say(`Loading ${name}${bytes}`);
  }

  /**
   * @param {string} text
   * @param {() => void} retry
   * @param {boolean} talks Whether a model talks all the same.
   */
  fail(text, retry, talks) {
    this.#box.hidden = false;
    this.#box.classList.add('failed');
    this.#offer('Try again', retry);
    setHidden(this.#close, !talks, this.#button);
    this.#state.textContent = text;
    clearTimeout(this.#silence);
  }

  done() {
    clearTimeout(this.#silence);
    setHidden(this.#box, true, this.#next);
  }

  /** @param {string} label @param {() => void} action */
  #offer(label, action) {
    this.#button.textContent = label;
    this.#action = action;
  }

  /** @param {string} text */
  #say(text) {
    if (text === this.#text) return; // nothing has come
    this.#text = text;
    this.#state.textContent = text;
    clearTimeout(this.#silence);
    this.#silence = window.setTimeout(() => {
      this.#state.textContent = `${text}. Nothing has come for some seconds; still waiting.`;
    }, SILENT_MILLISECONDS);
  }
}
