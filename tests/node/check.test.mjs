/** What a caller passes wrongly is refused by name, before it reaches C; the model stays whole. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { load } from '../../node/index.js';
import { tiny } from './support.mjs';

const IDS = [5, 6, 7, 8];

/** @type {import('../../node/index.js').Model} */
let model;
before(async () => {
  model = await load(tiny, { threads: 1, context: 64, cacheTokens: 128 });
});
after(() => model?.free());

/**
 * @param {() => Promise<unknown>} call
 * @param {string | RegExp} message
 */
async function refuses(call, message) {
  await assert.rejects(call, (error) => {
    if (message instanceof RegExp) assert.match(error.message, message);
    else assert.equal(error.message, `wick: ${message}`);
    assert.match(error.message, /^wick: [^\n]*expected [^\n]+, found [^\n]+$/);
    return true;
  });
}

/** Whatever its type. @param {any} value */
const any = (value) => value;

test('options of generate and chat', async () => {
  /** @type {[any, string][]} */
  const wrong = [
    [{ temperature: 'hot' }, 'temperature: expected a number from 0 to 1e+30, found "hot"'],
    [{ temperature: NaN }, 'temperature: expected a number from 0 to 1e+30, found NaN'],
    [{ temperature: null }, 'temperature: expected a number from 0 to 1e+30, found null'],
    [
      { maxTokens: 1e12 },
      'maxTokens: expected a whole number from 1 to 2147483647, found 1000000000000',
    ],
    [{ maxTokens: 0 }, 'maxTokens: expected a whole number from 1 to 2147483647, found 0'],
    [{ maxTokens: 1.5 }, 'maxTokens: expected a whole number from 1 to 2147483647, found 1.5'],
    [{ topK: -1 }, 'topK: expected a whole number from 0 to 2147483647, found -1'],
    [{ topP: 2 }, 'topP: expected a number from 0 to 1, found 2'],
    [{ logprobs: 21 }, 'logprobs: expected a whole number from 0 to 20, found 21'],
    [
      { seed: -1 },
      'seed: expected a whole number from 0 to 2^53 - 1, or a bigint to 2^64 - 1, found -1',
    ],
    [
      { seed: 2n ** 64n },
      'seed: expected a whole number from 0 to 2^53 - 1, or a bigint to 2^64 - 1, found 18446744073709551616n',
    ],
    [{ stop: ['a', ''] }, 'stop: expected texts without U+0000 and none of them empty, found ""'],
    [{ stop: [7] }, 'stop: expected texts without U+0000 and none of them empty, found 7'],
    [
      { logitBias: { x: 1 } },
      `logitBias: expected token ids from 0 to ${model.info.model.nVocab - 1}, found "x"`,
    ],
    [
      { logitBias: { 99999: 1 } },
      `logitBias: expected token ids from 0 to ${model.info.model.nVocab - 1}, found "99999"`,
    ],
    [
      { logitBias: { 5: Infinity } },
      'logitBias: 5: expected a number from -1000000 to 1000000, found Infinity',
    ],
    [{ raw: 1 }, 'raw: expected true or false, found 1'],
    [{ signal: {} }, 'signal: expected an AbortSignal, found a value of type object'],
    ['greedy', 'options: expected an object, found "greedy"'],
  ];
  for (const [options, message] of wrong) {
    await refuses(() => model.chat('Hi', options), message);
    await refuses(() => model.generate(IDS, options).next(), message);
  }
  await refuses(
    () => model.chat('Hi', any({ temprature: 1 })),
    /: options: expected some of maxTokens.*, found temprature$/,
  );
});

test('prompts and messages', async () => {
  const last = model.info.model.nVocab - 1;
  const content = /^wick: messages\[0\]\.content: expected a text, found /;
  await refuses(
    () => model.chat(any(undefined)),
    'prompt: expected a text, messages or token ids, found nothing',
  );
  await refuses(
    () => model.chat(any(null)),
    'prompt: expected a text, messages or token ids, found null',
  );
  await refuses(
    () => model.chat([]),
    'prompt: expected a text, messages or token ids, found an empty list',
  );
  await refuses(
    () => model.chat(any({})),
    'prompt: expected a text, messages or token ids, found a value of type object',
  );
  await refuses(
    () => model.chat([5, last + 1]),
    `prompt: expected token ids from 0 to ${last}, found ${last + 1} at [1]`,
  );
  await refuses(
    () => model.chat([5, 1.5]),
    `prompt: expected token ids from 0 to ${last}, found 1.5 at [1]`,
  );
  await refuses(() => model.chat(any([{ role: 'user' }])), content);
  await refuses(() => model.tokenize(any([{ role: 'user', content: 7 }])), content);
  await refuses(
    () => model.chat(any([{ role: 'bot', content: '' }])),
    'messages[0].role: expected system, user or assistant, found "bot"',
  );
  await refuses(
    () => model.chat(any([{ role: 'user', content: '' }, 7])),
    'messages[1]: expected a role and a content, found 7',
  );
  await refuses(
    () => model.tokenize('a', any({ specials: true })),
    'options: expected some of special, found specials',
  );
  await refuses(
    () => model.detokenize(any('abc')),
    'ids: expected a list of token ids, found "abc"',
  );
  await refuses(
    () => model.detokenize([-1]),
    `ids: expected token ids from 0 to ${last}, found -1 at [0]`,
  );
});

