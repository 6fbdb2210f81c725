/**
 * The one gate for what a caller passes: every number, id, length, list and option's name, before
 * it goes to the worker and on into C. Each check returns the value, or throws one line that names
 * the argument, what was expected and what was found.
 *
 * @import { ChatMessage, ModelInfo, Prompt } from './messages.js'
 *
 * @typedef {(name: string, value: any) => void} Check Throws unless the value is right.
 */

const INT_MAX = 2 ** 31 - 1;
const SEED_END = 1n << 64n;
const ROLES = ['system', 'user', 'assistant'];

/**
 * @param {string} name
 * @param {string} expected
 * @param {string} found
 */
const wrong = (name, expected, found) =>
  new Error(`wick: ${name}: expected ${expected}, found ${found}`);

/** A value as messages show it. @param {unknown} value */
export function shown(value) {
  if (value === undefined) return 'nothing';
  if (typeof value === 'string') return value.length > 60 ? 'a long text' : JSON.stringify(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (value === null || typeof value === 'number' || typeof value === 'boolean')
    return String(value);
  return Array.isArray(value) ? 'a list' : `a value of type ${typeof value}`;
}

/** By its tag: it may be another realm's. @param {string} type @param {unknown} value */
const isA = (type, value) => Object.prototype.toString.call(value) === `[object ${type}]`;

/** @param {number} least @param {number} most @returns {Check} */
const whole = (least, most) => (name, value) => {
  if (Number.isInteger(value) && value >= least && value <= most) return;
  throw wrong(name, `a whole number from ${least} to ${most}`, shown(value));
};

/** @param {number} least @param {number} most @returns {Check} */
const number = (least, most) => (name, value) => {
  if (typeof value === 'number' && value >= least && value <= most) return;
  throw wrong(name, `a number from ${least} to ${most}`, shown(value));
};

/** @type {Check} */
const flag = (name, value) => {
  if (typeof value !== 'boolean') throw wrong(name, 'true or false', shown(value));
};

/** @param {(string | boolean)[]} values @returns {Check} */
const oneOf = (values) => (name, value) => {
  if (values.includes(value)) return;
  throw wrong(name, `${values.slice(0, -1).join(', ')} or ${values.at(-1)}`, shown(value));
};

/** @type {Check} */
const seed = (name, value) => {
  const good = typeof value === 'bigint' ? value < SEED_END : Number.isSafeInteger(value);
  if (good && value >= 0) return;
  const expected = 'a whole number from 0 to 2^53 - 1, or a bigint to 2^64 - 1';
  throw wrong(name, expected, shown(value));
};

/** @type {Check} */
const stops = (name, value) => {
  for (const each of Array.isArray(value) ? value : [value])
    if (typeof each !== 'string' || !each || each.includes('\0'))
      throw wrong(name, 'texts without U+0000 and none of them empty', shown(each));
};

/** @type {Check} */
const signal = (name, value) => {
  if (!isA('AbortSignal', value)) throw wrong(name, 'an AbortSignal', shown(value));
};

/** @type {Check} */
const callback = (name, value) => {
  if (typeof value !== 'function') throw wrong(name, 'a function', shown(value));
};

/** @type {Check} */
const wasmModule = (name, value) => {
  if (!isA('WebAssembly.Module', value)) throw wrong(name, 'a WebAssembly.Module', shown(value));
};

/** @param {number} nVocab @returns {Check} */
const bias = (nVocab) => (name, value) => {
  if (typeof value !== 'object' || !value || Array.isArray(value))
    throw wrong(name, 'an object of biases by token id', shown(value));
  for (const [id, each] of Object.entries(value)) {
    if (!/^\d{1,10}$/.test(id) || Number(id) >= nVocab)
      throw wrong(name, `token ids from 0 to ${nVocab - 1}`, shown(id));
    number(-1e6, 1e6)(`${name}: ${id}`, each);
  }
};

/**
 * An object of options: all of its names known, all of its values right. What is undefined counts
 * as left out.
 * @param {unknown} options
 * @param {Record<string, Check>} checks
 * @param {string} [what]
 */
function checkOptions(options, checks, what = 'options') {
  if (typeof options !== 'object' || !options || Array.isArray(options))
    throw wrong(what, 'an object', shown(options));
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(checks, name))
      throw wrong(what, `some of ${Object.keys(checks).join(', ')}`, name);
    if (value !== undefined) checks[name](name, value);
  }
}

/** @type {Record<keyof import('./messages.js').NetworkSettings, Check>} */
const NETWORK = {
  tries: whole(1, 1000),
  backOffMilliseconds: number(0, INT_MAX),
  stallMilliseconds: number(1, INT_MAX),
  longestWaitMilliseconds: number(0, INT_MAX),
};

/** @type {Check} */
const patience = (name, value) => checkOptions(value, NETWORK, name);

/** @type {Record<keyof import('./load.js').LoadOptions, Check>} */
const LOAD = {
  threads: whole(1, 64),
  context: whole(1, INT_MAX),
  exact: flag,
  cache: oneOf(['f16', 'f32', 'int8']),
  cacheTokens: whole(1, INT_MAX),
  chunk: whole(1, 1 << 14),
  build: oneOf(['st', 'mt', 'st-relaxed', 'mt-relaxed']),
  keep: oneOf([true, false, 'cache']),
  network: patience,
  signal,
  onProgress: callback,
  onLost: callback,
  wasm: wasmModule,
};

