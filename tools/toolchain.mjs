// The WebAssembly toolchain: found where there is one, else set up in the ignored .toolchain/.
//
// In this order:
//   1. an emcc on PATH, or the one of an activated emsdk ($EMSDK), when it is new enough;
//   2. on Debian as root: Debian 13's emscripten unpacked into a private prefix, on the system's
//      clang 19; the machine's own mirror and keyring are used through a private apt configuration,
//      so neither its sources nor its packages change;
//   3. elsewhere: emsdk at a pinned version.
// cJSON's source for the wasm build comes the same way (Debian's source package with its security
// patches, else the project's release by git, checked by SHA-256) into .toolchain/cjson.
//
//   node tools/toolchain.mjs            set up and say what was found
//
// Each folder is made under a name ending in .part and renamed when whole, so an interrupted run
// starts that folder again and a finished one is never half there.
import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import path from 'node:path';
import { toolchainFolder } from './lib/paths.mjs';
import { readJson, writeJson } from './lib/json.mjs';
import { firstLine, isMain, onPath, run, runMain, say, ToolError } from './lib/run.mjs';
import { ensureSystemPackages, isDebianRoot } from './system-packages.mjs';

// emsdk's version where it is installed from scratch; the oldest emcc that is used as found.
const emsdkVersion = '3.1.69';
const oldestVersion = [3, 1, 60];
const debianSuite = 'trixie';
const debianKeyring = '/usr/share/keyrings/debian-archive-keyring.gpg';
const debianPackages = ['emscripten', 'binaryen', 'libc6', 'libstdc++6', 'libgcc-s1'];
const llvmFolder = '/usr/lib/llvm-19/bin';

const emscriptenPrefix = path.join(toolchainFolder, 'emscripten');
const emsdkFolder = path.join(toolchainFolder, 'emsdk');
export const cjsonFolder = path.join(toolchainFolder, 'cjson');
const cjsonTag = 'v1.7.18';
const cjsonRepository = 'https://github.com/DaveGamble/cJSON.git';
/** The release's own files, before any distribution's patches. @type {Record<string, string>} */
const cjsonHashes = {
  'cJSON.c': '75c51de8fa40ac9d7a99319c6330719bd692eb81c0a869265f3d4c682533f9b9',
  'cJSON.h': '0578cc29132912edbc88f83207a8fc76e5db3db0605497e909a9384ef3cc474b',
};

/**
 * @typedef {object} Toolchain
 * @property {string[]} emcc the compiler's command
 * @property {NodeJS.ProcessEnv} env what its commands need in their environment
 * @property {string} llvm folder of wasm-ld and llvm-ar
 * @property {string[]} clang the compiler that emcc runs, with emcc's own flags
 * @property {string} cache Emscripten's cache: its sysroot and libraries
 * @property {string[]} wasmOpt
 * @property {string[]} embuilder builds a library that the cache lacks
 * @property {string} origin in words
 */

/**
 * @param {(name: string) => string[]} tool the command of one of Emscripten's tools
 * @param {NodeJS.ProcessEnv} env
 * @param {string} origin
 * @returns {Toolchain | null} null when it does not run or is too old
 */
function describe(tool, env, origin) {
  const version = firstLine([...tool('emcc'), '--version'], env).match(/ (\d+)\.(\d+)\.(\d+)/);
  if (!version) return null;
  const numbers = version.slice(1).map(Number);
  const older = numbers.map((n, i) => n - oldestVersion[i]).find((difference) => difference !== 0);
  if ((older ?? 0) < 0) {
    say(`emcc ${numbers.join('.')} (${origin}) is older than ${oldestVersion.join('.')}: not used`);
    return null;
  }
  const setting = (/** @type {string} */ name) => firstLine([...tool('em-config'), name], env);
  const binaryen = setting('BINARYEN_ROOT');
  return {
    emcc: tool('emcc'),
    env,
    llvm: setting('LLVM_ROOT'),
    clang: [
      path.join(setting('LLVM_ROOT'), 'clang'),
      ...firstLine([...tool('emcc'), '--cflags'], env).split(/\s+/),
    ],
    cache: setting('CACHE'),
    wasmOpt: [path.join(binaryen, 'bin', 'wasm-opt')],
    embuilder: tool('embuilder'),
    origin: `${origin}, ${numbers.join('.')}`,
  };
}

/** @returns {Toolchain | null} */
function findOnPath() {
  if (onPath('emcc')) {
    const found = describe((name) => [name], {}, 'emcc on PATH');
    if (found) return found;
  }
  const emsdk = process.env.EMSDK;
  return emsdk ? findInEmsdk(emsdk, 'the activated emsdk') : null;
}

/** @param {string} folder @param {string} origin */
function findInEmsdk(folder, origin) {
  const scripts = path.join(folder, 'upstream', 'emscripten');
  if (!existsSync(path.join(scripts, 'emcc'))) return null;
  const env = { EM_CONFIG: path.join(folder, '.emscripten') };
  return describe((name) => [path.join(scripts, name)], env, origin);
}

