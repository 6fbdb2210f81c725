// Two engines in turn, A B A B ..., and what their figures say: a machine's noise changes by the
// minute and hits both alike, so each round gives one ratio and the rounds' median is the result.

/** @typedef {{ prefill: number, decode: number }} Rates tokens a second */
/** @typedef {{ median: number, least: number, most: number }} Spread */
/** @typedef {'prefill' | 'decode'} Metric */

/** @type {Metric[]} */
export const metrics = ['prefill', 'decode'];

/**
 * @typedef {object} Contest
 * @property {string} where 'native' or 'chromium'
 * @property {string} peer
 * @property {number} threads
 * @property {number} floor wick is to be this many times as fast
 * @property {(round: number) => Promise<Rates>} wick
 * @property {(round: number) => Promise<Rates>} other
 */

/**
 * @typedef {object} Row
 * @property {string} where
 * @property {string} peer
 * @property {number} threads
 * @property {Metric} metric
 * @property {Spread} wick tokens a second
 * @property {Spread} other tokens a second
 * @property {Spread} ratio of the pairs
 * @property {number} floor
 * @property {boolean} met
 */

/** @typedef {Pick<Contest, 'where' | 'peer' | 'threads' | 'floor'> & { pairs: Pair[] }} Played */
/** @typedef {{ wick: Rates, other: Rates }} Pair */

/** @param {number[]} values at least one @returns {Spread} */
export function spread(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  const median = sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  return { median, least: sorted[0], most: sorted[sorted.length - 1] };
}

/**
 * Every contest once a round, its two engines one after the other.
 * @param {Contest[]} contests
 * @param {number} nRounds
 * @param {(text: string) => void} say
 * @returns {Promise<Played[]>}
 */
export async function play(contests, nRounds, say) {
  /** @type {Pair[][]} */
  const pairs = contests.map(() => []);
  for (let round = 0; round < nRounds; round++) {
    for (const [i, { where, threads, peer, wick, other }] of contests.entries()) {
      const pair = { wick: await wick(round), other: await other(round) };
      pairs[i].push(pair);
      const figures = metrics.map(
        (metric) => `${metric} ${pair.wick[metric].toFixed(1)} : ${pair.other[metric].toFixed(1)}`,
      );
      const name = `${where}, ${threads} thread${threads > 1 ? 's' : ''}`;
      say(`  round ${round + 1}/${nRounds}, ${name}, wick : ${peer}: ${figures.join(', ')}`);
    }
  }
  return contests.map(({ where, peer, threads, floor }, i) => ({
    ...{ where, peer, threads, floor },
    pairs: pairs[i],
  }));
}

/** @param {Played} played @returns {Row[]} */
export function rows({ where, peer, threads, floor, pairs }) {
  return metrics.map((metric) => {
    const ratio = spread(pairs.map(({ wick, other }) => wick[metric] / other[metric]));
    return {
      ...{ where, peer, threads, metric },
      wick: spread(pairs.map((pair) => pair.wick[metric])),
      other: spread(pairs.map((pair) => pair.other[metric])),
      ...{ ratio, floor, met: ratio.median >= floor },
    };
  });
}

/** @param {Spread} s @param {number} digits */
const words = (s, digits) =>
  `${s.median.toFixed(digits)} (${s.least.toFixed(digits)}-${s.most.toFixed(digits)})`;

/** A Markdown table. @param {Row[]} list */
export function table(list) {
  const head = ['where', 'threads', 'tokens/s', 'wick', 'peer', 'ratio', 'floor'];
  const body = list.map((row) => [
    `${row.where}, ${row.peer}`,
    String(row.threads),
    row.metric,
    words(row.wick, 1),
    words(row.other, 1),
    words(row.ratio, 2),
    `${row.floor.toFixed(1)} ${row.met ? 'met' : 'NOT MET'}`,
  ]);
  const all = [head, ...body];
  const widths = head.map((_, i) => Math.max(...all.map((cells) => cells[i].length)));
  const line = (/** @type {string[]} */ cells) =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i])).join(' | ')} |`;
  const rule = `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`;
  return [line(head), rule, ...body.map(line)].join('\n');
}
