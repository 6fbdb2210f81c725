/**
 * A conversation as data: messages that form a tree, since an edited or retried message starts a
 * branch beside the old one. No DOM here and no storage.
 *
 * @import { ChatMessage } from '../lib/messages.js'
 */

/**
 * @typedef {object} Message
 * @property {number} parent The message before it: a smaller index into the list, or -1.
 * @property {'user' | 'assistant'} role
 * @property {string} text
 * @property {string} [model] Who answered.
 * @property {string} [note] What the answer cost.
 * @property {boolean} [failed] The text is the reason why there is no answer.
 *
 * @typedef {object} Saved A conversation as it is kept and exported.
 * @property {string} id
 * @property {string} title
 * @property {number} created Milliseconds since 1970.
 * @property {number} updated Milliseconds since 1970.
 * @property {string} system The system prompt; '' for the model's own.
 * @property {Message[]} messages A parent stands before its children.
 * @property {number} leaf The message at the end of the branch in view; -1 when there is none.
 */

const TITLE_LENGTH = 60;

export class Conversation {
  #saved;

  /** @param {Saved} [saved] A kept one; without it a new one begins. */
  constructor(saved) {
    const now = Date.now();
    this.#saved = saved ?? {
      id: crypto.randomUUID(),
      title: '',
      created: now,
      updated: now,
      system: '',
      messages: [],
      leaf: -1,
    };
  }

  get id() {
    return this.#saved.id;
  }

  get title() {
    return this.#saved.title;
  }

  set title(title) {
    this.#saved.title = title.trim().slice(0, TITLE_LENGTH);
  }

  get system() {
    return this.#saved.system;
  }

  set system(system) {
    this.#saved.system = system;
  }

  get empty() {
    return this.#saved.messages.length === 0;
  }

  /** The message at the end of the branch in view; -1 when there is none. */
  get leaf() {
    return this.#saved.leaf;
  }

  /** @param {number} index */
  message(index) {
    return this.#saved.messages[index];
  }

  /** Indices from the first message to leaf. @param {number} [leaf] */
  path(leaf = this.#saved.leaf) {
    const path = [];
    for (let at = leaf; at >= 0; at = this.#saved.messages[at].parent) path.push(at);
    return path.reverse();
  }

  /**
   * Adds a message at the end of a branch and brings that branch into view.
   * @param {Message} message
   * @returns {number} Its index.
   */
  add(message) {
    this.#saved.leaf = this.#saved.messages.push(message) - 1;
    this.#saved.updated = Date.now();
    if (!this.#saved.title && message.role === 'user')
      this.title = message.text.replace(/\s+/g, ' ');
    return this.#saved.leaf;
  }

  /** The messages that stand at this place, oldest first. @param {number} index */
  siblings(index) {
    const { messages } = this.#saved;
    const { parent } = messages[index];
    return messages.flatMap((message, i) => (message.parent === parent ? [i] : []));
  }

  /**
   * The branch in view, each message with its place among its versions: in one pass, since a
   * conversation may have thousands.
   * @returns {{ index: number, version: number, versions: number }[]}
   */
  branch() {
    /** @type {Map<number, number[]>} */
    const children = new Map();
    this.#saved.messages.forEach(({ parent }, i) => {
      const siblings = children.get(parent);
      if (siblings) siblings.push(i);
      else children.set(parent, [i]);
    });
    return this.path().map((index) => {
      const siblings = children.get(this.message(index).parent) ?? [];
      return { index, version: siblings.indexOf(index), versions: siblings.length };
    });
  }

  /**
   * Brings the newest branch that goes through a message into view.
   * @param {number} index
   */
  show(index) {
    const { messages } = this.#saved;
    // Parents stand before their children, so one pass marks what lies below.
    const below = new Set([index]);
    messages.forEach(({ parent }, i) => {
      if (below.has(parent)) below.add(i);
    });
    this.#saved.leaf = Math.max(...below);
  }

  /**
   * What a model reads of the branch up to a message: turns without an answer are left out.
   * @param {number} leaf
   * @returns {number[]} Indices.
   */
  read(leaf) {
    const path = this.path(leaf);
    const unanswered = new Set();
    for (const index of path) {
      const { role, text, failed, parent } = this.message(index);
      if (role === 'assistant' && (failed || !text)) unanswered.add(index).add(parent);
    }
    return path.filter((index) => !unanswered.has(index));
  }

  /** The messages at these indices, as a model takes them. @param {number[]} indices */
  chat(indices) {
    return indices.map((index) => {
      const { role, text } = this.message(index);
      return /** @type {ChatMessage} */ ({ role, content: text });
    });
  }

  /** The system prompt as a model takes it: one message, or none. @returns {ChatMessage[]} */
  get systemMessages() {
    return this.system ? [{ role: 'system', content: this.system }] : [];
  }

  /** As plain data, to be kept. @returns {Saved} */
  toJSON() {
    return structuredClone(this.#saved);
  }
}
