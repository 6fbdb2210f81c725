// The engine against PyTorch: logits, greedy tokens, hidden states and losses on equal weights, for the
// tiny model, the tiny random ones and, where it has been fetched, SmolLM2-135M-Instruct.
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import {
  golden,
  inTemporaryFolder,
  readFloats,
  readJson,
  realModel,
  runLogits,
  wick,
} from './command.mjs';

const logitTolerance = 2e-3; // largest absolute difference of float32 paths
const hiddenTolerance = 1e-3; // of a row's difference, relative to the row's norm
const lossTolerance = 2e-3; // absolute, natural log

/** @typedef {Float32Array | number[]} Row */

/** @param {Row} actual @param {Row} expected */
function largestDifference(actual, expected) {
  assert.equal(actual.length, expected.length);
  let largest = 0;
  for (let i = 0; i < actual.length; i++) {
    const difference = Math.abs(actual[i] - expected[i]);
    if (!(difference <= largest)) largest = difference; // NaN counts too
  }
  return largest;
}

/** @param {Row} row */
const norm = (row) => Math.sqrt(row.reduce((sum, x) => sum + x * x, 0));

/** @param {Row} actual @param {Row} expected */
const relativeError = (actual, expected) =>
  norm(Array.from(actual, (x, i) => x - expected[i])) / norm(expected);

/** @param {Row} row the lowest index of the largest value */
const argmax = (row) => row.reduce((best, x, i) => (x > row[best] ? i : best), 0);

/** @param {Float32Array} row @param {number} target */
function loss(row, target) {
  const largest = row[argmax(row)];
  return largest + Math.log(row.reduce((sum, x) => sum + Math.exp(x - largest), 0)) - row[target];
}

/**
 * One case of tiny.json, logits_f32.json or logits_bf16.json. The greedy tokens are checked by running
 * prompt and answer through the model at once: the largest logit before each token must be that token's.
 * @param {string} model
 * @param {any} testCase
 * @param {string} folder where the case's files lie
 */
function checkCase(model, testCase, folder) {
  const { ids, greedy_48: greedy, nll_per_token: losses } = testCase;
  const { rows } = runLogits(model, [...ids, ...greedy.slice(0, -1)]);
  const expected = readFloats(golden(folder + testCase.last_logits));
  const difference = largestDifference(rows[ids.length - 1], expected);
  assert.ok(difference <= logitTolerance, `logits differ by ${difference}`);
  assert.deepEqual(rows.slice(ids.length - 1).map(argmax), greedy);
  for (const [i, nll] of losses.entries()) {
    const found = loss(rows[i], ids[i + 1]);
    assert.ok(
      Math.abs(found - nll) <= lossTolerance,
      `loss of token ${i + 1}: ${found}, not ${nll}`,
    );
  }
  if (testCase.hidden === undefined) return;
  const { hidden } = runLogits(model, ids, { hidden: true });
  const truth = readFloats(golden(folder + testCase.hidden));
  assert.ok(hidden !== undefined);
  assert.equal(hidden.length, truth.length);
  const width = testCase.hidden_shape[2];
  for (let at = 0; at < truth.length; at += width) {
    const error = relativeError(hidden.subarray(at, at + width), truth.subarray(at, at + width));
    const [state, token] = [Math.floor(at / width / ids.length), (at / width) % ids.length];
    assert.ok(error <= hiddenTolerance, `hidden state ${state} of token ${token}: ${error}`);
  }
}

/**
 * The command's own generation, token by token through the cache.
 * @param {string} model
 * @param {any} testCase
 */
function checkGreedyText(model, testCase) {
  const text = wick([
    'run',
    model,
    '-p',
    testCase.text,
    '--raw',
    '--temp',
    '0',
    '-n',
    '48',
    '--exact',
  ]);
  const expected = testCase.greedy_text.replace(/<\|(im_end|endoftext)\|>$/, '');
  assert.equal(text.replace(/\n$/, ''), expected.replace(/\n$/, ''));
}

describe('the tiny model in float32', () => {
  const { model, cases } = readJson('tiny.json');
  for (const testCase of cases) {
    test(testCase.name, () => checkCase(golden(model), testCase, ''));
    test(`${testCase.name}: the text`, () => checkGreedyText(golden(model), testCase));
  }
});

test('a model split over files: any part stands for all, and gives the whole one its bits', () => {
  const whole = golden('generality/qwen2_untied_q4_1.gguf');
  const ids = Array.from({ length: 40 }, (_, i) => 3 + 5 * i);
  const expected = runLogits(whole, ids, { exact: false }).rows;
  for (const part of ['00001', '00003']) {
    const split = golden(`split/qwen2_untied_q4_1-${part}-of-00004.gguf`);
    assert.deepEqual(runLogits(split, ids, { exact: false }).rows, expected);
  }
});

describe('every architecture and type', () => {
  for (const testCase of readJson('generality.json').models) {
    const { name, ids, positions, tolerance, fast_tolerance: fastTolerance } = testCase;
    const expected = readFloats(golden(testCase.logits));
    const nVocab = expected.length / positions.length;
    /** @param {Float32Array[]} rows */
    const kept = (rows) => positions.map((/** @type {number} */ p) => rows[p]);
    /** @param {number} i */
    const truth = (i) => expected.subarray(i * nVocab, (i + 1) * nVocab);

    test(`${name} in float32`, () => {
      for (const [i, row] of kept(runLogits(golden(testCase.model), ids).rows).entries()) {
        const difference = largestDifference(row, truth(i));
        assert.ok(
          difference <= tolerance,
          `position ${positions[i]}: logits differ by ${difference}`,
        );
      }
    });
    test(`${name} on the fast path`, () => {
      const { rows } = runLogits(golden(testCase.model), ids, { exact: false });
      for (const [i, row] of kept(rows).entries()) {
        const error = relativeError(row, truth(i));
        assert.ok(error <= fastTolerance, `position ${positions[i]}: relative error ${error}`);
      }
    });
  }
});

const real = realModel();
describe('SmolLM2-135M-Instruct', { skip: real ? false : 'the model is not in models/' }, () => {
  const file = String(real);
  for (const testCase of readJson('smollm2/logits_f32.json').cases) {
    test(`${testCase.name} in float32`, () => checkCase(file, testCase, 'smollm2/'));
  }
  test('the text of capital', () => {
    const { cases } = readJson('smollm2/logits_f32.json');
    checkGreedyText(
      file,
      cases.find((/** @type {any} */ c) => c.name === 'capital'),
    );
  });
  test('memory at its peak: the file, the KV cache and 32 MB', () => {
    const args = ['bench', file, '-p', '64', '-n', '4', '-r', '1', '--json'];
    const { cache, peak } = JSON.parse(wick(args)).memory_bytes;
    const limit = statSync(file).size + cache + 32 * 2 ** 20;
    assert.ok(peak <= limit, `expected at most ${limit} bytes, found ${peak}`);
  });
  test('a bf16 folder that the command converts', () =>
    inTemporaryFolder((folder) => {
      const converted = path.join(folder, 'bf16');
      wick(['convert', file, converted, '--type', 'bf16']);
      for (const testCase of readJson('smollm2/logits_bf16.json').cases) {
        checkCase(converted, testCase, 'smollm2/');
      }
    }));
});
