/**
 * The subcommands of `npx wick`, but for ppl.
 *
 * @import { Values } from './cli.js'
 * @import { ChatMessage } from '../web/lib/messages.js'
 */

import { writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline/promises';
import { generateOptions, idList, loadFor, readInput } from './options.js';

/**
 * @param {string} text
 * @returns {Promise<void>} Resolved when standard output has taken it.
 */
function print(text) {
  return new Promise((resolve) => process.stdout.write(text, () => resolve()));
}

/** @param {string} source @param {Values} values */
export async function run(source, values) {
  const { prompt } = values;
  if (prompt === undefined) throw new Error('run: expected -p TEXT, found none');
  const options = generateOptions(values);
  const model = await loadFor(source, values);
  const controller = new AbortController();
  process.once('SIGINT', () => controller.abort());
  const { signal } = controller;
  try {
    for await (const { text } of model.generate(prompt, { ...options, signal })) await print(text);
  } catch (error) {
    if (!signal.aborted) throw error;
    process.exitCode = 130;
  } finally {
    await model.free();
  }
  if (process.stdout.isTTY) await print('\n');
}

/** @param {string} source @param {Values} values */
export async function chat(source, values) {
  const options = generateOptions(values);
  const model = await loadFor(source, values);
  const lines = createInterface({ input: process.stdin, output: process.stdout, prompt: '> ' });
  /** @type {ChatMessage[]} */
  const messages = [];
  if (values.system !== undefined) messages.push({ role: 'system', content: values.system });
  /** @type {AbortController | null} */
  let answering = null;
  lines.on('SIGINT', () => (answering ? answering.abort() : lines.close()));
  lines.prompt();
  for await (const line of lines) {
    if (line.trim()) {
      messages.push({ role: 'user', content: line });
      answering = new AbortController();
      let answer = '';
      try {
        const { signal } = answering;
        for await (const { text } of model.generate(messages, { ...options, signal })) {
          answer += text;
          await print(text);
        }
      } catch (error) {
        if (!answering.signal.aborted) throw error;
      }
      answering = null;
      messages.push({ role: 'assistant', content: answer });
      await print('\n');
    }
    lines.prompt();
  }
  await model.free();
}

/** @param {string} source @param {Values} values */
export async function tokenize(source, values) {
  const text = (await readInput()).toString('utf8');
  const model = await loadFor(source, values);
  const ids = await model.tokenize(text, { special: !values['no-special'] });
  await print(`[${ids.join(', ')}]\n`);
  await model.free();
}

/** @param {string} source @param {Values} values */
export async function detokenize(source, values) {
  const text = (await readInput()).toString('utf8');
  let ids;
  try {
    ids = JSON.parse(text);
  } catch {
    ids = null;
  }
  if (!Array.isArray(ids) || !ids.every(Number.isInteger))
    throw new Error('stdin: expected a JSON array of token ids, found something else');
  const model = await loadFor(source, values);
  const bytes = await model.detokenizeBytes(ids);
  await new Promise((resolve) => process.stdout.write(bytes, resolve));
  await model.free();
}

/** @param {string} source @param {Values} values */
export async function logits(source, values) {
  if (values.ids === undefined) throw new Error('logits: expected --ids 1,2,3, found none');
  if (!values.out && !values.hidden) throw new Error('logits: expected --out F or --hidden F');
  const ids = idList(values.ids);
  const model = await loadFor(source, values);
  const firstOutput = values.all ? 0 : ids.length - 1;
  const hidden = values.hidden !== undefined;
  const evaluation = await model.evaluate(ids, { firstOutput, hidden });
  if (values.out) await writeFile(values.out, evaluation.logits);
  if (values.hidden && evaluation.hidden) await writeFile(values.hidden, evaluation.hidden);
  await model.free();
}

/** @param {string} source @param {Values} values */
export async function info(source, values) {
  const model = await loadFor(source, values);
  await print(`${JSON.stringify(model.info, null, 2)}\n`);
  await model.free();
}
