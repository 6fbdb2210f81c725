/**
 * The model object in Node, on a small random model: streaming, cancelling, queueing, freeing.
 *
 * @import { Piece, Progress } from '../../web/lib/messages.js'
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { load } from '../../node/index.js';
import { collect, golden, tiny } from './support.mjs';

const FILE = `${golden}generality/llama3_f16_gguf.gguf`;
const PROMPT = [5, 6, 7, 8, 9, 10, 11];
const GREEDY = { maxTokens: 24, ignoreEnd: true };

for (const build of /** @type {const} */ (['st', 'mt'])) {
  describe(`build ${build}`, () => {
    /** @type {import('../../node/index.js').Model} */
    let model;
    const options = { build, threads: build === 'mt' ? 2 : undefined };
    before(async () => {
      model = await load(FILE, options);
    });
    after(() => model?.free());

    test('says what it runs and why', () => {
      const { info } = model;
      assert.equal(info.build, build);
      assert.equal(info.buildReason, 'forced');
      assert.equal(info.threads, build === 'mt' ? 2 : 1);
      assert.notEqual(info.level, 'reference');
      assert.equal(info.fileBytes, readFileSync(FILE).length);
      assert.equal(info.model.nVocab, 288);
    });

    test('streams an answer whose pieces add up', async () => {
      const { tokens, last, text } = await collect(model.generate(PROMPT, GREEDY));
      assert.equal(tokens.length, 24);
      assert.equal(last.type, 'done');
      assert.equal(last.finish, 'length');
      assert.equal(last.nPrompt, PROMPT.length);
      assert.equal(last.nGenerated, 24);
      const whole = await model.detokenize(tokens);
      assert.equal(text, whole);
    });

    test('evaluate in two steps equals evaluate in one', async () => {
      const whole = await model.evaluate(PROMPT);
      await model.evaluate(PROMPT.slice(0, 3), { firstOutput: 3 });
      const rest = await model.evaluate(PROMPT.slice(3), { past: 3 });
      assert.deepEqual(rest.logits, whole.logits);
      const [best] = await greedyOf(whole.logits);
      const { tokens } = await collect(model.generate(PROMPT, { ...GREEDY, maxTokens: 1 }));
      assert.equal(tokens[0], best);
    });

    test('several answers at once are each their own', async () => {
      const prompts = Array.from({ length: 20 }, (_, i) => [i + 3, i + 4, 2 * i + 5]);
      const alone = [];
      for (const prompt of prompts)
        alone.push((await collect(model.generate(prompt, GREEDY))).tokens);
      const together = await Promise.all(
        prompts.map((prompt) => collect(model.generate(prompt, GREEDY))),
      );
      assert.deepEqual(
        together.map(({ tokens }) => tokens),
        alone,
      );
    });

    test('a second turn reuses the first from the cache', async () => {
      const first = await collect(model.generate(PROMPT, GREEDY));
      const longer = [...PROMPT, ...first.tokens, 12, 13];
      const { last } = await collect(model.generate(longer, GREEDY));
      assert.ok(last.nReused >= PROMPT.length, `reused ${last.nReused}`);
    });

    test('a seed gives one text, another seed another', async () => {
      /** @param {number | bigint} seed */
      const drawn = (seed) =>
        collect(model.generate(PROMPT, { ...GREEDY, temperature: 1.5, seed }));
      const [a, b, c] = [await drawn(1), await drawn(1), await drawn(2n ** 63n)];
      assert.deepEqual(a.tokens, b.tokens);
      assert.notDeepEqual(a.tokens, c.tokens);
    });

    test('log-probabilities come best first', async () => {
      /** @type {Piece[]} */
      const pieces = [];
      for await (const piece of model.generate(PROMPT, { ...GREEDY, logprobs: 3 }))
        if (piece.type === 'token') pieces.push(piece);
      for (const { token, logprob = NaN, alternatives = [] } of pieces) {
        assert.equal(alternatives.length, 3);
        assert.equal(alternatives[0].id, token);
        assert.equal(alternatives[0].logprob, logprob);
        assert.ok(alternatives[0].logprob >= alternatives[1].logprob && logprob <= 0);
      }
    });

    test('an aborted answer throws the reason, and the next one is right', async () => {
      const expected = (await collect(model.generate(PROMPT, GREEDY))).tokens;
      const controller = new AbortController();
      /** @type {Piece[]} */
      const seen = [];
      await assert.rejects(
        async () => {
          const long = { maxTokens: 1000, ignoreEnd: true, signal: controller.signal };
          for await (const piece of model.generate(PROMPT, long)) {
            seen.push(piece);
            if (seen.length === 3) controller.abort(new Error('enough'));
          }
        },
        { message: 'enough' },
      );
      // How soon, host.test.mjs asserts in steps: here another thread's clock decides.
      assert.ok(seen.length < 1000, `saw ${seen.length} pieces`);
      assert.ok(seen.every(({ finish }) => finish !== 'length'));
      assert.deepEqual((await collect(model.generate(PROMPT, GREEDY))).tokens, expected);
    });

    test('leaving the loop stops the work', async () => {
      for await (const { type } of model.generate(PROMPT, { maxTokens: 1000, ignoreEnd: true }))
        if (type === 'token') break;
      const { tokens } = await collect(model.generate(PROMPT, GREEDY));
      assert.equal(tokens.length, 24);
    });

    test('an aborted signal starts nothing', async () => {
      const pieces = model.generate(PROMPT, { signal: AbortSignal.abort() });
      await assert.rejects(pieces.next(), { name: 'AbortError' });
    });

    test('the engine refuses in its own words, and goes on', async () => {
      await assert.rejects(collect(model.generate([100000])), /^Error: wick: prompt: expected/);
      await assert.rejects(collect(model.generate([])), /^Error: wick: prompt: expected/);
      await assert.rejects(model.evaluate([5], { past: 77 }), /n_past: expected/);
      const tooLong = new Array(model.info.context + 1).fill(5);
      await assert.rejects(collect(model.generate(tooLong)), /context/);
      await assert.rejects(model.chat('hello'), /^Error: wick: .*expected/);
      assert.equal((await collect(model.generate(PROMPT, GREEDY))).tokens.length, 24);
    });
  });
}

