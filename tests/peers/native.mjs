// The native side: one measurement of each program is one run of it. Both time inside the
// process, after loading and a warm-up of their own: a prompt from an empty cache, then tokens from
// an empty cache.
import { run, ToolError } from '../../tools/lib/run.mjs';
import { inRoot } from '../../tools/lib/paths.mjs';

/** @typedef {import('./rounds.mjs').Figures} Figures */
/** @typedef {{ model: string, nPrompt: number, nDecode: number, threads: number }} Task */

/** @param {Task} task */
const sizes = ({ nPrompt, nDecode, threads }) => [
  ...['-p', String(nPrompt), '-n', String(nDecode)],
  ...['-t', String(threads), '-r', '1'],
];

/** @param {string[]} command */
async function json(command) {
  const text = await run(command);
  try {
    return JSON.parse(text);
  } catch {
    throw new ToolError(`${command.join(' ')}: expected JSON, found ${text.slice(0, 200)}`);
  }
}

/** @param {string} name @param {unknown} rate @returns {number} */
function positive(name, rate) {
  if (typeof rate === 'number' && rate > 0) return rate;
  throw new ToolError(`${name}: expected tokens a second, found ${rate}`);
}

/** @param {Task} task @returns {Promise<Figures>} */
export async function measureWick(task) {
  const found = await json([
    inRoot('build', 'wick'),
    'bench',
    task.model,
    ...sizes(task),
    '--json',
  ]);
  if (found.threads !== task.threads)
    throw new ToolError(`wick bench: expected ${task.threads} threads, found ${found.threads}`);
  return {
    prefill: positive('wick bench prefill', found.prefill?.tokens_per_second?.median),
    decode: positive('wick bench decode', found.decode?.tokens_per_second?.median),
    level: found.level,
  };
}

/** @param {string} program @param {Task} task @returns {Promise<Figures>} */
export async function measureLlama(program, task) {
  /** @type {{ n_prompt: number, n_gen: number, n_threads: number, avg_ts: number }[]} */
  const found = await json([program, '-m', task.model, ...sizes(task), '-o', 'json']);
  const prefill = found.find((test) => test.n_prompt === task.nPrompt && test.n_gen === 0);
  const decode = found.find((test) => test.n_prompt === 0 && test.n_gen === task.nDecode);
  return {
    prefill: positive('llama-bench prefill', prefill?.avg_ts),
    decode: positive('llama-bench decode', decode?.avg_ts),
  };
}
