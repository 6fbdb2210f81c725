/**
 * The command line's values as the options of load and generate.
 *
 * @import { Values } from './arguments.js'
 */

import { readFile } from 'node:fs/promises';
import { UsageError } from './arguments.js';
import { load } from './index.js';

/**
 * @param {string} source
 * @param {Values} values
 * @param {number} [context]
 */
export async function loadFor(source, values, context = values.c) {
  const bar = process.stderr.isTTY;
  const model = await load(source, {
    threads: values.t,
    context,
    exact: values.exact,
    cache: cacheOf(values),
    build: values.build,
    onProgress: ({ loaded, total }) => {
      if (bar && total) process.stderr.write(`\r${Math.floor((100 * loaded) / total)} %`);
    },
  });
  if (bar) process.stderr.write('\r\x1b[K');
  return model;
}

/**
 * @param {Values} values
 * @returns {'f16' | 'f32' | 'int8' | undefined}
 */
function cacheOf({ cache, exact }) {
  if (cache === undefined || cache === 'f32' || cache === 'int8') return cache;
  if (cache === 'f16' && !exact) return cache;
  const expected = exact ? 'f32 or int8' : 'f16, f32 or int8';
  throw new UsageError(`--cache: expected ${expected}, found ${cache}`);
}

/** The model card's temperature and top-p unless others are given. @param {Values} values */
export function samplingOf(values) {
  return {
    maxTokens: values.n,
    temperature: values.temp ?? 0.2,
    topK: values['top-k'],
    topP: values['top-p'] ?? 0.9,
    minP: values['min-p'],
    typicalP: values.typical,
    repetitionPenalty: values['repeat-penalty'],
    frequencyPenalty: values['frequency-penalty'],
    presencePenalty: values['presence-penalty'],
    penaltyWindow: values['penalty-window'],
    logitBias: biasOf(values['logit-bias'] ?? []),
    seed: seedOf(values.seed ?? String(process.hrtime.bigint())),
    stop: values.stop,
  };
}

/** @param {string[]} list */
function biasOf(list) {
  return Object.fromEntries(
    list.map((text) => {
      const [, id, value] = /^(\d+)=(-?[\d.]+(?:e[-+]?\d+)?)$/i.exec(text) ?? [];
      if (id === undefined || !(Math.abs(Number(value)) <= 1e6))
        throw new UsageError(`--logit-bias: expected ID=V with -1e6 <= V <= 1e6, found ${text}`);
      return [id, Number(value)];
    }),
  );
}

/** @param {string} text */
function seedOf(text) {
  const seed = /^\d+$/.test(text) ? BigInt(text) : -1n;
  if (seed >= 0n && seed < 1n << 64n) return seed;
  throw new UsageError(`--seed: expected a whole number from 0 to 2^64 - 1, found ${text}`);
}

/** @param {string} text */
export function idsOf(text) {
  return text.split(',').map((item) => {
    if (/^\d{1,9}$/.test(item)) return Number(item);
    throw new UsageError(`logits: --ids: expected ids and commas, found ${item || 'nothing'}`);
  });
}

/** A file's bytes, or standard input's for "-". @param {string} file */
export async function readBytes(file) {
  if (file !== '-')
    return readFile(file).catch((error) => {
      throw new Error(`${file}: expected a readable file, found ${error.code}`);
    });
  const chunks = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Text from the command line, or standard input's for "-". @param {string} text */
export async function readText(text) {
  return text === '-' ? (await readBytes('-')).toString('utf8') : text;
}
