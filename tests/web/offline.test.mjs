/** The service worker: the site without a network, isolation without headers, clean updates. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { startServer } from '../../tools/serve.mjs';
import { onPath } from '../../tools/lib/run.mjs';
import { answered, ask, lastAnswer, launch, openPage, ready, root } from './support.mjs';

/** @type {import('playwright-core').Browser} */
let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

const allowed = /** @type {const} */ ({ serviceWorkers: 'allow' });

/** A copy of the site that a test may change. */
function copySite() {
  const folder = mkdtempSync(path.join(tmpdir(), 'wick-site-'));
  for (const name of ['web', 'dist'])
    cpSync(path.join(root, name), path.join(folder, name), { recursive: true });
  return folder;
}

/** @param {string} folder @param {number} [port] */
const serve = (folder, port = 0) =>
  startServer({
    port,
    mounts: [
      { prefix: '/dist/', folder: path.join(folder, 'dist') },
      { prefix: '/', folder: path.join(folder, 'web') },
    ],
  });

/** What the worker has copied. @param {import('playwright-core').Page} page */
const copies = (page) =>
  page.evaluate(async () => {
    const names = (await caches.keys()).filter((name) => name.startsWith('wick-site-'));
    const keys = await Promise.all(names.map(async (name) => (await caches.open(name)).keys()));
    return { names, urls: keys.flat().map(({ url }) => new URL(url).pathname) };
  });

/** Waits until this version is the only one. @param {import('playwright-core').Page} page @param {string} version */
async function hasVersion(page, version) {
  for (let i = 0; i < 300; i++) {
    const { names, urls } = await copies(page);
    if (names.length === 1 && names[0] === `wick-site-${version}` && urls.length) return;
    await page.waitForTimeout(100);
  }
  assert.fail(`no copy of version ${version}: ${JSON.stringify(await copies(page))}`);
}

/** @param {string} folder */
const listOf = (folder) => JSON.parse(readFileSync(path.join(folder, 'dist/site.json'), 'utf8'));

test('after one visit the page answers without a server; models are kept by the loader alone', async () => {
  const folder = copySite();
  const site = await serve(folder);
  const { page, close } = await openPage(browser, allowed);
  await page.goto(`${site.url}?model=tiny`);
  await ready(page);
  const { version, pages, built } = listOf(folder);
  await hasVersion(page, version);
  const { urls } = await copies(page);
  assert.equal(urls.length, pages.length + built.length);
  assert.deepEqual(
    urls.filter((url) => /gguf|safetensors/.test(url)),
    [],
  );
  await site.close();
  await page.reload();
  await ready(page);
  assert.ok(await page.evaluate(() => crossOriginIsolated), 'isolated without a network, too');
  await ask(page, 'Why is the sky blue?');
  await answered(page);
  assert.match(await lastAnswer(page).innerText(), /blue light/);
  await page.goto(`${site.url}style/`);
  assert.match(await page.locator('h2').innerText(), /visual language/, 'the whole site');
  await close();
  rmSync(folder, { recursive: true });
});

test('a kept model is offered without a server, listed with its size, and freed', async () => {
  const folder = copySite();
  mkdirSync(path.join(folder, 'web/models'), { recursive: true });
  // The name that the page asks for; any model will do.
  cpSync(
    path.join(folder, 'web/models/tiny.gguf'),
    path.join(folder, 'web/models/smollm2-135m.gguf'),
  );
  const site = await serve(folder);
  const { page, close } = await openPage(browser, allowed);
  await page.goto(site.url);
  await ready(page);
  await hasVersion(page, listOf(folder).version);
  await site.close();
  await page.reload();
  await ready(page);
  assert.match(await page.locator('#summary').innerText(), /^SmolLM2 135M/);
  await page.locator('#settings-open').click();
  await page.locator('#kept', { hasText: /smollm2-135m\.gguf, [\d.]+ MB/ }).waitFor();
  await page.getByRole('button', { name: 'Free smollm2-135m.gguf' }).click();
  await page.locator('#kept-note', { hasText: /Freed [\d.]+ MB/ }).waitFor();
  assert.equal(await page.locator('#kept li').count(), 0);
  assert.equal(await page.evaluate(() => document.activeElement?.id), 'settings');
  await page.keyboard.press('Escape');
  await page.reload();
  await page.locator('#loading.failed').waitFor();
  assert.match(await page.locator('#model').innerText(), /^wick tiny/);
  await close();
  rmSync(folder, { recursive: true });
});

