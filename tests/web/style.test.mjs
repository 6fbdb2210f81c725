/** The visual language: readable in light and dark, still when asked to be, and written down. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { before, test } from 'node:test';
import { axeViolations } from './axe.mjs';
import { launch, openPage, root, serveSite } from './support.mjs';

/** Text on its surface. */
const PAIRS = [
  ['ink', ['paper', 'raised', 'sunk', 'mine', 'sure-1', 'sure-2', 'sure-3', 'sure-4']],
  ['soft', ['paper', 'raised', 'sunk']],
  ['ember', ['paper', 'raised']],
  ['ember-ink', ['ember']],
  ['alarm', ['paper', 'raised']],
];

/** @type {import('playwright-core').Browser} */
let browser;
/** @type {Awaited<ReturnType<typeof serveSite>>} */
let site;
before(async () => {
  [browser, site] = await Promise.all([launch(), serveSite()]);
});

/** Relative luminance of #rrggbb, as WCAG 2.2 defines it. @param {string} colour */
function luminance(colour) {
  const [r, g, b] = [1, 3, 5].map((at) => {
    const value = parseInt(colour.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** @param {string} a @param {string} b */
function contrast(a, b) {
  const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (light + 0.05) / (dark + 0.05);
}

for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
  test(`${colorScheme}: text can be read on its surface, and axe finds nothing`, async () => {
    const { page, complaints, close } = await openPage(browser, { colorScheme });
    await page.goto(`${site.url}style/`);
    const names = [...new Set(PAIRS.flat(2)), 'edge'];
    /** @type {Record<string, string>} */
    const colours = await page.evaluate((names) => {
      const style = getComputedStyle(document.documentElement);
      return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`)]));
    }, names);
    for (const [ink, surfaces] of /** @type {[string, string[]][]} */ (PAIRS))
      for (const surface of surfaces) {
        const found = contrast(colours[ink], colours[surface]);
        assert.ok(found >= 4.5, `${ink} on ${surface}: ${found.toFixed(2)}`);
      }
    // WCAG 1.4.11: the edge of what can be used.
    for (const surface of ['paper', 'raised'])
      assert.ok(contrast(colours.edge, colours[surface]) >= 3, `edge on ${surface}`);
    assert.deepEqual(await axeViolations(page), []);
    assert.deepEqual(complaints, []);
    await close();
  });
}

test('nothing is wider than 320 pixels, and nothing moves for readers who ask for that', async () => {
  const viewport = { width: 320, height: 640 };
  const { page, close } = await openPage(browser, { viewport, reducedMotion: 'reduce' });
  await page.goto(`${site.url}style/`);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= 320));
  const moving = () => document.getAnimations().length;
  assert.equal(await page.evaluate(moving), 0);
  await page.emulateMedia({ reducedMotion: 'no-preference' });
  assert.equal(await page.evaluate(moving), 1, 'the sample breathes otherwise');
  await close();
});

test('every property is written down', () => {
  const read = (/** @type {string} */ name) => readFileSync(path.join(root, 'web/style', name));
  const defined = String(read('wick.css')).matchAll(/^ {2}(--[\w-]+):/gm);
  const page = String(read('index.html'));
  const missing = [...new Set([...defined].map(([, name]) => name))].filter(
    (name) => !new RegExp(`${name}(?![\\w-])`).test(page),
  );
  assert.deepEqual(missing, []);
});
