/**
 * Markdown that arrives piece by piece. Only the last block can still change, so only it is built
 * anew; blocks before it keep their nodes, and with them selections. Its owner says when to draw.
 */

import { MOST_CHARACTERS, readBlocks, renderBlock } from './markdown.js';

export class MarkdownStream {
  #element;
  #text = '';
  #shown = 0; // characters that have been drawn
  #settled = 0; // characters of blocks that cannot change any more
  /** Raw texts of those blocks. @type {string[]} */
  #raws = [];
  /** @type {Node[]} */
  #last = [];

  /** @param {HTMLElement} element What the text is shown in; nothing else may be in it. */
  constructor(element) {
    this.#element = element;
  }

  /** @param {string} text */
  append(text) {
    this.#text += text;
  }

  /** Draws what waits, and has later text change what earlier text turned out to mean. */
  finish() {
    this.#text = this.#text.replace(/\r\n?/g, '\n');
    this.draw();
    const blocks = readBlocks(this.#text);
    // A definition of a link at the end, say, changes the blocks that use it.
    const same =
      !blocks.some(({ type }) => type === 'def') &&
      this.#raws.every((raw, i) => raw === blocks[i]?.raw);
    if (same) return;
    this.#element.replaceChildren(...blocks.flatMap((block) => renderBlock(block)));
  }

  draw() {
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
  }
}
