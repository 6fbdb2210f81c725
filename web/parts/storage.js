/**
 * The models that this browser keeps: what they take, and a button that frees each.
 *
 * @import { KeptFile } from '../lib/kept.js'
 */

import { kept } from '../lib/index.js';
import { element, make, makeButton } from './dom.js';
import { megabytes } from './format.js';

export class StorageList {
  #list = element('kept', HTMLUListElement);
  #note = element('kept-note', HTMLElement);

  /** Lists them anew. */
  async refresh() {
    try {
      const files = await kept.list();
      const items = files.map((file) => this.#makeItem(file));
      this.#list.replaceChildren(...items);
      this.#note.textContent = files.length ? '' : 'None.';
    } catch (error) {
      this.#note.textContent = error instanceof Error ? error.message : String(error);
    }
  }

  /** @param {KeptFile} file */
  #makeItem({ url, name, bytes, complete }) {
    const button = makeButton('Free', 'quiet');
    button.ariaLabel = `Free ${name}`;
    button.addEventListener('click', async () => {
      try {
        const freed = await kept.free(url);
        await this.refresh();
        this.#note.textContent = `Freed ${megabytes(freed)}.`;
      } catch (error) {
        this.#note.textContent = error instanceof Error ? error.message : String(error);
      }
      element('settings', HTMLDialogElement).focus(); // the button has gone
    });
    const state = complete ? megabytes(bytes) : `${megabytes(bytes)} so far`;
    const text = make('span', '', `${name}, ${state}`);
    text.title = url;
    return make('li', 'row', text, button);
  }
}
