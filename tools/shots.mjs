// `npm run shots [-- FOLDER]`: pictures of the pages in light, dark and at the width of a phone, into
// FOLDER (shots/). They are to be looked at.
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { buildSite } from './site.mjs';
import { inRoot } from './lib/paths.mjs';
import { commandLine, runMain, say } from './lib/run.mjs';
import { startServer } from './serve.mjs';
import { ensureSystemPackages } from './system-packages.mjs';
import { launchBrowser } from './test/browser.mjs';

/** @typedef {import('playwright-core').Page} Page */

const looks = /** @type {const} */ ({
  light: { colorScheme: 'light', viewport: { width: 1200, height: 800 } },
  dark: { colorScheme: 'dark', viewport: { width: 1200, height: 800 } },
  phone: { colorScheme: 'light', viewport: { width: 360, height: 720 }, deviceScaleFactor: 2 },
  'phone-dark': {
    colorScheme: 'dark',
    viewport: { width: 360, height: 720 },
    deviceScaleFactor: 2,
  },
});

/** An answer with everything that Markdown has here, so that it is seen, too. */
const markdown = [
  'Here is **one** way, with a [link](https://example.com/) and `code`:',
  '```js\nconst model = await load("/models/smollm2-135m.gguf");\nconsole.log((await model.chat("Hello!")).text);\n```',
  '1. Load the model\n2. Ask it\n   - with settings\n   - or without',
  '| Model | Parameters |\n|---|--:|\n| SmolLM2 135M | 134,515,008 |\n| wick tiny | 1,180,000 |',
  '> A candle gives the colours.',
].join('\n\n');

const kept = {
  format: 'wick conversations',
  version: 1,
  conversations: [
    {
      title: 'How do I load a model?',
      created: 0,
      updated: 0,
      system: '',
      messages: [
        { parent: -1, role: 'user', text: 'How do I load a model?' },
        { parent: 0, role: 'assistant', text: markdown, model: 'SmolLM2 135M' },
      ],
      leaf: 1,
    },
  ],
};

/** @param {Page} page */
const answered = (page) => page.locator('#send:not([hidden])').waitFor({ timeout: 120_000 });

/** @param {Page} page @param {string} text */
async function ask(page, text) {
  await page.locator('#prompt').fill(text);
  await page.keyboard.press('Enter');
  await answered(page);
}

/**
 * What is pictured, in order; each goes on from the one before.
 * @type {[string, (page: Page) => Promise<void>][]}
 */
const scenes = [
  ['welcome', async (page) => page.locator('#context').waitFor()],
  [
    'answer',
    async (page) => {
      await page.locator('#settings-open').click();
      await page.locator('#seed').fill('1');
      await page.locator('#max-tokens').fill('120');
      await page.keyboard.press('Enter');
      await ask(page, 'Why is the sky blue?');
      await page.locator('.assistant [data-action="retry"]').click();
      await answered(page);
      await page.waitForTimeout(500);
    },
  ],
  [
    'tokens',
    async (page) => {
      await page.locator('.assistant [data-action="tokens"]').click();
      await page.locator('.assistant .token').nth(5).click();
    },
  ],
  [
    'settings',
    async (page) => {
      await page.keyboard.press('Escape');
      await page.locator('#settings-open').click();
    },
  ],
  [
    'markdown',
    async (page) => {
      await page.keyboard.press('Escape');
      await page.locator('#import-file').setInputFiles({
        name: 'kept.json',
        mimeType: 'application/json',
        buffer: Buffer.from(JSON.stringify(kept)),
      });
      if (!(await page.locator('#panel').isVisible())) await page.locator('#panel-toggle').click();
      await page.getByRole('button', { name: 'How do I load a model?', exact: true }).click();
      await page.waitForTimeout(500);
      await page.locator('#scroll').evaluate((e) => e.scrollTo(0, 0));
    },
  ],
  [
    'panel',
    async (page) => {
      if (!(await page.locator('#panel').isVisible())) await page.locator('#panel-toggle').click();
      await page.waitForTimeout(400); // it slides in
    },
  ],
];

await runMain(async () => {
  const [target] = commandLine({ allowPositionals: true }).positionals;
  const folder = target ? path.resolve(target) : inRoot('shots');
  mkdirSync(folder, { recursive: true });
  await ensureSystemPackages(['browser']);
  await buildSite();
  const [site, browser] = await Promise.all([startServer(), launchBrowser()]);
  for (const [look, options] of Object.entries(looks)) {
    const context = await browser.newContext({ ...options, serviceWorkers: 'block' });
    const page = await context.newPage();
    /** @param {string} name */
    const shoot = async (name) => {
      const file = path.join(folder, `${name}-${look}.png`);
      await page.screenshot({ path: file });
      say(path.relative(inRoot(), file));
    };
    await page.goto(site.url);
    await page.locator('#send:enabled').waitFor({ timeout: 120_000 });
    for (const [name, act] of scenes) {
      await act(page);
      await shoot(name);
    }
    await page.goto(`${site.url}style/`);
    await shoot('style');
    await context.close();
  }
  await browser.close();
  await site.close();
});
