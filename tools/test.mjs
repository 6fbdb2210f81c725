// `npm test [-- WORD...]`: sets up, then runs every layer whose name contains a WORD, over all
// runners. Its last line is `N passed, N failed, N skipped`.
//
// As root on Debian what the tests need is installed. What a machine lacks nevertheless (clang, an
// emulator, a browser, the model) is skipped by name, unless CI=true, where it fails. A layer that
// takes longer than its limit is ended and has failed.
import { ensureDependencies } from './dependencies.mjs';
import { commandLine, runMain, say, ToolError, withLimit } from './lib/run.mjs';
import { Report } from './test/report.mjs';
import { setUp } from './test/set-up.mjs';

const layerSeconds = 600;

/** @typedef {(report: Report) => Promise<void>} Layer */

/** Cheapest first: a typing mistake should not wait for the sanitizers. */
async function layers() {
  // Only now: these modules need the JavaScript dependencies to be there.
  const text = await import('./test/text.mjs');
  const native = await import('./test/native.mjs');
  const { wasmKernels } = await import('./test/wasm.mjs');
  const { runNodeTests } = await import('./test/programs.mjs');
  const { browserPackage, findBrowser } = await import('./test/browser.mjs');
  const { example } = await import('./test/example.mjs');
  const { instructionCounts } = await import('./test/counts.mjs');
  /** @type {(folder: string) => Layer} */
  const nodeTests = (folder) => (report) => runNodeTests(report, folder);
  /** @type {Layer} */
  const browserTests = async (report) => {
    const name = 'the page and the library in a browser';
    if (!findBrowser()) report.lacking(name, 'chromium', browserPackage);
    else await runNodeTests(report, 'tests/web');
  };
  return /** @type {[string, Layer][]} */ ([
    ['format', text.format],
    ['lint', text.lint],
    ['types', text.types],
    ['tree and tools', nodeTests('tests/checks')],
    ['gcc: unit and kernels', native.gcc],
    ['instruction counts', instructionCounts],
    ['golden', nodeTests('tests/golden')],
    ['installed library and example', example],
    ['wasm kernels', wasmKernels],
    ['node package', nodeTests('tests/node')],
    ['web', browserTests],
    ['clang: unit and kernels', native.clang],
    ['fuzz corpora, address and undefined-behaviour sanitizers', native.addressSanitizer],
    ['thread sanitizer', native.threadSanitizer],
    ['aarch64 kernels and unit', native.aarch64],
  ]);
}

/** @param {number} start */
const seconds = (start) => `${((Date.now() - start) / 1000).toFixed(0)} s`;

/** @param {string} name @param {Layer} layer */
async function runLayer(name, layer) {
  say(`\n== ${name}`);
  const start = Date.now();
  const report = new Report(name);
  try {
    await withLimit(layerSeconds, () => layer(report));
  } catch (error) {
    report.fail('the layer itself', error instanceof Error ? error.stack : String(error));
  }
  say(`  ${report} (${seconds(start)})`);
  return report;
}

await runMain(async () => {
  const { positionals: words } = commandLine({ allowPositionals: true });
  const total = new Report('');
  await ensureDependencies();
  const all = await layers();
  const unknown = words.find((word) => !all.some(([name]) => name.includes(word)));
  if (unknown !== undefined) throw new ToolError(`no layer's name contains ${unknown}`);
  const chosen = all.filter(([name]) => words.length === 0 || words.some((w) => name.includes(w)));
  total.add(await setUp());
  for (const [name, layer] of chosen) total.add(await runLayer(name, layer));
  say('');
  for (const name of total.failures) say(`FAILED ${name}`);
  say(String(total));
  if (total.failed > 0 || total.passed === 0) process.exitCode = 1;
});
