#!/usr/bin/env node
/**
 * `npx wick`: the engine's WebAssembly build on the command line, with the native command's names,
 * options and manners. Errors are one line on stderr; status 1, or 2 for wrong usage.
 */

import { readFile } from 'node:fs/promises';
import { helpFor, parseArguments, SYNTAX, UsageError } from './arguments.js';
import { errorLine } from './errors.js';

const WHERE = `
MODEL is a .gguf or .safetensors file, a model folder, an http address, or a name under
$WICK_MODELS (by default models/), as smollm2-135m. wick COMMAND --help lists a command's options;
$WICK_BUILD or --build chooses one of the four wasm builds.
`;

function help() {
  const lines = Object.entries(SYNTAX).map(([name, { argument, summary }]) => {
    const left = `wick ${name} MODEL ${argument}`.trimEnd();
    return `  ${left.padEnd(36)} ${summary}\n`;
  });
  return `usage: wick COMMAND ...\n\n${lines.join('')}${WHERE}`;
}

/** @param {string[]} args */
async function main([name, ...rest]) {
  if (name === undefined) {
    process.stderr.write(help());
    process.exitCode = 2;
    return;
  }
  if (['help', '--help', '-h'].includes(name)) {
    if (rest.length && !Object.hasOwn(SYNTAX, rest[0]))
      throw new UsageError(`help: expected a command, found ${rest[0]}`);
    process.stdout.write(rest.length ? helpFor(rest[0]) : help());
    return;
  }
  if (name === '--version' || name === 'version') {
    const { version } = JSON.parse(
      await readFile(new URL('../package.json', import.meta.url), 'utf8'),
    );
    process.stdout.write(`wick ${version}\n`);
    return;
  }
  if (!Object.hasOwn(SYNTAX, name))
    throw new UsageError(`expected a command (wick help lists them), found ${name}`);
  const parsed = parseArguments(name, rest);
  if (!parsed) {
    process.stdout.write(helpFor(name));
    return;
  }
  // Only now: asking for help loads no engine.
  const { COMMANDS } = await import('./commands.js');
  await COMMANDS[name](parsed.model, parsed.values);
}

// A reader that has enough, as `head`, is no failure.
process.stdout.on('error', (error) => {
  process.exit(/** @type {NodeJS.ErrnoException} */ (error).code === 'EPIPE' ? 0 : 1);
});

try {
  await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(errorLine(error));
  // Not through exitCode alone: a model may still be loaded.
  process.exit(error instanceof UsageError ? 2 : 1);
}