/** @param {unknown} options Of load. */
export function checkLoadOptions(options) {
  checkOptions(options, LOAD);
  const { context, cacheTokens } = /** @type {import('./load.js').LoadOptions} */ (options);
  if (context && cacheTokens && cacheTokens < context)
    throw wrong('cacheTokens', `at least the context's ${context}`, String(cacheTokens));
}

/** @type {Record<Exclude<keyof import('./client.js').GenerateOptions, 'logitBias'>, Check>} */
const GENERATE = {
  maxTokens: whole(1, INT_MAX),
  stop: stops,
  logprobs: whole(0, 20),
  raw: flag,
  ignoreEnd: flag,
  temperature: number(0, 1e30),
  topK: whole(0, INT_MAX),
  topP: number(0, 1),
  minP: number(0, 1),
  typicalP: number(0, 1),
  repetitionPenalty: number(1e-3, 1e3),
  frequencyPenalty: number(-1e3, 1e3),
  presencePenalty: number(-1e3, 1e3),
  penaltyWindow: whole(-1, INT_MAX),
  seed,
  signal,
};

/**
 * @param {unknown} options Of generate and chat.
 * @param {ModelInfo} model
 */
export function checkGenerateOptions(options, { nVocab }) {
  checkOptions(options, { ...GENERATE, logitBias: bias(nVocab) });
}

/** @param {unknown} options Of tokenize. */
export function checkTokenizeOptions(options) {
  checkOptions(options, { special: flag });
}

/**
 * @param {string} name
 * @param {any} value A list or a typed array.
 * @param {ModelInfo} model
 * @param {number} [least] How many at least.
 * @returns {Int32Array}
 */
export function checkIds(name, value, { nVocab }, least = 0) {
  if (typeof value !== 'object' || !Number.isInteger(value?.length))
    throw wrong(name, 'a list of token ids', shown(value));
  if (value.length < least) throw wrong(name, `at least ${least} token ids`, value.length);
  for (let i = 0; i < value.length; i++)
    if (!(Number.isInteger(value[i]) && value[i] >= 0 && value[i] < nVocab))
      throw wrong(name, `token ids from 0 to ${nVocab - 1}`, `${shown(value[i])} at [${i}]`);
  return value instanceof Int32Array ? value : Int32Array.from(value);
}

/**
 * @param {any} value
 * @param {ModelInfo} model
 * @returns {Prompt}
 */
export function checkPrompt(value, model) {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || !Number.isInteger(value?.length) || value.length === 0) {
    const found = value?.length === 0 ? 'an empty list' : shown(value);
    throw wrong('prompt', 'a text, messages or token ids', found);
  }
  if (typeof value[0] !== 'object') return checkIds('prompt', value, model, 1);
  return Array.from(value, checkMessage);
}

/**
 * @param {any} message
 * @param {number} i
 * @returns {ChatMessage}
 */
function checkMessage(message, i) {
  if (typeof message !== 'object' || !message)
    throw wrong(`messages[${i}]`, 'a role and a content', shown(message));
  const { role, content } = message;
  oneOf(ROLES)(`messages[${i}].role`, role);
  if (typeof content !== 'string') throw wrong(`messages[${i}].content`, 'a text', shown(content));
  return { role, content };
}

/**
 * @param {unknown} ids
 * @param {any} options Of evaluate.
 * @param {ModelInfo} model
 * @param {number} context
 */
export function checkEvaluate(ids, options, model, context) {
  const list = checkIds('ids', ids, model, 1);
  const most = { past: context, firstOutput: list.length };
  checkOptions(options, {
    past: whole(0, most.past),
    firstOutput: whole(0, most.firstOutput),
    hidden: flag,
  });
  const { past = 0, firstOutput = list.length - 1, hidden = false } = options;
  checkRoom(list, past, context);
  return { ids: list, past, firstOutput, hidden };
}

/**
 * @param {unknown} ids
 * @param {unknown} targets
 * @param {any} options Of score.
 * @param {ModelInfo} model
 * @param {number} context
 */
export function checkScore(ids, targets, options, model, context) {
  const list = checkIds('ids', ids, model, 1);
  const wanted = checkIds('targets', targets, model, 1);
  if (wanted.length > list.length)
    throw wrong('targets', `at most as many as the ${list.length} ids`, String(wanted.length));
  const size = wanted.length * model.nVocab;
  checkOptions(options, {
    past: whole(0, context),
    keep: flag,
    base: (name, value) => {
      if (!isA('Float32Array', value)) throw wrong(name, 'a Float32Array', shown(value));
      if (value.length !== size)
        throw wrong(name, `targets * nVocab = ${size} numbers`, String(value.length));
    },
  });
  const { past = 0, keep = false, base = null } = options;
  checkRoom(list, past, context);
  return { ids: list, targets: wanted, past, keep, base };
}

/** @param {Int32Array} ids @param {number} past @param {number} context */
function checkRoom(ids, past, context) {
  if (past + ids.length <= context) return;
  throw wrong('ids', `at most ${context} tokens with those past`, String(past + ids.length));
}
