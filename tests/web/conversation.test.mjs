/** Conversations as data: branches, export and import of untrusted files, and keeping them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Conversation } from '../../web/parts/conversation.js';
import { exportConversations, importConversations, LIMITS } from '../../web/parts/exchange.js';
import { launch, openPage, serveSite } from './support.mjs';

/** @param {Conversation} talk @param {'user' | 'assistant'} role @param {string} text @param {number} parent */
const say = (talk, role, text, parent) => talk.add({ parent, role, text });

/** Two questions; the first answer was retried, the second question edited. */
function branched() {
  const talk = new Conversation();
  const question = say(talk, 'user', 'one?', -1);
  const first = say(talk, 'assistant', 'one', question);
  const second = say(talk, 'user', 'two?', first);
  say(talk, 'assistant', 'two', second);
  const edited = say(talk, 'user', 'three?', first);
  say(talk, 'assistant', 'three', edited);
  const retried = say(talk, 'assistant', 'ONE', question);
  return { talk, question, first, second, edited, retried };
}

const texts = (/** @type {Conversation} */ talk) =>
  talk.path().map((index) => talk.message(index).text);

test('every branch can be reached, and opens where it was last written', () => {
  const { talk, question, first, second, edited, retried } = branched();
  assert.deepEqual(texts(talk), ['one?', 'ONE']);
  assert.deepEqual(talk.siblings(first), [first, retried]);
  assert.deepEqual(talk.siblings(question), [question]);
  talk.show(first);
  assert.deepEqual(texts(talk), ['one?', 'one', 'three?', 'three']);
  assert.deepEqual(talk.siblings(edited), [second, edited]);
  talk.show(second);
  assert.deepEqual(texts(talk), ['one?', 'one', 'two?', 'two']);
  assert.deepEqual(talk.branch(), [
    { index: question, version: 0, versions: 1 },
    { index: first, version: 0, versions: 2 },
    { index: second, version: 0, versions: 2 },
    { index: second + 1, version: 0, versions: 1 },
  ]);
  assert.equal(talk.title, 'one?');
});

test('a model reads the system prompt and one branch, without failures', () => {
  const { talk, second } = branched();
  talk.system = 'Be brief.';
  talk.show(second);
  const failed = talk.add({ parent: second, role: 'assistant', text: 'no room', failed: true });
  assert.deepEqual(
    talk.chat(talk.read(failed)).map(({ content }) => content),
    ['one?', 'one'],
    'a question without an answer is left out with it',
  );
  const again = talk.add({ parent: second, role: 'assistant', text: 'two' });
  assert.deepEqual(
    [...talk.systemMessages, ...talk.chat(talk.read(again))],
    [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'one?' },
      { role: 'assistant', content: 'one' },
      { role: 'user', content: 'two?' },
      { role: 'assistant', content: 'two' },
    ],
  );
});

test('what is exported is imported as it was, under a new id', async () => {
  const { talk } = branched();
  talk.system = 'Héllo \u{1F600} </script>';
  const [back] = await importConversations(new Blob([exportConversations([talk.toJSON()])]), 'a');
  assert.notEqual(back.id, talk.id);
  assert.deepEqual({ ...back, id: talk.id }, talk.toJSON());
});

/** @param {(file: any) => void} change */
const changed = (change) => {
  const file = JSON.parse(exportConversations([branched().talk.toJSON()]));
  change(file);
  return JSON.stringify(file);
};

