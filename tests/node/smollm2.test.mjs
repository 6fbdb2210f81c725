/** SmolLM2 in Node against PyTorch and HF tokenizers (tests/golden/smollm2). */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { load } from '../../node/index.js';
import { collect, largestDifference, readFloats, readJson, root, smollm2 } from './support.mjs';

const { cases } = readJson('smollm2/logits_f32.json');
const LOGIT_TOLERANCE = 2e-3;
const HIDDEN_TOLERANCE = 1e-3;
const file = smollm2 ?? '';
const needsModel = { skip: smollm2 ? false : 'no models/smollm2-135m.gguf' };

for (const threads of [1, 2]) {
  describe(`exact arithmetic, ${threads} threads`, needsModel, () => {
    /** @type {import('../../node/index.js').Model} */
    let model;
    before(async () => {
      model = await load(file, { exact: true, threads, context: 512 });
    });
    after(() => model?.free());

    for (const { name, ids, last_logits, greedy_48, hidden, hidden_shape } of cases) {
      test(`logits of ${name}`, async () => {
        const found = await model.evaluate(ids, { hidden: Boolean(hidden) });
        const difference = largestDifference(found.logits, readFloats(`smollm2/${last_logits}`));
        assert.ok(difference <= LOGIT_TOLERANCE, `expected at most 2e-3, found ${difference}`);
        if (!found.hidden) return;
        checkHidden(found.hidden, readFloats(`smollm2/${hidden}`), hidden_shape[2]);
      });

      // All at once, as a prompt: results don't depend on how tokens are batched.
      test(`greedy tokens of ${name}`, async () => {
        const all = [...ids, ...greedy_48].slice(0, -1);
        const { logits } = await model.evaluate(all, { firstOutput: ids.length - 1 });
        assert.deepEqual(bestOfRows(logits, model.info.model.nVocab), greedy_48);
      });
    }

    test('generation draws the same tokens one by one', async () => {
      const [{ ids, greedy_48 }] = cases;
      const { tokens } = await collect(model.generate(ids, { maxTokens: 12 }));
      assert.deepEqual(tokens, greedy_48.slice(0, 12));
    });
  });
}

/**
 * Each row's largest difference relative to the row's norm.
 * @param {Float32Array} found
 * @param {Float32Array} expected
 * @param {number} width
 */
function checkHidden(found, expected, width) {
  assert.equal(found.length, expected.length);
  for (let at = 0; at < expected.length; at += width) {
    const row = expected.subarray(at, at + width);
    const difference = largestDifference(found.subarray(at, at + width), row) / Math.hypot(...row);
    assert.ok(difference <= HIDDEN_TOLERANCE, `row ${at / width}: found ${difference}`);
  }
}

/**
 * The id of each row's largest logit.
 * @param {Float32Array} logits
 * @param {number} width
 */
function bestOfRows(logits, width) {
  return Array.from({ length: logits.length / width }, (_, row) => {
    const values = logits.subarray(row * width, (row + 1) * width);
    return values.reduce((best, value, id) => (value > values[best] ? id : best), 0);
  });
}

describe('the fast path', needsModel, () => {
  /** @type {import('../../node/index.js').Model} */
  let model;
  before(async () => {
    model = await load(file, { context: 512 });
  });
  after(() => model?.free());

  test('ids of every case', async () => {
    for (const { text, ids } of readJson('smollm2/tokenizer_cases.json').cases)
      assert.deepEqual([...(await model.tokenize(text))], ids, JSON.stringify(text));
  });

  test('an answer names the reason for the blue sky', async () => {
    const { text } = await model.chat('Why is the sky blue? Answer in one sentence.', {
      maxTokens: 48,
    });
    assert.match(text, /scatter/i);
  });

  test('a second turn reuses the first', async () => {
    /** @type {import('../../web/lib/messages.js').ChatMessage[]} */
    const messages = [{ role: 'user', content: 'Name a colour.' }];
    const first = await model.chat(messages, { maxTokens: 16 });
    messages.push({ role: 'assistant', content: first.text });
    messages.push({ role: 'user', content: 'Another one.' });
    const second = await model.chat(messages, { maxTokens: 4 });
    assert.ok(second.nReused >= first.nPrompt, `reused ${second.nReused} of ${second.nPrompt}`);
  });

  test('one thread gives the same text', async () => {
    const one = await load(file, { context: 512, threads: 1 });
    const options = { maxTokens: 24 };
    const expected = await model.chat('Name three colours.', options);
    assert.deepEqual((await one.chat('Name three colours.', options)).tokens, expected.tokens);
    await one.free();
  });

  const command = `${root}build/wick`;
  const skip = existsSync(command) ? false : 'build/wick is not built';
  test('the native command gives the same exact greedy text', { skip }, async () => {
    const prompt = 'Write a haiku about the sea.';
    const args = ['run', file, '-p', prompt, '-n', '12', '--temp', '0', '--exact'];
    const native = spawnSync(command, args, { encoding: 'utf8' });
    assert.equal(native.status, 0, native.stderr);
    const exact = await load(file, { context: 512, exact: true });
    const { text } = await exact.chat(prompt, { maxTokens: 12 });
    await exact.free();
    assert.equal(text.trimEnd(), native.stdout.trimEnd());
  });
});
