// The C programs of tests/kernels/ as stand-alone WebAssembly, and the places that can run them.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { inRoot, toolchainFolder } from '../lib/paths.mjs';
import { attempt, run } from '../lib/run.mjs';
import { ensureToolchain } from '../toolchain.mjs';
import { findBrowser } from './browser.mjs';
import { runInPage } from './page.mjs';

/** @typedef {import('../lib/run.mjs').RunResult} RunResult */
/** @typedef {{ name: string, files: RegExp, flags: string[] }} KernelBuild */
/**
 * @typedef {object} Host
 * @property {string} name
 * @property {string[]} builds names of the builds that it can run
 * @property {(program: string, args?: string[]) => Promise<RunResult>} run
 */

/** @type {KernelBuild[]} */
export const kernelBuilds = [
  { name: 'simd128', files: /^(?!relaxed).*\.c$/, flags: [] },
  { name: 'relaxed', files: /\.c$/, flags: ['-mrelaxed-simd', '-DWICK_WASM_RELAXED=1'] },
];

const relaxedFlag = '--experimental-wasm-relaxed-simd';
const include = [`-I${inRoot('src')}`, `-I${inRoot('tests')}`];

/** @param {KernelBuild} build */
const compileFlags = (build) => [
  '-O3',
  '-std=c17',
  '-ffp-contract=off',
  '-fno-math-errno',
  '-msimd128',
  '-mbulk-memory',
  '-mnontrapping-fptoint',
  ...build.flags,
];

/** @param {KernelBuild} build */
const objectFolder = (build) => inRoot('build-wasm-tests', build.name);

/** @param {string} folder @param {RegExp} pattern */
const list = (folder, pattern) =>
  existsSync(folder)
    ? readdirSync(folder)
        .filter((name) => pattern.test(name))
        .map((name) => path.join(folder, name))
    : [];

/**
 * Compiles the kernels and what they stand on.
 * @param {KernelBuild} build
 * @returns {Promise<string[]>} the objects
 */
export async function compileKernels(build) {
  const { clang } = await ensureToolchain();
  mkdirSync(objectFolder(build), { recursive: true });
  const common = ['core', 'tensor', 'kernels'].flatMap((name) => list(inRoot('src', name), /\.c$/));
  const objects = [];
  for (const source of [...common, ...list(inRoot('src', 'kernels', 'wasm'), build.files)]) {
    const object = path.join(objectFolder(build), `${path.basename(source)}.o`);
    await run([...clang, '-c', ...compileFlags(build), ...include, source, '-o', object]);
    objects.push(object);
  }
  return objects;
}

/**
 * Links tests/kernels/NAME.c with them. The program's path is the result's `program`.
 * @param {KernelBuild} build
 * @param {string} name
 * @param {string[]} objects
 */
export async function linkProgram(build, name, objects) {
  const { emcc, env } = await ensureToolchain();
  const program = path.join(objectFolder(build), `${name}.wasm`);
  const source = inRoot('tests', 'kernels', `${name}.c`);
  const linkFlags = ['-sSTANDALONE_WASM', '-sALLOW_MEMORY_GROWTH', '-sSTACK_SIZE=1048576'];
  const command = [...emcc, ...compileFlags(build), ...include, source, ...objects, ...linkFlags];
  return { program, ...(await attempt([...command, '-o', program], { env })) };
}

/** @param {string} node @param {string[]} flags @returns {Host['run']} */
function runInNode(node, flags) {
  const command = [node, '--no-warnings', ...flags, inRoot('tools', 'test', 'wasi.mjs')];
  return (program, args = []) => attempt([...command, program, ...args], { timeoutSeconds: 900 });
}

/** @param {string} node @returns {Host[]} */
function nodeHosts(node) {
  const version = spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout.trim().slice(1);
  const name = `Node ${version}`;
  if (Number(version.split('.')[0]) >= 22)
    return [{ name, builds: ['simd128', 'relaxed'], run: runInNode(node, []) }];
  // Node 20 wants a flag for relaxed SIMD, and its baseline compiler gets the dot product wrong.
  return [
    { name, builds: ['simd128'], run: runInNode(node, []) },
    {
      name: `${name} without its baseline compiler`,
      builds: ['relaxed'],
      run: runInNode(node, [relaxedFlag, '--no-liftoff']),
    },
  ];
}

/**
 * This node where it is known to compute the relaxed dot product wrongly, or null.
 * @returns {Host | null}
 */
export function findMiscompiler() {
  if (Number(process.versions.node.split('.')[0]) !== 20) return null;
  const run = runInNode(process.execPath, [relaxedFlag, '--liftoff-only']);
  return { name: "Node 20's baseline compiler", builds: ['relaxed'], run };
}

/** This node, another one from the toolchain's folder or $WICK_OTHER_NODE, and Chromium. */
export function findHosts() {
  const others = [
    process.env.WICK_OTHER_NODE ?? '',
    path.join(toolchainFolder, 'node', 'node_modules', 'node', 'bin', 'node'),
  ];
  const other = others.find((node) => node && existsSync(node) && node !== process.execPath);
  const hosts = [...nodeHosts(process.execPath), ...(other ? nodeHosts(other) : [])];
  const hasBrowser = findBrowser() !== '';
  if (hasBrowser) {
    hosts.push({
      name: 'Chromium',
      builds: ['simd128', 'relaxed'],
      run: (program, args = []) => runInPage(program, args),
    });
  }
  return { hosts, hasBrowser };
}
