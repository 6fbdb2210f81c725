// The engines that wick is compared with, into the ignored .peers/ and nowhere else: llama.cpp's
// llama-bench, built from pinned source without AMX, and wllama from npm. Every step leaves its
// result under its name only when it is whole, and the build goes on where it was interrupted.
import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { inRoot } from '../../tools/lib/paths.mjs';
import { firstLine, onPath, run, say, ToolError } from '../../tools/lib/run.mjs';

export const peersFolder = inRoot('.peers');
const own = (/** @type {string[]} */ ...parts) => inRoot('tests', 'peers', ...parts);
const inPeers = (/** @type {string[]} */ ...parts) => path.join(peersFolder, ...parts);

// ggml's options by the names that Linux gives to a CPU's features. AMX is not among them: the
// speed floors are set against the build without it.
/** @type {Record<string, string>} */
const featureOptions = {
  sse4_2: 'GGML_SSE42',
  avx: 'GGML_AVX',
  f16c: 'GGML_F16C',
  fma: 'GGML_FMA',
  bmi2: 'GGML_BMI2',
  avx2: 'GGML_AVX2',
  avx_vnni: 'GGML_AVX_VNNI',
  avx512bw: 'GGML_AVX512',
  avx512vbmi: 'GGML_AVX512_VBMI',
  avx512_vnni: 'GGML_AVX512_VNNI',
  avx512_bf16: 'GGML_AVX512_BF16',
};

/** How ggml is to use this CPU, as CMake options. */
function cpuOptions() {
  const noAmx = ['TILE', 'INT8', 'BF16'].map((part) => `-DGGML_AMX_${part}=OFF`);
  const list = '/proc/cpuinfo';
  if (process.arch !== 'x64' || !existsSync(list)) return ['-DGGML_NATIVE=ON', ...noAmx];
  const line = /^flags\s*:(.*)$/m.exec(readFileSync(list, 'utf8'))?.[1] ?? '';
  const flags = new Set(line.trim().split(' '));
  const named = Object.entries(featureOptions).map(
    ([flag, option]) => `-D${option}=${flags.has(flag) ? 'ON' : 'OFF'}`,
  );
  return ['-DGGML_NATIVE=OFF', ...named, ...noAmx];
}

const buildOptions = [
  '-DCMAKE_BUILD_TYPE=Release',
  '-DBUILD_SHARED_LIBS=OFF',
  ...['METAL', 'BLAS', 'CCACHE'].map((part) => `-DGGML_${part}=OFF`),
  ...['TESTS', 'EXAMPLES', 'SERVER', 'APP', 'UI'].map((part) => `-DLLAMA_BUILD_${part}=OFF`),
  '-DLLAMA_USE_PREBUILT_UI=OFF',
  '-DLLAMA_OPENSSL=OFF',
];

/** llama.cpp's source folder. @param {string} requirement its line in requirements.txt */
async function ensureSource(requirement) {
  const folder = inPeers('llama');
  const source = path.join(folder, 'vendor', 'llama.cpp');
  const stamp = path.join(folder, 'wick-requirement.txt');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === requirement) return source;
  const python = ['python3', 'python'].find((name) => firstLine([name, '--version']) !== '');
  if (!python) throw new ToolError('python3 not found: expected it with pip, to fetch llama.cpp');
  say('fetching the source of llama.cpp (77 MB, minutes)');
  const downloads = inPeers('download');
  rmSync(downloads, { recursive: true, force: true });
  // pip checks the hash; it also asks the package's build system for its name and version.
  const pip = [python, '-m', 'pip', 'download', '--disable-pip-version-check', '--no-deps'];
  const only = ['--no-binary', 'llama-cpp-python'];
  await run([...pip, ...only, '-d', downloads, '-r', own('requirements.txt')]);
  const archive = readdirSync(downloads).find((name) => name.endsWith('.tar.gz'));
  if (!archive) throw new ToolError(`${downloads}: expected a source archive, found none`);
  say('unpacking it');
  const part = `${folder}.part`;
  for (const old of [part, folder, inPeers('llama-build')])
    rmSync(old, { recursive: true, force: true });
  mkdirSync(part);
  const name = archive.slice(0, -'.tar.gz'.length);
  const members = ['--strip-components=1', `${name}/vendor/llama.cpp`];
  await run(['tar', '-xzf', path.join(downloads, archive), '-C', part, ...members]);
  writeFileSync(path.join(part, 'wick-requirement.txt'), requirement);
  renameSync(part, folder);
  rmSync(downloads, { recursive: true });
  return source;
}

/** Shows what a build says of its progress: "[12/134]" or "[ 8%]", now and then. */
function showBuild() {
  let shown = 0;
  return (/** @type {string} */ text) => {
    for (const [, done, total] of text.matchAll(/^\[\s*(\d+)(?:\/(\d+)|%)\]/gm)) {
      const percent = total ? Math.floor((100 * Number(done)) / Number(total)) : Number(done);
      if (percent < shown + 5) continue;
      shown = percent;
      say(`  llama.cpp: ${percent} %`);
    }
  };
}

/**
 * @typedef {object} LlamaBench
 * @property {string} program
 * @property {string} version
 * @property {string[]} options that it was configured with
 */

/** @param {number} [jobs] @returns {Promise<LlamaBench>} */
export async function ensureLlamaBench(jobs = availableParallelism()) {
  mkdirSync(peersFolder, { recursive: true });
  const lines = readFileSync(own('requirements.txt'), 'utf8').split('\n');
  const requirement = lines.find((line) => /^[a-z]/.test(line)) ?? '';
  const source = await ensureSource(requirement);
  const folder = inPeers('llama-build');
  const options = [...buildOptions, ...cpuOptions()];
  const result = {
    program: path.join(folder, 'bin', 'llama-bench'),
    version: requirement.split(' ')[0],
    options,
  };
  const stamp = path.join(folder, 'wick-options.txt');
  const wanted = options.join('\n');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return result;
  say(`building llama-bench of ${result.version} without AMX`);
  const fresh = !existsSync(path.join(folder, 'CMakeCache.txt'));
  const generator = fresh && onPath('ninja') ? ['-G', 'Ninja'] : [];
  await run(['cmake', '-S', source, '-B', folder, ...generator, ...options]);
  const build = ['cmake', '--build', folder, '--target', 'llama-bench', '-j', String(jobs)];
  await run(build, { onOutput: showBuild() });
  writeFileSync(stamp, wanted);
  return result;
}

/** wllama's ES modules and its wasm file. @returns {Promise<{ folder: string, version: string }>} */
export async function ensureWllama() {
  const home = inPeers('npm');
  const folder = path.join(home, 'node_modules', '@wllama', 'wllama');
  const stamp = path.join(home, 'wick-lock.json');
  const lock = own('package-lock.json');
  const text = readFileSync(lock, 'utf8');
  const { version } = JSON.parse(text).packages['node_modules/@wllama/wllama'];
  const result = { folder: path.join(folder, 'esm'), version };
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === text) return result;
  say(`installing wllama ${version}`);
  mkdirSync(home, { recursive: true });
  copyFileSync(own('package.json'), path.join(home, 'package.json'));
  copyFileSync(lock, path.join(home, 'package-lock.json'));
  await run(['npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: home });
  writeFileSync(stamp, text);
  return result;
}
