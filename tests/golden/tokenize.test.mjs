// Token ids against Hugging Face's tokenizers: each pre-tokenizer, read from GGUF and from tokenizer.json,
// on the 301 texts of smollm2/tokenizer_cases.json.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { golden, readJson, realModel, wick } from './command.mjs';

const { cases } = readJson('smollm2/tokenizer_cases.json');

/**
 * @param {string} model
 * @param {number[][]} expected ids, one list for each case
 * @param {number} [step] only every step-th case
 */
function checkAll(model, expected, step = 1) {
  assert.equal(expected.length, cases.length);
  for (const [i, { text }] of cases.entries()) {
    if (i % step !== 0) continue;
    const ids = JSON.parse(wick(['tokenize', model], text));
    assert.deepEqual(ids, expected[i], `text ${i}: ${JSON.stringify(text)}`);
  }
}

describe('tokenizers', () => {
  for (const { model, ids } of readJson('generality.json').tokenizers) {
    test(model, () => checkAll(golden(model), readJson(ids)));
  }
  const real = realModel();
  test('SmolLM2', { skip: real ? false : 'the model is not in models/' }, () => {
    // The unit tests have every text; opening the whole model for each would take a minute.
    const expected = cases.map((/** @type {any} */ testCase) => testCase.ids);
    checkAll(String(real), expected, 10);
  });
});
