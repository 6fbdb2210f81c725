/**
 * The caller's side: a loaded model as an object. It sends typed messages to the worker that owns
 * the engine and hands out what comes back, the same in browsers and Node.
 *
 * @import { ChatMessage, Evaluation, FromWorker, Piece, Prompt, RequestOptions,
 *   Sampling, Score, ToWorker } from './messages.js'
 * @import { Loss, Started } from './load.js'
 */

import {
  checkEvaluate,
  checkGenerateOptions,
  checkIds,
  checkPrompt,
  checkScore,
  checkTokenizeOptions,
} from './check.js';

/**
 * @typedef {RequestOptions & Sampling & { signal?: AbortSignal }} GenerateOptions
 *
 * @typedef {object} Answer
 * @property {string} text
 * @property {Int32Array} tokens
 * @property {'stop' | 'length'} finish
 * @property {number} nPrompt
 * @property {number} nReused Tokens of the prompt that the cache still had.
 */

const FREED = 'the model was freed';
const FREE_ID = 0;
/** A worker in the middle of a step answers after it; one that hangs is ended all the same. */
const FREE_MILLISECONDS = 1000;

/**
 * What one request's messages become for who awaits them.
 * @typedef {object} Listener
 * @property {(message: FromWorker) => void} message
 * @property {(error: Error) => void} error
 */

/** A loaded model. Made by load. */
export class Model {
  /** @type {Started | null} */
  #engine = null;
  #start;
  #onLost;
  /** Whether it may be started again: not twice in a row without an answer between. */
  #proven = true;
  /** The start that follows a loss. @type {Promise<void> | null} */
  #restarting = null;
  #freed = new AbortController();
  /** @type {Map<number, Listener>} */
  #listeners = new Map();
  #lastId = 0;
  #reason = '';

  /**
   * @param {Started} engine
   * @param {((signal: AbortSignal) => Promise<Started>) | null} start Starts it once more; null
   *   where its files can't be read again.
   * @param {((loss: Loss) => void)} [onLost]
   */
  constructor(engine, start, onLost) {
    this.#start = start;
    this.#onLost = onLost;
    /** What was loaded, how it runs, and why. */
    this.info = engine.info;
    this.#take(engine);
  }

