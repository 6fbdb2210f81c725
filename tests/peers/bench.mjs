// `npm run bench:peers`: wick beside llama.cpp (native, its build without AMX) and beside wllama (in
// Chromium), on the same file, in turn within one run. Prints a table and writes every figure, with
// machine, commit, versions and flags, as JSON.
//
//   npm run bench:peers -- [--rounds 5] [--threads 1,2] [--prompt 512] [--tokens 128]
//     [--native-only | --browser-only] [--model FILE.gguf] [--out .peers/report.json]
//     [--no-build]  measure build/wick and dist/wasm/ as they are
//     [--check]     exit status 1 when a floor is not met
//
// The first run fetches and builds the peers into .peers/ (minutes). Ratios hold; the absolute
// figures are the machine's of that hour. Nothing else should be running.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem } from 'node:os';
import path from 'node:path';
import { buildNative } from '../../tools/build-native.mjs';
import { buildAllWasm } from '../../tools/build-wasm.mjs';
import { inRoot } from '../../tools/lib/paths.mjs';
import { commandLine, firstLine, runMain, say, ToolError } from '../../tools/lib/run.mjs';
import { ensureModel } from '../../tools/model.mjs';
import { ensureSystemPackages } from '../../tools/system-packages.mjs';
import { checkTiming, openBrowser } from './browser.mjs';
import { measureLlama, measureWick } from './native.mjs';
import { play, rows, table } from './rounds.mjs';
import { ensureLlamaBench, ensureWllama, peersFolder } from './setup.mjs';

/** @typedef {import('./rounds.mjs').Contest} Contest */
/** @typedef {import('./rounds.mjs').Played} Played */

/** wick is to be this many times as fast. */
const floors = { native: 1, chromium: 3 };

/** @param {string} name @param {string} text @param {number} most */
function count(name, text, most) {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= most) return value;
  throw new ToolError(`${name}: expected a number from 1 to ${most}, found ${text}`);
}

function readOptions() {
  const flag = /** @type {const} */ ({ type: 'boolean', default: false });
  const text = (/** @type {string} */ value) =>
    /** @type {const} */ ({ type: 'string', default: value });
  const options = {
    ...{ rounds: text('5'), threads: text('1,2'), prompt: text('512'), tokens: text('128') },
    ...{ model: text(''), out: text(path.join(peersFolder, 'report.json')) },
    ...{ 'native-only': flag, 'browser-only': flag, 'no-build': flag, check: flag },
  };
  const { values } = commandLine({ options });
  if (values['native-only'] && values['browser-only'])
    throw new ToolError('expected --native-only or --browser-only, found both');
  return {
    nRounds: count('--rounds', values.rounds, 1000),
    threads: values.threads.split(',').map((n) => count('--threads', n, 64)),
    nPrompt: count('--prompt', values.prompt, 2048),
    nDecode: count('--tokens', values.tokens, 2048),
    model: values.model,
    out: path.resolve(values.out),
    native: !values['browser-only'],
    browser: !values['native-only'],
    build: !values['no-build'],
    check: values.check,
  };
}

/** @typedef {ReturnType<typeof readOptions>} Options */
/** @typedef {{ played: Played[], about: object }} Part */

/** @param {Options} options @param {string} model @returns {Promise<Part>} */
async function native(options, model) {
  if (options.build) await buildNative();
  const llama = await ensureLlamaBench();
  let level = '';
  const contests = options.threads.map((threads) => {
    const task = { model, threads, nPrompt: options.nPrompt, nDecode: options.nDecode };
    return /** @type {Contest} */ ({
      ...{ where: 'native', peer: 'llama.cpp', threads, floor: floors.native },
      wick: async () => {
        const { level: found, ...rates } = await measureWick(task);
        level = found;
        return rates;
      },
      other: () => measureLlama(llama.program, task),
    });
  });
  say('native: wick and llama.cpp without AMX');
  const played = await play(contests, options.nRounds, say);
  const { version, options: flags } = llama;
  const compiler = firstLine(['cc', '--version']);
  return { played, about: { wick: { level }, llama: { version, flags, compiler } } };
}