function findPrivatePrefix() {
  if (!existsSync(emscriptenPrefix)) return null;
  const scripts = path.join(emscriptenPrefix, 'usr', 'share', 'emscripten');
  const env = { EM_CONFIG: path.join(emscriptenPrefix, 'em_config') };
  return describe(
    (name) => ['python3', path.join(scripts, `${name}.py`)],
    env,
    "Debian's emscripten",
  );
}

/**
 * The toolchain as it stands, setting nothing up. Asking it costs a second, so the answer is kept
 * until one of the places where it may lie changes.
 * @returns {Toolchain | null}
 */
export function findToolchain() {
  const folders = (process.env.PATH ?? '').split(path.delimiter);
  const places = [
    folders.map((folder) => path.join(folder, 'emcc')).find((file) => existsSync(file)) ?? '',
    path.join(process.env.EMSDK ?? '', '.emscripten'),
    path.join(emscriptenPrefix, 'em_config'),
    path.join(emsdkFolder, '.emscripten'),
  ];
  const times = places.map((file) => (existsSync(file) ? statSync(file).mtimeMs : 0));
  const key = JSON.stringify([places, times]);
  const kept = path.join(toolchainFolder, 'found.json');
  const answer = readJson(kept);
  if (answer?.key === key) return answer.toolchain;
  const toolchain =
    findOnPath() ?? findPrivatePrefix() ?? findInEmsdk(emsdkFolder, "the project's own emsdk");
  if (toolchain) writeJson(kept, { key, toolchain });
  return toolchain;
}

/** Replaces what an interrupted run left. @param {string} folder @returns {string} */
function freshPart(folder) {
  const part = `${folder}.part`;
  rmSync(part, { recursive: true, force: true });
  mkdirSync(part, { recursive: true });
  return part;
}

/** Options that make apt-get read only our own list, from the mirror that the machine uses. */
async function privateApt() {
  const folder = path.join(toolchainFolder, 'apt');
  for (const name of ['lists/partial', 'cache/archives/partial']) {
    mkdirSync(path.join(folder, name), { recursive: true });
  }
  const format = ['--format', '$(REPO_URI)', 'Identifier: Packages'];
  const mirrors = (await run(['apt-get', 'indextargets', ...format])).split('\n').filter(Boolean);
  const mirror = mirrors.find((address) => /\/debian\/?$/.test(address));
  if (!mirror) throw new ToolError("apt's configuration names no Debian mirror");
  const entry = `[signed-by=${debianKeyring}] ${mirror} ${debianSuite} main`;
  writeFileSync(path.join(folder, 'sources.list'), `deb ${entry}\ndeb-src ${entry}\n`);
  const options = {
    'Dir::Etc::sourcelist': path.join(folder, 'sources.list'),
    'Dir::Etc::sourceparts': '-',
    'Dir::State::lists': path.join(folder, 'lists'),
    'Dir::Cache': path.join(folder, 'cache'),
    // The ignored folder may not be readable for apt's own user.
    'APT::Sandbox::User': 'root',
  };
  const command = ['apt-get', '-q', ...Object.entries(options).flatMap((o) => ['-o', o.join('=')])];
  await run([...command, 'update']);
  return command;
}

/** @param {string[]} apt */
async function installDebianPrefix(apt) {
  const prefix = freshPart(emscriptenPrefix);
  const debs = path.join(prefix, 'debs');
  mkdirSync(debs);
  say('  downloading 246 MB');
  const wanted = debianPackages.map((name) => `${name}/${debianSuite}`);
  await run([...apt, 'download', ...wanted], { cwd: debs });
  say('  unpacking');
  for (const name of readdirSync(debs)) await run(['dpkg', '-x', path.join(debs, name), prefix]);
  rmSync(debs, { recursive: true });
  symlinkSync('usr/lib64', path.join(prefix, 'lib64'));

  // binaryen's programs are linked against the newer C library that was unpacked beside them.
  const wrappers = path.join(prefix, 'wrap', 'bin');
  mkdirSync(wrappers, { recursive: true });
  const programs = path.join(prefix, 'usr', 'bin');
  for (const name of readdirSync(programs).filter((n) => /^wasm-|^wasm2js$/.test(n))) {
    const wrapper = path.join(wrappers, name);
    writeFileSync(
      wrapper,
      `#!/bin/sh
here=$(cd "$(dirname "$0")/../.." && pwd)
exec "$here/lib64/ld-linux-x86-64.so.2" --library-path "$here/usr/lib/x86_64-linux-gnu" "$here/usr/bin/${name}" "$@"
`,
    );
    chmodSync(wrapper, 0o755);
  }
  const scripts = path.join(prefix, 'usr', 'share', 'emscripten');
  symlinkSync('/usr/share/nodejs', path.join(scripts, 'node_modules'));
  // Emscripten reads this file as Python: the paths follow the file wherever it lies.
  writeFileSync(
    path.join(prefix, 'em_config'),
    `import os
here = os.path.dirname(os.path.realpath(os.environ['EM_CONFIG']))
EMSCRIPTEN_ROOT = here + '/usr/share/emscripten'
LLVM_ROOT = '${llvmFolder}'
BINARYEN_ROOT = here + '/wrap'
NODE_JS = '${process.execPath}'
FROZEN_CACHE = True
CACHE = here + '/usr/share/emscripten/cache'
`,
  );
  rmSync(emscriptenPrefix, { recursive: true, force: true });
  renameSync(prefix, emscriptenPrefix);
}

