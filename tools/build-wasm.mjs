// Builds the engine's four WebAssembly files, dist/wasm/wick-{st,st-relaxed,mt,mt-relaxed}.wasm:
// one thread or many, without relaxed SIMD or with it. All need SIMD128 and bulk memory.
//
//   node tools/build-wasm.mjs            builds what changed, prints each file's size
//
// For who writes the JavaScript side:
// - Plain modules: no Emscripten JavaScript, no pthreads, no WASI. One import besides those named
//   in web/lib/imports.txt: `env.memory`, of at least 32 pages. In the mt builds it must be shared,
//   with any maximum from 32 to 65536 pages; in the st builds it must not be shared.
//   Memory grows from inside (malloc calls memory.grow): take memory.buffer anew after any call.
// - Exports: malloc, free, __heap_base and __stack_pointer (a mutable global), _initialize, and the
//   C functions named in web/lib/exports.txt, one a line (`#` starts a comment); a name there that
//   no source defines stops the build. A C function can also export itself by
//   __attribute__((export_name("..."))).
// - Start: the owner instantiates the module and calls _initialize() once.
// - Threads (mt): each worker instantiates the same compiled module on the same memory. Static data
//   is written once, by whichever instance comes first; it does not call _initialize. It sets
//   __stack_pointer to the upper end of a block, 16-byte aligned, that the owner got from malloc,
//   then calls wick_pool_worker(pool, thread), which returns when the pool is freed. Only the owner
//   may call malloc and free: this C library has no locks. The owner's own stack is 256 KiB, at the
//   bottom of memory, so an overflow traps instead of overwriting data.
//   The pool waits in word_sleep, which is never inlined: Node 20's baseline compiler loses the
//   caller's local values across memory.atomic.wait32 (shown by tests/checks/wasm-threads.test.mjs).
// - abort and a failed assert trap (a WebAssembly.RuntimeError): there is nowhere to print to.
//
// Sources: src/*/*.c, src/kernels/wasm/*.c (relaxed*.c in the relaxed builds only), web/lib/*.c and
// cJSON. WICK_WASM_THREADS=1 is defined in the mt builds, WICK_WASM_RELAXED=1
// in the relaxed ones. An object is built again when its source, a header it includes, its flags or
// the compiler changed.
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import path from 'node:path';
import { inRoot, root } from './lib/paths.mjs';
import { isMain, run, runMain, say, ToolError } from './lib/run.mjs';
import { cjsonFolder, ensureToolchain } from './toolchain.mjs';

/** @typedef {import('./toolchain.mjs').Toolchain} Toolchain */
/** @typedef {{ name: string, threads: boolean, relaxed: boolean }} Build */

/** @type {Build[]} */
export const builds = [
  { name: 'wick-st', threads: false, relaxed: false },
  { name: 'wick-st-relaxed', threads: false, relaxed: true },
  { name: 'wick-mt', threads: true, relaxed: false },
  { name: 'wick-mt-relaxed', threads: true, relaxed: true },
];
export const wasmFolder = inRoot('dist', 'wasm');
const objectFolder = inRoot('build-wasm');
const stackBytes = 256 * 1024;
const initialBytes = 32 * 65536;
const largestBytes = 65536 * 65536;
const fixedExports = ['malloc', 'free', '__heap_base', '__stack_pointer', '_initialize'];

/** @param {string} folder @param {RegExp} pattern @returns {string[]} */
function list(folder, pattern) {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).filter((name) => pattern.test(name));
  return names.sort().map((name) => path.join(folder, name));
}

/** @param {Build} build @returns {string[]} */
function sources(build) {
  const folders = readdirSync(inRoot('src'), { withFileTypes: true }).filter((e) =>
    e.isDirectory(),
  );
  return [
    ...folders.flatMap((folder) => list(inRoot('src', folder.name), /\.c$/)),
    ...list(inRoot('src', 'kernels', 'wasm'), build.relaxed ? /\.c$/ : /^(?!relaxed).*\.c$/),
    ...list(inRoot('web', 'lib'), /\.c$/),
    path.join(cjsonFolder, 'cJSON.c'),
  ];
}

