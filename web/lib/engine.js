/**
 * The engine of wick.h as a JavaScript object, in the thread that it is called from. The worker
 * owns one; a host without workers could call it directly.
 *
 * @import { EngineSettings, Evaluation, ModelInfo, Piece, Prompt, RequestOptions, Sampling, Score }
 *   from './messages.js'
 * @import { Wasm } from './wasm.js'
 */

import { writeRequest } from './request.js';

const STATUS_FULL = 6; // WICK_ERROR_FULL
const CACHE_TYPES = ['f16', 'f32', 'int8'];
const EVENT_TYPES = /** @type {const} */ (['prompt', 'token', 'done']);
const FINISHES = /** @type {const} */ ([null, 'stop', 'length', 'cancelled']);

/** Positions whose logits are held at once: 32 of SmolLM2's are 6 MB. */
const SCORE_CHUNK = 32;

/** What the engine refused, in its own words. */
export class EngineError extends Error {
  /**
   * @param {string} message
   * @param {number} status
   */
  constructor(message, status) {
    super(message);
    this.name = 'EngineError';
    this.status = status;
  }

  /** No room left: other requests must end first, if there are any. */
  get full() {
    return this.status === STATUS_FULL;
  }
}

export class Engine {
  #wasm;
  #call;
  #model;
  #event;

  /**
   * @param {Wasm} wasm
   * @param {number} model
   * @param {EngineSettings & { threads: number }} settings
   */
  constructor(wasm, model, settings) {
    this.#wasm = wasm;
    this.#call = caller(wasm);
    this.#model = model;
    this.#event = wasm.allocate(wasm.sizeOf('wick_event'));
    this.info = this.#readInfo();
    this.context = settings.context ?? Math.min(2048, this.info.nContext || 2048);
    this.pointer = wasm.scope((take) => {
      const out = take.bytes(4);
      const options = take.struct('wick_engine_options', {
        n_threads: settings.threads,
        n_context: this.context,
        n_cache_tokens: settings.cacheTokens ?? 0,
        n_chunk: settings.chunk ?? 0,
        cache_type: cacheType(settings),
      });
      this.#call('wick_engine_new', model, options, out);
      return wasm.pointerAt(out);
    });
  }

  /** Threads that the next step will use. */
  get threads() {
    return this.#wasm.exports.wick_engine_threads(this.pointer);
  }

  get idle() {
    return Boolean(this.#wasm.exports.wick_engine_idle(this.pointer));
  }

  /** The kernel level in use. */
  get level() {
    return this.#wasm.string(this.#rawInfo().level);
  }

  #rawInfo() {
    return this.#wasm.read(this.#wasm.exports.wick_model_get_info(this.#model), 'wick_model_info');
  }

