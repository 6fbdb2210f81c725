/** The chat page in Chromium, driven as a reader would: keyboard, stop, scrolling, no threads. */
import assert from 'node:assert/strict';
import { afterEach, before, beforeEach, describe, test } from 'node:test';
import {
  answered,
  ask,
  hasSmolLM2,
  lastAnswer,
  launch,
  openPage,
  ready,
  serveNotIsolated,
  serveSite,
} from './support.mjs';

/** @type {import('playwright-core').Browser} */
let browser;
/** @type {Awaited<ReturnType<typeof serveSite>>} */
let site;
before(async () => {
  [browser, site] = await Promise.all([launch(), serveSite()]);
});

describe('the page with the tiny model', () => {
  /** @type {Awaited<ReturnType<typeof openPage>>} */
  let opened;
  /** @type {import('playwright-core').Page} */
  let page;
  beforeEach(async () => {
    opened = await openPage(browser);
    ({ page } = opened);
    await page.goto(`${site.url}?model=tiny`);
    await ready(page);
  });
  afterEach(async () => {
    // Without SmolLM2 the page's question for it is answered by 404, which the console shows.
    const odd = opened.complaints.filter((text) => hasSmolLM2 || !/status of 404/.test(text));
    assert.deepEqual(odd, []);
    await opened.close();
  });

  test('answers, and says who talks, how fast and on what', async () => {
    assert.ok(await page.evaluate(() => globalThis.crossOriginIsolated));
    await ask(page, 'Why is the sky blue?');
    await answered(page);
    assert.match(await lastAnswer(page).locator('.text').innerText(), /blue light/);
    const note = await lastAnswer(page).locator('.note').innerText();
    assert.match(
      note,
      /^\d+ tokens · [\d.]+ tokens\/s · first after [\d.]+ s · prompt \d+, 0 from/,
    );
    assert.match(await page.locator('#summary').innerText(), /^wick tiny · build \S+ · \d+ thread/);
    assert.equal(await page.locator('#prompt').inputValue(), '');
  });

  test('keeps the conversation: the second turn reuses the first', async () => {
    await ask(page, 'Hello!');
    await answered(page);
    await ask(page, 'Tell me a joke.');
    await answered(page);
    const note = await lastAnswer(page).locator('.note').innerText();
    const [, prompt, reused] = /prompt (\d+), (\d+) from cache/.exec(note) ?? [];
    assert.ok(Number(reused) > Number(prompt) / 2, note);
    await page.locator('#new').click();
    assert.equal(await page.locator('.message').count(), 0);
    assert.ok(await page.locator('#welcome').isVisible());
  });

  test('stops when asked to, and answers again', async () => {
    await page.locator('#prompt').fill('Tell me a story about a fox.');
    // In one turn: the tiny model's whole story takes a tenth of a second.
    await page.evaluate(() => {
      document.getElementById('send')?.click();
      document.getElementById('stop')?.click();
    });
    await answered(page);
    assert.match(await lastAnswer(page).locator('.note').innerText(), /stopped$/);
    await ask(page, 'What is the capital of France?');
    await answered(page);
    assert.match(await lastAnswer(page).locator('.text').innerText(), /\w/);
  });

  test('shows what a reader or a model writes as text', async () => {
    const text = '<img src=x onerror=document.title=1> & <b>bold</b>';
    await ask(page, text);
    await answered(page);
    assert.equal(await page.locator('.message.user .text').innerText(), text);
    assert.equal(await page.locator('#log img, #log b').count(), 0);
  });

  test('an Enter that ends a composition sends nothing, Shift+Enter starts a line', async () => {
    const field = page.locator('#prompt');
    await field.fill('こんにちは');
    await field.dispatchEvent('keydown', { key: 'Enter', isComposing: true });
    await field.dispatchEvent('keydown', { key: 'Enter', keyCode: 229 });
    await field.press('Shift+Enter');
    assert.equal(await page.locator('.message').count(), 0);
    assert.equal(await field.inputValue(), 'こんにちは\n');
  });

  test('everything is reached by keyboard and has a name', async () => {
    const names = [];
    await page.locator('#prompt').fill('x');
    await page.evaluate(() => /** @type {HTMLElement} */ (document.activeElement).blur());
    for (let i = 0; i < 16; i++) {
      await page.keyboard.press('Tab');
      names.push(
        await page.evaluate(() => document.activeElement?.id || document.activeElement?.tagName),
      );
    }
    for (const id of ['model', 'prompt', 'send', 'SUMMARY']) assert.ok(names.includes(id), id);
    const log = page.getByRole('log', { name: 'Conversation' });
    assert.equal(await log.getAttribute('aria-live'), 'polite');
    await page.getByRole('textbox', { name: 'Message' }).waitFor();
    await page.getByRole('combobox', { name: 'Model' }).waitFor();
  });

  test('follows the newest text only from the bottom', async () => {
    await page.setViewportSize({ width: 360, height: 420 });
    for (const text of ['Hello!', 'Tell me a joke.', 'Tell me a story about a fox.']) {
      await ask(page, text);
      await answered(page);
    }
    const distance = () =>
      page.locator('#scroll').evaluate((e) => e.scrollHeight - e.scrollTop - e.clientHeight);
    assert.ok((await distance()) < 2, 'at the bottom after an answer');
    assert.ok(
      await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth),
      'nothing is wider than a phone',
    );
    await page.locator('#scroll').evaluate((e) => e.scrollTo(0, 0));
    await page.locator('#down').waitFor();
    await page.locator('#down').click();
    assert.ok((await distance()) < 2, 'at the bottom after a click');
  });

  test('a file of the reader takes over', async () => {
    await page.locator('#file').setInputFiles('tests/golden/generality/type_q4_1.gguf');
    await page.locator('#summary', { hasText: 'type_q4_1.gguf' }).waitFor();
    await ask(page, 'abc');
    await answered(page);
    assert.match(await lastAnswer(page).locator('.note').innerText(), /token/);
  });
});

