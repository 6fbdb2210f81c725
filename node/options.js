/**
 * The command line's texts as the options of load and generate.
 *
 * @import { Values } from './cli.js'
 */

import { load } from './index.js';

/**
 * @param {string} name
 * @param {string | undefined} text
 * @returns {number | undefined}
 */
export function number(name, text) {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value))
    throw new Error(`${name}: expected a number, found ${text}`);
  return value;
}

/**
 * @param {string} source
 * @param {Values} values
 * @param {{ context?: number }} [defaults]
 */
export async function loadFor(source, values, { context } = {}) {
  const bar = process.stderr.isTTY;
  const model = await load(source, {
    threads: number('-t', values.threads),
    context: number('-c', values.context) ?? context,
    exact: values.exact,
    cache: /** @type {'f16' | undefined} */ (values.cache),
    build: /** @type {'st' | undefined} */ (values.build),
    onProgress: ({ loaded, total }) => {
      if (bar && total) process.stderr.write(`\r${Math.floor((100 * loaded) / total)} %`);
    },
  });
  if (bar) process.stderr.write('\r\x1b[K');
  return model;
}

/** @param {Values} values */
export function generateOptions(values) {
  return {
    maxTokens: number('-n', values.tokens),
    temperature: number('--temp', values.temp),
    topK: number('--top-k', values['top-k']),
    topP: number('--top-p', values['top-p']),
    minP: number('--min-p', values['min-p']),
    typicalP: number('--typical-p', values['typical-p']),
    repetitionPenalty: number('--repetition-penalty', values['repetition-penalty']),
    frequencyPenalty: number('--frequency-penalty', values['frequency-penalty']),
    presencePenalty: number('--presence-penalty', values['presence-penalty']),
    seed: values.seed === undefined ? undefined : seed(values.seed),
    stop: values.stop,
    raw: values.raw,
  };
}

/** @param {string} text */
function seed(text) {
  if (!/^\d+$/.test(text)) throw new Error(`--seed: expected a whole number, found ${text}`);
  return BigInt(text);
}

/** @param {string} text */
export function idList(text) {
  const ids = text.split(',').map(Number);
  if (!ids.every((id) => Number.isInteger(id) && id >= 0))
    throw new Error(`--ids: expected ids as 1,2,3, found ${text}`);
  return ids;
}

/** All of standard input. */
export async function readInput() {
  const chunks = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  return Buffer.concat(chunks);
}
