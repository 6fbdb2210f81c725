/**
 * The conversation on the page. Text arrives token by token and is put there once a frame, in text
 * nodes only; the view follows the newest text only while the reader is at the bottom.
 */

import { setHidden } from './focus.js';

const NEAR_BOTTOM = 48; // pixels

export class Transcript {
  #log;
  #scroll;
  #down;
  #next;
  #follow = true;

  /**
   * @param {HTMLElement} log
   * @param {HTMLElement} scroll What scrolls.
   * @param {HTMLButtonElement} down Shown while the newest text is out of view.
   * @param {HTMLElement} next Gets the focus of what disappears.
   */
  constructor(log, scroll, down, next) {
    this.#log = log;
    this.#scroll = scroll;
    this.#down = down;
    this.#next = next;
    scroll.addEventListener('scroll', () => this.#look(), { passive: true });
    new ResizeObserver(() => this.#stick()).observe(scroll);
    down.addEventListener('click', () => this.toBottom());
  }

  clear() {
    this.#log.replaceChildren();
    this.toBottom();
  }

  get empty() {
    return !this.#log.hasChildNodes();
  }

  /**
   * @param {'user' | 'assistant'} role
   * @param {string} who Named over the text; '' for the reader's own.
   * @param {string} [text]
   */
  add(role, who, text = '') {
    const message = new Message(role, who, text, () => this.#stick());
    this.#log.append(message.element);
    this.#stick();
    return message;
  }

  /** While busy, screen readers wait for the whole answer. @param {boolean} busy */
  set busy(busy) {
    this.#log.setAttribute('aria-busy', String(busy));
  }

  toBottom() {
    this.#follow = true;
    this.#stick();
  }

  #look() {
    const { scrollHeight, scrollTop, clientHeight } = this.#scroll;
    this.#follow = scrollHeight - scrollTop - clientHeight < NEAR_BOTTOM;
    setHidden(this.#down, this.#follow, this.#next);
  }

  #stick() {
    if (this.#follow) this.#scroll.scrollTop = this.#scroll.scrollHeight;
    else this.#look();
  }
}

/** One message, to which text can be added. Whatever changes is drawn once a frame. */
class Message {
  #text = document.createElement('div');
  #note = document.createElement('p');
  #waiting = '';
  #noted = '';
  #frame = 0;
  #drawn;

  /**
   * @param {string} role
   * @param {string} who
   * @param {string} text
   * @param {() => void} drawn Called after each change.
   */
  constructor(role, who, text, drawn) {
    this.#drawn = drawn;
    this.element = document.createElement('article');
    this.element.className = `message ${role}`;
    const name = document.createElement('p');
    name.className = who ? 'who' : 'visually-hidden';
    name.textContent = who || 'You';
    this.#text.className = 'text';
    this.#text.append(text);
    this.#note.className = 'note';
    this.#note.hidden = true;
    this.element.append(name, this.#text, this.#note);
  }

  /** @param {string} text */
  append(text) {
    this.#waiting += text;
    this.#draw();
  }

  #draw() {
    // A hidden page draws no frames; the text then waits for the next one.
    this.#frame ||= requestAnimationFrame(() => this.flush());
  }

  flush() {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    const last = this.#text.lastChild;
    if (last instanceof Text) last.appendData(this.#waiting);
    else if (this.#waiting) this.#text.append(this.#waiting);
    this.#waiting = '';
    if (this.#note.textContent !== this.#noted) this.#note.textContent = this.#noted;
    this.#note.hidden = !this.#noted;
    this.#drawn();
  }

  /** @param {boolean} streaming */
  set streaming(streaming) {
    this.element.classList.toggle('streaming', streaming);
  }

  /** A line of small print under the text. @param {string} note */
  set note(note) {
    this.#noted = note;
    this.#draw();
  }

  /** @param {string} reason */
  fail(reason) {
    this.flush();
    this.element.classList.add('failed');
    this.#text.append(reason);
    this.#drawn();
  }
}
