// `npm run bench:peers`: wick beside llama.cpp (native, its build without AMX) and beside wllama (in
// Chromium: at speed, and from a cold page to the first token), on the same file, in turn within one
// run; then how soon wick's work ends after an abort. Prints a table and writes every figure, with
// machine, commit, versions and flags, as JSON.
//
//   npm run bench:peers -- [--rounds 5] [--threads 1,2] [--prompt 512] [--tokens 128]
//     [--only native,chromium,cold,abort] [--model FILE.gguf] [--out .peers/report.json]
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
import { measureStops, sentence } from './abort.mjs';
import { checkPrefill, checkTiming, openBrowser } from './browser.mjs';
import { measureLlama, measureWick } from './native.mjs';
import { play, rows, speed, table, time } from './rounds.mjs';
import { ensureLlamaBench, ensureWllama, peersFolder } from './setup.mjs';

/** @typedef {import('./rounds.mjs').Contest} Contest */
/** @typedef {import('./rounds.mjs').Played} Played */
/** @typedef {import('./abort.mjs').Stops} Stops */

/** wick is to be this many times as fast. */
const floors = { native: 1, chromium: 3, cold: 5 };
const parts = ['native', 'chromium', 'cold', 'abort'];
const nColdPrompt = 482;

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
    ...{ only: text(parts.join(',')), 'no-build': flag, check: flag },
  };
  const { values } = commandLine({ options });
  const only = values.only.split(',');
  const unknown = only.find((part) => !parts.includes(part));
  if (unknown !== undefined)
    throw new ToolError(`--only: expected some of ${parts.join(', ')}, found ${unknown}`);
  return {
    nRounds: count('--rounds', values.rounds, 1000),
    threads: values.threads.split(',').map((n) => count('--threads', n, 64)),
    nPrompt: count('--prompt', values.prompt, 2048),
    nDecode: count('--tokens', values.tokens, 2048),
    model: values.model,
    out: path.resolve(values.out),
    only,
    build: !values['no-build'],
    check: values.check,
  };
}

/** @typedef {ReturnType<typeof readOptions>} Options */
/** @typedef {{ played: Played[], stops?: Stops[], about: object }} Part */
/** @typedef {Awaited<ReturnType<typeof openBrowser>>} Chromium */

