/**
 * The caller's side: a loaded model as an object. It sends typed messages to the worker that owns
 * the engine and hands out what comes back, the same in browsers and Node.
 *
 * @import { ChatMessage, Evaluation, FromWorker, Info, Piece, Port, Prompt, RequestOptions,
 *   Sampling, Score, ToWorker } from './messages.js'
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
  /** @type {Port | null} */
  #port;
  #threads;
  #stop;
  /** @type {Map<number, Listener>} */
  #listeners = new Map();
  #lastId = 0;
  #reason = 'the model was freed';

  /**
   * @param {Port} port
   * @param {Port[]} threads The pool's, for freeing.
   * @param {Info} info
   * @param {((request: number) => void) | null} stop
   */
  constructor(port, threads, info, stop) {
    this.#port = port;
    this.#threads = threads;
    this.#stop = stop;
    /** What was loaded, how it runs, and why. */
    this.info = info;
    port.onMessage((message) => this.#receive(message));
    port.onError((error) => this.#end(error.message));
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
    const port = this.#port;
    if (!port) return;
    this.#fail('the model was freed');
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
    await this.#terminate(port);
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
    if (!this.#port) throw new Error(`wick: ${this.#reason}`);
    if (!this.#listeners.size) this.#port.hold?.(true);
    this.#listeners.set(message.id, listener);
    this.#port.post(message);
  }

  /** @param {number} id */
  #forget(id) {
    this.#listeners.delete(id);
    if (!this.#listeners.size) this.#port?.hold?.(false);
  }

  /**
   * @param {ToWorker & { id: number }} message
   * @returns {Promise<any>}
   */
  #call(message) {
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
        if (request) this.#stop?.(request);
        this.#port?.post({ type: 'cancel', id });
      },
    };
  }

  /** @param {FromWorker} message */
  #receive(message) {
    if (message.type === 'failed' && message.id === null) {
      this.#end(message.message);
      return;
    }
    if (!('id' in message) || message.id === null) return;
    const listener = this.#listeners.get(message.id);
    const last = message.type === 'pieces' && message.pieces.some(({ type }) => type === 'done');
    if (message.type === 'result' || message.type === 'failed' || last) this.#forget(message.id);
    if (message.type === 'failed') listener?.error(new Error(message.message));
    else listener?.message(message);
  }

  /**
   * The worker is gone or can't be trusted.
   * @param {string} reason
   */
  #end(reason) {
    const port = this.#port;
    if (!port) return;
    this.#fail(reason);
    this.#terminate(port);
  }

  /** @param {string} reason */
  #fail(reason) {
    this.#port = null;
    this.#stop = null; // it holds the memory
    this.#reason = reason.replace(/^wick: /, '');
    for (const listener of this.#listeners.values())
      listener.error(new Error(`wick: ${this.#reason}`));
    this.#listeners.clear();
  }

  /** @param {Port} port */
  #terminate(port) {
    return Promise.all([port, ...this.#threads].map((each) => each.terminate()));
  }
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