/** @param {Build} build @returns {string[]} */
function compileFlags(build) {
  return [
    '-c',
    '-O3',
    '-std=c17',
    '-ffp-contract=off',
    '-fno-math-errno',
    '-fvisibility=hidden',
    '-ffunction-sections',
    '-fdata-sections',
    '-msimd128',
    '-mbulk-memory',
    '-mnontrapping-fptoint',
    '-msign-ext',
    ...(build.relaxed ? ['-mrelaxed-simd', '-DWICK_WASM_RELAXED=1'] : []),
    ...(build.threads ? ['-matomics', '-DWICK_WASM_THREADS=1'] : []),
    `-I${inRoot('src')}`,
    `-I${cjsonFolder}`,
    '-Wall',
    '-Wextra',
    '-Wshadow',
    '-Wvla',
  ];
}

/** The files that an object was made from. @param {string} object */
function dependencies(object) {
  if (!existsSync(`${object}.d`)) return null;
  const rule = readFileSync(`${object}.d`, 'utf8').replaceAll('\\\n', ' ');
  return rule
    .slice(rule.indexOf(':') + 1)
    .trim()
    .split(/(?<!\\)\s+/);
}

/** @param {string} target @param {string[]} from whether target exists and is newer than these */
function isFresh(target, from) {
  if (!existsSync(target)) return false;
  const time = statSync(target).mtimeMs;
  return from.every((name) => existsSync(name) && statSync(name).mtimeMs <= time);
}

/**
 * Compiles one file unless its object is fresh.
 * @param {string[]} command compiler and flags
 * @param {string} source
 * @param {string} folder of objects that were all built by this very command
 * @returns {{ object: string, compile: (() => Promise<void>) | null }}
 */
function prepare(command, source, folder) {
  const name = path.relative(root, source).replaceAll(path.sep, '_').replace(/^\.+/, '');
  const object = path.join(folder, `${name}.o`);
  const from = dependencies(object);
  if (from && isFresh(object, from)) return { object, compile: null };
  const compile = async () => {
    const part = `${object}.part`;
    await run([...command, '-MD', '-MF', `${object}.d`, source, '-o', part]);
    renameSync(part, object);
  };
  return { object, compile };
}

/** @param {(() => Promise<void>)[]} jobs @param {(done: number) => void} [progress] */
async function inParallel(jobs, progress) {
  let next = 0;
  let done = 0;
  const worker = async () => {
    while (next < jobs.length) {
      await jobs[next++]();
      progress?.(++done);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, worker));
}

