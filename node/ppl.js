/**
 * `wick ppl`: how well a model predicts a text, and how far its predictions are from those that a
 * file keeps. The text's tokens are cut into windows of c; of each, the predictions of the last
 * c/2 - 1 tokens count, as llama-perplexity has it.
 *
 * @import { Values } from './arguments.js'
 * @import { Model } from '../web/lib/client.js'
 */

import { UsageError } from './arguments.js';
import { createLogits, hashIds, openLogits, readLogits, scoredOf } from './logits-file.js';
import { loadFor, readBytes } from './options.js';

/** @param {string} source @param {Values} values */
export async function ppl(source, values) {
  if (values.f === undefined) throw new UsageError('ppl: expected -f TEXT, found no text');
  const window = values.c ?? 512;
  const model = await loadFor(source, values, window);
  const text = (await readBytes(values.f)).toString('utf8');
  const ids = await model.tokenize(text, { special: false });
  const whole = Math.floor(ids.length / window);
  const nWindows = Math.min(whole, values.chunks ?? whole);
  if (!nWindows)
    throw new Error(
      `${values.f}: expected at least one window of ${window} tokens, found ${ids.length} tokens`,
    );
  const result = await scoreWindows(model, ids.subarray(0, nWindows * window), window, values);
  const { level, threads } = model.info;
  const exact = Boolean(values.exact);
  const about = { context: window, windows: nWindows, scored: result.kl.length };
  const line = { ...about, level, exact, threads, ...summary(result, Boolean(values['kl-base'])) };
  process.stdout.write(`${JSON.stringify(line)}\n`);
  await model.free();
}

/**
 * @param {Model} model
 * @param {Int32Array} ids
 * @param {number} window
 * @param {Values} values
 */
async function scoreWindows(model, ids, window, values) {
  const { nVocab } = model.info.model;
  const [basePath, savePath] = [values['kl-base'], values['save-logits']];
  const header = { nVocab, window, nWindows: ids.length / window, hash: hashIds(ids) };
  const baseFile = basePath && (await openLogits(basePath, header));
  const saveFile = savePath && (await createLogits(savePath, header));
  const scored = scoredOf(window);
  const sums = { nll: 0, baseNll: 0, nSameTop: 0 };
  /** @type {number[]} */
  const kl = [];
  for (let at = 0; at < ids.length; at += window) {
    const targets = ids.subarray(at + window - scored, at + window);
    const base = baseFile ? await readLogits(baseFile, basePath, scored * nVocab) : undefined;
    const prompt = ids.subarray(at, at + window - 1);
    const { scores, logits } = await model.score(prompt, targets, {
      base,
      keep: Boolean(saveFile),
    });
    for (const score of scores) {
      sums.nll += score.nll;
      sums.baseNll += score.baseNll;
      sums.nSameTop += score.nSameTop;
      kl.push(score.kl);
    }
    if (logits) await saveFile.write(new Uint8Array(logits.buffer));
  }
  await baseFile?.close();
  await saveFile?.close();
  return { ...sums, kl };
}

/**
 * @param {Awaited<ReturnType<typeof scoreWindows>>} sums
 * @param {boolean} compared
 */
function summary({ nll, baseNll, nSameTop, kl }, compared) {
  const n = kl.length;
  const perplexity = { nll: nll / n, ppl: Math.exp(nll / n) };
  if (!compared) return perplexity;
  const mean = kl.reduce((sum, value) => sum + value, 0) / n;
  const variance = kl.reduce((sum, value) => sum + value * value, 0) / n - mean * mean;
  const sorted = kl.toSorted((a, b) => a - b);
  const pplBase = Math.exp(baseNll / n);
  return {
    ...perplexity,
    ppl_base: pplBase,
    ppl_ratio: perplexity.ppl / pplBase,
    mean_kl: mean,
    mean_kl_error: Math.sqrt(Math.max(0, variance / n)),
    kl_median: sorted[Math.floor(n / 2)],
    kl_p99: sorted[Math.floor((n * 99) / 100)],
    kl_max: sorted[n - 1],
    same_top_percent: (100 * nSameTop) / n,
  };
}
