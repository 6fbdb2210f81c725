/**
 * Every architecture option, tensor type and pre-tokenizer in the wasm builds, against transformers
 * and HF tokenizers (tests/golden), with one thread and with several.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from '../../node/index.js';
import { golden, largestDifference, meanKl, readFloats, readJson } from './support.mjs';

const { models, tokenizers } = readJson('generality.json');
/** @type {{ text: string }[]} */
const { cases } = readJson('smollm2/tokenizer_cases.json');

/** Int8 activations are judged by the distribution that comes out. */
const FAST_KL = 0.0026;

/**
 * Rows of a matrix of logits.
 * @param {Float32Array} matrix
 * @param {number[]} positions
 * @param {number} width
 */
function rows(matrix, positions, width) {
  const picked = new Float32Array(positions.length * width);
  positions.forEach((at, i) => {
    picked.set(matrix.subarray(at * width, (at + 1) * width), i * width);
  });
  return picked;
}

for (const build of /** @type {const} */ (['st', 'mt'])) {
  for (const exact of [true, false]) {
    test(`logits of every small model, ${build}${exact ? ', exact' : ''}`, async () => {
      for (const { name, model: file, ids, positions, logits, n_vocab, tolerance } of models) {
        const threads = build === 'mt' ? 3 : undefined;
        const model = await load(golden + file, { build, exact, threads });
        assert.equal(model.info.threads, threads ?? 1, name);
        const found = await model.evaluate(ids, { firstOutput: 0 });
        await model.free();
        const [got, expected] = [rows(found.logits, positions, n_vocab), readFloats(logits)];
        const limit = exact ? tolerance : FAST_KL;
        const far = exact ? largestDifference(got, expected) : meanKl(got, expected, n_vocab);
        assert.ok(far <= limit, `${name}: expected at most ${limit}, found ${far}`);
      }
    });
  }
}

test('ids of every pre-tokenizer, from GGUF and from tokenizer.json', async () => {
  for (const { model: file } of tokenizers) {
    // Qwen 2's texts are normalized to NFC, whichever file they are read by.
    const expected = readJson(`${file.replace(/\.gguf$/, '')}.ids.json`);
    const model = await load(golden + file, { build: 'st' });
    for (const [i, { text }] of cases.entries())
      assert.deepEqual([...(await model.tokenize(text))], expected[i], `${file}: text ${i}`);
    await model.free();
  }
});
