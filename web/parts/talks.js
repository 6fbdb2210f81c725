/**
 * The panel that lists the kept conversations: open, rename, delete (and take that back), export,
 * import.
 *
 * @import { Saved } from './conversation.js'
 * @import { Head, Keep } from './keep.js'
 */

import { download, element, make, makeButton } from './dom.js';
import { exportConversations, importConversations } from './exchange.js';
import { count } from './format.js';

const FILE_NAME = 'wick-conversations.json';

/**
 * @typedef {object} Owner
 * @property {(id: string) => void} open
 * @property {(id: string, title: string) => Promise<void>} rename
 * @property {(id: string) => void} deleted
 */

export class Talks {
  #keep;
  #owner;
  #list = element('talks', HTMLUListElement);
  #note = element('talks-note', HTMLElement);
  #current = '';

  /** @param {Keep} keep @param {Owner} owner */
  constructor(keep, owner) {
    this.#keep = keep;
    this.#owner = owner;
    const file = element('import-file', HTMLInputElement);
    element('import', HTMLButtonElement).addEventListener('click', () => file.click());
    element('export', HTMLButtonElement).addEventListener('click', () =>
      this.#attempt(async () => this.#export(await keep.all())),
    );
    file.addEventListener('change', async () => {
      const [picked] = file.files ?? [];
      if (picked) await this.import(picked, picked.name);
      file.value = ''; // the same file may be picked again
    });
    keep.onChange(() => this.refresh());
    this.say(keep.reason);
  }

  /** A line under the list. @param {string} text @param {HTMLButtonElement[]} buttons */
  say(text, ...buttons) {
    this.#note.replaceChildren(text, ...buttons);
  }

  /** Lists them anew. @param {string} [current] The conversation in view. */
  async refresh(current = this.#current) {
    this.#current = current;
    const heads = await this.#keep.list();
    const { activeElement } = document;
    const focused = activeElement instanceof HTMLElement ? activeElement.dataset : {};
    const inside = this.#list.contains(activeElement);
    // A name that is being written is not taken from under the reader's hands.
    if (inside && activeElement instanceof HTMLInputElement) return;
    this.#list.replaceChildren(...heads.map((head) => this.#makeItem(head)));
    if (inside) this.#focus(focused.id ?? '', focused.part ?? 'open');
  }

  /** @param {string} id @param {string} part */
  #focus(id, part) {
    const found = this.#list.querySelector(`[data-id="${CSS.escape(id)}"][data-part="${part}"]`);
    const fallback = element('new', HTMLButtonElement);
    (found instanceof HTMLElement ? found : fallback).focus();
  }

  /** @param {Head} head */
  #makeItem(head) {
    const name = head.title || 'Untitled';
    const open = makeButton(name, 'open');
    if (head.id === this.#current) open.setAttribute('aria-current', 'true');
    open.title = name;
    open.addEventListener('click', () => this.#owner.open(head.id));
    const buttons = {
      rename: makeButton('Rename', 'quiet'),
      export: makeButton('Export', 'quiet'),
      delete: makeButton('Delete', 'quiet'),
    };
    for (const [part, button] of Object.entries({ open, ...buttons })) {
      button.dataset.id = head.id;
      button.dataset.part = part;
      if (part !== 'open') button.ariaLabel = `${button.textContent}: ${name}`;
    }
    const item = make('li', '', open, make('div', 'row', ...Object.values(buttons)));
    buttons.rename.addEventListener('click', () => this.#rename(head, item));
    buttons.delete.addEventListener('click', () => this.#attempt(() => this.#delete(head)));
    buttons.export.addEventListener('click', () =>
      this.#attempt(async () => {
        const saved = await this.#keep.get(head.id);
        this.#export(saved ? [saved] : []);
      }),
    );
    return item;
  }

  /** @param {Head} head @param {HTMLLIElement} item */
  #rename(head, item) {
    const field = make('input');
    field.type = 'text';
    field.value = head.title;
    field.maxLength = 60;
    field.ariaLabel = 'Name of the conversation';
    const form = make('form', '', field);
    const end = async (/** @type {boolean} */ keep) => {
      form.remove(); // leaves the field, which must not end it twice
      if (keep && field.value.trim()) await this.#owner.rename(head.id, field.value);
      await this.refresh();
      this.#focus(head.id, 'rename');
    };
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.#attempt(() => end(true));
    });
    field.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape') return;
      event.preventDefault(); // the panel stays
      event.stopPropagation();
      this.#attempt(() => end(false));
    });
    item.replaceChildren(form);
    field.select();
  }

  /** @param {Head} head */
  async #delete(head) {
    const saved = await this.#keep.get(head.id);
    await this.#keep.delete(head.id);
    this.#owner.deleted(head.id);
    const undo = makeButton('Undo', 'quiet');
    undo.addEventListener('click', () =>
      this.#attempt(async () => {
        if (saved) await this.#keep.put(saved);
        this.say('');
        await this.refresh();
        this.#focus(head.id, 'open');
      }),
    );
    await this.refresh();
    this.say(`Deleted “${head.title || 'Untitled'}”. `, undo);
    undo.focus();
  }

  /** @param {Saved[]} conversations */
  #export(conversations) {
    download(FILE_NAME, exportConversations(conversations), 'application/json');
    this.say(`Exported ${count(conversations.length, 'conversation')}.`);
  }

  /** @param {Blob} file @param {string} name */
  import(file, name) {
    return this.#attempt(async () => {
      const conversations = await importConversations(file, name);
      await this.#keep.put(...conversations);
      await this.refresh();
      this.say(`Imported ${count(conversations.length, 'conversation')}.`);
    });
  }

  /** What goes wrong is one line under the list. @param {() => Promise<void>} act */
  async #attempt(act) {
    try {
      await act();
    } catch (error) {
      this.say(error instanceof Error ? error.message : String(error));
    }
  }
}
