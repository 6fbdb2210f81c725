/** Conversations on the chat page: branches, the panel, settings, long ones, what fits the context. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { exportConversations } from '../../web/parts/exchange.js';
import { axeViolations } from './axe.mjs';
import {
  answered,
  ask as send,
  hasSmolLM2,
  launch,
  openPage,
  ready,
  serveSite,
} from './support.mjs';

/** @typedef {import('playwright-core').Page} Page */

/** @type {import('playwright-core').Browser} */
let browser;
/** @type {Awaited<ReturnType<typeof serveSite>>} */
let site;
/** @type {Awaited<ReturnType<typeof openPage>>} */
let opened;
/** @type {Page} */
let page;
let folder = '';
before(async () => {
  [browser, site] = await Promise.all([launch(), serveSite()]);
  folder = await mkdtemp(path.join(tmpdir(), 'wick-talks-'));
});
after(async () => {
  await rm(folder, { recursive: true });
});
beforeEach(async () => {
  opened = await openPage(browser);
  ({ page } = opened);
  await page.goto(`${site.url}?model=tiny`);
  await ready(page);
});
afterEach(async () => {
  const odd = opened.complaints.filter((text) => hasSmolLM2 || !/status of 404/.test(text));
  assert.deepEqual(odd, []);
  await opened.close();
});

/** @param {string} text */
async function ask(text) {
  await send(page, text);
  await answered(page);
}
const texts = () => page.locator('.message .text').allInnerTexts();
const focused = () =>
  page.evaluate(() => {
    const { activeElement: found } = document;
    return found instanceof HTMLElement ? found.ariaLabel || found.innerText : '';
  });

/** @param {any} saved @param {string} name @returns {string} */
function write(saved, name = 'talk.json') {
  const file = path.join(folder, name);
  writeFileSync(file, typeof saved === 'string' ? saved : exportConversations([saved]));
  return file;
}

/** A conversation of n messages. @param {number} n @param {(i: number) => string} text */
const long = (n, text) => ({
  id: 'x',
  title: 'long',
  created: 0,
  updated: 0,
  system: '',
  messages: Array.from({ length: n }, (_, i) => ({
    parent: i - 1,
    role: /** @type {'user' | 'assistant'} */ (i % 2 ? 'assistant' : 'user'),
    text: text(i),
  })),
  leaf: n - 1,
});

/** @param {any} saved */
async function openImported(saved) {
  await page.locator('#import-file').setInputFiles(write(saved));
  await page.locator('#talks-note', { hasText: 'Imported 1 conversation.' }).waitFor();
  await page.locator('#talks .open').first().click();
  await page.locator('.message').first().waitFor();
}

test('an edited question starts a branch, and both are reached by keyboard', async () => {
  await ask('What is the capital of France?');
  await ask('Tell me a joke.');
  const before = await texts();
  await page.getByRole('button', { name: 'Edit' }).first().focus();
  await page.keyboard.press('Enter');
  assert.equal(await focused(), 'Edit the message');
  await page.locator('.edit textarea').fill('Hello!');
  await page
    .locator('.edit textarea')
    .dispatchEvent('keydown', { key: 'Enter', isComposing: true });
  assert.equal(await page.locator('.edit').count(), 1, 'a composition goes on');
  await page.keyboard.press('Enter');
  await page.locator('.versions', { hasText: '2/2' }).waitFor();
  await answered(page);
  const edited = await texts();
  assert.equal(edited.length, 2);
  assert.equal(edited[0], 'Hello!');
  assert.match(await page.locator('.versions').first().innerText(), /2\/2/);
  await page.getByRole('button', { name: 'Earlier version' }).focus();
  await page.keyboard.press('Enter');
  await page.locator('.versions', { hasText: '1/2' }).waitFor();
  assert.deepEqual(await texts(), before);
  assert.equal(await focused(), 'Later version', 'the focus stays beside what it pressed');
  await page.keyboard.press('Enter');
  await page.locator('.versions', { hasText: '2/2' }).waitFor();
  assert.deepEqual(await texts(), edited);
});

test('Escape leaves an edit as it was and gives the focus back', async () => {
  await ask('Hello!');
  await page.getByRole('button', { name: 'Edit' }).click();
  await page.locator('.edit textarea').fill('something else');
  await page.keyboard.press('Escape');
  assert.equal(await focused(), 'Edit');
  assert.equal((await texts())[0], 'Hello!');
});