/** @param {Options} options @param {string} model @returns {Promise<Part>} */
async function browser(options, model) {
  if (options.build) await buildAllWasm();
  const { nPrompt, nDecode } = options;
  const wllama = await ensureWllama();
  const chromium = await openBrowser(model, wllama.folder);
  try {
    /** @type {Contest[]} */
    const contests = [];
    const tabs = [];
    // A multiple of 256 that holds both; llama.cpp rounds up to one by itself.
    const context = Math.ceil((nPrompt + nDecode + 1) / 256) * 256;
    say(`Chromium ${chromium.version}: wick and wllama ${wllama.version}`);
    for (const threads of options.threads) {
      const wick = await chromium.openTab({ engine: 'wick', threads, context });
      const other = await chromium.openTab({ engine: 'wllama', threads, context });
      tabs.push({ wick: wick.about, wllama: other.about });
      const prompts = await wick.prompts(nPrompt);
      if (prompts.length < 2)
        throw new ToolError(`--prompt ${nPrompt}: expected two texts as long, found too few`);
      const promptOf = (/** @type {number} */ round) => prompts[round % (prompts.length - 1)];
      // A little of both kinds of work first, so that the browser's optimizing compiler has run.
      const warmUp = prompts[prompts.length - 1].slice(0, 256);
      for (const tab of [wick, other]) await tab.measure(warmUp, 16);
      contests.push({
        ...{ where: 'chromium', peer: 'wllama', threads, floor: floors.chromium },
        wick: async (round) =>
          checkTiming('wick', await wick.measure(promptOf(round), nDecode), nPrompt, nDecode),
        other: async (round) =>
          checkTiming('wllama', await other.measure(promptOf(round), nDecode), nPrompt, nDecode),
      });
    }
    const played = await play(contests, options.nRounds, say);
    return { played, about: { chromium: chromium.version, wllama: wllama.version, tabs } };
  } finally {
    await chromium.close();
  }
}

/** @param {string[]} rest */
const git = (...rest) => firstLine(['git', '-C', inRoot(), ...rest]);

await runMain(async () => {
  const options = readOptions();
  // First, so that want of a browser is not found after minutes of measuring.
  if (options.browser) await ensureSystemPackages(['browser']);
  const loadBefore = loadavg()[0];
  const model = options.model ? path.resolve(options.model) : await ensureModel('135M');
  if (!existsSync(model)) throw new ToolError(`${model}: expected a GGUF file, found none`);
  const cores = cpus();
  const head = {
    date: new Date().toISOString(),
    commit: git('rev-parse', 'HEAD'),
    changed: git('status', '--porcelain', '--untracked-files=no') !== '',
    machine: {
      cpu: cores[0]?.model ?? process.arch,
      cores: cores.length,
      memoryBytes: totalmem(),
      system: `${process.platform} ${release()}`,
      loadBefore,
    },
    node: process.version,
    model: path.basename(model),
    settings: {
      rounds: options.nRounds,
      ...{ threads: options.threads, prompt: options.nPrompt, tokens: options.nDecode },
    },
  };
  const nativePart = options.native ? await native(options, model) : null;
  const browserPart = options.browser ? await browser(options, model) : null;
  const played = [nativePart, browserPart].flatMap((part) => part?.played ?? []);
  const results = played.flatMap(rows);
  const report = {
    ...head,
    native: nativePart?.about ?? null,
    browser: browserPart?.about ?? null,
    ...{ results, rounds: played },
  };
  mkdirSync(path.dirname(options.out), { recursive: true });
  writeFileSync(options.out, `${JSON.stringify(report, null, 2)}\n`);
  const commit = `${head.commit.slice(0, 10)}${head.changed ? ' with changes' : ''}`;
  say(`\n${head.machine.cpu}, ${cores.length} cores, load ${loadBefore.toFixed(1)} before`);
  say(`commit ${commit}, ${head.model}, median (least-most) of ${options.nRounds} rounds`);
  say(`${options.nPrompt} tokens of prompt, ${options.nDecode} generated\n`);
  say(`${table(results)}\n\nevery figure: ${options.out}`);
  const missed = results.filter((row) => !row.met).length;
  if (options.check && missed > 0) throw new ToolError(`${missed} speed floors not met`);
});
