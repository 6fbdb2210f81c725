/**
 * Markdown that arrives piece by piece. Only the last block can still change, so only it is built
 * anew, at most once a frame; blocks before it keep their nodes, and with them selections.
 */

import { MOST_CHARACTERS, readBlocks, renderBlock } from './markdown.js';

export class MarkdownStream {
  #element;
  #drawn;
  #text = '';
  #shown = 0; // characters that a frame has drawn
  #settled = 0; // characters of blocks that cannot change any more
  /** Raw texts of those blocks. @type {string[]} */
  #raws = [];
  /** @type {Node[]} */
  #last = [];
  #frame = 0;

  /**
   * @param {HTMLElement} element What the text is shown in; nothing else may be in it.
   * @param {() => void} [drawn] Called after each change.
   */
  constructor(element, drawn = () => {}) {
    this.#element = element;
    this.#drawn = drawn;
  }

  get text() {
    return this.#text;
  }

  /** @param {string} text */
  append(text) {
    if (!text) return;
    this.#text += text;
    // A hidden page draws no frames; the text then waits for the next one.
    this.#frame ||= requestAnimationFrame(() => this.#draw());
  }

  /** Draws what waits, and has later text change what earlier text turned out to mean. */
  finish() {
    cancelAnimationFrame(this.#frame);
    this.#text = this.#text.replace(/\r\n?/g, '\n');
    this.#draw();
    const blocks = readBlocks(this.#text);
    // A definition of a link at the end, say, changes the blocks that use it.
    const same =
      !blocks.some(({ type }) => type === 'def') &&
      this.#raws.every((raw, i) => raw === blocks[i]?.raw);
    if (same) return;
    this.#element.replaceChildren(...blocks.flatMap((block) => renderBlock(block)));
    this.#drawn();
  }

  #draw() {
    this.#frame = 0;
    if (this.#shown === this.#text.length) return;
    this.#shown = this.#text.length;
    const open = this.#text.slice(this.#settled);
    const tooLong = this.#text.length > MOST_CHARACTERS;
    const blocks = tooLong ? [{ type: 'plain', raw: open, text: open }] : readBlocks(open);
    const end = blocks.findLastIndex(({ type }) => type !== 'space');
    for (const node of this.#last) this.#element.removeChild(node);
    for (const block of blocks.slice(0, Math.max(0, end))) {
      this.#settled += block.raw.length;
      this.#raws.push(block.raw);
      this.#element.append(...renderBlock(block));
    }
    this.#last = blocks.slice(Math.max(0, end)).flatMap((block) => renderBlock(block));
    this.#element.append(...this.#last);
    this.#drawn();
  }
}