  /** @param {Started} engine */
  #take(engine) {
    this.#engine = engine;
    this.info = engine.info;
    const { port, threads } = engine;
    port.onMessage((message) => this.#receive(message, engine));
    for (const each of [port, ...threads])
      each.onError((error) => this.#lose(engine, error.message));
    port.hold?.(false);
  }

  /**
   * Generates an answer piece by piece. A string is a user's message, or with `raw` the prompt
   * itself; a list of messages is a conversation; ids are taken as they are. Breaking out of the
   * loop stops the work; an aborted signal makes the loop throw its reason.
   * @param {Prompt} prompt
   * @param {GenerateOptions} [options]
   * @returns {AsyncGenerator<Piece, void, void>}
   */
  async *generate(prompt, options = {}) {
    checkGenerateOptions(options, this.info.model);
    const { signal, ...request } = options;
    signal?.throwIfAborted();
    const checked = checkPrompt(prompt, this.info.model);
    if (this.#restarting) await unlessAborted(this.#restarting, signal);
    const pieces = this.#stream(asPrompt(checked, request.raw ?? false), request);
    signal?.addEventListener('abort', pieces.cancel);
    try {
      for (;;) {
        const piece = await pieces.next();
        if (piece.finish === 'cancelled') signal?.throwIfAborted();
        yield piece;
        if (piece.type === 'done') return;
      }
    } finally {
      signal?.removeEventListener('abort', pieces.cancel);
      pieces.cancel();
    }
  }

  /**
   * The whole answer at once.
   * @param {Prompt} prompt
   * @param {GenerateOptions} [options]
   * @returns {Promise<Answer>}
   */
  async chat(prompt, options) {
    let text = '';
    /** @type {number[]} */
    const tokens = [];
    for await (const piece of this.generate(prompt, options)) {
      text += piece.text;
      if (piece.type === 'token') tokens.push(piece.token);
      if (piece.type !== 'done') continue;
      const { nPrompt, nReused } = piece;
      const finish = piece.finish === 'length' ? 'length' : 'stop';
      return { text, tokens: Int32Array.from(tokens), finish, nPrompt, nReused };
    }
    throw new Error('wick: the answer ended without its last piece');
  }

  /**
   * Text or a conversation to token ids. Special tokens that stand in a text become their ids
   * unless `special` is false; inside a conversation's messages they are always plain text.
   * @param {string | ChatMessage[]} text
   * @param {{ special?: boolean }} [options]
   * @returns {Promise<Int32Array>}
   */
  async tokenize(text, options = {}) {
    checkTokenizeOptions(options);
    const { special = true } = options;
    const prompt = checkPrompt(text, this.info.model);
    return this.#call({ type: 'tokenize', id: this.#newId(), prompt, special });
  }

  /**
   * @param {ArrayLike<number>} ids
   * @returns {Promise<Uint8Array>} Their bytes, which need not be whole characters.
   */
  async detokenizeBytes(ids) {
    const checked = checkIds('ids', ids, this.info.model);
    return this.#call({ type: 'detokenize', id: this.#newId(), ids: checked });
  }

  /**
   * @param {ArrayLike<number>} ids
   * @returns {Promise<string>}
   */
  async detokenize(ids) {
    return new TextDecoder().decode(await this.detokenizeBytes(ids));
  }

  /**
   * Runs tokens through the model outside of any answer. past: how many tokens earlier calls
   * evaluated, 0 to start over. firstOutput: the first of ids whose logits are wanted.
   * @param {ArrayLike<number>} ids
   * @param {{ past?: number, firstOutput?: number, hidden?: boolean }} [options]
   * @returns {Promise<Evaluation>}
   */
  async evaluate(ids, options = {}) {
    const checked = checkEvaluate(ids, options, this.info.model, this.info.context);
    return this.#call({ type: 'evaluate', id: this.#newId(), ...checked });
  }

  /**
   * How well the model predicts: runs ids and scores the logits of the last targets.length
   * positions, against another model's logits too where base has them.
   * @param {ArrayLike<number>} ids
   * @param {ArrayLike<number>} targets
   * @param {{ past?: number, base?: Float32Array, keep?: boolean }} [options] keep: return the
   *   logits, [targets][nVocab].
   * @returns {Promise<{ scores: Score[], logits: Float32Array | null }>}
   */
  async score(ids, targets, options = {}) {
    const checked = checkScore(ids, targets, options, this.info.model, this.info.context);
    return this.#call({ type: 'score', id: this.#newId(), ...checked });
  }

  /** Ends the workers and gives all memory back. Answers under way fail. */
  async free() {
    this.#freed.abort();
    await this.#restarting;
    const engine = this.#engine;
    if (!engine) return;
    const { port } = engine;
    this.#fail(FREED);
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, FREE_MILLISECONDS);
      port.onMessage((message) => {
        if (message.type !== 'result' || message.id !== FREE_ID) return;
        clearTimeout(timer);
        resolve(null);
      });
      port.hold?.(true);
      port.post({ type: 'free', id: FREE_ID });
    });
    await terminate(engine);
  }

  async [Symbol.asyncDispose]() {
    await this.free();
  }

  #newId() {
    return ++this.#lastId;
  }

  /**
   * @param {ToWorker & { id: number }} message
   * @param {Listener} listener
   */
  #send(message, listener) {
    if (!this.#engine) throw new Error(`wick: ${this.#reason}`);
    const { port } = this.#engine;
    if (!this.#listeners.size) port.hold?.(true);
    this.#listeners.set(message.id, listener);
    port.post(message);
  }

  /** @param {number} id */
  #forget(id) {
    this.#listeners.delete(id);
    if (!this.#listeners.size) this.#engine?.port.hold?.(false);
  }

  /**
   * @param {ToWorker & { id: number }} message
   * @returns {Promise<any>}
   */
  async #call(message) {
    if (this.#restarting) await this.#restarting;
    return new Promise((resolve, reject) => {
      const listener = {
        message: (/** @type {FromWorker} */ answer) => {
          if (answer.type === 'result') resolve(answer.value);
        },
        error: reject,
      };
      this.#send(message, listener);
    });
  }

  /**
   * @param {Prompt} prompt
   * @param {RequestOptions & Sampling} options
   */
  #stream(prompt, options) {
    const id = this.#newId();
    /** @type {Piece[]} */
    const queue = [];
    /** @type {Error | null} */
    let failure = null;
    let request = 0;
    let wake = () => {};
    const listener = {
      message: (/** @type {FromWorker} */ message) => {
        if (message.type === 'submitted') ({ request } = message);
        if (message.type === 'pieces') queue.push(...message.pieces);
        wake();
      },
      error: (/** @type {Error} */ error) => {
        failure = error;
        wake();
      },
    };
    this.#send({ type: 'generate', id, prompt, options }, listener);
    return {
      next: async () => {
        while (!queue.length && !failure)
          await new Promise((/** @type {(value: void) => void} */ resolve) => (wake = resolve));
        const piece = queue.shift();
        if (piece) return piece;
        throw failure;
      },
      cancel: () => {
        if (!this.#listeners.has(id)) return;
        if (request) this.#engine?.stop?.(request);
        this.#engine?.port.post({ type: 'cancel', id });
      },
    };
  }

  /** @param {FromWorker} message @param {Started} engine */
  #receive(message, engine) {
    if (message.type === 'failed' && message.id === null) {
      this.#lose(engine, message.message);
      return;
    }
    if (!('id' in message) || message.id === null) return;
    const listener = this.#listeners.get(message.id);
    const last = message.type === 'pieces' && message.pieces.some(({ type }) => type === 'done');
    if (message.type === 'result' || last) this.#proven = true;
    if (message.type === 'result' || message.type === 'failed' || last) this.#forget(message.id);
    if (message.type === 'failed') listener?.error(new Error(message.message));
    else listener?.message(message);
  }

  /**
   * A worker is gone or can't be trusted: what is under way fails, and the model is loaded again.
   * @param {Started} engine
   * @param {string} message
   */
  #lose(engine, message) {
    if (engine !== this.#engine) return; // ended by this side
    this.#fail(message.replace(/^wick: /, ''));
    terminate(engine);
    const start = this.#proven ? this.#start : null;
    this.#proven = false;
    if (start) this.#restarting = this.#restart(start);
    this.#onLost?.({ reason: this.#reason, restarting: start !== null });
  }

  /** @param {(signal: AbortSignal) => Promise<Started>} start */
  async #restart(start) {
    try {
      this.#take(await start(this.#freed.signal));
    } catch (error) {
      this.#reason = /** @type {Error} */ (error).message.replace(/^wick: /, '');
      if (this.#freed.signal.aborted) this.#reason = FREED;
      else this.#onLost?.({ reason: this.#reason, restarting: false });
    }
    this.#restarting = null;
  }

  /** @param {string} reason */
  #fail(reason) {
    this.#engine = null; // and with it all that holds the memory
    this.#reason = reason;
    for (const listener of this.#listeners.values())
      listener.error(new Error(`wick: ${this.#reason}`));
    this.#listeners.clear();
  }
}

/** @param {Started} engine */
function terminate({ port, threads }) {
  return Promise.all([port, ...threads].map((each) => each.terminate()));
}

/**
 * @param {Promise<void>} promise
 * @param {AbortSignal | undefined} signal
 */
async function unlessAborted(promise, signal) {
  let abort = () => {};
  const aborted = new Promise((resolve) => (abort = () => resolve(null)));
  signal?.addEventListener('abort', abort);
  await Promise.race([promise, aborted]);
  signal?.removeEventListener('abort', abort);
  signal?.throwIfAborted();
}

/**
 * A lone string is a user's message unless it is the prompt itself.
 * @param {Prompt} prompt
 * @param {boolean} raw
 * @returns {Prompt}
 */
function asPrompt(prompt, raw) {
  if (typeof prompt !== 'string') return prompt;
  return raw ? prompt : [{ role: 'user', content: prompt }];
}
