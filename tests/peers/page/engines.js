/**
 * wick and wllama in a page behind one interface, timed by the same clock: from the call to the
 * first token that reaches the page, and from that one to the last.
 */

import { load } from '../../../web/lib/index.js';

/**
 * @typedef {object} Settings
 * @property {'wick' | 'wllama'} engine
 * @property {string} model Address of the GGUF file.
 * @property {number} threads
 * @property {number} context Tokens of prompt and answer together.
 *
 * @typedef {object} Timing
 * @property {number} prefill Tokens a second.
 * @property {number} decode Tokens a second.
 * @property {number} nPrompt Tokens that were computed, not found in a cache.
 * @property {number} nDecoded Tokens after the first.
 * @property {{ prefill: number, decode: number } | null} own The engine's own figures.
 *
 * @typedef {object} Stop How long an abort took.
 * @property {number} at Milliseconds after the request.
 * @property {number} milliseconds From the abort until all work had ended.
 * @property {boolean} prefilling Whether the prompt was still being computed.
 *
 * @typedef {object} Cold Milliseconds from the navigation to a page on.
 * @property {number} firstToken
 * @property {number} loaded When the engine had its model.
 * @property {number} nPrompt
 *
 * @typedef {object} Engine
 * @property {Record<string, string | number>} about What runs.
 * @property {(text: string, length: number) => Promise<string[]>} cut The text's pieces of so many
 *   tokens each.
 * @property {(prompt: string, nDecode: number) => Promise<Timing>} measure
 * @property {(prompt: number[], at: number) => Promise<Stop>} abort A request, at so many
 *   milliseconds after its beginning.
 */

/** Counts tokens as they reach the page. */
class Stopwatch {
  #begin = performance.now();
  #first = 0;
  #last = 0;
  #nFirst = 0;
  #n = 0;

  /** @param {number} n Tokens so far. */
  see(n) {
    if (n <= this.#n) return;
    this.#last = performance.now();
    if (!this.#n) {
      this.#first = this.#last;
      this.#nFirst = n;
    }
    this.#n = n;
  }

  /**
   * @param {number} nPrompt
   * @param {Timing['own']} own
   * @returns {Timing}
   */
  timing(nPrompt, own) {
    const nDecoded = this.#n - this.#nFirst;
    if (nDecoded < 1 || this.#nFirst !== 1)
      throw new Error(`expected tokens one by one, found ${this.#nFirst}, then ${nDecoded}`);
    const prefill = (1000 * nPrompt) / (this.#first - this.#begin);
    const decode = (1000 * nDecoded) / (this.#last - this.#first);
    return { prefill, decode, nPrompt, nDecoded, own };
  }
}

/** @param {Settings} settings @returns {Promise<Engine>} */
async function openWick({ model: url, threads, context }) {
  const model = await load(url, { threads, context });
  const { build, level, threads: found } = model.info;
  if (found !== threads)
    throw new Error(
      `wick: expected ${threads} threads, found ${found}: ${model.info.threadsReason}`,
    );
  return {
    about: { build, level, threads: found },
    cut: async (text, length) => {
      const ids = await model.tokenize(text);
      const pieces = [];
      // The bytes of a window may fall into other tokens by themselves, or into half characters.
      for (let start = 0; start + length <= ids.length;) {
        const piece = await model.detokenize(ids.slice(start, start + length));
        const fits = (await model.tokenize(piece)).length === length;
        if (fits) pieces.push(piece);
        start += fits ? length : 1;
      }
      return pieces;
    },
    measure: async (prompt, nDecode) => {
      const stopwatch = new Stopwatch();
      const options = { raw: true, maxTokens: nDecode + 1, ignoreEnd: true };
      let n = 0;
      let nComputed = 0;
      for await (const piece of model.generate(prompt, options)) {
        if (piece.type === 'token') stopwatch.see(++n);
        if (piece.type === 'done') nComputed = piece.nPrompt - piece.nReused;
      }
      return stopwatch.timing(nComputed, null);
    },
    abort: async (prompt, at) => {
      const controller = new AbortController();
      const { signal } = controller;
      let aborted = 0;
      let prefilling = true;
      setTimeout(() => {
        aborted = performance.now();
        controller.abort();
      }, at);
      try {
        for await (const piece of model.generate(prompt, { signal, ignoreEnd: true }))
          if (piece.type === 'token' && !signal.aborted) prefilling = false;
      } catch (error) {
        if (!signal.aborted) throw error;
      }
      return { at, milliseconds: performance.now() - aborted, prefilling };
    },
  };
}

/**
 * What is used of wllama's answers: its server's chunk of a streamed completion.
 * @typedef {{ timings?: { prompt_n: number, prompt_per_second: number, predicted_n: number,
 *   predicted_per_second: number } }} Chunk
 */

/** Where the benchmark's server has wllama's ES modules. */
const WLLAMA = '/wllama/';

/** @param {Settings} settings @returns {Promise<Engine>} */
async function openWllama({ model, threads, context }) {
  const module = await import(`${WLLAMA}index.js`);
  const paths = { default: new URL(`${WLLAMA}wasm/wllama.wasm`, location.href).href };
  const wllama = new module.Wllama(paths, { suppressNativeLog: true });
  const weights = await (await fetch(model)).blob();
  // No layer on a GPU: WebGPU is not even asked for.
  await wllama.loadModel([weights], { n_threads: threads, n_ctx: context, n_gpu_layers: 0 });
  const found = wllama.getNumThreads();
  if (found !== threads) throw new Error(`wllama: expected ${threads} threads, found ${found}`);
  return {
    about: { llama: module.Wllama.getLibllamaVersion(), threads: found },
    cut: async () => {
      throw new Error('wllama: it has no tokenizer to ask');
    },
    abort: async () => {
      throw new Error('wllama: only wick is measured');
    },
    measure: async (prompt, nDecode) => {
      const stopwatch = new Stopwatch();
      /** @type {Chunk['timings']} */
      let timings;
      await wllama.createCompletion({
        prompt,
        max_tokens: nDecode + 1,
        temperature: 0,
        top_k: 1,
        ignore_eos: true,
        cache_prompt: false,
        timings_per_token: true,
        stream: true,
        onData: (/** @type {Chunk} */ chunk) => {
          timings = chunk.timings ?? timings;
          if (chunk.timings) stopwatch.see(chunk.timings.predicted_n);
        },
      });
      if (!timings) throw new Error('wllama: expected timings in its chunks, found none');
      const own = { prefill: timings.prompt_per_second, decode: timings.predicted_per_second };
      return stopwatch.timing(timings.prompt_n, own);
    },
  };
}

/** @param {Settings} settings */
export const open = (settings) =>
  settings.engine === 'wick' ? openWick(settings) : openWllama(settings);

/**
 * From the navigation to this page until the first token: nothing is here before.
 * @param {Settings} settings
 * @param {string} prompt
 * @returns {Promise<Cold>}
 */
export async function cold(settings, prompt) {
  const engine = await open(settings);
  const loaded = performance.now();
  const { prefill, nPrompt } = await engine.measure(prompt, 1);
  // performance.now() counts from the navigation on.
  return { firstToken: loaded + (1000 * nPrompt) / prefill, loaded, nPrompt };
}
