// What must be on the system, by purpose. On Debian and Ubuntu as root missing packages are
// installed by apt; elsewhere one message says what to install. `npm start`, `npm test` and the
// container image all use this list.
//
//   node tools/system-packages.mjs native wasm test     (purposes; all of them when none is given)
import { existsSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { attempt, commandLine, isMain, onPath, runMain, say, ToolError } from './lib/run.mjs';

/**
 * Programs that show that a purpose is met without asking a package manager, the Debian packages
 * that meet it, and what to say elsewhere.
 * @type {Record<string, { programs: string[], debian: string[], elsewhere: string }>}
 */
const purposes = {
  native: {
    programs: ['cmake', 'cc'],
    debian: [
      'cmake',
      'gcc',
      'libc6-dev',
      'ninja-build',
      'pkg-config',
      'libcjson-dev',
      'libedit-dev',
    ],
    elsewhere: 'CMake 3.20 or newer, a C17 compiler and cJSON (macOS: brew install cmake cjson)',
  },
  wasm: {
    programs: ['python3', 'git'],
    debian: ['clang-19', 'lld-19', 'llvm-19', 'node-acorn', 'python3', 'patch', 'xz-utils'],
    elsewhere: 'python3 and git (or emscripten itself: an emcc on PATH is used as it is)',
  },
  model: {
    programs: [],
    debian: ['python3', 'python3-pip'],
    elsewhere: 'python3 with pip, where the model hub cannot be reached',
  },
  test: {
    programs: [],
    debian: [
      'clang-19',
      'clang-format-19',
      'libclang-rt-19-dev',
      'llvm-19',
      'gcc-aarch64-linux-gnu',
      'libc6-dev-arm64-cross',
      'qemu-user',
      'valgrind',
      'git',
    ],
    elsewhere: '', // each test that lacks something says what
  },
  browser: {
    programs: [],
    debian: ['chromium'],
    elsewhere: '', // what starts one says what it lacks
  },
};

export function isDebianRoot() {
  return process.getuid?.() === 0 && existsSync('/usr/bin/apt-get') && existsSync('/usr/bin/dpkg');
}

/** @param {string[]} names @returns {string[]} those that are not installed */
function missingDebianPackages(names) {
  const result = spawnSync(
    'dpkg-query',
    ['-W', '-f', '${Package} ${db:Status-Status}\n', ...names],
    {
      encoding: 'utf8',
    },
  );
  const installed = new Set(
    result.stdout
      .split('\n')
      .filter((line) => line.endsWith(' installed'))
      .map((line) => line.split(' ')[0]),
  );
  return names.filter((name) => !installed.has(name));
}

/**
 * Sees to it that the purposes are met, or throws a ToolError that says what to install.
 * @param {string[]} wanted
 */
export async function ensureSystemPackages(wanted) {
  if (isDebianRoot()) {
    const names = [...new Set(wanted.flatMap((purpose) => purposes[purpose].debian))];
    const missing = missingDebianPackages(names);
    if (missing.length === 0) return;
    say(`installing system packages: ${missing.join(' ')}`);
    const install = ['apt-get', 'install', '-y', '-q', '--no-install-recommends', ...missing];
    const env = { DEBIAN_FRONTEND: 'noninteractive' };
    // Lists may be old or absent: fetch them only when installing from what is there fails.
    if ((await attempt(install, { env })).status === 0) return;
    await attempt(['apt-get', 'update', '-q'], { env });
    const second = await attempt(install, { env });
    if (second.status !== 0) {
      throw new ToolError(
        `apt-get could not install ${missing.join(' ')}:\n${second.output.slice(-2000)}`,
      );
    }
    return;
  }
  for (const purpose of wanted) {
    const lacking = purposes[purpose].programs.filter((name) => !onPath(name));
    if (lacking.length > 0) {
      throw new ToolError(
        `${lacking.join(' and ')} not found. Install ${purposes[purpose].elsewhere}.`,
      );
    }
  }
}

if (isMain(import.meta.url)) {
  await runMain(async () => {
    const wanted = commandLine({ allowPositionals: true }).positionals;
    const unknown = wanted.filter((name) => !(name in purposes));
    if (unknown.length > 0) {
      throw new ToolError(
        `expected ${Object.keys(purposes).join(', ')}, found ${unknown.join(', ')}`,
      );
    }
    await ensureSystemPackages(wanted.length > 0 ? wanted : Object.keys(purposes));
  });
}
