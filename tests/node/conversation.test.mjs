/** A conversation outlives the context, and keeps only turns that have an answer. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Conversation, load } from '../../node/index.js';
import { collect, tiny } from './support.mjs';

/** @type {import('../../node/index.js').Model} */
let model;
before(async () => {
  model = await load(tiny, { context: 128 });
});
after(() => model?.free());

test('the oldest turns give way, the system prompt stays, every question is answered', async () => {
  const conversation = new Conversation('You are a friend.');
  const forgotten = [];
  for (let turn = 0; turn < 8; turn++) {
    const options = { maxTokens: 16, ignoreEnd: true };
    const { last, tokens } = await collect(conversation.ask(model, 'Hello!', options));
    assert.equal(tokens.length, 16);
    assert.ok(last.nPrompt <= 96, 'a quarter of the context is left for the answer');
    forgotten.push(conversation.nForgotten);
    const [system, ...turns] = conversation.messages;
    assert.equal(system.content, 'You are a friend.');
    assert.deepEqual(
      turns.map(({ role }) => role),
      turns.map((_, i) => (i % 2 ? 'assistant' : 'user')),
    );
  }
  assert.equal(forgotten[0], 0);
  assert.ok(forgotten.some((n) => n >= 2));
});

test('a turn without an answer is not kept', async () => {
  const conversation = new Conversation();
  await collect(conversation.ask(model, 'Hello!', { maxTokens: 4 }));
  const before = conversation.messages;
  assert.equal(before.length, 2);

  const long = 'word '.repeat(200);
  await assert.rejects(
    collect(conversation.ask(model, long)),
    /^Error: wick: message: expected at most 96 tokens with its frame, found \d+/,
  );
  assert.deepEqual(conversation.messages, before);

  const broken = /** @type {any} */ ({
    info: model.info,
    tokenize: async () => new Int32Array(4),
    generate: async function* () {
      yield { type: 'token', text: 'half an ans' };
      throw new Error('broken');
    },
  });
  await assert.rejects(collect(conversation.ask(broken, 'Hello!')), /broken/);
  assert.deepEqual(conversation.messages, before);

  const early = { signal: AbortSignal.abort() };
  await assert.rejects(collect(conversation.ask(model, 'Hello!', early)), { name: 'AbortError' });
  assert.deepEqual(conversation.messages, before);
});

test('what an answer said before it was stopped is kept', async () => {
  const conversation = new Conversation();
  const controller = new AbortController();
  let text = '';
  await assert.rejects(async () => {
    const options = { ignoreEnd: true, signal: controller.signal };
    for await (const piece of conversation.ask(model, 'Tell me a story.', options)) {
      text += piece.text;
      if (text) controller.abort();
    }
  });
  const [question, answer] = conversation.messages;
  assert.equal(question.content, 'Tell me a story.');
  assert.equal(answer.content, text);
});
