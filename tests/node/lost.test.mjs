/**
 * A worker that dies or can't be trusted: what is under way fails, the caller is told, the model is
 * loaded once more, and then answers as before.
 *
 * @import { Port } from '../../web/lib/messages.js'
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { afterEach, mock, test } from 'node:test';
import { load } from '../../node/index.js';
import { platform } from '../../node/platform.js';
import { collect, tiny } from './support.mjs';

afterEach(() => mock.restoreAll());

const QUESTION = 'Why is the sky blue?';
const LONG = { maxTokens: 400, ignoreEnd: true };

/**
 * A model whose workers can be killed, as an operating system does it: without a word.
 * @param {import('../../web/lib/sources.js').Source} source
 */
async function mortal(source) {
  const { spawn } = platform;
  /** @type {{ kind: string, port: Port }[]} */
  const workers = [];
  mock.method(platform, 'spawn', (/** @type {'engine' | 'thread'} */ kind) => {
    const port = spawn(kind);
    workers.push({ kind, port });
    return port;
  });
  /** @type {import('../../web/lib/load.js').Loss[]} */
  const losses = [];
  let lost = () => {};
  let loaded = () => {};
  const model = await load(source, {
    build: 'mt',
    threads: 2,
    onProgress: ({ phase }) => {
      if (phase === 'ready') loaded();
    },
    onLost: (loss) => {
      losses.push(loss);
      lost();
    },
  });
  /** Kills the newest of a kind, and waits until that is noticed. @param {'engine' | 'thread'} kind */
  const kill = async (kind) => {
    const noticed = new Promise((/** @type {(value: void) => void} */ resolve) => (lost = resolve));
    const alive = setInterval(() => {}, 1000); // else this process would end before it has noticed
    workers.findLast((worker) => worker.kind === kind)?.port.terminate();
    await noticed;
    clearInterval(alive);
  };
  const ready = () =>
    new Promise((/** @type {(value: void) => void} */ resolve) => (loaded = resolve));
  return { model, losses, kill, ready };
}

for (const kind of /** @type {const} */ (['engine', 'thread'])) {
  test(`${kind}: a killed worker fails what is under way; then the model answers again`, async () => {
    const { model, losses, kill } = await mortal(tiny);
    const expected = await model.chat(QUESTION);
    for (let round = 1; round <= 2; round++) {
      const pieces = model.generate(QUESTION, LONG);
      await pieces.next();
      const failing = assert.rejects(collect(pieces), /^Error: wick: a worker ended by itself/);
      await kill(kind);
      await failing;
      assert.equal(losses.length, round);
      assert.equal(losses[round - 1].restarting, true);
      assert.equal((await model.chat(QUESTION)).text, expected.text);
    }
    assert.equal(model.info.threads, 2);
    await model.free();
  });
}

test('one that dies again before it has answered is over, and says so', async () => {
  const { model, losses, kill, ready } = await mortal(tiny);
  const again = ready();
  await kill('engine');
  await again;
  await kill('engine');
  assert.deepEqual(
    losses.map(({ restarting }) => restarting),
    [true, false],
  );
  await assert.rejects(model.chat(QUESTION), /^Error: wick: a worker ended by itself/);
  await model.free();
});

test('bytes are not kept for a second reading: their model is over', async () => {
  const { model, losses, kill } = await mortal(readFileSync(tiny));
  await kill('engine');
  assert.equal(losses[0].restarting, false);
  await assert.rejects(model.chat(QUESTION), /a worker ended by itself/);
});

test('while it is loaded again, a request waits, can be aborted, and ends with the model', async () => {
  const { model, kill } = await mortal(tiny);
  await kill('engine');
  const controller = new AbortController();
  const aborted = collect(model.generate(QUESTION, { signal: controller.signal }));
  controller.abort(new Error('enough'));
  await assert.rejects(aborted, /enough/);
  const waiting = assert.rejects(model.chat(QUESTION), /the model was freed/);
  await model.free();
  await waiting;
});
