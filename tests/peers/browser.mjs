// The browser side: wick and wllama, each in a tab of its own of one Chromium, on pages that the
// project's own server isolates. Both get the same text, another one each round, so that no
// cache helps.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { inRoot } from '../../tools/lib/paths.mjs';
import { ToolError } from '../../tools/lib/run.mjs';
import { startServer } from '../../tools/serve.mjs';
import { launchBrowser } from '../../tools/test/browser.mjs';

/** @typedef {import('./page/engines.js').Engine} Engine */
/** @typedef {import('./page/engines.js').Settings} Settings */
/** @typedef {import('./page/engines.js').Timing} Timing */

/**
 * @typedef {object} Tab
 * @property {Record<string, string | number>} about
 * @property {(length: number) => Promise<string[]>} prompts English texts of so many tokens
 * @property {(prompt: string, nDecode: number) => Promise<Timing>} measure
 */

const pagePath = '/tests/peers/page/';
const textFile = inRoot('tests', 'golden', 'smollm2', 'wikitext2-test-head.txt');

// The files lie as in the checkout, so that the page's relative imports hold.
/** @param {string} model @param {string} wllamaFolder */
const mounts = (model, wllamaFolder) => [
  { prefix: '/web/', folder: inRoot('web') },
  { prefix: '/dist/wasm/', folder: inRoot('dist', 'wasm') },
  { prefix: pagePath, folder: inRoot('tests', 'peers', 'page') },
  { prefix: '/wllama/', folder: wllamaFolder },
  { prefix: '/models/', folder: path.dirname(model) },
];

/**
 * @param {string} model path of the GGUF file
 * @param {string} wllamaFolder
 */
export async function openBrowser(model, wllamaFolder) {
  const server = await startServer({ mounts: mounts(model, wllamaFolder) });
  const browser = await launchBrowser().catch(async (error) => {
    await server.close();
    throw error;
  });

  /** @param {Omit<Settings, 'model'>} settings @returns {Promise<Tab>} */
  async function openTab(settings) {
    const page = await browser.newPage();
    page.setDefaultTimeout(0);
    const name = `${settings.engine}, ${settings.threads} threads`;
    /** @type {string[]} */
    const complaints = [];
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text());
    });
    const fail = (/** @type {Error} */ error) => {
      const said = [error.message.split('\n')[0], ...complaints].join('; ');
      throw new ToolError(`Chromium, ${name}: ${said}`);
    };
    if (settings.engine === 'wllama') {
      // Its worker is a blob, which the server's policy forbids; the headers that isolate stay.
      await page.route(`**${pagePath}`, async (route) => {
        const response = await route.fetch();
        const headers = { ...response.headers() };
        delete headers['content-security-policy'];
        await route.fulfill({ response, headers });
      });
    }
    const address = new URL(pagePath, server.url).href;
    await page.goto(address);
    const whole = { ...settings, model: `/models/${path.basename(model)}` };
    const engine = /** @type {import('playwright-core').JSHandle<Engine>} */ (
      await page
        .evaluateHandle(
          async ([url, wanted]) =>
            (await import(/** @type {string} */ (url))).open(/** @type {Settings} */ (wanted)),
          /** @type {const} */ ([`${address}engines.js`, whole]),
        )
        .catch(fail)
    );
    return {
      about: await engine.evaluate(({ about }) => about),
      prompts: async (length) => {
        const text = readFileSync(textFile, 'utf8');
        const given = /** @type {const} */ ([text, length]);
        return engine.evaluate((it, [all, n]) => it.cut(all, n), given).catch(fail);
      },
      measure: async (prompt, nDecode) => {
        // A tab in the background may be slowed down.
        await page.bringToFront();
        const given = /** @type {const} */ ([prompt, nDecode]);
        return engine.evaluate((it, [text, n]) => it.measure(text, n), given).catch(fail);
      },
    };
  }

  return {
    version: browser.version(),
    openTab,
    close: async () => {
      await browser.close();
      await server.close();
    },
  };
}

/**
 * A timing is only one where every token was computed.
 * @param {string} name @param {Timing} timing @param {number} nPrompt @param {number} nDecode
 */
export function checkTiming(name, timing, nPrompt, nDecode) {
  // Prompts of different rounds may begin with the same words.
  if (timing.nPrompt < nPrompt - 8 || timing.nPrompt > nPrompt)
    throw new ToolError(`${name}: expected a prefill of ${nPrompt}, found ${timing.nPrompt}`);
  if (timing.nDecoded !== nDecode)
    throw new ToolError(`${name}: expected ${nDecode} tokens decoded, found ${timing.nDecoded}`);
  return timing;
}
