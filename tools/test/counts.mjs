// Instructions that fixed work takes, counted by callgrind and held against committed counts: a guard
// against regressions that no noise of a machine can hide or feign.
//
//   node tools/test/counts.mjs [--record]     the counts; --record commits to them
//
// They depend on the compiler: what is committed holds for one major version of gcc on x86-64.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inRoot } from '../lib/paths.mjs';
import {
  commandLine,
  firstLine,
  isMain,
  onPath,
  run,
  runMain,
  say,
  ToolError,
} from '../lib/run.mjs';
import { cmakeBuild } from '../build-native.mjs';

/** @typedef {import('./report.mjs').Report} Report */
/** @typedef {{ gcc: string, counts: Record<string, number> }} Recorded */

const recordedPath = inRoot('tests', 'callgrind', 'counts.json');
/** More or fewer by this share is told: a gain is to be recorded too. */
const tolerance = 0.02;

const gccVersion = () => firstLine(['gcc', '-dumpversion']);

/** What is lacking here, or ''. */
function lacking() {
  if (process.arch !== 'x64' || process.platform !== 'linux') return 'x86-64 Linux';
  return ['gcc', 'valgrind', 'callgrind_annotate'].find((name) => !onPath(name)) ?? '';
}

/** Instructions of each work, everything that it calls included. @returns {Promise<Recorded>} */
async function count() {
  const build = inRoot('build-gcc');
  await cmakeBuild(build, ['-DWICK_WERROR=ON', '-DCMAKE_C_COMPILER=gcc']);
  const folder = mkdtempSync(path.join(tmpdir(), 'wick-counts-'));
  try {
    const out = path.join(folder, 'out');
    const model = inRoot('web', 'models', 'tiny.gguf');
    const options = ['--tool=callgrind', '--toggle-collect=work_*', `--callgrind-out-file=${out}`];
    await run(['valgrind', ...options, path.join(build, 'fixed_work'), model]);
    const text = await run(['callgrind_annotate', '--inclusive=yes', '--threshold=100', out]);
    const found = text.matchAll(/^ *([\d,]+) .*:work_(\w+) /gm);
    const counts = [...found].map(([, n, name]) => [name, Number(n.replaceAll(',', ''))]);
    return { gcc: gccVersion(), counts: Object.fromEntries(counts) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const recorded = () => /** @type {Recorded} */ (JSON.parse(readFileSync(recordedPath, 'utf8')));

/** @param {Report} report */
export async function instructionCounts(report) {
  const name = 'instruction counts';
  const what = lacking();
  if (what) return report.lacking(name, what, 'gcc and valgrind on x86-64 (Debian: valgrind)');
  const before = recorded();
  if (parseInt(gccVersion()) !== parseInt(before.gcc))
    return report.skip(name, `they hold for gcc ${before.gcc}, this is gcc ${gccVersion()}`);
  const now = await count();
  for (const work of new Set([...Object.keys(before.counts), ...Object.keys(now.counts)])) {
    const [expected, found] = [before.counts[work], now.counts[work]];
    if (Math.abs(found / expected - 1) <= tolerance) report.pass();
    else
      report.fail(
        `${name}: ${work}`,
        `expected ${expected} instructions within 2 %, found ${found}; where that is wanted: ` +
          'node tools/test/counts.mjs --record',
      );
  }
}

if (isMain(import.meta.url)) {
  await runMain(async () => {
    const { record } = commandLine({ options: { record: { type: 'boolean' } } }).values;
    const what = lacking();
    if (what) throw new ToolError(`instruction counts: expected ${what}, found none`);
    const now = await count();
    const text = `${JSON.stringify(now, null, 2)}\n`;
    if (record) writeFileSync(recordedPath, text);
    say(text.trimEnd());
  });
}
