// What `cmake --install` leaves is enough for a program elsewhere: the example is built against it
// by pkg-config alone, in C and C++, and run on the built-in model.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inRoot } from '../lib/paths.mjs';
import { attempt, onPath } from '../lib/run.mjs';

const tinyModel = inRoot('web', 'models', 'tiny.gguf');

/** @param {import('./report.mjs').Report} report */
export async function example(report) {
  if (!onPath('pkg-config'))
    return report.lacking('the installed library', 'pkg-config', 'pkg-config');
  const folder = mkdtempSync(path.join(tmpdir(), 'wick-install-'));
  try {
    const prefix = path.join(folder, 'prefix');
    const install = await attempt(['cmake', '--install', inRoot('build'), '--prefix', prefix]);
    report.check(install.status === 0, 'cmake --install', install.output);
    const found = ['lib', 'lib64', 'lib/x86_64-linux-gnu', 'lib/aarch64-linux-gnu']
      .map((name) => path.join(prefix, name, 'pkgconfig'))
      .find((name) => existsSync(path.join(name, 'wick.pc')));
    if (!found) return report.fail('wick.pc is installed');
    const previous = process.env.PKG_CONFIG_PATH ? `:${process.env.PKG_CONFIG_PATH}` : '';
    const env = { PKG_CONFIG_PATH: `${found}${previous}` };

    const version = await attempt(['pkg-config', '--modversion', 'wick'], { env });
    const published = JSON.parse(readFileSync(inRoot('package.json'), 'utf8')).version;
    const header = /WICK_VERSION "(.*)"/.exec(readFileSync(inRoot('src', 'wick.h'), 'utf8'));
    report.check(
      version.stdout.trim() === published && header?.[1] === published,
      'package.json, wick.h and wick.pc have one version',
      `${published}, ${header?.[1]}, ${version.output}`,
    );

    const program = path.join(folder, 'hello');
    const source = inRoot('native', 'example', 'hello.c');
    const flags = await attempt(['pkg-config', '--cflags', '--libs', 'wick'], { env });
    const words = flags.stdout.trim().split(/\s+/);
    const strict = ['-std=c17', '-Wall', '-Wextra', '-Werror'];
    const built = await attempt(['cc', ...strict, source, ...words, '-o', program]);
    report.check(built.status === 0, 'the example builds', flags.output + built.output);
    const asCpp = ['-x', 'c++', '-fsyntax-only', '-Wall', '-Wextra', '-Werror', '-'];
    if (onPath('c++')) {
      const input = '#include <wick.h>\nint main() { return sizeof(wick_request) == 0; }\n';
      const cpp = await attempt(['c++', ...words, ...asCpp], { input });
      report.check(cpp.status === 0, 'wick.h compiles as C++', cpp.output);
    }
    if (built.status !== 0) return;
    if (!existsSync(tinyModel)) return report.skip('the example runs', 'no web/models/tiny.gguf');
    const ran = await attempt([program, tinyModel, 'Once upon a time'], { timeoutSeconds: 60 });
    report.check(
      ran.status === 0 && ran.stdout.trim().length > 0,
      'the example continues a text',
      ran.output,
    );
    const missing = await attempt([program, path.join(folder, 'none.gguf'), 'a']);
    report.check(
      missing.status === 1 && missing.output.trim().split('\n').length === 1,
      'a missing model is one line',
      missing.output,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