  /** @returns {ModelInfo} */
  #readInfo() {
    const raw = this.#rawInfo();
    return {
      name: this.#wasm.string(raw.name),
      architecture: this.#wasm.string(raw.architecture),
      chatFormat: raw.chat_format ? this.#wasm.string(raw.chat_format) : null,
      nVocab: raw.n_vocab,
      nLayers: raw.n_layers,
      nEmbd: raw.n_embd,
      nHeads: raw.n_heads,
      nKvHeads: raw.n_kv_heads,
      headDim: raw.head_dim,
      nFfn: raw.n_ffn,
      nContext: raw.n_context,
      bosId: raw.bos_id,
      eosId: raw.eos_id,
      nParameters: raw.n_parameters,
      weightBytes: raw.weight_bytes,
    };
  }

  /**
   * A prompt's ids: ids as they are, messages in the model's chat format, text as plain text or
   * with the special tokens in it recognised.
   * @param {Prompt} prompt
   * @param {boolean} special
   * @returns {Int32Array}
   */
  tokenize(prompt, special) {
    if (typeof prompt !== 'string') {
      if (prompt instanceof Int32Array) return prompt;
      if (typeof prompt[0] === 'object') return this.#tokenizeChat(/** @type {any} */ (prompt));
      return Int32Array.from(/** @type {number[]} */ (prompt));
    }
    return this.#wasm.scope((take) => {
      const text = take.text(prompt);
      return this.#collectIds('wick_tokenize', text.pointer, text.length, special);
    });
  }

  /** @param {import('./messages.js').ChatMessage[]} messages */
  #tokenizeChat(messages) {
    return this.#wasm.scope((take) => {
      const size = this.#wasm.sizeOf('wick_message');
      const array = take.struct('wick_message', {}, messages.length);
      messages.forEach(({ role, content }, i) => {
        const text = take.text(content);
        const message = { role: take.string(role), content: text.pointer, n_bytes: text.length };
        this.#wasm.write(array + i * size, 'wick_message', message);
      });
      return this.#collectIds('wick_chat_tokenize', array, messages.length);
    });
  }

  /**
   * Calls a function that fills (ids, capacity, n_ids): once to count, once to fill.
   * @param {string} name
   * @param {(number | boolean)[]} input
   */
  #collectIds(name, ...input) {
    return this.#wasm.scope((take) => {
      const count = take.bytes(4);
      this.#call(name, this.#model, ...input, 0, 0, count);
      const n = this.#wasm.pointerAt(count);
      const ids = take.bytes(4 * n);
      this.#call(name, this.#model, ...input, ids, n, count);
      return new Int32Array(this.#wasm.memory.buffer, ids, n).slice();
    });
  }

  /**
   * @param {ArrayLike<number>} ids
   * @returns {Uint8Array} The tokens' bytes, one after another.
   */
  detokenize(ids) {
    return this.#wasm.scope((take) => {
      const count = take.bytes(4);
      const pieces = Array.from(ids, (id) => {
        const bytes = this.#wasm.exports.wick_token_bytes(this.#model, id, count);
        return this.#wasm.copyBytes(bytes, this.#wasm.pointerAt(count));
      });
      const all = new Uint8Array(pieces.reduce((n, piece) => n + piece.length, 0));
      let at = 0;
      for (const piece of pieces) {
        all.set(piece, at);
        at += piece.length;
      }
      return all;
    });
  }

  /**
   * Refuses a prompt that has no room in the context, however empty the engine is.
   * @param {Int32Array} ids
   */
  checkPrompt(ids) {
    if (ids.length < this.context) return;
    const most = `at most ${this.context - 1} tokens in a context of ${this.context}`;
    throw new Error(`prompt: expected ${most}, found ${ids.length}`);
  }

  /**
   * @param {Int32Array} ids
   * @param {RequestOptions & Sampling} options
   * @returns {number} The request's id.
   */
  submit(ids, options) {
    return this.#wasm.scope((take) => {
      const request = writeRequest(this.#wasm, take, ids, options);
      const out = take.bytes(4);
      this.#call('wick_engine_submit', this.pointer, request, out);
      return this.#wasm.pointerAt(out);
    });
  }

  /** Ends its threads; nothing may be called afterwards. */
  free() {
    this.#wasm.exports.wick_engine_free(this.pointer);
  }

  /** One bounded piece of work. */
  step() {
    this.#call('wick_engine_step', this.pointer);
  }

  /**
   * @param {number} tokens Most of prompts in one step from now on.
   * @returns {number} Those that this engine allows.
   */
  limitPrompts(tokens) {
    return this.#wasm.exports.wick_engine_limit_prompts(this.pointer, tokens);
  }

  /** @param {number} request */
  cancel(request) {
    this.#wasm.exports.wick_engine_cancel(this.pointer, request);
  }

  /**
   * The next event, oldest first, or null.
   * @returns {{ request: number, piece: Piece } | null}
   */
  next() {
    if (!this.#wasm.exports.wick_engine_next(this.pointer, this.#event)) return null;
    const event = this.#wasm.read(this.#event, 'wick_event');
    const type = EVENT_TYPES[event.type];
    /** @type {Piece} */
    const piece = {
      type,
      text: event.n_bytes ? this.#wasm.string(event.text, event.n_bytes) : '',
      token: type === 'token' ? event.token : -1,
      nPrompt: event.n_prompt,
      nPromptDone: event.n_prompt_done,
      nReused: event.n_reused,
      nGenerated: event.n_generated,
      finish: FINISHES[event.finish],
    };
    // Alternatives are there, if none, whenever log-probabilities were asked for.
    if (type === 'token' && event.alternatives) {
      piece.logprob = event.logprob;
      piece.alternatives = this.#readLogprobs(event.alternatives, event.n_alternatives);
    }
    return { request: event.id, piece };
  }

  /**
   * @param {number} pointer
   * @param {number} n
   */
  #readLogprobs(pointer, n) {
    const size = this.#wasm.sizeOf('wick_logprob');
    return Array.from({ length: n }, (_, i) => {
      const { id, logprob } = this.#wasm.read(pointer + i * size, 'wick_logprob');
      return { id, logprob };
    });
  }

  /**
   * @param {Int32Array} ids At positions past, past + 1 ...
   * @param {number} past What earlier calls evaluated; 0 starts over.
   * @param {number} firstOutput Logits from this one of ids on.
   * @param {boolean} hidden
   * @returns {Evaluation}
   */
  evaluate(ids, past, firstOutput, hidden) {
    const { nVocab, nLayers, nEmbd } = this.info;
    const nLogits = Math.max(0, ids.length - firstOutput) * nVocab;
    const nHidden = hidden ? (nLayers + 1) * ids.length * nEmbd : 0;
    return this.#wasm.scope((take) => {
      const logits = nLogits ? take.bytes(4 * nLogits) : 0;
      const states = nHidden ? take.bytes(4 * nHidden) : 0;
      const input = take.ids(ids);
      const counts = [ids.length, past, firstOutput];
      this.#call('wick_engine_evaluate', this.pointer, input, ...counts, logits, states);
      return {
        logits: this.#wasm.floats(logits, nLogits).slice(),
        hidden: nHidden ? this.#wasm.floats(states, nHidden).slice() : null,
      };
    });
  }

  /**
   * Evaluates ids and scores the last of them: the logits of the last targets.length positions
   * against the tokens that really follow.
   * @param {Int32Array} ids
   * @param {number} past
   * @param {Int32Array} targets
   * @param {Float32Array | null} base Another model's logits for the scored positions.
   * @param {boolean} keep Return the logits too.
   * @returns {{ scores: Score[], logits: Float32Array | null }}
   */
  score(ids, past, targets, base, keep) {
    const { nVocab } = this.info;
    const first = ids.length - targets.length;
    const kept = keep ? new Float32Array(targets.length * nVocab) : null;
    /** @type {Score[]} */
    const scores = [];
    return this.#wasm.scope((take) => {
      const baseRow = base ? take.bytes(4 * nVocab) : 0;
      const logits = take.bytes(4 * nVocab * SCORE_CHUNK);
      const input = take.ids(ids);
      for (let at = 0, end; at < ids.length; at = end) {
        end = Math.min(ids.length, at < first ? first : at + SCORE_CHUNK);
        const n = end - at;
        const out = at < first ? 0 : logits;
        const counts = [n, past + at, out ? 0 : n];
        this.#call('wick_engine_evaluate', this.pointer, input + 4 * at, ...counts, out, 0);
        for (let i = 0; out && i < n; i++) {
          const row = scores.length;
          const pointer = logits + 4 * nVocab * i;
          kept?.set(this.#wasm.floats(pointer, nVocab), row * nVocab);
          if (base)
            this.#wasm.floats(baseRow, nVocab).set(base.subarray(row * nVocab, (row + 1) * nVocab));
          scores.push(this.#scoreOne(pointer, baseRow, targets[row]));
        }
      }
      return { scores, logits: kept };
    });
  }

  /**
   * @param {number} logits
   * @param {number} base
   * @param {number} target
   * @returns {Score}
   */
  #scoreOne(logits, base, target) {
    return this.#wasm.scope((take) => {
      const score = take.struct('wick_score');
      this.#wasm.exports.wick_score_add(score, logits, base, this.info.nVocab, target);
      const {
        nll,
        kl,
        n_same_top: nSameTop,
        base_nll: baseNll,
      } = this.#wasm.read(score, 'wick_score');
      return { nll, kl, nSameTop, baseNll };
    });
  }
}

/**
 * A caller of functions that end in (..., wick_error *) and return a wick_status.
 * @param {Wasm} wasm
 */
export function caller(wasm) {
  const error = wasm.allocate(wasm.sizeOf('wick_error'));
  /** @param {string} name @param {(number | bigint | boolean)[]} input */
  return (name, ...input) => {
    const status = wasm.exports[name](...input, error);
    if (status !== 0) throw new EngineError(errorText(wasm, error), status);
  };
}

/**
 * @param {Wasm} wasm
 * @param {number} error
 */
function errorText(wasm, error) {
  return wasm.string(wasm.read(error, 'wick_error').message);
}

/** @param {EngineSettings} settings */
function cacheType({ cache, exact }) {
  return CACHE_TYPES.indexOf(cache ?? (exact ? 'f32' : 'f16'));
}
