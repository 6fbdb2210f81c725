/** What the page's tests share: a browser, servers, and pages that report everything unusual. */
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { after } from 'node:test';
import { siteMounts, startServer } from '../../tools/serve.mjs';
import { launchBrowser } from '../../tools/test/browser.mjs';

export const root = fileURLToPath(new URL('../..', import.meta.url));
const models = process.env.WICK_MODELS || path.join(root, 'models');

/** Whether the real model is there. */
export const hasSmolLM2 = existsSync(path.join(models, 'smollm2-135m.gguf'));

/** @type {Promise<{ close: () => unknown }>[]} what would keep the process alive */
const opened = [];

/**
 * Has a browser or server closed when the file's tests are over, whatever failed in them: a
 * before() that ended half way through, too.
 * @template {{ close: () => unknown }} T
 * @param {Promise<T>} thing
 */
function closedAfterwards(thing) {
  opened.push(thing);
  return thing;
}
after(async () => {
  const closed = opened.map((thing) => thing.then((opening) => opening.close()));
  await Promise.allSettled(closed);
});

/**
 * The site, and the golden data beside it.
 * @param {import('../../tools/serve.mjs').Mount[]} more
 */
export function serveSite(...more) {
  const golden = { prefix: '/golden/', folder: path.join(root, 'tests', 'golden') };
  return closedAfterwards(startServer({ mounts: [golden, ...more, ...siteMounts] }));
}

/** @typedef {(response: import('node:http').ServerResponse) => void} Answer */

/**
 * The same site with other headers, or other answers to some paths.
 * @param {string} url
 * @param {(headers: Record<string, string>) => void} change Of headers.
 * @param {Record<string, Answer>} answers By path.
 */
async function serveOtherwise(url, change, answers) {
  const server = createServer(async (request, response) => {
    const { method, url: target = '/' } = request;
    const own = answers[new URL(target, url).pathname];
    const answer = await fetch(new URL(own ? '/' : target, url), { method });
    const headers = Object.fromEntries(answer.headers);
    change(headers);
    if (own) {
      for (const name of ['content-length', 'content-type', 'etag']) delete headers[name];
      for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
      own(response);
      return;
    }
    response.writeHead(answer.status, headers);
    response.end(Buffer.from(await answer.arrayBuffer()));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(null)));
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}/`, close };
}

/**
 * The same site without the headers that isolate a page.
 * @param {string} url
 * @param {Record<string, Answer>} [answers] Others, by path.
 */
export function serveNotIsolated(url, answers = {}) {
  const change = (/** @type {Record<string, string>} */ headers) => {
    delete headers['cross-origin-opener-policy'];
    delete headers['cross-origin-embedder-policy'];
  };
  return serveOtherwise(url, change, answers);
}

/**
 * The same site with other answers to some paths.
 * @param {string} url
 * @param {Record<string, Answer>} answers By path.
 */
export const serveFaulty = (url, answers) => serveOtherwise(url, () => {}, answers);

export const launch = () => closedAfterwards(launchBrowser());

/**
 * A page, and the list of what it complained about: errors, warnings, policy violations.
 * @param {import('playwright-core').Browser} browser
 * @param {import('playwright-core').BrowserContextOptions} [options]
 */
export async function openPage(browser, options = {}) {
  // Only what is about the service worker needs one.
  const context = await browser.newContext({ serviceWorkers: 'block', ...options });
  const page = await context.newPage();
  /** @type {string[]} */
  const complaints = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (/blocked by Playwright/.test(message.text())) return;
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) => {
      console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`);
    });
  });
  return { page, complaints, close: () => context.close() };
}

/** @typedef {import('playwright-core').Page} Page */

/** @param {Page} page @param {string} text */
export async function ask(page, text) {
  await page.locator('#prompt').fill(text);
  await page.keyboard.press('Enter');
}

/** Waits for the answer's end. @param {Page} page */
export const answered = (page) => page.locator('#send:not([hidden])').waitFor();
/** Waits for a model. @param {Page} page */
export const ready = (page) => page.locator('#send:enabled').waitFor({ timeout: 60_000 });
/** @param {Page} page */
export const lastAnswer = (page) => page.locator('.message.assistant').last();
