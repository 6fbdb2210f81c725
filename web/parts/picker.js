/**
 * The list of models to pick from; a file of the reader becomes one of them.
 *
 * @typedef {{ name: string, source: string | File }} Choice
 */

export class Picker {
  #select;
  #onPick;
  /** @type {Choice[]} */
  #choices = [];
  #picked = 0;

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
      if (index < this.#choices.length) return this.pick(index);
      select.value = String(this.#picked);
      file.click();
    });
    file.addEventListener('change', () => {
      const [source] = file.files ?? [];
      if (source) this.add(source);
      file.value = ''; // so that the same file can be picked again
    });
  }

  /** Offers a file of the reader and picks it. @param {File} source */
  add(source) {
    this.offer([...this.#choices, { name: source.name, source }]);
    this.pick(this.#choices.length - 1);
  }

  /** @param {Choice[]} choices */
  offer(choices) {
    this.#choices = choices;
    const options = choices.map(({ name }, i) => new Option(name, String(i)));
    this.#select.replaceChildren(
      ...options,
      new Option('Open a .gguf file …', String(choices.length)),
    );
    this.#select.disabled = false;
  }

  /** @param {number} index Of the choices. */
  pick(index) {
    this.#picked = index;
    this.#select.value = String(index);
    this.#onPick(this.#choices[index]);
  }
}