/** The names in a list of ours. @param {string} file @returns {string[]} */
export function readNames(file) {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.map((line) => line.replace(/#.*/, '').trim()).filter(Boolean);
}

/** The folder of Emscripten's C library. @param {Toolchain} toolchain */
async function libraryFolder(toolchain) {
  const folder = path.join(toolchain.cache, 'sysroot', 'lib', 'wasm32-emscripten');
  // An emsdk builds a library at its first use.
  for (const name of ['libc', 'libdlmalloc', 'libcompiler_rt', 'libbulkmemory']) {
    if (existsSync(path.join(folder, `${name}.a`))) continue;
    await run([...toolchain.embuilder, 'build', name], { env: toolchain.env });
  }
  return folder;
}

/**
 * Links objects to a plain module. The one-thread C library serves the mt builds too: its code has
 * neither locks nor thread-local data, and only one thread calls what is not reentrant.
 * @param {Toolchain} toolchain
 * @param {Build} build
 * @param {string[]} objects
 * @param {string[]} exported names beside the fixed ones
 * @param {string} out
 */
async function link(toolchain, build, objects, exported, out) {
  const libraries = await libraryFolder(toolchain);
  const imports = inRoot('web', 'lib', 'imports.txt');
  const linked = `${out}.part`;
  await run([
    path.join(toolchain.llvm, 'wasm-ld'),
    ...objects,
    `-L${libraries}`,
    // Before libc, whose own memcpy would call JavaScript.
    '-lbulkmemory',
    '-lc',
    '-ldlmalloc',
    '-lcompiler_rt',
    '--no-entry',
    '--import-memory',
    ...(build.threads ? ['--shared-memory'] : []),
    `--initial-memory=${initialBytes}`,
    `--max-memory=${largestBytes}`,
    '--stack-first',
    '-z',
    `stack-size=${stackBytes}`,
    '--gc-sections',
    ...(existsSync(imports) ? [`--allow-undefined-file=${imports}`] : []),
    ...[...fixedExports, ...exported].map((name) => `--export=${name}`),
    '-o',
    linked,
  ]);
  const features = [
    'simd',
    'bulk-memory',
    'nontrapping-float-to-int',
    'sign-ext',
    'mutable-globals',
  ];
  if (build.relaxed) features.push('relaxed-simd');
  if (build.threads) features.push('threads');
  const strip = ['--strip-debug', '--strip-producers', '--strip-target-features'];
  const optimized = `${out}.optimized`;
  const enable = features.map((feature) => `--enable-${feature}`);
  const optimize = ['--no-inline=word_sleep', '-O3', ...enable, ...strip];
  await run([...toolchain.wasmOpt, linked, ...optimize, '-o', optimized], { env: toolchain.env });
  rmSync(linked);
  renameSync(optimized, out);
}

/** A folder for what one command line makes. @param {string} parent @param {string[]} command */
function folderFor(parent, command) {
  const key = createHash('sha256').update(command.join('\0')).digest('hex').slice(0, 16);
  const folder = path.join(parent, key);
  if (!existsSync(folder)) {
    // Other flags: what was there serves no more.
    rmSync(parent, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
  }
  return folder;
}

/**
 * Compiles and links some C sources as one of the builds.
 * @param {Build} build
 * @param {string[]} files
 * @param {string[]} exported
 * @param {string} out
 * @param {string} objects folder for object files
 * @returns {Promise<boolean>} whether anything was built
 */
export async function buildWasm(build, files, exported, out, objects) {
  const toolchain = await ensureToolchain();
  // Emscripten's clang without the wrapper, which costs more than most of our files.
  const command = [...toolchain.clang, ...compileFlags(build)];
  const folder = folderFor(objects, [toolchain.origin, ...command]);
  const prepared = files.map((file) => prepare(command, file, folder));
  const jobs = prepared.map((p) => p.compile).filter((job) => job !== null);
  const names = path.join(folder, 'linked');
  const inputs = JSON.stringify([prepared.map((p) => p.object), exported]);
  const sameInputs = existsSync(names) && readFileSync(names, 'utf8') === inputs;
  const ours = [inRoot('web', 'lib', 'imports.txt'), path.join(root, 'tools', 'build-wasm.mjs')];
  const linkInputs = [...prepared.map((p) => p.object), ...ours.filter((file) => existsSync(file))];
  if (jobs.length === 0 && sameInputs && isFresh(out, linkInputs)) return false;
  const terminal = process.stdout.isTTY;
  await inParallel(jobs, (done) => {
    if (terminal) process.stdout.write(`\r  ${build.name}: ${done} of ${jobs.length} files`);
  });
  if (terminal) process.stdout.write('\r\x1b[K');
  await link(
    toolchain,
    build,
    prepared.map((p) => p.object),
    exported,
    out,
  );
  writeFileSync(names, inputs);
  return true;
}

/** @param {number} bytes */
const kilobytes = (bytes) => `${(bytes / 1000).toFixed(1)} KB`;

/** Builds all four; prints each one's size. */
export async function buildAllWasm() {
  mkdirSync(wasmFolder, { recursive: true });
  const exported = readNames(inRoot('web', 'lib', 'exports.txt'));
  if (exported.length === 0) throw new ToolError('web/lib/exports.txt: expected names, found none');
  for (const build of builds) {
    const out = path.join(wasmFolder, `${build.name}.wasm`);
    const objects = path.join(objectFolder, build.name);
    const built = await buildWasm(build, sources(build), exported, out, objects);
    const bytes = readFileSync(out);
    const compressed = gzipSync(bytes, { level: 9 }).length;
    const sizes = `${kilobytes(bytes.length)}, compressed ${kilobytes(compressed)}`;
    say(`${path.relative(root, out)}: ${sizes}${built ? '' : ' (up to date)'}`);
  }
}

if (isMain(import.meta.url)) await runMain(buildAllWasm);
