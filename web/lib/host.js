/**
 * The worker's side: owns the engine, answers the page's messages, and steps the engine while
 * there is work, returning to the event loop after each step so that a cancel gets through.
 *
 * @import { FromWorker, Info, Piece, Platform, Port, RequestOptions, Sampling, ToWorker }
 *   from './messages.js'
 */

import { Engine, EngineError } from './engine.js';
import { bytesOf, openParts } from './files.js';
import { loadModel } from './loader.js';
import { Pace } from './pace.js';
import { chooseBuild } from './probe.js';
import { createMemory, instantiate, Wasm } from './wasm.js';

const JOIN_MILLISECONDS = 1000;
const STACK_BYTES = 256 << 10;

/**
 * @param {Port} port
 * @param {Platform} platform
 */
export function serve(port, platform) {
  const host = new Host(port, platform);
  port.onMessage((message) => host.receive(message));
}

class Host {
  #port;
  #platform;
  #turn;
  /** @type {Engine | null} */
  #engine = null;
  /** Told how many of the pool's threads run. @type {(count: number) => void} */
  #joined = () => {};
  /** @type {{ id: number, ids: Int32Array, options: RequestOptions & Sampling }[]} */
  #waiting = [];
  /** The page's id of each of the engine's requests. @type {Map<number, number>} */
  #live = new Map();
  /** Null on shared memory, where a cancel is seen within a step. @type {Pace | null} */
  #pace = null;
  #running = false;
  #freed = false;

  /**
   * @param {Port} port
   * @param {Platform} platform
   */
  constructor(port, platform) {
    this.#port = port;
    this.#platform = platform;
    this.#turn = platform.turns();
  }

