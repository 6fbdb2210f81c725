/**
 * The subcommands of `npx wick`.
 *
 * @import { Values } from './arguments.js'
 * @import { ChatMessage } from '../web/lib/messages.js'
 * @import { Model } from '../web/lib/client.js'
 */

import { open } from 'node:fs/promises';
import { createInterface } from 'node:readline/promises';
import { Conversation } from '../web/lib/conversation.js';
import { UsageError } from './arguments.js';
import { errorLine } from './errors.js';
import { idsOf, loadFor, readBytes, readText, samplingOf } from './options.js';
import { ppl } from './ppl.js';

const INTERRUPTED = 130; // what shells give a command that SIGINT ended
const CHUNK = 64; // positions whose logits are in memory at once with --all

/**
 * @param {string | Uint8Array} text
 * @returns {Promise<void>} Resolved when standard output has taken it.
 */
function print(text) {
  return new Promise((resolve) => process.stdout.write(text, () => resolve()));
}

/** @param {string} source @param {Values} values */
async function run(source, values) {
  if (values.p === undefined) throw new UsageError('run: expected -p TEXT, found no prompt');
  if (values.raw && values.system !== undefined)
    throw new UsageError('run: --system: expected no --raw beside it');
  const options = { ...samplingOf(values), raw: values.raw };
  const text = await readText(values.p);
  const model = await loadFor(source, values);
  const controller = new AbortController();
  process.once('SIGINT', () => controller.abort());
  const { signal } = controller;
  try {
    const prompt = values.raw ? text : [...systemOf(values), user(text)];
    for await (const piece of model.generate(prompt, { ...options, signal }))
      await print(piece.text);
  } catch (error) {
    if (!signal.aborted) throw error;
    process.exitCode = INTERRUPTED;
  }
  if (process.stdout.isTTY) await print('\n');
  await model.free();
}

/** @param {string} content @returns {ChatMessage} */
const user = (content) => ({ role: 'user', content });

/** @param {Values} values @returns {ChatMessage[]} */
const systemOf = ({ system }) =>
  system === undefined ? [] : [{ role: 'system', content: system }];

/** @param {string} source @param {Values} values */
async function chat(source, values) {
  const options = samplingOf(values);
  const model = await loadFor(source, values);
  const lines = createInterface({ input: process.stdin, output: process.stdout, prompt: '> ' });
  const conversation = new Conversation(values.system);
  /** @type {AbortController | null} */
  let answering = null;
  lines.on('SIGINT', () => (answering ? answering.abort() : lines.close()));
  lines.prompt();
  for await (const line of lines) {
    if (line.trim()) {
      answering = new AbortController();
      const { signal } = answering;
      try {
        await answer(conversation, model, line, { ...options, signal });
      } catch (error) {
        // At a terminal the next message may do better.
        if (!process.stdin.isTTY) throw error;
        process.stderr.write(errorLine(error));
      }
      answering = null;
    }
    lines.prompt();
  }
  await model.free();
}

/**
 * @param {Conversation} conversation
 * @param {Model} model
 * @param {string} question
 * @param {import('../web/lib/client.js').GenerateOptions} options
 */
async function answer(conversation, model, question, options) {
  let begun = false;
  try {
    for await (const { text } of conversation.ask(model, question, options)) {
      const { nForgotten } = conversation;
      if (!begun && nForgotten)
        process.stderr.write(`(context full: the oldest ${nForgotten} messages are forgotten)\n`);
      begun = true;
      await print(text);
    }
  } catch (error) {
    if (!options.signal?.aborted) throw error;
  } finally {
    if (begun) await print('\n');
  }
}

/** @param {string} source @param {Values} values */
async function tokenize(source, values) {
  const model = await loadFor(source, values);
  const text = (await readBytes('-')).toString('utf8');
  const ids = await model.tokenize(text, { special: !values['no-special'] });
  await print(`[${ids.join(',')}]\n`);
  await model.free();
}

/** @param {string} source @param {Values} values */
async function detokenize(source, values) {
  const model = await loadFor(source, values);
  const ids = parseIds((await readBytes('-')).toString('utf8'), model.info.model.nVocab);
  await print(await model.detokenizeBytes(ids));
  await model.free();
}

/**
 * @param {string} json
 * @param {number} nVocab
 * @returns {number[]}
 */
function parseIds(json, nVocab) {
  let ids;
  try {
    ids = JSON.parse(json);
  } catch {
    throw new Error('stdin: expected JSON, found something else');
  }
  if (!Array.isArray(ids)) throw new Error('stdin: expected a JSON array of token ids');
  const odd = ids.findIndex((id) => !(Number.isInteger(id) && id >= 0 && id < nVocab));
  if (odd < 0) return ids;
  throw new Error(
    `stdin: expected whole token ids from 0 to ${nVocab - 1}, found another value at [${odd}]`,
  );
}

/** @param {string} source @param {Values} values */
async function logits(source, values) {
  if ((values.ids === undefined) === (values.p === undefined))
    throw new UsageError('logits: expected either --ids or -p');
  if (values.out === undefined)
    throw new UsageError('logits: expected --out F, found no file to write');
  const given = values.ids === undefined ? null : idsOf(values.ids);
  const text = given ? '' : await readText(values.p);
  const model = await loadFor(source, values);
  const ids = given ?? [...(await model.tokenize(text))];
  const file = await openOutput(values.out);
  // Hidden states are laid out layer by layer over all tokens, so they come at once.
  const chunk = values.hidden === undefined && values.all ? CHUNK : ids.length || 1;
  for (let at = 0; at < ids.length || at === 0; at += chunk) {
    const part = ids.slice(at, at + chunk);
    const firstOutput = values.all ? 0 : part.length - 1;
    const hidden = values.hidden !== undefined;
    const found = await model.evaluate(part, { past: at, firstOutput, hidden });
    await file.write(asBytes(found.logits));
    if (!found.hidden) continue;
    const hiddenFile = await openOutput(values.hidden);
    await hiddenFile.write(asBytes(found.hidden));
    await hiddenFile.close();
  }
  await file.close();
  await model.free();
}

/** @param {Float32Array} values */
const asBytes = (values) => new Uint8Array(values.buffer, values.byteOffset, values.byteLength);

/**
 * @param {string} path
 * @returns {Promise<{ write: (bytes: Uint8Array) => Promise<unknown>, close: () => unknown }>}
 */
async function openOutput(path) {
  if (path === '-') return { write: print, close: () => {} };
  const file = await open(path, 'w').catch((error) => {
    throw new Error(`${path}: expected a file to write, found ${error.code}`);
  });
  return { write: (bytes) => file.writeFile(bytes), close: () => file.close() };
}

/** @param {string} source @param {Values} values */
async function info(source, values) {
  const model = await loadFor(source, values);
  await print(`${JSON.stringify(model.info, null, 2)}\n`);
  await model.free();
}

/** @type {Record<string, (source: string, values: Values) => Promise<void>>} */
export const COMMANDS = { run, chat, tokenize, detokenize, logits, ppl, info };