test('a retried answer stands beside the first, and the same seed gives the same text', async () => {
  await page.locator('#settings-open').click();
  await page.locator('#temperature').fill('1.5');
  await page.locator('#seed').fill('7');
  await page.keyboard.press('Enter');
  await ask('Tell me a story about a fox.');
  const [, first] = await texts();
  await page.getByRole('button', { name: 'Retry' }).click();
  await page.locator('.versions', { hasText: '2/2' }).waitFor();
  await answered(page);
  assert.equal((await texts())[1], first);
  assert.match(await page.locator('.assistant .note').innerText(), /seed 7$/);
  await page.locator('#settings-open').click();
  await page.locator('#seed').fill('8');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Retry' }).click();
  await page.locator('.versions', { hasText: '3/3' }).waitFor();
  await answered(page);
  assert.notEqual((await texts())[1], first, 'another seed, another text');
});

test('settings stay within their bounds and outlive the page', async () => {
  await page.locator('#settings-open').click();
  await page.locator('#top-k').fill('40');
  await page.locator('#max-tokens').fill('0');
  await page.locator('#max-tokens').blur();
  assert.equal(await page.locator('#max-tokens').inputValue(), '1');
  await page.reload();
  await ready(page);
  await page.locator('#settings-open').click();
  assert.equal(await page.locator('#top-k').inputValue(), '40');
  await page.getByRole('button', { name: 'As they were' }).click();
  assert.equal(await page.locator('#max-tokens').inputValue(), '1024');
});

test('conversations are listed, renamed, deleted, taken back, and outlive the page', async () => {
  await ask('What is the capital of France?');
  await page.locator('#new').click();
  await ask('Hello!');
  const names = () => page.locator('#talks .open').allInnerTexts();
  assert.deepEqual(await names(), ['Hello!', 'What is the capital of France?']);
  await page.reload();
  await page.locator('#talks .open').nth(1).click();
  await page.locator('.message').first().waitFor();
  assert.equal((await texts())[0], 'What is the capital of France?');
  await page.getByRole('button', { name: 'Rename: What is' }).click();
  await page.keyboard.type('Paris');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Paris', exact: true }).waitFor();
  assert.equal(await focused(), 'Rename: Paris');
  await page.getByRole('button', { name: 'Delete: Paris' }).click();
  await page.locator('#talks-note', { hasText: 'Deleted' }).waitFor();
  assert.deepEqual(await names(), ['Hello!']);
  assert.equal(await page.locator('.message').count(), 0, 'what was deleted is not in view');
  assert.equal(await focused(), 'Undo');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Paris', exact: true }).waitFor();
});

test('an export is imported again; a bad file is one line', async () => {
  await ask('Hello!');
  const download = page.waitForEvent('download');
  await page.locator('#export').click();
  const file = await (await download).path();
  const { conversations } = JSON.parse(readFileSync(file, 'utf8'));
  assert.equal(conversations[0].messages[0].text, 'Hello!');
  await page.locator('#import-file').setInputFiles(file);
  await page.locator('#talks-note', { hasText: 'Imported 1 conversation.' }).waitFor();
  assert.equal(await page.locator('#talks .open').count(), 2);
  await page.locator('#import-file').setInputFiles(write('{"format":"chats"}', 'bad.json'));
  await page.locator('#talks-note', { hasText: /^bad\.json: format: expected/ }).waitFor();
  assert.equal(await page.locator('#talks .open').count(), 2);
});

