/**
 * One message on the page: who says it, the text, what it cost, and what can be done with it.
 */

import { writesLine } from './composer.js';
import { make, makeButton } from './dom.js';
import { renderMarkdown } from './markdown.js';
import { MarkdownStream } from './markdown-stream.js';

/**
 * @typedef {'copy' | 'edit' | 'retry' | 'tokens' | 'previous' | 'next'} Action
 *
 * @typedef {object} Item What a message shows.
 * @property {number} index In the conversation.
 * @property {'user' | 'assistant'} role
 * @property {string} who Named over the text; '' for the reader's own.
 * @property {string} text
 * @property {string} [note]
 * @property {boolean} [failed]
 * @property {number} version Its place among the versions of this message, from 0.
 * @property {number} versions
 */

export class MessageView {
  #text = make('div', 'text');
  #note = make('p', 'note');
  #versions = make('span', 'versions');
  #actions = make('div', 'actions');
  #drawn;
  /** @type {MarkdownStream | null} */
  #stream = null;
  #noted = '';
  #frame = 0;

  /**
   * @param {Item} item
   * @param {() => void} drawn Called after each change.
   */
  constructor(item, drawn) {
    this.#drawn = drawn;
    this.index = item.index;
    this.role = item.role;
    this.element = make('article', `message ${item.role}`);
    this.element.dataset.index = String(item.index);
    const who = make('p', item.who ? 'who' : 'visually-hidden', item.who || 'You');
    this.element.append(who, this.#text, this.#note, this.#actions);
    this.#makeActions();
    this.#fill(item);
    this.update(item);
  }

  /** @param {Item} item */
  #fill({ role, text, failed, note = '' }) {
    if (failed) this.#showFailure(text);
    else if (role === 'user') this.#text.append(text);
    else this.#text.append(...renderMarkdown(text));
    this.#showNote(note);
  }

  #makeActions() {
    this.#actions.setAttribute('role', 'group');
    this.#actions.ariaLabel = 'For this message';
    // What is announced is the conversation, not its buttons.
    this.#actions.ariaLive = 'off';
    const mine = this.role === 'user';
    this.#actions.append(
      this.#versions,
      action('copy', 'Copy'),
      mine ? action('edit', 'Edit') : action('retry', 'Retry'),
      action('tokens', 'Tokens'),
    );
  }

  /** Shows where it stands among its versions. @param {Item} item */
  update({ version, versions }) {
    this.#versions.replaceChildren();
    if (versions < 2) return;
    const previous = action('previous', '\u2039', 'Earlier version');
    const next = action('next', '\u203a', 'Later version');
    previous.disabled = version === 0;
    next.disabled = version === versions - 1;
    this.#versions.append(previous, `${version + 1}/${versions}`, next);
  }

  /** @param {string} text */
  append(text) {
    if (!text) return;
    this.#stream ??= new MarkdownStream(this.#text);
    this.#stream.append(text);
    this.#draw();
  }

  /** A line of small print under the text. @param {string} note */
  set note(note) {
    this.#noted = note;
    this.#draw();
  }

  #draw() {
    // A hidden page draws no frames; what came then waits for the next one.
    this.#frame ||= requestAnimationFrame(() => this.#flush());
  }

  #flush() {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.#stream?.draw();
    this.#showNote(this.#noted);
    this.#drawn();
  }

  /** Nothing more will come. */
  finish() {
    this.#stream?.finish();
    this.#flush();
    this.#stream = null;
  }

  /** @param {boolean} streaming */
  set streaming(streaming) {
    this.element.classList.toggle('streaming', streaming);
  }

  /** @param {string} note */
  #showNote(note) {
    this.#noted = note;
    if (this.#note.textContent !== note) this.#note.textContent = note;
    this.#note.hidden = !note;
  }

  /** @param {string} reason */
  fail(reason) {
    this.#showFailure(reason);
    this.#draw();
  }

  /** @param {string} reason */
  #showFailure(reason) {
    this.element.classList.add('failed');
    this.#text.append(make('p', '', reason));
  }

  /** Whether the model still reads it, or stopped before the context was full. @param {boolean} is */
  set firstRead(is) {
    const line = this.element.querySelector(':scope > .unread');
    if (!is) line?.remove();
    else if (!line)
      this.element.prepend(
        make('p', 'unread note', 'The context was full: the model no longer reads what is above.'),
      );
  }

  /** Puts the focus on an action, or on what stands for it. @param {Action} name */
  focus(name) {
    const find = (/** @type {string} */ each) =>
      this.#actions.querySelector(`[data-action="${each}"]:enabled`);
    const button = find(name) ?? find(name === 'next' ? 'previous' : 'next') ?? find('copy');
    if (button instanceof HTMLElement) button.focus();
  }

  /**
   * Shows or hides the tokens under the text.
   * @param {() => Promise<HTMLElement>} build
   */
  async toggleTokens(build) {
    const button = this.#actions.querySelector('[data-action="tokens"]');
    const there = this.element.querySelector(':scope > .token-view');
    there?.remove();
    if (!there) this.element.append(await build());
    button?.setAttribute('aria-expanded', String(!there));
    this.#drawn();
  }

  /**
   * Lets the reader change the text.
   * @param {string} text
   * @param {(text: string) => void} onSend
   */
  edit(text, onSend) {
    if (this.element.classList.contains('editing')) return;
    const form = make('form', 'edit');
    const field = make('textarea');
    field.value = text;
    field.ariaLabel = 'Edit the message';
    field.rows = Math.min(12, text.split('\n').length + 1);
    const cancel = makeButton('Cancel');
    const send = makeButton('Send', 'primary');
    send.type = 'submit';
    form.append(field, make('div', 'row', cancel, send));
    const end = () => {
      form.remove();
      this.element.classList.remove('editing');
    };
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      const changed = field.value.trim();
      if (!changed) return;
      end();
      onSend(changed);
    });
    field.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && !writesLine(event)) {
        event.preventDefault();
        form.requestSubmit();
      }
    });
    form.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape') return;
      event.stopPropagation();
      cancel.click();
    });
    cancel.addEventListener('click', () => {
      end();
      this.focus('edit');
    });
    this.element.classList.add('editing');
    this.element.append(form);
    field.focus();
  }
}

/** @param {Action} name @param {string} text @param {string} [label] */
function action(name, text, label) {
  const button = makeButton(text, 'quiet');
  button.dataset.action = name;
  if (label) button.ariaLabel = label;
  return button;
}