test('a new version takes the place of the old one, whole; a broken one changes nothing', async () => {
  const folder = copySite();
  const site = await serve(folder);
  const { page, close } = await openPage(browser, allowed);
  await page.goto(`${site.url}style/`);
  // The page about the style installs nothing; the chat page does.
  await page.goto(`${site.url}?model=tiny`);
  const list = listOf(folder);
  await hasVersion(page, list.version);
  const write = (/** @type {object} */ change) =>
    writeFileSync(path.join(folder, 'dist/site.json'), JSON.stringify({ ...list, ...change }));
  const refused = page.context().waitForEvent('response', (response) => {
    return response.url().endsWith('/nowhere.js');
  });
  write({ version: 'broken', pages: [...list.pages, 'nowhere.js'] });
  await page.goto(`${site.url}style/`);
  // The worker has tried it when it has asked for what is not there.
  await refused;
  const text = path.join(folder, 'web/style/index.html');
  writeFileSync(text, readFileSync(text, 'utf8').replace('The visual language', 'A new look'));
  await site.close();
  await page.reload();
  assert.match(await page.locator('h2').innerText(), /The visual language/);
  const again = await serve(folder, site.port);
  write({ version: 'new' });
  await page.reload();
  assert.match(await page.locator('h2').innerText(), /A new look/, 'the network is asked first');
  await hasVersion(page, 'new');
  await again.close();
  await page.reload();
  assert.match(await page.locator('h2').innerText(), /A new look/);
  await close();
  rmSync(folder, { recursive: true });
});

/** A port that is free now. @returns {Promise<number>} */
const freePort = () =>
  new Promise((resolve) => {
    const server = createServer();
    server.listen(0, '127.0.0.1', () => {
      const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
      server.close(() => resolve(port));
    });
  });

test("Python's plain server is enough for threads", { skip: !onPath('python3') }, async () => {
  const port = await freePort();
  const options = /** @type {const} */ ({ cwd: root, stdio: 'ignore' });
  const python = spawn(
    'python3',
    ['-m', 'http.server', '--bind', '127.0.0.1', String(port)],
    options,
  );
  const address = `http://127.0.0.1:${port}/web/`;
  for (let i = 0; i < 100 && !(await fetch(address).catch(() => null))?.ok; i++)
    await new Promise((resolve) => setTimeout(resolve, 100));
  const { page, close } = await openPage(browser, allowed);
  await page.goto(`${address}?model=tiny`);
  await page.waitForFunction(() => crossOriginIsolated, null, { timeout: 30_000 });
  await ready(page);
  assert.match(await page.locator('#summary').innerText(), /build mt/);
  await ask(page, 'Why is the sky blue?');
  await answered(page);
  assert.match(await lastAnswer(page).innerText(), /blue light/);
  await close();
  python.kill();
});

test('it can be installed', async () => {
  const site = await serve(root);
  const { page, close } = await openPage(browser, allowed);
  await page.goto(`${site.url}?model=tiny`);
  await ready(page);
  const session = await page.context().newCDPSession(page);
  const { errors } = await session.send('Page.getAppManifest');
  assert.deepEqual(errors, []);
  const { installabilityErrors } = await session.send('Page.getInstallabilityErrors');
  // A private window, as tests have it, is the one thing that stands in the way.
  assert.deepEqual(
    installabilityErrors.map(({ errorId }) => errorId).filter((id) => id !== 'in-incognito'),
    [],
  );
  await close();
  await site.close();
});
