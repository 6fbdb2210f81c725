/** SmolLM2 in Node against PyTorch and HF tokenizers (tests/golden/smollm2). */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { load } from '../../node/index.js';
import { collect, largestDifference, needsSmolLM2, readFloats, readJson } from './support.mjs';
import { root, smollm2 } from './support.mjs';

const { cases } = readJson('smollm2/logits_f32.json');
const LOGIT_TOLERANCE = 2e-3;
const HIDDEN_TOLERANCE = 1e-3;

for (const threads of [1, 2]) {
  describe(`exact arithmetic, ${threads} threads`, needsSmolLM2, () => {
    let model;
    before(async () => {
      model = await load(smollm2, { exact: true, threads, context: 512 });
    });
    after(() => model?.free());

    for (const { name, ids, last_logits, greedy_48, hidden, hidden_shape } of cases) {
      test(`logits of ${name}`, async () => {
        const found = await model.evaluate(ids, { hidden: Boolean(hidden) });
        const difference = largestDifference(found.logits, readFloats(`smollm2/${last_logits}`));
        assert.ok(difference <= LOGIT_TOLERANCE, `expected at most 2e-3, found ${difference}`);
        if (hidden) checkHidden(found.hidden, readFloats(`smollm2/${hidden}`), hidden_shape);
      });

      test(`greedy text of ${name}`, async () => {
        const { tokens } = await collect(model.generate(ids, { maxTokens: 48 }));
        assert.deepEqual(tokens, greedy_48);
      });
    }
  });
}

/** Each row's largest difference relative to the row's norm. */
function checkHidden(found, expected, [, , width]) {
  assert.equal(found.length, expected.length);
  for (let at = 0; at < expected.length; at += width) {
    const row = expected.subarray(at, at + width);
    const norm = Math.hypot(...row);
    const difference = largestDifference(found.subarray(at, at + width), row) / norm;
    assert.ok(difference <= HIDDEN_TOLERANCE, `row ${at / width}: found ${difference}`);
  }
}

describe('the fast path', needsSmolLM2, () => {
  let model;
  before(async () => {
    model = await load(smollm2, { context: 512 });
  });
  after(() => model?.free());

  test('ids of every case', async () => {
    for (const { text, ids } of readJson('smollm2/tokenizer_cases.json').cases)
      assert.deepEqual([...(await model.tokenize(text))], ids, JSON.stringify(text));
  });

  test('an answer names the reason for the blue sky', async () => {
    const { text, finish } = await model.chat('Why is the sky blue? Answer in one sentence.', {
      maxTokens: 100,
    });
    assert.match(text, /scatter/i);
    assert.equal(finish, 'stop');
  });

  test('one thread gives the same text', async () => {
    const one = await load(smollm2, { context: 512, threads: 1 });
    const prompt = [{ role: 'user', content: 'Name three colours.' }];
    const options = { maxTokens: 40 };
    const expected = await model.chat(prompt, options);
    assert.deepEqual((await one.chat(prompt, options)).tokens, expected.tokens);
    await one.free();
  });

  const command = `${root}build/wick`;
  const skip = existsSync(command) ? false : 'build/wick is not built';
  test('the native command gives the same exact greedy text', { skip }, async () => {
    const prompt = 'Write a haiku about the sea.';
    const args = ['run', smollm2, '-p', prompt, '-n', '40', '--temp', '0', '--exact'];
    const native = spawnSync(command, args, { encoding: 'utf8' });
    assert.equal(native.status, 0, native.stderr);
    const exact = await load(smollm2, { context: 512, exact: true });
    const { text } = await exact.chat(prompt, { maxTokens: 40 });
    await exact.free();
    assert.equal(text.trimEnd(), native.stdout.trimEnd());
  });
});
