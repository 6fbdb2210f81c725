/** The chat page when something is in its way: a full context, a bad server, a lost focus. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, describe, test } from 'node:test';
import {
  answered,
  ask,
  hasSmolLM2,
  lastAnswer,
  launch,
  openPage,
  ready,
  root,
  serveFaulty,
  serveSite,
} from './support.mjs';

/** @typedef {import('playwright-core').Page} Page */

/** @type {import('playwright-core').Browser} */
let browser;
/** @type {Awaited<ReturnType<typeof serveSite>>} */
let site;
before(async () => {
  [browser, site] = await Promise.all([launch(), serveSite()]);
});

/**
 * @param {string} address
 * @param {(page: Page) => Promise<void>} body
 */
async function onPage(address, body) {
  const { page, close } = await openPage(browser);
  await page.goto(address);
  await body(page);
  await close();
}

/** @param {Page} page */
const focused = (page) =>
  page.evaluate(() => document.activeElement?.id || document.activeElement?.tagName);
/** @param {Page} page @param {RegExp} text */
const says = (page, text) => page.locator('#state', { hasText: text }).waitFor();

describe('with the tiny model', () => {
  const tiny = () => `${site.url}?model=tiny`;

  test('a full context forgets the oldest messages and says so', async () => {
    await onPage(tiny(), async (page) => {
      await ready(page);
      // Each fills a fifth of the context.
      const long = 'and so on '.repeat(60);
      let notes = '';
      for (let turn = 0; turn < 8; turn++) {
        await ask(page, `Hello! ${long}`);
        await answered(page);
        assert.equal(await page.locator('.message.failed').count(), 0);
        notes += await lastAnswer(page).locator('.note').innerText();
      }
      assert.match(notes, /the oldest \d+ messages forgotten/);
    });
  });

  test('a message that never fits fails alone: the conversation goes on', async () => {
    await onPage(tiny(), async (page) => {
      await ready(page);
      await ask(page, 'word '.repeat(3000));
      await answered(page);
      assert.match(
        await lastAnswer(page).innerText(),
        /message: expected at most \d+ tokens with its frame, found \d+/,
      );
      await ask(page, 'Why is the sky blue?');
      await answered(page);
      assert.match(await lastAnswer(page).innerText(), /blue light/);
    });
  });

  test('what hides hands the focus on to the message', async () => {
    await onPage(tiny(), async (page) => {
      await ready(page);
      await page.locator('#ideas button').first().focus();
      await page.keyboard.press('Enter');
      assert.equal(await focused(page), 'prompt');
      await answered(page);
      // In one turn: the tiny model's whole story takes a tenth of a second.
      await page.locator('#prompt').fill('Tell me a story about a fox.');
      await page.evaluate(() => {
        document.getElementById('send')?.click();
        const stop = document.getElementById('stop');
        stop?.focus();
        stop?.click();
      });
      await answered(page);
      assert.equal(await focused(page), 'prompt');
      // The same where the answer ends by itself, and under the button that scrolls down.
      await page.locator('#prompt').fill('Hello!');
      await page.evaluate(() => {
        document.getElementById('send')?.click();
        document.getElementById('stop')?.focus();
      });
      await answered(page);
      assert.equal(await focused(page), 'prompt');
      await page.setViewportSize({ width: 360, height: 300 });
      await page.locator('#scroll').evaluate((e) => e.scrollTo(0, 0));
      await page.locator('#down').focus();
      await page.keyboard.press('Enter');
      await page.locator('#down').waitFor({ state: 'hidden' });
      assert.equal(await focused(page), 'prompt');
    });
  });

  test('an answer is drawn and measured once a frame: without frames, once', async () => {
    await onPage(tiny(), async (page) => {
      await ready(page);
      await page.evaluate(() => {
        const counts = { layouts: 0, notes: 0 };
        Object.assign(globalThis, { counts });
        // As in a page that is out of sight.
        globalThis.requestAnimationFrame = () => 1;
        const height = Object.getOwnPropertyDescriptor(Element.prototype, 'scrollHeight');
        Object.defineProperty(document.getElementById('scroll'), 'scrollHeight', {
          get() {
            counts.layouts++;
            return height?.get?.call(this);
          },
        });
        const log = /** @type {HTMLElement} */ (document.getElementById('log'));
        new MutationObserver((records) => {
          const ofNote = (/** @type {MutationRecord} */ { target }) =>
            target instanceof Element && target.className === 'note';
          counts.notes += records.filter(ofNote).length;
        }).observe(log, { childList: true, subtree: true });
      });
      await ask(page, 'Tell me a story about a fox.');
      await answered(page);
      const note = await lastAnswer(page).locator('.note').innerText();
      assert.ok(Number(/^\d+/.exec(note)?.[0]) > 20, note);
      assert.match(await lastAnswer(page).locator('.text').innerText(), /fox/);
      const { layouts, notes } = await page.evaluate(() => /** @type {any} */ (globalThis).counts);
      assert.equal(notes, 1);
      // Beside the answer's end: the question, the way to the bottom, the empty answer.
      assert.ok(layouts <= 6, `${layouts} layouts`);
    });
  });
});