test('evaluate and score: nothing reaches past a buffer', async () => {
  const expected = await model.evaluate(IDS);
  const many = new Array(65).fill(5);
  const width = model.info.model.nVocab;
  await refuses(
    () => model.evaluate(IDS, { firstOutput: 1.5 }),
    'firstOutput: expected a whole number from 0 to 4, found 1.5',
  );
  await refuses(
    () => model.evaluate(IDS, { firstOutput: -1 }),
    'firstOutput: expected a whole number from 0 to 4, found -1',
  );
  await refuses(
    () => model.evaluate(IDS, { firstOutput: 5 }),
    'firstOutput: expected a whole number from 0 to 4, found 5',
  );
  await refuses(
    () => model.evaluate(IDS, { past: 0.5 }),
    'past: expected a whole number from 0 to 64, found 0.5',
  );
  await refuses(
    () => model.evaluate(many),
    'ids: expected at most 64 tokens with those past, found 65',
  );
  await refuses(() => model.evaluate([]), 'ids: expected at least 1 token ids, found 0');
  await refuses(
    () => model.evaluate(any(undefined)),
    'ids: expected a list of token ids, found nothing',
  );
  await refuses(
    () => model.score(IDS, [width]),
    `targets: expected token ids from 0 to ${width - 1}, found ${width} at [0]`,
  );
  await refuses(
    () => model.score([5], IDS),
    'targets: expected at most as many as the 1 ids, found 4',
  );
  await refuses(
    () => model.score(IDS, [5], { base: any([1]) }),
    'base: expected a Float32Array, found a list',
  );
  await refuses(
    () => model.score(IDS, [5], { base: new Float32Array(2) }),
    `base: expected targets * nVocab = ${width} numbers, found 2`,
  );
  assert.deepEqual((await model.evaluate(IDS)).logits, expected.logits);
  const { scores } = await model.score(IDS, [5], { base: expected.logits });
  assert.equal(scores[0].kl, 0);
});

test('sources and options of load', async () => {
  /** @type {[any, any, string][]} */
  const wrong = [
    [5, {}, 'model: expected an address, a file, files or bytes, found 5'],
    [undefined, {}, 'model: expected an address, a file, files or bytes, found nothing'],
    [[1, 2], {}, 'model: expected an address, a file, files or bytes, found a list'],
    ['', {}, 'model: expected a path or a name, found an empty text'],
    [tiny, { threads: 0 }, 'threads: expected a whole number from 1 to 64, found 0'],
    [tiny, { threads: 1.5 }, 'threads: expected a whole number from 1 to 64, found 1.5'],
    [tiny, { context: 0 }, 'context: expected a whole number from 1 to 2147483647, found 0'],
    [tiny, { context: 1e9 }, 'engine: expected a context of 1 to 1024 tokens, found 1000000000'],
    [
      tiny,
      { cacheTokens: 2 ** 31 },
      'cacheTokens: expected a whole number from 1 to 2147483647, found 2147483648',
    ],
    [
      tiny,
      { context: 64, cacheTokens: 8 },
      "cacheTokens: expected at least the context's 64, found 8",
    ],
    [tiny, { chunk: -1 }, 'chunk: expected a whole number from 1 to 16384, found -1'],
    [tiny, { cache: 'f64' }, 'cache: expected f16, f32 or int8, found "f64"'],
    [tiny, { build: 'huge' }, 'build: expected st, mt, st-relaxed or mt-relaxed, found "huge"'],
    [tiny, { onProgress: true }, 'onProgress: expected a function, found true'],
    [
      tiny,
      { wasm: new Uint8Array(8) },
      'wasm: expected a WebAssembly.Module, found a value of type object',
    ],
  ];
  for (const [source, options, message] of wrong)
    await refuses(() => load(source, options), message);
  await refuses(
    () => load(tiny, any({ thread: 2 })),
    /: options: expected some of threads.*, found thread$/,
  );
});

test('an option that is undefined counts as left out', async () => {
  const { text } = await model.chat('Hello!', { maxTokens: 4, stop: undefined, seed: undefined });
  assert.match(text, /\w/);
});
