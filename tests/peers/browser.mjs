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
/** @typedef {import('./page/engines.js').Stop} Stop */
/** @typedef {import('./page/engines.js').Timing} Timing */
/** @typedef {import('./page/engines.js').Cold} Cold */

/**
 * @typedef {object} Tab
 * @property {Record<string, string | number>} about
 * @property {(length: number) => Promise<string[]>} prompts English texts of so many tokens
 * @property {(prompt: string, nDecode: number) => Promise<Timing>} measure
 * @property {(prompt: number[], at: number) => Promise<Stop>} abort
 * @property {() => Promise<void>} close
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

  /**
   * A page in a context of its own, where nothing is kept.
   * @param {Omit<Settings, 'model'>} settings
   */
  async function openPage(settings) {
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
    await page.route(`**${pagePath}`, async (route) => {
      const response = await route.fetch();
      const headers = { ...response.headers() };
      // wllama's worker is a blob, which the server's policy forbids; the headers that isolate stay.
      if (settings.engine === 'wllama') delete headers['content-security-policy'];
      await route.fulfill({ response, headers });
    });
    const address = new URL(pagePath, server.url).href;
    await page.goto(address);
    const whole = { ...settings, model: `/models/${path.basename(model)}` };
    return { page, fail, script: `${address}engines.js`, whole };
  }

  /** @param {Omit<Settings, 'model'>} settings @returns {Promise<Tab>} */
  async function openTab(settings) {
    const { page, fail, script, whole } = await openPage(settings);
    const engine = /** @type {import('playwright-core').JSHandle<Engine>} */ (
      await page
        .evaluateHandle(
          async ([url, wanted]) =>
            (await import(/** @type {string} */ (url))).open(/** @type {Settings} */ (wanted)),
          /** @type {const} */ ([script, whole]),
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
      abort: async (prompt, at) => {
        await page.bringToFront();
        const given = /** @type {const} */ ([prompt, at]);
        return engine.evaluate((it, [ids, delay]) => it.abort(ids, delay), given).catch(fail);
      },
      close: () => page.close(),
    };
  }

  /**
   * A new page until its first token.
   * @param {Omit<Settings, 'model'>} settings
   * @param {string} prompt
   */
  async function openCold(settings, prompt) {
    const { page, fail, script, whole } = await openPage(settings);
    const given = /** @type {const} */ ([script, whole, prompt]);
    const found = await page
      .evaluate(
        async ([url, wanted, text]) =>
          /** @type {Promise<Cold>} */ (
            (await import(/** @type {string} */ (url))).cold(wanted, text)
          ),
        given,
      )
      .catch(fail);
    await page.close();
    return found;
  }

  return {
    version: browser.version(),
    openTab,
    openCold,
    close: async () => {
      await browser.close();
      await server.close();
    },
  };
}

/** @param {string} name @param {number} found Tokens that were computed. @param {number} nPrompt */
export function checkPrefill(name, found, nPrompt) {
  // Prompts of different rounds may begin with the same words.
  if (found < nPrompt - 8 || found > nPrompt)
    throw new ToolError(`${name}: expected a prefill of ${nPrompt}, found ${found}`);
}

/**
 * A timing is only one where every token was computed.
 * @param {string} name @param {Timing} timing @param {number} nPrompt @param {number} nDecode
 */
export function checkTiming(name, timing, nPrompt, nDecode) {
  checkPrefill(name, timing.nPrompt, nPrompt);
  if (timing.nDecoded !== nDecode)
    throw new ToolError(`${name}: expected ${nDecode} tokens decoded, found ${timing.nDecoded}`);
  return timing;
}