test('a worker that the browser ends: the page says so, loads again and answers', async () => {
  await onPage(`${site.url}?model=tiny`, async (page) => {
    await ready(page);
    // What the strip says goes by in a moment.
    await page.evaluate(() => {
      const state = /** @type {HTMLElement} */ (document.getElementById('state'));
      const said = /** @type {string[]} */ ([]);
      Object.assign(globalThis, { said });
      new MutationObserver(() => said.push(state.innerText)).observe(state, { childList: true });
    });
    const worker = page.workers().find((each) => each.url().endsWith('/worker.js'));
    await worker?.evaluate('close()');
    await page.waitForFunction(() => /** @type {any} */ (globalThis).said.length);
    const said = await page.evaluate(() => /** @type {any} */ (globalThis).said);
    assert.match(said[0], /^a worker was ended by the browser: loading wick tiny again/);
    await ask(page, 'Why is the sky blue?');
    await answered(page);
    assert.match(await lastAnswer(page).innerText(), /blue light/);
    assert.ok(await page.locator('#loading').isHidden());
  });
});

describe('while another model loads', () => {
  test('the one that talks answers, stays when nothing comes of it, and the line can go', async () => {
    await onPage(`${site.url}?model=tiny`, async (page) => {
      await ready(page);
      await page.locator('#file').setInputFiles({
        name: 'bad.gguf',
        mimeType: '',
        buffer: Buffer.from('<!doctype html>'),
      });
      await says(page, /^bad\.gguf: expected /);
      assert.equal(await page.locator('#model option:checked').innerText(), 'wick tiny');
      await ask(page, 'Why is the sky blue?');
      await answered(page);
      assert.match(await lastAnswer(page).innerText(), /blue light/);
      await page.getByRole('button', { name: 'Close' }).click();
      assert.ok(await page.locator('#loading').isHidden());
      assert.equal(await focused(page), 'prompt');
    });
  });

  for (const [machine, gigabytes, goes] of /** @type {const} */ ([
    ['with room for both the first stays until the second talks', 8, false],
    ['without room the first goes when the second has begun well', 0.25, true],
  ]))
    test(machine, { skip: !hasSmolLM2 }, async () => {
      const { page, close } = await openPage(browser);
      await page.addInitScript((deviceMemory) => {
        Object.defineProperty(navigator, 'deviceMemory', { get: () => deviceMemory });
      }, gigabytes);
      await page.goto(`${site.url}?model=tiny`);
      await ready(page);
      await page.evaluate(() => {
        const summary = /** @type {HTMLElement} */ (document.getElementById('summary'));
        const said = /** @type {string[]} */ ([]);
        Object.assign(globalThis, { said });
        new MutationObserver(() => said.push(summary.innerText)).observe(summary, {
          childList: true,
        });
      });
      await page.locator('#model').selectOption({ label: 'SmolLM2 135M' });
      await page.locator('#summary', { hasText: /^SmolLM2/ }).waitFor({ timeout: 60_000 });
      const said = await page.evaluate(() => /** @type {any} */ (globalThis).said);
      assert.equal(said.includes('No model yet'), goes);
      await close();
    });
});

describe('a bad server', () => {
  const bytes = readFileSync(`${root}web/models/tiny.gguf`);

  test('a load that failed is tried again by a button', async () => {
    let good = false;
    const answer = (/** @type {import('node:http').ServerResponse} */ response) =>
      good ? response.end(bytes) : response.writeHead(404).end();
    const faulty = await serveFaulty(site.url, { '/m.gguf': answer });
    await onPage(`${faulty.url}?model=/m.gguf`, async (page) => {
      await says(page, /m\.gguf: expected .*found 404/);
      good = true;
      await page.getByRole('button', { name: 'Try again' }).click();
      await ready(page);
      await ask(page, 'Why is the sky blue?');
      await answered(page);
      assert.match(await lastAnswer(page).innerText(), /blue light/);
    });
    faulty.close();
  });

  test('a server that falls silent is told of, and can be left', async () => {
    const answer = (/** @type {import('node:http').ServerResponse} */ response) => {
      response.writeHead(200, { 'Content-Length': bytes.length });
      response.write(bytes.subarray(0, 200_000));
    };
    const faulty = await serveFaulty(site.url, { '/m.gguf': answer });
    await onPage(`${faulty.url}?model=/m.gguf`, async (page) => {
      await says(page, /still waiting/);
      await page.getByRole('button', { name: 'Cancel' }).click();
      await says(page, /m\.gguf: loading was cancelled/);
      await page.locator('#model').selectOption('wick tiny');
      await ready(page);
      assert.ok(await page.locator('#loading').isHidden());
    });
    faulty.close();
  });

  for (const address of ['javascript:alert(1)', 'http://', 'mailto:a@b'])
    test(`${address} is no address of a model`, async () => {
      await onPage(`${site.url}?model=${encodeURIComponent(address)}`, async (page) => {
        await page.locator('#loading.failed').waitFor();
        assert.equal(
          await page.locator('#state').innerText(),
          `${address}: expected the address of a model, found none that can be fetched`,
        );
      });
    });

  test('a file that was left for another model can be picked again', async () => {
    await onPage(`${site.url}?model=tiny`, async (page) => {
      await ready(page);
      await page.locator('#file').setInputFiles('tests/golden/generality/type_q4_1.gguf');
      await page.locator('#summary', { hasText: 'type_q4_1.gguf' }).waitFor();
      for (const name of ['wick tiny', 'type_q4_1.gguf']) {
        await page.locator('#model').selectOption(name);
        await page.locator('#summary', { hasText: name }).waitFor();
      }
    });
  });
});
