// Runs a stand-alone WebAssembly program in a page of an installed browser.
import { readFileSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { inRoot } from '../lib/paths.mjs';

/** Isolated pages get a clock of 5 microseconds instead of 100. */
const headers = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};
const flags = [
  '--no-sandbox',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-quic',
  '--no-first-run',
];
const timeoutSeconds = 600;
const origin = 'http://localhost';

/** @param {string} name */
const script = (name) => ({
  contentType: 'text/javascript',
  body: readFileSync(inRoot('tools', 'test', name)),
});

/**
 * @param {string} executablePath
 * @param {string} program
 * @param {string[]} args
 * @returns {Promise<import('../lib/run.mjs').RunResult>}
 */
export async function runInPage(executablePath, program, args) {
  const browser = await chromium.launch({ executablePath, args: flags });
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
    setTimeout(() => end({ status: 1, stdout: 'no end in time' }), timeoutSeconds * 1000).unref();
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
