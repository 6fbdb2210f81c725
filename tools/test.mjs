// `npm test [-- FILTER]`: sets up, then runs every layer whose name contains FILTER, over all
// runners. Its last line is `N passed, N failed, N skipped`.
//
// What a machine lacks (clang, an emulator, a browser, the model) is skipped by name, unless
// CI=true, where it fails.
import { ensureDependencies } from './dependencies.mjs';
import { buildNative } from './build-native.mjs';
import { buildAllWasm } from './build-wasm.mjs';
import { ensureModel } from './model.mjs';
import { runMain, say, ToolError } from './lib/run.mjs';
import { Report, strict } from './test/report.mjs';

/** Set-up whose failure leaves tests to skip or fail by themselves. @type {[string, () => Promise<unknown>][]} */
const preparations = [
  ['native build', buildNative],
  ['wasm build', buildAllWasm],
  ['model', () => ensureModel('135M')],
];

/** @typedef {(report: Report) => Promise<void>} Layer */

/** Cheapest first: a typing mistake should not wait for the sanitizers. */
async function layers() {
  // Only now: these modules need the JavaScript dependencies to be there.
  const text = await import('./test/text.mjs');
  const native = await import('./test/native.mjs');
  const { wasmKernels } = await import('./test/wasm.mjs');
  const { runNodeTests } = await import('./test/programs.mjs');
  const { example } = await import('./test/example.mjs');
  /** @type {(folder: string) => Layer} */
  const nodeTests = (folder) => (report) => runNodeTests(report, folder);
  return /** @type {[string, Layer][]} */ ([
    ['format', text.format],
    ['lint', text.lint],
    ['types', text.types],
    ['tree and tools', nodeTests('tests/checks')],
    ['gcc: unit and kernels', native.gcc],
    ['golden', nodeTests('tests/golden')],
    ['installed library and example', example],
    ['wasm kernels', wasmKernels],
    ['node package', nodeTests('tests/node')],
    ['web', nodeTests('tests/web')],
    ['clang: unit and kernels', native.clang],
    ['fuzz corpora, address and undefined-behaviour sanitizers', native.addressSanitizer],
    ['thread sanitizer', native.threadSanitizer],
    ['aarch64 kernels and unit', native.aarch64],
  ]);
}

/** @param {number} start */
const seconds = (start) => `${((Date.now() - start) / 1000).toFixed(0)} s`;

await runMain(async () => {
  const filter = process.argv.slice(2).find((argument) => !argument.startsWith('-')) ?? '';
  const total = new Report('');
  await ensureDependencies();
  const setUp = new Report('set-up');
  for (const [name, prepare] of preparations) {
    try {
      await prepare();
    } catch (error) {
      if (!(error instanceof ToolError)) throw error;
      // Without the model its tests skip by name; a build that fails is a failure.
      if (name === 'model' && !strict) say(`  ${error.message}`);
      else setUp.fail(name, error.message);
    }
  }
  total.add(setUp);
  const chosen = (await layers()).filter(([name]) => name.includes(filter));
  if (chosen.length === 0) throw new ToolError(`no layer's name contains ${filter}`);
  for (const [name, layer] of chosen) {
    say(`\n== ${name}`);
    const start = Date.now();
    const report = new Report(name);
    try {
      await layer(report);
    } catch (error) {
      report.fail('the layer itself', error instanceof Error ? error.stack : String(error));
    }
    say(`  ${report} (${seconds(start)})`);
    total.add(report);
  }
  say('');
  for (const name of total.failures) say(`FAILED ${name}`);
  say(String(total));
  if (total.failed > 0 || total.passed === 0) process.exitCode = 1;
});