test('a model that cannot be had is named, with what was found', async () => {
  const { page, close } = await openPage(browser);
  await page.goto(`${site.url}?model=${encodeURIComponent('/models/nowhere.gguf')}`);
  await page.locator('#loading.failed').waitFor();
  const state = await page.locator('#state').innerText();
  assert.match(state, /nowhere\.gguf: expected status 200, found 404/);
  await close();
});

test('without isolation one thread answers, and the page says how to get more', async () => {
  const plain = await serveNotIsolated(site.url);
  const { page, close } = await openPage(browser);
  await page.goto(`${plain.url}?model=tiny`);
  await ready(page);
  assert.match(await page.locator('#summary').innerText(), /build st\S* · 1 thread \(/);
  await page.locator('#about summary').click();
  assert.match(await page.locator('#facts').innerText(), /Cross-Origin-Opener-Policy/);
  await ask(page, 'Why is the sky blue?');
  await answered(page);
  assert.match(await lastAnswer(page).locator('.text').innerText(), /blue light/);
  await close();
  plain.close();
});

test('SmolLM2 answers when the server has it', { skip: !hasSmolLM2 }, async () => {
  const { page, complaints, close } = await openPage(browser);
  await page.goto(site.url);
  await page.locator('#state', { hasText: /Loading SmolLM2 135M: \d+ MB of 98 MB/ }).waitFor();
  await ready(page);
  await page.locator('#settings-open').click();
  await page.locator('#temperature').fill('0');
  await page.keyboard.press('Enter');
  await ask(page, 'Why is the sky blue? Answer in one sentence.');
  await page.locator('.message.assistant .text', { hasText: /scatter/i }).waitFor();
  await page.keyboard.press('Escape');
  await answered(page);
  assert.match(await page.locator('#summary').innerText(), /^SmolLM2 135M/);
  assert.deepEqual(complaints, []);
  await close();
});
