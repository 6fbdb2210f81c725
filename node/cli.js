#!/usr/bin/env node
/**
 * `npx wick`: the engine's WebAssembly build on the command line, with the native command's names
 * and options. Errors are one line on stderr; status 1, or 2 for wrong usage.
 */

import { parseArgs } from 'node:util';
import * as commands from './commands.js';
import { ppl } from './ppl.js';

const USAGE = `usage: wick run MODEL -p TEXT [-n N] [--temp T] [--top-k K] [--top-p P] [--min-p P]
                [--seed S] [--stop TEXT] [--raw]
       wick chat MODEL [the same, without -p and --raw]
       wick tokenize MODEL [--no-special]       text on stdin, ids as JSON on stdout
       wick detokenize MODEL                    ids as JSON on stdin, bytes on stdout
       wick logits MODEL --ids 1,2,3 [--all] [--out F] [--hidden F]
       wick ppl MODEL -f TEXT [-c 512] [--windows N] [--kl-base F] [--save-logits F]
       wick info MODEL
MODEL: a .gguf or .safetensors file, a model folder, an http address, or a name under $WICK_MODELS.
All: [-t THREADS] [-c CONTEXT] [--exact] [--build st|mt|st-relaxed|mt-relaxed]`;

const OPTIONS = /** @type {const} */ ({
  prompt: { type: 'string', short: 'p' },
  tokens: { type: 'string', short: 'n' },
  temp: { type: 'string' },
  'top-k': { type: 'string' },
  'top-p': { type: 'string' },
  'min-p': { type: 'string' },
  'typical-p': { type: 'string' },
  'repetition-penalty': { type: 'string' },
  'frequency-penalty': { type: 'string' },
  'presence-penalty': { type: 'string' },
  seed: { type: 'string' },
  stop: { type: 'string', multiple: true },
  raw: { type: 'boolean' },
  system: { type: 'string' },
  'no-special': { type: 'boolean' },
  ids: { type: 'string' },
  all: { type: 'boolean' },
  out: { type: 'string' },
  hidden: { type: 'string' },
  file: { type: 'string', short: 'f' },
  windows: { type: 'string' },
  'kl-base': { type: 'string' },
  'save-logits': { type: 'string' },
  threads: { type: 'string', short: 't' },
  context: { type: 'string', short: 'c' },
  exact: { type: 'boolean' },
  cache: { type: 'string' },
  build: { type: 'string' },
});

/** @typedef {ReturnType<typeof parse>['values']} Values */

/** @type {Record<string, (model: string, values: Values) => Promise<void>>} */
const COMMANDS = { ...commands, ppl };

/** @param {string[]} args */
function parse(args) {
  return parseArgs({ args, options: OPTIONS, allowPositionals: true });
}

/** @param {string[]} args */
async function main([name, ...rest]) {
  if (name === '--help' || name === 'help') return console.log(USAGE);
  const command = Object.hasOwn(COMMANDS, name ?? '') ? COMMANDS[name] : null;
  let parsed;
  try {
    if (!command) throw new Error(name ? `no command ${name}` : 'expected a command');
    parsed = parse(rest);
    if (parsed.positionals.length !== 1) throw new Error('expected one MODEL');
  } catch (error) {
    const [line] = String(/** @type {Error} */ (error).message).split('\n');
    process.stderr.write(`wick: ${line}\n${USAGE}\n`);
    process.exitCode = 2;
    return;
  }
  try {
    await command(parsed.positionals[0], parsed.values);
  } catch (error) {
    const text = String(/** @type {Error} */ (error).message).replace(/^wick: /, '');
    process.stderr.write(`wick: ${text}\n`);
    process.exitCode = 1;
  }
}

await main(process.argv.slice(2));
