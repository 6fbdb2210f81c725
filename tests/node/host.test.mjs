/**
 * The worker's side when things go wrong: steps that fail, prompts that never fit, threads that are
 * late.
 *
 * @import { FromWorker, Piece, Port, ToWorker } from '../../web/lib/messages.js'
 */
import assert from 'node:assert/strict';
import { afterEach, mock, test } from 'node:test';
import { load } from '../../node/index.js';
import { pathParts } from '../../node/paths.js';
import { platform } from '../../node/platform.js';
import { serve } from '../../web/lib/host.js';
import { collect, tiny } from './support.mjs';

const STATUS_MEMORY = 3;
const LONG = { maxTokens: 400, ignoreEnd: true };

afterEach(() => mock.restoreAll());

/**
 * A host in this thread, whose engine's functions are replaced by those of `replace`.
 * @param {(exports: Record<string, any>) => Record<string, any>} replace
 */
async function hostHere(replace) {
  const { instantiate } = WebAssembly;
  mock.method(
    WebAssembly,
    'instantiate',
    async (/** @type {any} */ module, /** @type {any} */ env) => {
      const { exports } = /** @type {any} */ (await instantiate(module, env));
      return { exports: { ...exports, ...replace(exports) } };
    },
  );
  /** @type {(message: ToWorker) => void} */
  let send = () => {};
  /** @type {FromWorker[]} */
  const posted = [];
  let wake = () => {};
  /** @type {Port} */
  const port = {
    post: (message) => {
      posted.push(message);
      wake();
    },
    onMessage: (listener) => (send = listener),
    onError: () => {},
    terminate: () => {},
  };
  serve(port, platform);
  /** @param {(message: FromWorker) => boolean} test @returns {Promise<FromWorker>} */
  const posts = async (test) => {
    for (;;) {
      const found = posted.find(test);
      if (found) return found;
      await new Promise((/** @type {(value: void) => void} */ resolve) => (wake = resolve));
    }
  };
  send({ type: 'load', parts: await pathParts(tiny), settings: { build: 'st' }, wasm: null });
  await posts(({ type }) => type === 'loaded' || type === 'failed');
  return { send, posts, posted };
}

test('a step that fails ends what is under way, in the engine too, and nothing else', async () => {
  let failing = false;
  let idle = () => false;
  const host = await hostHere((exports) => ({
    wick_engine_step: (/** @type {number} */ engine, /** @type {number} */ error) => {
      idle = () => Boolean(exports.wick_engine_idle(engine));
      if (!failing) return exports.wick_engine_step(engine, error);
      failing = false;
      return STATUS_MEMORY;
    },
  }));
  const prompt = [5, 6, 7];
  // More than run at once: the last one waits.
  for (let id = 1; id <= 17; id++) host.send({ type: 'generate', id, prompt, options: LONG });
  await host.posts((message) => message.type === 'pieces');
  failing = true;
  for (let id = 1; id <= 16; id++)
    await host.posts((message) => message.type === 'failed' && message.id === id);
  host.send({ type: 'cancel', id: 17 });
  host.send({ type: 'generate', id: 18, prompt, options: { maxTokens: 1 } });
  const ends = [17, 18].map(async (id) => {
    const done = (/** @type {Piece} */ { type }) => type === 'done';
    const last = await host.posts(
      (message) => message.type === 'pieces' && message.id === id && message.pieces.some(done),
    );
    return last.type === 'pieces' ? last.pieces.at(-1)?.finish : null;
  });
  assert.deepEqual(await Promise.all(ends), ['cancelled', 'length']);
  assert.ok(idle(), 'the engine goes on with answers that have failed');
  assert.equal(host.posted.filter(({ type }) => type === 'failed').length, 16);
});

test('after a cancel at most one step is begun', async () => {
  let steps = 0;
  const host = await hostHere((exports) => ({
    wick_engine_step: (/** @type {number[]} */ ...input) => {
      steps++;
      return exports.wick_engine_step(...input);
    },
  }));
  host.send({ type: 'generate', id: 1, prompt: [5, 6, 7], options: LONG });
  await host.posts((message) => message.type === 'pieces' && message.pieces[0].nGenerated > 2);
  const before = steps;
  host.send({ type: 'cancel', id: 1 });
  const isEnd = (/** @type {Piece} */ { finish }) => finish === 'cancelled';
  await host.posts((message) => message.type === 'pieces' && message.pieces.some(isEnd));
  assert.ok(steps <= before + 1, `${steps - before} steps`);
});

test('a prompt that never fits is refused at once and holds nobody up', async () => {
  const model = await load(tiny, { threads: 1, context: 512 });
  /** @type {string[]} */
  const order = [];
  /** @param {string} name @param {Promise<unknown>} answer */
  const note = (name, answer) =>
    answer.then(
      () => order.push(name),
      (error) => order.push(error.message),
    );
  const running = Array.from({ length: 17 }, (_, i) =>
    note('long', collect(model.generate([5, 6, 7 + i], LONG))),
  );
  const tooLong = note('too long', model.chat(new Array(600).fill(5)));
  await tooLong;
  assert.deepEqual(order, [
    'wick: prompt: expected at most 511 tokens in a context of 512, found 600',
  ]);
  await Promise.all(running);
  const alone = note('long', collect(model.generate([5], LONG)));
  await Promise.all([
    alone,
    note('', model.chat(new Array(512).fill(5))),
    note('short', model.chat('Hi', { maxTokens: 1 })),
  ]);
  assert.match(order[18], /found 512/);
  assert.deepEqual(order.slice(19), ['short', 'long']);
  await model.free();
});

test('a thread that is ready after the time-out never joins', async () => {
  const { spawn } = platform;
  const later = setTimeout;
  mock.timers.enable({ apis: ['setTimeout'] });
  mock.method(platform, 'spawn', (/** @type {'engine' | 'thread'} */ kind) => {
    const port = spawn(kind);
    if (kind === 'engine') return port;
    const late = (/** @type {(message: any) => void} */ listener) =>
      port.onMessage((message) => {
        // As a busy caller sees it: the time-out first, though the thread has run for long.
        const see = () => {
          mock.timers.tick(5000);
          listener(message);
        };
        later(see, 200);
      });
    return { ...port, onMessage: late };
  });
  const model = await load(tiny, { build: 'mt', threads: 2 });
  mock.timers.reset();
  assert.equal(model.info.threads, 1);
  assert.match(model.info.threadsReason, /1 did not start/);
  const { text } = await model.chat('Hello!', { maxTokens: 4 });
  assert.match(text, /\w/);
  await model.free();
});

test('a log-probability comes with each token when no alternatives are asked for', async () => {
  const model = await load(tiny, { threads: 1 });
  /** @param {number} [logprobs] */
  const first = async (logprobs) => {
    for await (const piece of model.generate('Hi', { logprobs, maxTokens: 1 }))
      if (piece.type === 'token') return piece;
  };
  const [none, own, one] = [await first(), await first(0), await first(1)];
  assert.deepEqual([none?.logprob, none?.alternatives], [undefined, undefined]);
  assert.deepEqual(own?.alternatives, []);
  assert.ok(own?.logprob !== undefined && own.logprob < 0);
  assert.equal(own.logprob, one?.logprob);
  await model.free();
});
