/**
 * The conversation on the page. Text arrives token by token and is put there once a frame; the view
 * follows the newest text only while the reader is at the bottom. Long conversations are built in
 * slices, the newest messages first, so that the page never stops for them.
 *
 * @import { Action, Item } from './message.js'
 */

import { setHidden } from './focus.js';
import { MessageView } from './message.js';

const NEAR_BOTTOM = 48; // pixels
/** Messages that are there at once, before any slice. */
const FIRST = 20;
const SLICE_MILLISECONDS = 8;

export class Transcript {
  #log;
  #scroll;
  #down;
  #next;
  #follow = true;
  /** The messages in view, in order. @type {MessageView[]} */
  #views = [];
  /** Earlier ones that are yet to be built. @type {Item[]} */
  #waiting = [];
  #timer = 0;

  /**
   * @param {HTMLElement} log
   * @param {HTMLElement} scroll What scrolls.
   * @param {HTMLButtonElement} down Shown while the newest text is out of view.
   * @param {HTMLElement} next Gets the focus of what disappears.
   * @param {(action: Action, view: MessageView) => void} onAction
   */
  constructor(log, scroll, down, next, onAction) {
    this.#log = log;
    this.#scroll = scroll;
    this.#down = down;
    this.#next = next;
    scroll.addEventListener('scroll', () => this.#look(), { passive: true });
    new ResizeObserver(() => this.#stick()).observe(scroll);
    down.addEventListener('click', () => this.toBottom());
    log.addEventListener('click', ({ target }) => {
      const button = target instanceof Element ? target.closest('[data-action]') : null;
      const index = Number(button?.closest('article')?.dataset.index);
      const view = this.#views.find((each) => each.index === index);
      if (!view || !(button instanceof HTMLElement)) return;
      onAction(/** @type {Action} */ (button.dataset.action), view);
    });
  }

  /**
   * Shows a branch. Messages that were in view before keep their elements.
   * @param {Item[]} items
   */
  show(items) {
    this.#buildAll(items.length ? items[0].index : -1);
    let same = 0;
    while (same < items.length && this.#views[same]?.index === items[same].index) same++;
    for (const view of this.#views.splice(same)) view.element.remove();
    this.#views.forEach((view, i) => view.update(items[i]));
    const rest = items.slice(same);
    // Only a conversation that is opened has many at once.
    this.#waiting = same ? [] : rest.splice(0, Math.max(0, rest.length - FIRST));
    for (const item of rest) this.add(item);
    if (this.#waiting.length) this.#timer = window.setTimeout(() => this.#buildSlice());
  }

  /** @param {Item} item */
  add(item) {
    const view = new MessageView(item, () => this.#stick());
    this.#views.push(view);
    this.#log.append(view.element);
    this.#stick();
    return view;
  }

  /**
   * Earlier messages that belong to another conversation are dropped, those of this one built now.
   * @param {number} first The index of the first message that will be shown.
   */
  #buildAll(first) {
    clearTimeout(this.#timer);
    if (this.#waiting.length && this.#waiting[0].index === first)
      while (this.#waiting.length) this.#prepend();
    this.#waiting = [];
  }

  #buildSlice() {
    const end = performance.now() + SLICE_MILLISECONDS;
    while (this.#waiting.length && performance.now() < end) this.#prepend();
    this.#stick();
    if (this.#waiting.length) this.#timer = window.setTimeout(() => this.#buildSlice());
  }

  #prepend() {
    const item = this.#waiting.pop();
    if (!item) return;
    const view = new MessageView(item, () => this.#stick());
    this.#views.unshift(view);
    this.#log.prepend(view.element);
  }

  /** @param {number} index */
  view(index) {
    return this.#views.find((each) => each.index === index);
  }

  /** Marks the first message that the model still reads; -1: it reads all. @param {number} index */
  markRead(index) {
    for (const view of this.#views) view.firstRead = view.index === index;
  }

  /** Forgets all, since another conversation has other messages under the same indices. */
  clear() {
    clearTimeout(this.#timer);
    this.#waiting = [];
    this.#views = [];
    this.#log.replaceChildren();
    this.toBottom();
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