/** Ids by falling logit. @param {Float32Array} logits */
function greedyOf(logits) {
  return [...logits.keys()].sort((a, b) => logits[b] - logits[a]);
}

describe('loading and freeing', () => {
  test('from bytes, from a Blob, from a file address', async () => {
    const bytes = readFileSync(FILE);
    const expected = await answerOf(FILE);
    for (const source of [
      new Uint8Array(bytes),
      new Uint8Array(bytes).buffer,
      new Blob([bytes]),
      new URL(`file://${FILE}`),
    ])
      assert.deepEqual(await answerOf(source), expected);
  });

  for (const build of /** @type {const} */ (['st', 'mt'])) {
    test(`build ${build}: memory is as much as the options need`, async () => {
      const needs = { context: 64, chunk: 1 << 14 }; // much beside small weights and cache
      const model = await load(tiny, { build, ...needs });
      assert.ok(model.info.memoryBytes > 100 << 20, `${model.info.memoryBytes} bytes`);
      assert.equal((await model.chat(PROMPT, { ...GREEDY, maxTokens: 4 })).tokens.length, 4);
      await model.free();
    });
  }

  test('a freed model says so, at once and for answers under way', async () => {
    const model = await load(FILE);
    const pieces = model.generate(PROMPT, { maxTokens: 1000, ignoreEnd: true });
    await pieces.next();
    await model.free();
    await assert.rejects(async () => {
      for await (const piece of pieces) void piece;
    }, /the model was freed/);
    await assert.rejects(model.tokenize('a'), /the model was freed/);
    await model.free();
  });

  test('an aborted load ends', async () => {
    const controller = new AbortController();
    const loading = load(FILE, {
      signal: controller.signal,
      onProgress: () => controller.abort(),
    });
    await assert.rejects(loading, { name: 'AbortError' });
  });

  test('progress goes up to the whole and not beyond', async () => {
    /** @type {Progress[]} */
    const seen = [];
    const model = await load(FILE, { onProgress: (progress) => seen.push(progress) });
    await model.free();
    const last = /** @type {Progress} */ (seen.at(-1));
    assert.equal(last.phase, 'ready');
    assert.equal(last.loaded, last.total);
    assert.ok(seen.every(({ loaded, total }) => loaded <= total));
  });

  test('twenty rounds keep no memory', async () => {
    for (let i = 0; i < 3; i++) await answerOf(FILE);
    globalThis.gc?.();
    const before = process.memoryUsage().rss;
    for (let i = 0; i < 20; i++) await answerOf(FILE);
    globalThis.gc?.();
    const grown = (process.memoryUsage().rss - before) / 1e6;
    // Each model holds some 10 MB of wasm memory: keeping them would show as 200.
    assert.ok(grown < 80, `grew by ${grown.toFixed(0)} MB`);
  });
});

/** @param {import('../../web/lib/sources.js').Source} source */
async function answerOf(source) {
  const model = await load(source);
  const { tokens } = await collect(model.generate(PROMPT, GREEDY));
  await model.free();
  return tokens;
}
