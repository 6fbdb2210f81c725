/**
 * A request's options as the structs of wick.h.
 *
 * @import { RequestOptions, Sampling } from './messages.js'
 * @import { Scope, Wasm } from './wasm.js'
 */

/**
 * @param {Wasm} wasm
 * @param {Scope} take
 * @param {Int32Array} ids
 * @param {RequestOptions & Sampling} options
 * @returns {number} A wick_request that lives as long as the scope.
 */
export function writeRequest(wasm, take, ids, options) {
  const stops = [options.stop ?? []].flat();
  const request = take.struct('wick_request', {
    ids: take.ids(ids),
    n_ids: ids.length,
    max_tokens: options.maxTokens ?? 0,
    stop: take.ids(stops.map((text) => take.string(text))),
    n_stop: stops.length,
    n_logprobs: options.logprobs ?? -1,
    ignore_end: options.ignoreEnd ?? false,
  });
  const { sampling } = wasm.read(request, 'wick_request');
  wasm.exports.wick_sampling_default(sampling);
  wasm.write(sampling, 'wick_sampling', samplingFields(options));
  wasm.write(sampling, 'wick_sampling', writeBias(wasm, take, options.logitBias ?? {}));
  return request;
}

/**
 * @param {Wasm} wasm
 * @param {Scope} take
 * @param {{ [id: number]: number }} biases
 */
function writeBias(wasm, take, biases) {
  const entries = Object.entries(biases);
  const size = wasm.sizeOf('wick_logit_bias');
  const array = take.struct('wick_logit_bias', {}, entries.length);
  entries.forEach(([id, bias], i) =>
    wasm.write(array + i * size, 'wick_logit_bias', { id: Number(id), bias }),
  );
  return { logit_bias: array, n_logit_bias: entries.length };
}

/** @param {Sampling} options */
function samplingFields(options) {
  const values = {
    temperature: options.temperature,
    top_k: options.topK,
    top_p: options.topP,
    min_p: options.minP,
    typical_p: options.typicalP,
    repetition_penalty: options.repetitionPenalty,
    frequency_penalty: options.frequencyPenalty,
    presence_penalty: options.presencePenalty,
    penalty_window: options.penaltyWindow,
    seed: options.seed === undefined ? undefined : BigInt.asUintN(64, BigInt(options.seed)),
  };
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  return /** @type {Record<string, number | bigint>} */ (Object.fromEntries(given));
}
