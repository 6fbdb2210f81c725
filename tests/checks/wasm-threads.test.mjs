// The mt build's promises to the JavaScript side (see tools/build-wasm.mjs): a second instance on
// the same shared memory runs C on a stack of its own, waits and wakes, and leaves static data alone.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { builds, buildWasm } from '../../tools/build-wasm.mjs';
import { inRoot } from '../../tools/lib/paths.mjs';

const workerSource = `
const { workerData: { module, memory, stackTop, rounds }, parentPort } = require('node:worker_threads');
const { exports } = new WebAssembly.Instance(module, { env: { memory } });
exports.__stack_pointer.value = stackTop;
parentPort.postMessage({ stack: exports.stack_address(), last: exports.answer(rounds) });
`;

test('two instances share memory, each with its own stack', async () => {
  const build = builds.find((b) => b.name === 'wick-mt');
  assert.ok(build);
  const folder = mkdtempSync(path.join(tmpdir(), 'wick-threads-'));
  try {
    const out = path.join(folder, 'threads.wasm');
    const sources = [
      inRoot('tests', 'checks', 'wasm_threads.c'),
      inRoot('web', 'lib', 'runtime.c'),
    ];
    const names = ['mailbox', 'ask', 'answer', 'stack_address'];
    await buildWasm(build, sources, names, out, path.join(folder, 'objects'));
    const module = new WebAssembly.Module(readFileSync(out));
    assert.deepEqual(
      WebAssembly.Module.imports(module).map((i) => `${i.module}.${i.name}`),
      ['env.memory'],
    );
    const memory = new WebAssembly.Memory({ initial: 32, maximum: 4096, shared: true });
    const owner = /** @type {any} */ (
      new WebAssembly.Instance(module, { env: { memory } }).exports
    );
    owner._initialize();
    const turn = () => new Int32Array(memory.buffer)[owner.mailbox() / 4];
    assert.equal(turn(), 41);

    const stackBytes = 65536;
    const stack = owner.malloc(stackBytes);
    const rounds = 1000;
    const stackTop = stack + stackBytes;
    const worker = new Worker(workerSource, {
      eval: true,
      workerData: { module, memory, stackTop, rounds },
    });
    const reply = new Promise((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
    });
    // 41 is odd, so asking starts; each side then advances the turn by one a round.
    assert.equal(owner.ask(rounds), 41 + 2 * (rounds - 1));
    const { stack: workerStack, last } = await reply;
    await worker.terminate();
    assert.equal(last, 42 + 2 * (rounds - 1));
    assert.equal(turn(), 41 + 2 * rounds);
    assert.ok(workerStack > stack && workerStack < stackTop, 'the worker used its own stack');
    assert.ok(owner.stack_address() < 256 * 1024, "the owner's stack is at memory's bottom");

    // Memory grows from inside, up to the maximum that JavaScript chose, and then malloc fails.
    const pages = memory.buffer.byteLength;
    assert.notEqual(owner.malloc(100e6), 0);
    assert.ok(memory.buffer.byteLength > pages);
    assert.equal(owner.malloc(400e6), 0);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