  /** @param {FromWorker} message @param {Transferable[]} [transfer] */
  #post(message, transfer) {
    this.#port.post(message, transfer);
  }

  /** @param {ToWorker} message */
  async receive(message) {
    const id = 'id' in message ? message.id : null;
    try {
      if (message.type === 'load') await this.#load(message);
      else if (message.type === 'joined') this.#joined(message.count);
      else await this.#answer(message, /** @type {Engine} */ (this.#engine));
    } catch (error) {
      this.#fail(id, error);
    }
  }

  /**
   * @param {Exclude<ToWorker, { type: 'load' | 'joined' }>} message
   * @param {Engine} engine
   */
  async #answer(message, engine) {
    const { id } = message;
    switch (message.type) {
      case 'generate': {
        const { prompt, options } = message;
        const ids = engine.tokenize(prompt, options.raw ?? false);
        engine.checkPrompt(ids); // not at its turn: it need not wait to be refused
        this.#waiting.push({ id, ids, options });
        return this.#run(engine);
      }
      case 'cancel':
        return this.#cancel(id, engine);
      case 'free':
        // Lets the pool's threads end by themselves: a browser takes seconds to end sleeping ones.
        this.#freed = true;
        engine.free();
        return this.#post({ type: 'result', id, value: null });
      case 'tokenize': {
        const value = engine.tokenize(message.prompt, message.special);
        return this.#post({ type: 'result', id, value });
      }
      case 'detokenize':
        return this.#post({ type: 'result', id, value: engine.detokenize(message.ids) });
      case 'evaluate': {
        const { ids, past, firstOutput, hidden } = message;
        const value = engine.evaluate(ids, past, firstOutput, hidden);
        const transfer = [value.logits.buffer, value.hidden?.buffer].filter((b) => b !== undefined);
        return this.#post({ type: 'result', id, value }, transfer);
      }
      case 'score': {
        const { ids, past, targets, base, keep } = message;
        const value = engine.score(ids, past, targets, base, keep);
        const transfer = value.logits ? [value.logits.buffer] : [];
        return this.#post({ type: 'result', id, value }, transfer);
      }
    }
  }

  /** @param {Extract<ToWorker, { type: 'load' }>} message */
  async #load({ parts, settings, wasm: given }) {
    const platform = this.#platform;
    const start = performance.now();
    this.#progress({ phase: 'engine', loaded: 0, total: 0, file: '' });
    const choice = chooseBuild(platform, settings.build, settings.threads);
    const parallel = choice.build.startsWith('mt');
    const [module, files] = await Promise.all([
      given ?? platform.compile(choice.build),
      openParts(parts, platform, settings, (progress) => this.#progress(progress)),
    ]);
    const memory = createMemory(parallel);
    const wasm = new Wasm(await instantiate(module, memory), memory);
    const began = performance.now();
    const exact = settings.exact ?? false;
    const model = await loadModel(wasm, files, exact, (progress) => this.#progress(progress));
    const arrived = performance.now();
    const fileBytes = bytesOf(files); // a server's file may have changed meanwhile
    this.#progress({ phase: 'threads', loaded: fileBytes, total: fileBytes, file: '' });
    const engine = new Engine(wasm, model, { ...settings, threads: choice.threads });
    if (parallel) await this.#startPool(module, wasm, engine, choice.threads - 1);
    const end = performance.now();
    this.#engine = engine;
    this.#pace = parallel ? null : new Pace();
    const missing = choice.threads - engine.threads;
    /** @type {Info} */
    const info = {
      build: choice.build,
      buildReason: choice.reason,
      threads: engine.threads,
      threadsReason: choice.threadsReason + (missing ? `, ${missing} did not start` : ''),
      level: engine.level,
      source: files[0].source,
      fileBytes,
      files: files.map((file) => file.report()),
      memoryBytes: memory.buffer.byteLength,
      context: engine.context,
      milliseconds: {
        engine: began - start,
        weights: arrived - began,
        threads: end - arrived,
        total: end - start,
      },
      model: engine.info,
    };
    this.#post({ type: 'loaded', info });
  }

  /**
   * Has the caller start n threads. One says that it runs, then joins the pool: that is waited
   * for, but not for ever.
   * @param {WebAssembly.Module} module
   * @param {Wasm} wasm
   * @param {Engine} engine
   * @param {number} n
   */
  async #startPool(module, wasm, engine, n) {
    const stacks = Array.from({ length: 1 + n }, () => newStack(wasm));
    const { memory } = wasm;
    const count = await new Promise((/** @type {(count: number) => void} */ resolve) => {
      this.#joined = resolve;
      this.#post({ type: 'pool', module, memory, engine: engine.pointer, stacks });
    });
    const end = performance.now() + JOIN_MILLISECONDS;
    while (engine.threads < 1 + count && performance.now() < end) await this.#turn();
  }

  /** @param {import('./messages.js').Progress} progress */
  #progress(progress) {
    this.#post({ type: 'progress', progress });
  }

  /** @param {Engine} engine */
  async #run(engine) {
    if (this.#running) return;
    this.#running = true;
    try {
      while (this.#waiting.length || !engine.idle) {
        this.#step(engine);
        await this.#turn();
        if (this.#freed) return;
      }
    } finally {
      this.#running = false;
    }
  }

  /**
   * A step that fails ends every answer under way, in the engine too; what waits goes on.
   * @param {Engine} engine
   */
  #step(engine) {
    try {
      this.#submit(engine);
      const pace = this.#pace;
      if (pace) pace.tokens = engine.limitPrompts(pace.tokens);
      const began = performance.now();
      engine.step();
      const milliseconds = performance.now() - began;
      // What has more of its prompt left took all that it was allowed.
      if (this.#emit(engine)) pace?.took(milliseconds);
    } catch (error) {
      if (isTrap(error)) throw error;
      for (const [request, id] of this.#live) {
        engine.cancel(request);
        this.#fail(id, error);
      }
      this.#live.clear();
    }
  }

  /**
   * Gives the engine what waits, as long as it has room.
   * @param {Engine} engine
   */
  #submit(engine) {
    while (this.#waiting.length) {
      const { id, ids, options } = this.#waiting[0];
      try {
        const request = engine.submit(ids, options);
        this.#live.set(request, id);
        this.#post({ type: 'submitted', id, request });
      } catch (error) {
        if (error instanceof EngineError && error.full && !engine.idle) return;
        if (isTrap(error)) throw error;
        this.#fail(id, error);
      }
      this.#waiting.shift();
    }
  }

  /**
   * @param {Engine} engine
   * @returns {boolean} Whether some prompt has more to come.
   */
  #emit(engine) {
    /** @type {Map<number, Piece[]>} */
    const pieces = new Map();
    let unfinished = false;
    for (let event; (event = engine.next());) {
      if (event.piece.type === 'prompt') unfinished = true;
      const id = this.#live.get(event.request);
      if (id === undefined) continue;
      if (event.piece.type === 'done') this.#live.delete(event.request);
      const list = pieces.get(id) ?? [];
      list.push(event.piece);
      pieces.set(id, list);
    }
    for (const [id, list] of pieces) this.#post({ type: 'pieces', id, pieces: list });
    return unfinished;
  }

  /**
   * @param {number} id
   * @param {Engine} engine
   */
  #cancel(id, engine) {
    for (const [request, owner] of this.#live) if (owner === id) engine.cancel(request);
    const index = this.#waiting.findIndex((waiting) => waiting.id === id);
    if (index < 0) return;
    this.#waiting.splice(index, 1);
    this.#post({ type: 'pieces', id, pieces: [cancelled()] });
  }

  /**
   * @param {number | null} id
   * @param {any} error
   */
  #fail(id, error) {
    const fatal = isTrap(error);
    const text = String(error?.message ?? error);
    const message = text.startsWith('wick: ') ? text : `wick: ${text}`;
    this.#post({ type: 'failed', id: fatal ? null : id, message });
  }
}

/** After a trap the engine's memory can't be trusted: the model is over. @param {unknown} error */
function isTrap(error) {
  return error instanceof WebAssembly.RuntimeError;
}

/** @returns {Piece} The last piece of a request that never reached the engine. */
function cancelled() {
  const counts = { nPrompt: 0, nPromptDone: 0, nReused: 0, nGenerated: 0 };
  return { type: 'done', text: '', token: -1, ...counts, finish: 'cancelled' };
}

/**
 * @param {Wasm} wasm
 * @returns {number} The upper end of a stack that stays for as long as the memory.
 */
function newStack(wasm) {
  return ((wasm.allocate(STACK_BYTES) + STACK_BYTES) & ~15) >>> 0;
}
