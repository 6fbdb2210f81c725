/**
 * The list of models to pick from; files of the reader become one of them once they have loaded.
 *
 * @typedef {{ name: string, source: string | File | File[] }} Choice
 */

import { weightsOf } from './drop.js';

export class Picker {
  #select;
  #onPick;
  /** @type {Choice[]} */
  #choices = [];
  #shown = 0;

  /**
   * @param {HTMLSelectElement} select
   * @param {HTMLInputElement} file
   * @param {(choice: Choice) => void} onPick
   */
  constructor(select, file, onPick) {
    this.#select = select;
    this.#onPick = onPick;
    select.addEventListener('change', () => {
      const index = Number(select.value);
      if (index < this.#choices.length) return onPick(this.#choices[index]);
      this.#select.value = String(this.#shown);
      file.click();
    });
    file.addEventListener('change', () => {
      if (file.files?.length) this.open([...file.files]);
      file.value = ''; // so that the same file can be picked again
    });
  }

  /** Picks files of the reader. @param {File[]} files */
  open(files) {
    const [first] = files;
    const name = (weightsOf(files) ?? first).name;
    this.#onPick({ name, source: files.length === 1 ? first : files });
  }

  /** @param {Choice[]} choices */
  offer(choices) {
    this.#choices = choices;
    const options = choices.map(({ name }, i) => new Option(name, String(i)));
    this.#select.replaceChildren(...options, new Option('Open a file …', String(choices.length)));
    this.#select.disabled = false;
  }

  /** Names the model that is meant now; one of the reader's is offered from then on. @param {Choice} choice */
  show(choice) {
    if (!this.#choices.includes(choice)) this.offer([...this.#others(choice), choice]);
    this.#shown = this.#choices.indexOf(choice);
    this.#select.value = String(this.#shown);
  }

  /** Without an earlier one of that name that came from files. @param {Choice} choice */
  #others({ name }) {
    return this.#choices.filter((each) => each.name !== name || typeof each.source === 'string');
  }
}