/** @param {Options} options @param {string} model @returns {Promise<Part>} */
async function native(options, model) {
  if (options.build) await buildNative();
  const llama = await ensureLlamaBench();
  let level = '';
  const contests = options.threads.map((threads) => {
    const task = { model, threads, nPrompt: options.nPrompt, nDecode: options.nDecode };
    return /** @type {Contest} */ ({
      ...{ where: 'native', peer: 'llama.cpp', threads, measure: speed, floor: floors.native },
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

/**
 * English texts of so many tokens, at least two.
 * @param {import('./browser.mjs').Tab} tab
 * @param {number} length
 */
async function promptsFrom(tab, length) {
  const prompts = await tab.prompts(length);
  if (prompts.length >= 2) return prompts;
  throw new ToolError(`a prompt of ${length}: expected two texts as long, found too few`);
}

/** What a request of so many tokens needs: llama.cpp rounds up by itself. @param {number} n */
const contextFor = (n) => Math.ceil((n + 1) / 256) * 256;

/** @param {Options} options @param {Chromium} chromium @returns {Promise<Part>} */
async function atSpeed(options, chromium) {
  const { nPrompt, nDecode } = options;
  /** @type {Contest[]} */
  const contests = [];
  const tabs = [];
  const context = contextFor(nPrompt + nDecode);
  for (const threads of options.threads) {
    const wick = await chromium.openTab({ engine: 'wick', threads, context });
    const other = await chromium.openTab({ engine: 'wllama', threads, context });
    tabs.push({ wick, other });
    const prompts = await promptsFrom(wick, nPrompt);
    const promptOf = (/** @type {number} */ round) => prompts[round % (prompts.length - 1)];
    // A little of both kinds of work first, so that the browser's optimizing compiler has run.
    const warmUp = prompts[prompts.length - 1].slice(0, 256);
    for (const tab of [wick, other]) await tab.measure(warmUp, 16);
    contests.push({
      ...{ where: 'chromium', peer: 'wllama', threads, measure: speed, floor: floors.chromium },
      wick: async (round) =>
        checkTiming('wick', await wick.measure(promptOf(round), nDecode), nPrompt, nDecode),
      other: async (round) =>
        checkTiming('wllama', await other.measure(promptOf(round), nDecode), nPrompt, nDecode),
    });
  }
  const played = await play(contests, options.nRounds, say);
  const about = tabs.map(({ wick, other }) => ({ wick: wick.about, wllama: other.about }));
  for (const { wick, other } of tabs) await Promise.all([wick.close(), other.close()]);
  return { played, about };
}

/** @param {Options} options @param {Chromium} chromium @returns {Promise<Part>} */
async function fromCold(options, chromium) {
  const context = contextFor(nColdPrompt + 2);
  const tab = await chromium.openTab({ engine: 'wick', threads: 1, context });
  const prompts = await promptsFrom(tab, nColdPrompt);
  await tab.close();
  /** @param {'wick' | 'wllama'} engine @param {number} threads @param {number} round */
  const open = async (engine, threads, round) => {
    const prompt = prompts[round % prompts.length];
    const found = await chromium.openCold({ engine, threads, context }, prompt);
    checkPrefill(engine, found.nPrompt, nColdPrompt);
    return found;
  };
  const contests = options.threads.map((threads) => {
    return /** @type {Contest} */ ({
      ...{ where: 'cold page', peer: 'wllama', threads, measure: time, floor: floors.cold },
      wick: (round) => open('wick', threads, round),
      other: (round) => open('wllama', threads, round),
    });
  });
  return { played: await play(contests, options.nRounds, say), about: { nPrompt: nColdPrompt } };
}

/**
 * The parts that want a browser.
 * @param {Options} options
 * @param {string} model
 * @returns {Promise<Record<string, Part>>}
 */
async function inBrowser(options, model) {
  if (options.build) await buildAllWasm();
  const wllama = await ensureWllama();
  const chromium = await openBrowser(model, wllama.folder);
  const { version } = chromium;
  say(`Chromium ${version}: wick and wllama ${wllama.version}`);
  try {
    /** @type {Record<string, Part>} */
    const found = { browser: { played: [], about: { chromium: version, wllama: wllama.version } } };
    if (options.only.includes('chromium')) found.chromium = await atSpeed(options, chromium);
    if (options.only.includes('cold')) found.cold = await fromCold(options, chromium);
    if (options.only.includes('abort'))
      found.abort = { played: [], about: {}, stops: await measureStops(chromium, say) };
    return found;
  } finally {
    await chromium.close();
  }
}

/** @param {string[]} rest */
const git = (...rest) => firstLine(['git', '-C', inRoot(), ...rest]);

await runMain(async () => {
  const options = readOptions();
  // First, so that want of a browser is not found after minutes of measuring.
  const inPages = options.only.some((part) => part !== 'native');
  if (inPages) await ensureSystemPackages(['browser']);
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
  /** @type {Record<string, Part>} */
  const found = {
    ...(options.only.includes('native') ? { native: await native(options, model) } : {}),
    ...(inPages ? await inBrowser(options, model) : {}),
  };
  const played = Object.values(found).flatMap((part) => part.played);
  const results = played.flatMap(rows);
  const stops = Object.values(found).flatMap((part) => part.stops ?? []);
  const about = Object.entries(found).map(([name, part]) => [name, part.about]);
  const report = { ...head, ...Object.fromEntries(about), results, stops, rounds: played };
  mkdirSync(path.dirname(options.out), { recursive: true });
  writeFileSync(options.out, `${JSON.stringify(report, null, 2)}\n`);
  const commit = `${head.commit.slice(0, 10)}${head.changed ? ' with changes' : ''}`;
  say(`\n${head.machine.cpu}, ${cores.length} cores, load ${loadBefore.toFixed(1)} before`);
  say(`commit ${commit}, ${head.model}, median (least-most) of ${options.nRounds} rounds`);
  say(`${options.nPrompt} tokens of prompt, ${options.nDecode} generated; cold: ${nColdPrompt}\n`);
  if (results.length) say(`${table(results)}\n`);
  for (const each of stops) say(sentence(each));
  say(`every figure: ${options.out}`);
  const missed = [...results, ...stops].filter((row) => !row.met).length;
  if (options.check && missed > 0) throw new ToolError(`${missed} limits not met`);
});
