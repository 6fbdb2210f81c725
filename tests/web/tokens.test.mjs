/** The token view: the numbers are the model's, and everything is reached by keyboard. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { scoreOne } from '../../web/parts/token-scores.js';
import { percent } from '../../web/parts/tokens.js';
import { axeViolations } from './axe.mjs';
import { answered, ask, hasSmolLM2, launch, openPage, ready, serveSite } from './support.mjs';

/** @type {import('playwright-core').Browser} */
let browser;
/** @type {Awaited<ReturnType<typeof serveSite>>} */
let site;
before(async () => {
  [browser, site] = await Promise.all([launch(), serveSite()]);
});

test('probabilities are the softmax, the best come first', () => {
  // exp of these sums to 1, so each is its own log-probability; the shift changes nothing.
  const chances = [0.05, 0.4, 0.02, 0.25, 0.1, 0.15, 0.03];
  const logits = Float32Array.from(chances, (chance) => Math.log(chance) + 700);
  const { logprob, alternatives } = scoreOne(logits, 2);
  assert.ok(Math.abs(Math.exp(logprob) - 0.02) < 1e-4);
  assert.deepEqual(
    alternatives.map(({ id }) => id),
    [1, 3, 5, 4, 0],
  );
  assert.deepEqual(
    alternatives.map((each) => percent(Math.exp(each.logprob))),
    ['40', '25', '15', '10', '5.0'],
  );
});

test('what was drawn and what is computed afterwards agree, for the same tokens', async () => {
  const { page, close } = await openPage(browser);
  await page.goto(`${site.url}?model=tiny`);
  await ready(page);
  await page.locator('#settings-open').click();
  await page.locator('#temperature').fill('0');
  await page.keyboard.press('Enter');
  await ask(page, 'Why is the sky blue?');
  await answered(page);
  const show = async () => {
    await page.locator('.assistant [data-action="tokens"]').click();
    await page.locator('.assistant .token').first().waitFor();
    return page.locator('.assistant .token :is(span, small)[aria-hidden]').allInnerTexts();
  };
  const drawn = await show();
  // The greedy choice is the likeliest everywhere.
  await page.locator('.assistant .token').nth(3).click();
  assert.match(await page.locator('.alternatives li').first().innerText(), /here$/);
  await page.reload();
  await ready(page);
  await page.locator('#talks .open').first().click();
  const computed = await show();
  const text = await page.locator('.assistant .text').innerText();
  // The drawn ones have the end token too.
  assert.deepEqual(computed, drawn.slice(0, computed.length));
  assert.ok(drawn.length - computed.length <= 2);
  const joined = computed.filter((_, i) => i % 2 === 0).join('');
  assert.equal(joined.replaceAll('\u00b7', ' ').trim(), text.trim());
  await close();
});

test('a question has tokens too; arrows, Enter and Escape are enough; axe finds nothing', async () => {
  const { page, complaints, close } = await openPage(browser, {
    viewport: { width: 320, height: 600 },
  });
  await page.goto(`${site.url}?model=tiny`);
  await ready(page);
  await ask(page, 'What is the capital of France?');
  await answered(page);
  const button = page.locator('.user [data-action="tokens"]');
  await button.focus();
  await page.keyboard.press('Enter');
  await page.locator('.user .token').first().waitFor();
  assert.equal(await button.getAttribute('aria-expanded'), 'true');
  await page.keyboard.press('Tab');
  await page.keyboard.press('End');
  await page.keyboard.press('ArrowLeft');
  const name = () =>
    page.evaluate(() => document.activeElement?.querySelector('.visually-hidden')?.textContent);
  const token = await name();
  assert.match(token ?? '', /, [<\d.]+ percent$/);
  await page.keyboard.press('Enter');
  assert.ok(await page.locator('.alternatives').isVisible());
  assert.ok((await page.locator('.alternatives li').count()) >= 5);
  assert.deepEqual(await axeViolations(page), []);
  const box = await page.locator('.alternatives').boundingBox();
  assert.ok(box && box.x >= 0 && box.x + box.width <= 320 && box.y >= 0);
  await page.keyboard.press('Escape');
  assert.ok(!(await page.locator('.alternatives').isVisible()));
  assert.equal(await name(), token, 'the focus is back on the token');
  await button.focus();
  await page.keyboard.press('Enter');
  await page.locator('.token').first().waitFor({ state: 'detached' });
  assert.deepEqual(
    complaints.filter((text) => hasSmolLM2 || !/status of 404/.test(text)),
    [],
  );
  await close();
});