async function installEmsdk() {
  const part = freshPart(emsdkFolder);
  const repository = 'https://github.com/emscripten-core/emsdk.git';
  await run(['git', 'clone', '-q', '--depth', '1', '--branch', emsdkVersion, repository, part]);
  rmSync(emsdkFolder, { recursive: true, force: true });
  const emsdk = ['python3', path.join(part, 'emsdk.py')];
  await run([...emsdk, 'install', emsdkVersion], { show: true });
  await run([...emsdk, 'activate', emsdkVersion]);
  renameSync(part, emsdkFolder);
  // The configuration that activate wrote holds no absolute paths.
}

/** @param {string} folder */
function checkCjson(folder) {
  for (const [name, expected] of Object.entries(cjsonHashes)) {
    const found = createHash('sha256')
      .update(readFileSync(path.join(folder, name)))
      .digest('hex');
    if (found !== expected)
      throw new ToolError(`${name}: expected SHA-256 ${expected}, found ${found}`);
  }
}

/** @param {string[]} apt */
async function installDebianCjson(apt) {
  const part = freshPart(cjsonFolder);
  await run([...apt, 'source', '--download-only', `cjson/${debianSuite}`], { cwd: part });
  const archives = readdirSync(part).filter((name) => name.includes('.tar.'));
  for (const name of archives) {
    const strip = name.includes('.orig.') ? ['--strip-components=1'] : [];
    await run(['tar', '-xf', name, ...strip], { cwd: part });
  }
  checkCjson(part);
  const patches = path.join(part, 'debian', 'patches');
  const series = existsSync(path.join(patches, 'series'))
    ? readFileSync(path.join(patches, 'series'), 'utf8').split('\n')
    : [];
  for (const name of series.map((line) => line.trim()).filter((line) => line && line[0] !== '#')) {
    await run(['patch', '-p1', '-s', '-i', path.join(patches, name.split(' ')[0])], { cwd: part });
  }
  rmSync(cjsonFolder, { recursive: true, force: true });
  renameSync(part, cjsonFolder);
}

async function installCjsonByGit() {
  const part = freshPart(cjsonFolder);
  await run(['git', 'clone', '-q', '--depth', '1', '--branch', cjsonTag, cjsonRepository, part]);
  checkCjson(part);
  rmSync(cjsonFolder, { recursive: true, force: true });
  renameSync(part, cjsonFolder);
}

/**
 * Finds the toolchain and cJSON's source, setting up what is missing.
 * @returns {Promise<Toolchain>}
 */
export async function ensureToolchain() {
  mkdirSync(toolchainFolder, { recursive: true });
  const debian = isDebianRoot() && existsSync(debianKeyring);
  /** @type {string[] | null} */
  let apt = null;
  let toolchain = findToolchain();
  try {
    if (!toolchain) {
      await ensureSystemPackages(['wasm']);
      say(`setting up emscripten in ${path.relative(process.cwd(), toolchainFolder)} (once)`);
      if (debian && process.arch === 'x64') {
        apt = await privateApt();
        await installDebianPrefix(apt);
      } else {
        await installEmsdk();
      }
      toolchain = findToolchain();
    }
    if (!existsSync(cjsonFolder)) {
      say("fetching cJSON's source (once)");
      if (debian) {
        await ensureSystemPackages(['wasm']);
        await installDebianCjson(apt ?? (await privateApt()));
      } else {
        await installCjsonByGit();
      }
    }
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    throw new ToolError(
      `${error.message}\nThe WebAssembly build needs emscripten ${oldestVersion.join('.')} or newer ` +
        '(emcc on PATH or an activated emsdk) and git. Install it and run this again; the native ' +
        'build needs neither.',
    );
  }
  if (!toolchain) throw new ToolError('the emscripten that was set up does not run');
  return toolchain;
}

if (isMain(import.meta.url)) {
  await runMain(async () => {
    const toolchain = await ensureToolchain();
    say(`emscripten: ${toolchain.origin}; cJSON: ${path.relative(process.cwd(), cjsonFolder)}`);
  });
}
