// Runs a stand-alone WebAssembly program in a page of an installed browser.
import { readFileSync } from 'node:fs';
import { inRoot } from '../lib/paths.mjs';
import { secondsLeft } from '../lib/run.mjs';
import { launchBrowser } from './browser.mjs';

/** Isolated pages get a clock of 5 microseconds instead of 100. */
const headers = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};
const timeoutSeconds = 600;
const origin = 'http://localhost';

/** @param {string} name */
const script = (name) => ({
  contentType: 'text/javascript',
  body: readFileSync(inRoot('tools', 'test', name)),
});

/**
 * @param {string} program
 * @param {string[]} args
 * @returns {Promise<import('../lib/run.mjs').RunResult>}
 */
export async function runInPage(program, args) {
  const milliseconds = secondsLeft(timeoutSeconds) * 1000;
  if (milliseconds <= 0)
    return { status: 1, stdout: '', output: 'not run: no time was left for it' };
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage();
    /** @type {Record<string, { contentType: string, body: string | Buffer }>} */
    const files = {
      '/': {
        contentType: 'text/html',
        body: '<!doctype html><script type="module" src="/wasi-page.js"></script>',
      },
      '/wasi-page.js': script('wasi-page.js'),
      '/wasi.js': script('wasi.js'),
      '/program.wasm': { contentType: 'application/wasm', body: readFileSync(program) },
    };
    await page.route(`${origin}/**`, async (route) => {
      const file = files[new URL(route.request().url()).pathname];
      await route.fulfill(file ? { ...file, headers } : { status: 404 });
    });
    /** @type {(result: any) => void} */
    let end = () => {};
    const ended = new Promise((resolve) => (end = resolve));
    page.on('pageerror', (error) => end({ status: 1, stdout: String(error) }));
    setTimeout(() => end({ status: 1, stdout: 'no end in time' }), milliseconds).unref();
    await page.exposeFunction('ended', end);
    await page.goto(`${origin}/#${encodeURIComponent(JSON.stringify(args))}`);
    const result = /** @type {{ status: number, stdout: string }} */ (await ended);
    return { ...result, output: result.stdout };
  } catch (error) {
    return { status: 1, stdout: '', output: String(error) };
  } finally {
    await browser.close();
  }
}
