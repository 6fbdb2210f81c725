// How soon all work has ended after an abort in the middle of a long prompt, as a page sees it: with
// threads, where the page's own instance of the module tells the engine, and without shared memory,
// where the worker must look up from its work.
import { spread } from './rounds.mjs';

/** @typedef {import('./page/engines.js').Stop} Stop */

/** An abort takes at most so long. */
const MILLISECONDS = 100;
const N_STOPS = 24;
const N_PROMPT = 400;

/**
 * @typedef {object} Stops
 * @property {Record<string, string | number>} about
 * @property {import('./rounds.mjs').Spread} milliseconds
 * @property {boolean} met
 * @property {Stop[]} stops
 */

/** Other tokens each time, so that no prefix is found. @param {number} seed */
const prompt = (seed) =>
  Array.from({ length: N_PROMPT }, (_, i) => 1000 + (((i + 1) * 7919 + seed * 104_729) % 40_000));

/**
 * @param {{ openTab: (settings: { engine: 'wick', threads: number, context: number }) =>
 *   Promise<import('./browser.mjs').Tab> }} chromium
 * @param {(text: string) => void} say
 * @returns {Promise<Stops[]>}
 */
export async function measureStops(chromium, say) {
  const results = [];
  for (const threads of [1, 2]) {
    const tab = await chromium.openTab({ engine: 'wick', threads, context: 512 });
    /** @type {Stop[]} */
    const stops = [];
    // The browser's optimizing compiler has run then, and a step has its length.
    await tab.abort(prompt(0), 3000);
    for (let seed = 1, most = 3000; stops.length < N_STOPS; seed++) {
      const stop = await tab.abort(prompt(seed), most * Math.random());
      if (stop.prefilling) stops.push(stop);
      else most = stop.at; // a faster machine than that: its prompt had ended
    }
    await tab.close();
    const milliseconds = spread(stops.map((stop) => stop.milliseconds));
    const result = {
      about: tab.about,
      milliseconds,
      met: milliseconds.most <= MILLISECONDS,
      stops,
    };
    say(`  ${sentence(result)}`);
    results.push(result);
  }
  return results;
}

/** @param {Stops} result */
export function sentence({ about, milliseconds: { median, most }, met, stops }) {
  const found = `median ${median.toFixed(0)} ms, worst ${most.toFixed(0)} ms of ${stops.length}`;
  return `abort, ${about.build}: ${found}; at most ${MILLISECONDS} ms ${met ? 'met' : 'NOT MET'}`;
}
