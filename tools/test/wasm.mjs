// The kernels' own tests, compiled to WebAssembly as stand-alone programs and run by node.
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { inRoot } from '../lib/paths.mjs';
import { attempt, run, ToolError } from '../lib/run.mjs';
import { ensureToolchain } from '../toolchain.mjs';
import { readTap, testPrograms } from './programs.mjs';

/** @typedef {import('./report.mjs').Report} Report */

/** Node 20 needs a flag for relaxed SIMD, and its baseline compiler gets the dot product wrong. */
const relaxedFlags =
  Number(process.versions.node.split('.')[0]) < 22
    ? ['--experimental-wasm-relaxed-simd', '--no-liftoff']
    : [];

const builds = [
  { name: 'simd128', files: /^(?!relaxed).*\.c$/, flags: [], node: [] },
  {
    name: 'relaxed',
    files: /\.c$/,
    flags: ['-mrelaxed-simd', '-DWICK_WASM_RELAXED=1'],
    node: relaxedFlags,
  },
];

/** @param {string} folder @param {RegExp} pattern */
const list = (folder, pattern) =>
  existsSync(folder)
    ? readdirSync(folder)
        .filter((name) => pattern.test(name))
        .map((name) => path.join(folder, name))
    : [];

/** @param {Report} report */
export async function wasmKernels(report) {
  const toolchain = await ensureToolchain();
  const common = ['core', 'tensor', 'kernels'].flatMap((name) => list(inRoot('src', name), /\.c$/));
  for (const build of builds) {
    const folder = inRoot('build-wasm-tests', build.name);
    mkdirSync(folder, { recursive: true });
    const sources = [...common, ...list(inRoot('src', 'kernels', 'wasm'), build.files)];
    const flags = ['-O2', '-std=c17', '-ffp-contract=off', '-msimd128', ...build.flags];
    const include = [`-I${inRoot('src')}`, `-I${inRoot('tests')}`];
    const objects = [];
    try {
      for (const source of sources) {
        const object = path.join(folder, `${path.basename(source)}.o`);
        await run([...toolchain.clang, '-c', ...flags, ...include, source, '-o', object]);
        objects.push(object);
      }
    } catch (error) {
      if (!(error instanceof ToolError)) throw error;
      report.fail(`${build.name}: the kernels compile`, error.message);
      continue;
    }
    for (const name of testPrograms(['kernels'])) {
      const program = path.join(folder, `${name}.wasm`);
      const source = inRoot('tests', 'kernels', `${name}.c`);
      const linkFlags = ['-sSTANDALONE_WASM', '-sALLOW_MEMORY_GROWTH', '-sSTACK_SIZE=1048576'];
      const command = [...toolchain.emcc, ...flags, ...include, source, ...objects, ...linkFlags];
      const linked = await attempt([...command, '-o', program], { env: toolchain.env });
      if (linked.status !== 0) {
        report.fail(`${build.name}: ${name} compiles`, linked.output);
        continue;
      }
      const host = inRoot('tools', 'test', 'wasi.mjs');
      const node = [process.execPath, '--no-warnings', ...build.node, host, program];
      readTap(report, `${build.name} ${name}`, await attempt(node, { timeoutSeconds: 600 }));
    }
  }
}