/** @type {[string, string, RegExp][]} */
const BAD = [
  ['no JSON', 'GGUF\0\x03', /^x\.json: expected JSON, found "GGUF/],
  ['nothing', '', /^x\.json: expected JSON, found an empty text$/],
  ['a list', '[]', /the file: expected an object, found a list of 0/],
  ['another format', '{"format":"chats"}', /format: expected "wick conv.*, found "chats"/],
  ['a later version', changed((file) => (file.version = 2)), /version: expected 1, found "2"/],
  [
    'a parent after its child',
    changed((file) => (file.conversations[0].messages[1].parent = 3)),
    /conversations\[0\]\.messages\[1\]\.parent: expected a whole number from -1 to 0, found "3"/,
  ],
  [
    'a message that is its own parent',
    changed((file) => (file.conversations[0].messages[0].parent = 0)),
    /messages\[0\]\.parent: expected a whole number from -1 to -1/,
  ],
  [
    'half an index',
    changed((file) => (file.conversations[0].leaf = 0.5)),
    /leaf: expected a whole number from -1 to 6, found "0\.5"/,
  ],
  [
    'a role that templates know',
    changed((file) => (file.conversations[0].messages[0].role = 'system')),
    /role: expected "user" or "assistant", found "system"/,
  ],
  [
    'a text that is none',
    changed((file) => (file.conversations[0].messages[0].text = { a: 1 })),
    /messages\[0\]\.text: expected a text, found an object/,
  ],
  [
    'a text too long',
    changed((file) => (file.conversations[0].title = 'x'.repeat(LIMITS.titleLength + 1))),
    /title: expected at most 200 characters, found 201/,
  ],
  [
    'too many messages',
    changed((file) => (file.conversations[0].messages = Array(LIMITS.messages + 1).fill(0))),
    /messages: expected at most 10000, found 10001/,
  ],
  [
    'a time that no date has',
    changed((file) => (file.conversations[0].updated = 1e300)),
    /updated: expected milliseconds since 1970, found "1e\+300"/,
  ],
  [
    'a prototype',
    '{"__proto__":{"format":"wick conversations"}}',
    /format: expected "wick conversations", found nothing/,
  ],
];

for (const [what, text, expected] of BAD)
  test(`an import refuses ${what} in one line`, async () => {
    await assert.rejects(importConversations(new Blob([text]), 'x.json'), (error) => {
      const { message } = /** @type {Error} */ (error);
      assert.match(message, expected);
      assert.ok(!message.includes('\n') && message.length < 200, message);
      return true;
    });
  });

test('an import refuses what is too large before it reads it', async () => {
  const blob = /** @type {Blob} */ ({ size: 33e6, text: () => assert.fail('was read') });
  await assert.rejects(importConversations(blob, 'x'), /expected at most 32 MB, found 33\.0 MB/);
});

test('unknown fields of an import are left out', async () => {
  const text = changed((file) => (file.conversations[0].messages[0].onclick = 'alert(1)'));
  const [back] = await importConversations(new Blob([text]), 'x.json');
  assert.ok(!('onclick' in back.messages[0]));
});

test('kept conversations outlive the page, in order; the deleted ones do not', async () => {
  const [browser, site] = await Promise.all([launch(), serveSite()]);
  const { page, close } = await openPage(browser);
  await page.goto(`${site.url}style/`);
  const saved = [1, 2, 3].map((n) => ({ ...branched().talk.toJSON(), updated: n, title: `${n}` }));
  await page.evaluate(async (saved) => {
    const { Keep } = await import(/** @type {any} */ ('/parts/keep.js'));
    const keep = await Keep.open();
    await keep.put(saved[0], saved[2]);
    await keep.put(saved[1]);
    await keep.delete(saved[2].id);
  }, saved);
  await page.reload();
  const found = await page.evaluate(async (id) => {
    const { Keep } = await import(/** @type {any} */ ('/parts/keep.js'));
    const keep = await Keep.open();
    const list = await keep.list();
    return { reason: keep.reason, list, one: await keep.get(id), n: (await keep.all()).length };
  }, saved[0].id);
  assert.equal(found.reason, '');
  assert.deepEqual(
    found.list.map((/** @type {any} */ { title }) => title),
    ['2', '1'],
  );
  assert.deepEqual(found.one, saved[0]);
  assert.equal(found.n, 2);
  await close();
});

test('without a database they live as long as the page, which says so', async () => {
  const [browser, site] = await Promise.all([launch(), serveSite()]);
  const { page, close } = await openPage(browser);
  await page.addInitScript(() => {
    IDBFactory.prototype.open = () => {
      throw new DOMException('refused here', 'SecurityError');
    };
  });
  await page.goto(`${site.url}style/`);
  const found = await page.evaluate(async (saved) => {
    const { Keep } = await import(/** @type {any} */ ('/parts/keep.js'));
    const keep = await Keep.open();
    await keep.put(saved);
    return { reason: keep.reason, list: await keep.list() };
  }, branched().talk.toJSON());
  assert.match(found.reason, /as long as this page: refused here/);
  assert.equal(found.list.length, 1);
  await close();
});
