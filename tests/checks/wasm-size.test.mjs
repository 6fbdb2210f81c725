// What a page downloads before any weights: the JavaScript library and one wasm file.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { builds, wasmFolder } from '../../tools/build-wasm.mjs';
import { inRoot } from '../../tools/lib/paths.mjs';

test('the library with any one build is at most 500 KB, 180 KB compressed', (t) => {
  const wasm = builds.map((build) => path.join(wasmFolder, `${build.name}.wasm`));
  if (!wasm.every((file) => existsSync(file))) return t.skip('the wasm build is not there');
  const library = inRoot('web', 'lib');
  const scripts = readdirSync(library).filter((name) => name.endsWith('.js'));
  const shim = scripts.map((name) => readFileSync(path.join(library, name)));
  for (const file of wasm) {
    const parts = [...shim, readFileSync(file)];
    const raw = parts.reduce((sum, part) => sum + part.length, 0);
    const compressed = parts.reduce((sum, part) => sum + gzipSync(part, { level: 9 }).length, 0);
    const found = `${path.basename(file)}: ${raw} bytes, compressed ${compressed}`;
    assert.ok(raw <= 500e3 && compressed <= 180e3, found);
  }
});