test('a full context is told before, and then goes on without the oldest messages', async () => {
  // The tiny model reads 2,048 tokens at most.
  await openImported(long(60, (i) => `Message ${i}: ${'the fox and the moon '.repeat(12)}`));
  await page.locator('#context-text', { hasText: /of [\d,]+ tokens; when it is full/ }).waitFor();
  await ask('Hello!');
  const line = page.locator('.unread');
  assert.equal(await line.count(), 1);
  assert.match(await line.innerText(), /no longer reads what is above/);
  const note = await page.locator('.assistant .note').last().innerText();
  const [, prompt] = /prompt (\d+)/.exec(note) ?? [];
  assert.ok(Number(prompt) <= 1024, note);
  await page.locator('#prompt').fill('word '.repeat(50));
  await page.locator('#context-text', { hasText: /of them in your message/ }).waitFor();
  // The turn after that finds its prefix in the cache.
  await ask('And now?');
  const [, length, reused] =
    /prompt (\d+), (\d+) from cache \(saved about/.exec(
      await page.locator('.assistant .note').last().innerText(),
    ) ?? [];
  assert.ok(Number(reused) > Number(length) / 2, `${reused} of ${length}`);
});

/** Drops files on the page. @param {{ name: string, text: string }[]} files */
const drop = (files) =>
  page.evaluate((files) => {
    const dataTransfer = new DataTransfer();
    for (const { name, text } of files) dataTransfer.items.add(new File([text], name));
    const options = { dataTransfer, bubbles: true, cancelable: true };
    for (const type of ['dragover', 'drop'])
      document.body.dispatchEvent(new DragEvent(type, options));
  }, files);

test('dropped files: conversations, no model in one line, several in one line; chat goes on', async () => {
  const saved = exportConversations([{ ...long(2, (i) => `Message ${i}`), id: 'y' }]);
  await drop([{ name: 'talk.JSON', text: saved }]);
  await page.locator('#talks-note', { hasText: 'Imported 1 conversation.' }).waitFor();
  await drop([
    { name: 'a.gguf', text: '' },
    { name: 'b.gguf', text: '' },
  ]);
  await page.locator('#told', { hasText: /dropped files: expected one, or .* found 2/ }).waitFor();
  await ask('Hello!');
  await drop([{ name: 'bad.gguf', text: '<!doctype html>'.repeat(100) }]);
  await page.locator('#loading.failed').waitFor();
  assert.match(await page.locator('#state').innerText(), /^bad\.gguf: expected [^\n]+$/);
  await ask('Why is the sky blue?');
  assert.match((await texts()).at(-1) ?? '', /blue light/);
});

test('after a retry the focus is on what stops it, then on the message', async () => {
  await ask('Hello!');
  await page.getByRole('button', { name: 'Retry' }).focus();
  await page.keyboard.press('Enter');
  await page.locator('.versions', { hasText: '2/2' }).waitFor();
  await answered(page);
  assert.equal(await page.evaluate(() => document.activeElement?.id), 'prompt');
});

test('the reading position stays while text streams', async () => {
  await openImported(long(40, (i) => `Message ${i}: ${'the fox and the moon '.repeat(9)}`));
  const scroll = page.locator('#scroll');
  await page.locator('#prompt').fill('Tell me a story about a fox.');
  const found = await page.evaluate(async () => {
    const place = /** @type {HTMLElement} */ (document.getElementById('scroll'));
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    document.getElementById('send')?.click();
    await frame();
    // The reader goes back to what stands at the top of the view then.
    place.scrollTop -= 600;
    await frame();
    await frame();
    const read = document.elementFromPoint(place.getBoundingClientRect().left + 300, 200);
    const before = read?.getBoundingClientRect().top;
    while (document.querySelector('.streaming')) await frame();
    await frame();
    const after = read?.getBoundingClientRect().top;
    return { before, after };
  });
  // The browser keeps the place in whole pixels, while what stands above gets its height.
  const moved = Number(found.after) - Number(found.before);
  assert.ok(Math.abs(moved) < 1, `moved by ${moved} pixels`);
  await page.locator('#down').click();
  await page.locator('#down').waitFor({ state: 'hidden' });
  const distance = await scroll.evaluate((e) => e.scrollHeight - e.scrollTop - e.clientHeight);
  assert.ok(distance < 48);
});

test('a thousand messages: all there, in order, the newest in view', async () => {
  await openImported(long(1000, (i) => `**Message** ${i}\n\n- one\n- two`));
  await page.locator('.message').nth(999).waitFor({ state: 'attached' });
  const order = await page
    .locator('.message')
    .evaluateAll((all) =>
      all.map((each) => Number(/** @type {HTMLElement} */ (each).dataset.index)),
    );
  assert.deepEqual(
    order,
    Array.from({ length: 1000 }, (_, i) => i),
  );
  const distance = await page
    .locator('#scroll')
    .evaluate((e) => e.scrollHeight - e.scrollTop - e.clientHeight);
  assert.ok(distance < 48, 'the newest is in view');
});

for (const [name, options] of /** @type {const} */ ([
  ['light', { colorScheme: 'light' }],
  ['dark', { colorScheme: 'dark' }],
  ['a phone', { viewport: { width: 320, height: 640 } }],
]))
  test(`${name}: axe finds nothing, in any state`, async () => {
    const other = await openPage(browser, options);
    page = other.page;
    await page.goto(`${site.url}?model=tiny`);
    await ready(page);
    const wide = () => page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
    assert.deepEqual(await axeViolations(page), [], 'at the start');
    await ask('What is the capital of France?');
    await page.getByRole('button', { name: 'Retry' }).click();
    await page.locator('.versions', { hasText: '2/2' }).waitFor();
    await answered(page);
    assert.deepEqual(await axeViolations(page), [], 'after an answer');
    assert.equal(await wide(), false);
    await page.getByRole('button', { name: 'Edit' }).click();
    assert.deepEqual(await axeViolations(page), [], 'while editing');
    assert.equal(await wide(), false);
    await page.keyboard.press('Escape');
    await page.locator('#settings-open').click();
    assert.deepEqual(await axeViolations(page), [], 'in the settings');
    assert.equal(await wide(), false);
    await page.keyboard.press('Escape');
    if (name === 'a phone') {
      await page.locator('#panel-toggle').click();
      assert.deepEqual(await axeViolations(page), [], 'in the drawer');
      await page.keyboard.press('Escape');
      assert.equal(await focused(), 'Conversations');
    }
    assert.deepEqual(
      other.complaints.filter((text) => hasSmolLM2 || !/status of 404/.test(text)),
      [],
    );
    await other.close();
  });
