// Native layers: builds with warnings as errors by gcc and clang, sanitizers (fuzz corpora too),
// NEON by emulation.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inRoot, toolchainFolder } from '../lib/paths.mjs';
import { attempt, onPath, run, ToolError } from '../lib/run.mjs';
import { cmakeBuild } from '../build-native.mjs';
import { cjsonFolder } from '../toolchain.mjs';
import { readTap, runPrograms, testPrograms } from './programs.mjs';

/** @typedef {import('./report.mjs').Report} Report */

/** @param {string[]} names @returns {string | null} the first that is on PATH */
const find = (...names) => names.find(onPath) ?? null;

export const findClang = () => find('clang-19', 'clang');
const clangPackage = 'clang 19 (Debian: clang-19)';

/**
 * A clang that can link programs with these sanitizers, whose runtime is a package of its own; null,
 * and reported, when there is none.
 * @param {Report} report
 * @param {string} name
 * @param {string} sanitizers
 */
export async function findSanitizer(report, name, sanitizers) {
  const compiler = findClang();
  if (!compiler) return (report.lacking(name, 'clang', clangPackage), null);
  const folder = mkdtempSync(path.join(tmpdir(), 'wick-sanitizer-'));
  try {
    const flags = [`-fsanitize=${sanitizers}`, '-x', 'c', '-', '-o', path.join(folder, 'a')];
    const built = await attempt([compiler, ...flags], { input: 'int main(void) { return 0; }\n' });
    if (built.status === 0) return compiler;
    const runtime = "clang's sanitizer runtime";
    return (report.lacking(name, runtime, 'compiler-rt 19 (Debian: libclang-rt-19-dev)'), null);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/**
 * Builds a folder; a failed build is a failed test.
 * @param {Report} report
 * @param {string} name
 * @param {string[]} options
 * @returns {Promise<string | null>} the folder
 */
async function build(report, name, options) {
  const folder = inRoot(`build-${name}`);
  try {
    await cmakeBuild(folder, ['-DWICK_WERROR=ON', ...options]);
    report.pass();
    return folder;
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    report.fail(`${name} builds without warnings`, error.message);
    return null;
  }
}

/** @param {string} compiler */
const compilerOption = (compiler) => `-DCMAKE_C_COMPILER=${compiler}`;

/** @param {Report} report */
export async function gcc(report) {
  const compiler = find('gcc');
  if (!compiler) return report.lacking('gcc', 'gcc', 'gcc');
  const folder = await build(report, 'gcc', [compilerOption(compiler)]);
  if (folder) await runPrograms(report, folder, { names: testPrograms(['unit', 'kernels']) });
}

/** @param {Report} report */
export async function clang(report) {
  const compiler = findClang();
  if (!compiler) return report.lacking('clang', 'clang', clangPackage);
  const folder = await build(report, 'clang', [compilerOption(compiler)]);
  if (folder) await runPrograms(report, folder, { names: testPrograms(['unit', 'kernels']) });
}

/** @param {Report} report */
export async function addressSanitizer(report) {
  const name = 'address and undefined-behaviour sanitizers';
  const compiler = await findSanitizer(report, name, 'address,undefined');
  if (!compiler) return;
  const options = [compilerOption(compiler), '-DWICK_SANITIZE=address,undefined'];
  const folder = await build(report, 'asan', options);
  if (!folder) return;
  const env = { ASAN_OPTIONS: 'detect_leaks=1:allocator_may_return_null=1' };
  await runPrograms(report, folder, { names: testPrograms(['unit', 'kernels']), env });
  // The fuzz targets, over what fuzzing has found so far.
  for (const name of testPrograms(['fuzz'], /^fuzz_.*\.c$/)) {
    const corpus = path.join('tests', 'fuzz', 'corpus', name.replace(/^fuzz_/, ''));
    const command = [path.join(folder, name), corpus];
    readTap(report, name, await attempt(command, { env, timeoutSeconds: 600 }));
  }
}

/** The programs in which several threads run. */
function threadedPrograms() {
  return testPrograms(['unit', 'kernels']).filter((name) =>
    ['unit', 'kernels'].some((folder) => {
      const file = inRoot('tests', folder, `${name}.c`);
      return existsSync(file) && /wick_pool_|wick_engine_|pthread/.test(readFileSync(file, 'utf8'));
    }),
  );
}

/** @param {Report} report */
export async function threadSanitizer(report) {
  const compiler = await findSanitizer(report, 'thread sanitizer', 'thread');
  if (!compiler) return;
  const options = [compilerOption(compiler), '-DWICK_SANITIZE=thread'];
  const folder = await build(report, 'tsan', options);
  if (folder) await runPrograms(report, folder, { names: threadedPrograms() });
}

/** cJSON for the emulated machine, whose distribution packages are not installed here. */
async function crossCjson(/** @type {string} */ compiler) {
  const folder = path.join(toolchainFolder, 'cjson-aarch64');
  const library = path.join(folder, 'libcjson.a');
  if (existsSync(library)) return library;
  mkdirSync(folder, { recursive: true });
  const object = path.join(folder, 'cJSON.o');
  await run([compiler, '-O2', '-c', path.join(cjsonFolder, 'cJSON.c'), '-o', object]);
  await run(['aarch64-linux-gnu-ar', 'rcs', library, object]);
  return library;
}

/** @param {Report} report */
export async function aarch64(report) {
  const compiler = find('aarch64-linux-gnu-gcc');
  const emulator = find('qemu-aarch64', 'qemu-aarch64-static');
  if (!compiler || !emulator || !existsSync(cjsonFolder)) {
    const packages = 'both (Debian: gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user)';
    return report.lacking('NEON by emulation', 'aarch64-linux-gnu-gcc or qemu-aarch64', packages);
  }
  const folder = await build(report, 'aarch64', [
    `-DCMAKE_TOOLCHAIN_FILE=${inRoot('tools', 'aarch64-linux-gnu.cmake')}`,
    `-DCJSON_INCLUDE=${cjsonFolder}`,
    `-DCJSON_LIBRARY=${await crossCjson(compiler)}`,
  ]);
  if (!folder) return;
  // Every feature that the emulator has, so that the optional levels run too.
  const prefix = [emulator, '-cpu', 'max'];
  await runPrograms(report, folder, { names: testPrograms(['unit', 'kernels']), prefix });
}
