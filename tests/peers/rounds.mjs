// Two engines in turn, A B A B ..., and what their figures say: a machine's noise changes by the
// minute and hits both alike, so each round gives one ratio and the rounds' median is the result.

/** @typedef {{ median: number, least: number, most: number }} Spread */
/** @typedef {Record<string, any>} Figures What one measurement gave; numbers under the metrics. */

/** What two engines compete in; of times the less is the better. */
export const speed = { unit: 'tokens/s', metrics: ['prefill', 'decode'] };
export const time = { unit: 'ms', metrics: ['firstToken'] };

/**
 * @typedef {object} Contest
 * @property {string} where 'native' or 'chromium'
 * @property {string} peer
 * @property {number} threads
 * @property {typeof speed} measure
 * @property {number} floor wick is to be this many times as fast
 * @property {(round: number) => Promise<Figures>} wick
 * @property {(round: number) => Promise<Figures>} other
 */

/**
 * @typedef {object} Row
 * @property {string} where
 * @property {string} peer
 * @property {number} threads
 * @property {string} metric
 * @property {string} unit
 * @property {Spread} wick
 * @property {Spread} other
 * @property {Spread} ratio of the pairs: how many times as fast wick was
 * @property {number} floor
 * @property {boolean} met
 */

/** @typedef {Omit<Contest, 'wick' | 'other'> & { pairs: Pair[] }} Played */
/** @typedef {{ wick: Figures, other: Figures }} Pair */

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
    for (const [i, { where, threads, peer, measure, wick, other }] of contests.entries()) {
      const pair = { wick: await wick(round), other: await other(round) };
      pairs[i].push(pair);
      const figures = measure.metrics.map(
        (metric) => `${metric} ${pair.wick[metric].toFixed(1)} : ${pair.other[metric].toFixed(1)}`,
      );
      const name = `${where}, ${threads} thread${threads > 1 ? 's' : ''}`;
      say(`  round ${round + 1}/${nRounds}, ${name}, wick : ${peer}: ${figures.join(', ')}`);
    }
  }
  return contests.map(({ where, peer, threads, measure, floor }, i) => ({
    ...{ where, peer, threads, measure, floor },
    pairs: pairs[i],
  }));
}

/** @param {Played} played @returns {Row[]} */
export function rows({ where, peer, threads, measure, floor, pairs }) {
  const { unit, metrics } = measure;
  return metrics.map((metric) => {
    const times = pairs.map(({ wick, other }) => wick[metric] / other[metric]);
    const ratio = spread(unit === 'ms' ? times.map((value) => 1 / value) : times);
    return {
      ...{ where, peer, threads, metric, unit },
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
  const head = ['where', 'threads', 'measured', 'wick', 'peer', 'ratio', 'floor'];
  const body = list.map((row) => [
    `${row.where}, ${row.peer}`,
    String(row.threads),
    `${row.metric}, ${row.unit}`,
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
