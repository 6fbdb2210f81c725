/**
 * Conversations as a JSON file. What is read may come from anyone: every field is checked and
 * bounded, and the first thing that is wrong is named with its place.
 *
 * @import { Message, Saved } from './conversation.js'
 */

const FORMAT = 'wick conversations';
const VERSION = 1;

export const LIMITS = {
  fileBytes: 32e6,
  conversations: 1000,
  messages: 10_000,
  textLength: 1_000_000,
  titleLength: 200,
};

/** @param {Saved[]} conversations @returns {string} */
export function exportConversations(conversations) {
  return JSON.stringify({ format: FORMAT, version: VERSION, conversations }, null, 1);
}

/**
 * Reads an exported file. All conversations get new ids, so that none overwrites another.
 * @param {Blob} file
 * @param {string} name For errors.
 * @returns {Promise<Saved[]>}
 * @throws {Error} One line: the file, the place in it, what was expected and what was found.
 */
export async function importConversations(file, name) {
  if (file.size > LIMITS.fileBytes)
    throw new Error(
      `${name}: expected at most ${LIMITS.fileBytes / 1e6} MB, found ${(file.size / 1e6).toFixed(1)} MB`,
    );
  const reader = new Reader(name);
  const top = reader.object(parse(await file.text(), name), 'the file');
  if (top.format !== FORMAT) reader.wrong('format', `"${FORMAT}"`, top.format);
  if (top.version !== VERSION) reader.wrong('version', String(VERSION), top.version);
  return reader
    .list(top.conversations, 'conversations', LIMITS.conversations)
    .map((value, i) => readConversation(reader, value, `conversations[${i}]`));
}

/** @param {string} text @param {string} name @returns {unknown} */
function parse(text, name) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${name}: expected JSON, found ${quote(text)}`);
  }
}

/**
 * @param {Reader} reader
 * @param {unknown} value
 * @param {string} at
 * @returns {Saved}
 */
function readConversation(reader, value, at) {
  const given = reader.object(value, at);
  const messages = reader
    .list(given.messages, `${at}.messages`, LIMITS.messages)
    .map((message, i) => readMessage(reader, message, `${at}.messages[${i}]`, i));
  return {
    id: crypto.randomUUID(),
    title: reader.text(given.title, `${at}.title`, LIMITS.titleLength),
    created: reader.time(given.created, `${at}.created`),
    updated: reader.time(given.updated, `${at}.updated`),
    system: reader.text(given.system, `${at}.system`, LIMITS.textLength),
    messages,
    leaf: reader.index(given.leaf, `${at}.leaf`, messages.length),
  };
}

/**
 * @param {Reader} reader
 * @param {unknown} value
 * @param {string} at
 * @param {number} i
 * @returns {Message}
 */
function readMessage(reader, value, at, i) {
  const given = reader.object(value, at);
  const { role } = given;
  if (role !== 'user' && role !== 'assistant')
    return reader.wrong(`${at}.role`, '"user" or "assistant"', role);
  /** @type {Message} */
  const message = {
    parent: reader.index(given.parent, `${at}.parent`, i),
    role,
    text: reader.text(given.text, `${at}.text`, LIMITS.textLength),
  };
  if (given.model !== undefined)
    message.model = reader.text(given.model, `${at}.model`, LIMITS.titleLength);
  if (given.note !== undefined)
    message.note = reader.text(given.note, `${at}.note`, LIMITS.titleLength);
  if (given.failed === true) message.failed = true;
  return message;
}

/** Checks of one file's values. */
class Reader {
  #name;

  /** @param {string} name */
  constructor(name) {
    this.#name = name;
  }

  /** @param {string} at @param {string} expected @param {unknown} found @returns {never} */
  wrong(at, expected, found) {
    throw new Error(`${this.#name}: ${at}: expected ${expected}, found ${describe(found)}`);
  }

  /** @param {unknown} value @param {string} at @returns {Record<string, unknown>} */
  object(value, at) {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return this.wrong(at, 'an object', value);
    return /** @type {Record<string, unknown>} */ (value);
  }

  /** @param {unknown} value @param {string} at @param {number} most @returns {unknown[]} */
  list(value, at, most) {
    if (!Array.isArray(value)) return this.wrong(at, 'a list', value);
    if (value.length > most)
      throw new Error(`${this.#name}: ${at}: expected at most ${most}, found ${value.length}`);
    return value;
  }

  /** @param {unknown} value @param {string} at @param {number} most */
  text(value, at, most) {
    if (typeof value !== 'string') return this.wrong(at, 'a text', value);
    if (value.length > most)
      throw new Error(
        `${this.#name}: ${at}: expected at most ${most} characters, found ${value.length}`,
      );
    return value;
  }

  /** @param {unknown} value @param {string} at */
  time(value, at) {
    const fits = typeof value === 'number' && value >= 0 && value <= 8.64e15;
    return fits ? value : this.wrong(at, 'milliseconds since 1970', value);
  }

  /** An index below n, or -1. @param {unknown} value @param {string} at @param {number} n */
  index(value, at, n) {
    const fits = Number.isInteger(value) && Number(value) >= -1 && Number(value) < n;
    return fits ? Number(value) : this.wrong(at, `a whole number from -1 to ${n - 1}`, value);
  }
}

/** @param {unknown} value */
function describe(value) {
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  return quote(String(value));
}

/** The start of what may be long or strange. @param {string} text */
function quote(text) {
  const start = text.slice(0, 30).replace(/\p{C}+/gu, ' ');
  return text ? `"${start}${text.length > 30 ? '…' : ''}"` : 'an empty text';
}
