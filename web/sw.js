/**
 * The one service worker of the site. It serves every page of it without a network, from a copy of
 * one version of the whole site, and isolates pages whose host sends no headers for that, so that
 * they get threads. With a network, pages come from the network.
 *
 * What the site consists of, and its version, a build writes to dist/site.json (tools/site.mjs). A
 * new version is copied whole before the old copy goes. Models are never copied: the loader keeps
 * them. What comes from elsewhere is left alone.
 */

const LIST = new URL('../dist/site.json', location.href).href;
const PREFIX = 'wick-site-';
/** A network that takes longer than this is as good as none, where there is a copy. */
const PATIENCE_MILLISECONDS = 4000;
const MODEL = /\.(gguf|safetensors)$/;

/** @typedef {{ version: string, pages: string[], built: string[] }} Site */

/** What a service worker has beside a page. @type {any} */
const worker = self;

worker.addEventListener('install', (/** @type {any} */ event) => {
  event.waitUntil(copySite().then(() => worker.skipWaiting()));
});
worker.addEventListener('activate', (/** @type {any} */ event) => {
  event.waitUntil(worker.clients.claim());
});
worker.addEventListener('fetch', (/** @type {any} */ event) => {
  const { request } = event;
  const url = new URL(request.url);
  const ours = url.origin === location.origin && request.method === 'GET';
  if (!ours || MODEL.test(url.pathname) || request.headers.has('range')) return;
  event.respondWith(answer(request).then(isolated));
  // Whoever opens a page has a network for it: the moment to look for a new version.
  if (request.mode === 'navigate') event.waitUntil(copySite().catch(() => {}));
});

/** Copies the site, if this version is not there yet, and drops other versions. */
async function copySite() {
  const response = await fetch(LIST, { cache: 'no-cache' });
  if (!response.ok) return;
  const { version, pages, built } = /** @type {Site} */ (await response.json());
  const name = PREFIX + version;
  const cache = await caches.open(name);
  const urls = [
    ...pages.map((page) => new URL(page, location.href)),
    ...built.map((file) => new URL(file, LIST)),
  ];
  // All of them are added at once, or none.
  if ((await cache.keys()).length === 0)
    await cache.addAll(urls.map((url) => new Request(url, { cache: 'no-cache' })));
  const others = (await caches.keys()).filter((key) => key.startsWith(PREFIX) && key !== name);
  await Promise.all(others.map((key) => caches.delete(key)));
}

/** @param {Request} request @returns {Promise<Response>} */
async function answer(request) {
  const copy = await find(request);
  if (!copy) return fetch(request);
  const late = new Promise((resolve) => setTimeout(resolve, PATIENCE_MILLISECONDS, copy));
  return Promise.race([fetch(request).catch(() => copy), late]);
}

/** The copy of what a request asks for; a folder's is its index.html. @param {Request} request */
async function find(request) {
  const url = new URL(request.url);
  if (url.pathname.endsWith('/')) url.pathname += 'index.html';
  url.search = '';
  const names = (await caches.keys()).filter((key) => key.startsWith(PREFIX));
  for (const name of names) {
    const found = await (await caches.open(name)).match(url);
    if (found) return found;
  }
  return undefined;
}

/** The response with the headers that isolate a page, if it has none. @param {Response} response */
function isolated(response) {
  const { status, statusText, type, redirected } = response;
  const plain = type === 'opaque' || type === 'opaqueredirect' || redirected || status === 304;
  if (plain || response.headers.has('cross-origin-embedder-policy')) return response;
  const headers = new Headers(response.headers);
  headers.set('Cross-Origin-Opener-Policy', 'same-origin');
  headers.set('Cross-Origin-Embedder-Policy', 'require-corp');
  headers.set('Cross-Origin-Resource-Policy', 'same-origin');
  return new Response(response.body, { status, statusText, headers });
}
