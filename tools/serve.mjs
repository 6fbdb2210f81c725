// The development server: static files with the headers that the page needs.
//
//   /            web/           the page (index.html), /lib/ the library, /chapters/ ...
//   /dist/        dist/         the four builds, which from /lib/x.js are ../../dist/wasm/, and
//                               what tools/site.mjs adds
//   /models/     models/        or $WICK_MODELS
//
// Pages are cross-origin isolated (threads need it) and run under the policy that right embedding
// pages may set: no inline scripts or styles, workers from the same origin. GET and HEAD only, and
// only under its own names, so that no other site's page reads models through a name of its own.
//
//   node tools/serve.mjs         127.0.0.1, $PORT or 8080, or the next free port
//
// $HOST is the address to bind to; $HOST_NAMES, comma-separated, are further names to answer to,
// as a proxy in front of it may have.
import { createReadStream } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { addressOf, boundConnections, namesOf } from './lib/guard.mjs';
import { inRoot, modelsFolder } from './lib/paths.mjs';
import { isMain, runMain, say, ToolError } from './lib/run.mjs';

/** @typedef {import('node:http').IncomingMessage} Request */
/** @typedef {import('node:http').ServerResponse} Response */
/** @typedef {{ prefix: string, folder: string }} Mount */

/** The longest prefix is asked first. @type {Mount[]} */
export const siteMounts = [
  { prefix: '/dist/', folder: inRoot('dist') },
  { prefix: '/models/', folder: modelsFolder },
  { prefix: '/', folder: inRoot('web') },
];

const securityHeaders = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Content-Security-Policy': [
    "default-src 'self'",
    "script-src 'self' 'wasm-unsafe-eval'",
    "worker-src 'self'",
    "connect-src 'self' https:",
    "img-src 'self' data: blob:",
    "style-src 'self'",
    "object-src 'none'",
    "base-uri 'self'",
    "frame-ancestors 'self'",
  ].join('; '),
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
};

/** @type {Record<string, string>} */
const types = {
  '.css': 'text/css; charset=utf-8',
  '.csv': 'text/csv; charset=utf-8',
  '.gguf': 'application/octet-stream',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.jpg': 'image/jpeg',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
  '.safetensors': 'application/octet-stream',
  '.svg': 'image/svg+xml; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
  '.webmanifest': 'application/manifest+json; charset=utf-8',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
};

/** @param {Response} response @param {number} status @param {Record<string, string>} [headers] @param {string} [why] */
function answer(response, status, headers = {}, why = '') {
  const text = `${status}${why && `: ${why}`}\n`;
  response.writeHead(status, {
    ...securityHeaders,
    'Content-Type': 'text/plain; charset=utf-8',
    'Content-Length': String(text.length),
    ...headers,
  });
  response.end(response.req.method === 'HEAD' ? undefined : text);
}

/**
 * The path that a URL names, decoded once; null when it is malformed or climbs.
 * @param {string} url
 */
export function decodePath(url) {
  const raw = url.split(/[?#]/, 1)[0];
  if (!raw.startsWith('/')) return null;
  let decoded;
  try {
    decoded = decodeURIComponent(raw);
  } catch {
    return null;
  }
  // Backslashes separate on some systems; a colon names a drive or a stream there.
  if (/[\0\\:]/.test(decoded)) return null;
  const segments = decoded.split('/');
  // Names with a leading dot are never part of the site.
  if (segments.some((segment) => segment.startsWith('.'))) return null;
  return decoded;
}

/**
 * The real file behind a path, or null; links may not lead out of the mount's folder. What the
 * longest prefix lacks the next one may have: web/models/ serves where models/ does not.
 * @param {Mount[]} mounts
 * @param {string} decoded
 */
async function locate(mounts, decoded) {
  const fitting = mounts.filter((mount) => decoded.startsWith(mount.prefix));
  for (const mount of fitting.sort((a, b) => b.prefix.length - a.prefix.length)) {
    try {
      const top = await realpath(mount.folder);
      const file = await realpath(path.join(top, decoded.slice(mount.prefix.length)));
      if (file !== top && !file.startsWith(top + path.sep)) continue;
      return { file, status: await stat(file, { bigint: true }) };
    } catch {
      // Not in this one.
    }
  }
  return null;
}

/**
 * A single byte range: [first, last], 'none' to send everything (absent or not understood), or
 * 'unsatisfiable'. Source: RFC 9110, section 14.
 * @param {string | undefined} header
 * @param {number} size
 * @returns {[number, number] | 'none' | 'unsatisfiable'}
 */
export function parseRange(header, size) {
  const match = /^bytes=(\d*)-(\d*)$/i.exec(header ?? '');
  if (!match || (match[1] === '' && match[2] === '')) return 'none';
  if (match[1] === '') {
    const length = Number(match[2]);
    if (length === 0 || size === 0) return 'unsatisfiable';
    return [Math.max(0, size - length), size - 1];
  }
  const first = Number(match[1]);
  const last = match[2] === '' ? size - 1 : Number(match[2]);
  if (match[2] !== '' && last < first) return 'none';
  return first >= size ? 'unsatisfiable' : [first, Math.min(last, size - 1)];
}

const strangerNote = 'expected localhost or a name of this server ($HOST_NAMES adds some)';

/** @typedef {{ mounts: Mount[], answersTo: (name: string) => boolean }} Site */

/** @param {Site} site @param {Request} request @param {Response} response */
async function handle({ mounts, answersTo }, request, response) {
  const address = addressOf(request.url ?? '', request.headers.host ?? '');
  if (address === null) return answer(response, 400);
  if (!answersTo(address.name)) return answer(response, 421, {}, strangerNote);
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return answer(response, 405, { Allow: 'GET, HEAD' });
  }
  const decoded = decodePath(address.path);
  if (decoded === null) return answer(response, 400);
  let found = await locate(mounts, decoded);
  if (found?.status.isDirectory()) {
    if (!decoded.endsWith('/')) {
      // Relative, so that it holds behind a proxy; the name is a single segment.
      const name = encodeURIComponent(decoded.slice(decoded.lastIndexOf('/') + 1));
      return answer(response, 301, { Location: `${name}/` });
    }
    found = await locate(mounts, `${decoded}index.html`);
  } else if (decoded.endsWith('/')) {
    found = null;
  }
  if (!found?.status.isFile()) return answer(response, 404);

  const size = Number(found.status.size);
  const etag = `"${found.status.mtimeNs.toString(36)}-${size.toString(36)}"`;
  /** @type {Record<string, string>} */
  const headers = {
    ...securityHeaders,
    'Content-Type': types[path.extname(found.file).toLowerCase()] ?? 'application/octet-stream',
    'Accept-Ranges': 'bytes',
    'Cache-Control': 'no-cache',
    'Last-Modified': new Date(Number(found.status.mtimeMs)).toUTCString(),
    ETag: etag,
  };
  const known = (request.headers['if-none-match'] ?? '').split(',').map((tag) => tag.trim());
  if (known.includes('*') || known.some((tag) => tag.replace(/^W\//, '') === etag)) {
    response.writeHead(304, headers);
    return response.end();
  }
  const condition = request.headers['if-range'];
  const conditionHolds = condition === undefined || condition === etag;
  const range = conditionHolds ? parseRange(request.headers.range, size) : 'none';
  if (range === 'unsatisfiable') {
    return answer(response, 416, { 'Content-Range': `bytes */${size}` });
  }
  const [first, last] = range === 'none' ? [0, size - 1] : range;
  headers['Content-Length'] = String(last - first + 1);
  if (range !== 'none') headers['Content-Range'] = `bytes ${first}-${last}/${size}`;
  response.writeHead(range === 'none' ? 200 : 206, headers);
  if (request.method === 'HEAD' || size === 0) return response.end();
  const stream = createReadStream(found.file, { start: first, end: last });
  stream.on('error', () => response.destroy());
  response.on('close', () => stream.destroy());
  stream.pipe(response);
}

/**
 * @typedef {object} ServerOptions
 * @property {number} [port] 0: any
 * @property {string} [host] address or name to bind to
 * @property {string[]} [names] further names to answer to
 * @property {Mount[]} [mounts]
 * @property {boolean} [strict] the port is taken or refused; else the next free one serves
 * @property {number} [headerSeconds] in which a request's head must have come
 * @property {number} [connections] at most so many at once
 */

/** A response that nobody reads is given up after this. */
const stalledSeconds = 120;

/** @param {Site} site @param {number} headerSeconds @param {number} connections */
function createSiteServer(site, headerSeconds, connections) {
  const milliseconds = headerSeconds * 1000;
  const times = {
    headersTimeout: milliseconds,
    requestTimeout: milliseconds,
    connectionsCheckingInterval: milliseconds / 4,
  };
  const server = createServer(times, (request, response) => {
    handle(site, request, response).catch(() => response.destroy());
  });
  server.setTimeout(stalledSeconds * 1000);
  boundConnections(server, connections);
  return server;
}

/**
 * Starts the server.
 * @param {ServerOptions} [options]
 * @returns {Promise<{ url: string, port: number, close: () => Promise<void> }>}
 */
export async function startServer(options = {}) {
  const host = options.host ?? '127.0.0.1';
  const { mounts = siteMounts, headerSeconds = 10, connections = 128 } = options;
  const site = { mounts, answersTo: namesOf(host, options.names) };
  const wanted = options.port ?? 0;
  const tries = options.strict || wanted === 0 ? 1 : 20;
  for (let port = wanted; port < wanted + tries; port++) {
    const server = createSiteServer(site, headerSeconds, connections);
    const error = await new Promise((resolve) => {
      server.once('error', resolve);
      server.listen(port, host, () => resolve(null));
    });
    if (error?.code === 'EADDRINUSE' || error?.code === 'EACCES') continue;
    if (error) throw new ToolError(`${host}:${port}: ${error.message}`);
    const address = /** @type {import('node:net').AddressInfo} */ (server.address());
    const close = () =>
      new Promise((/** @type {(value: void) => void} */ resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    const shown = host.includes(':') ? `[${host}]` : host;
    return { url: `http://${shown}:${address.port}/`, port: address.port, close };
  }
  throw new ToolError(`${host}: no free port from ${wanted} to ${wanted + tries - 1}`);
}

/** The server that people start: $HOST and $PORT. */
export async function serveSite() {
  const port = Number(process.env.PORT || 8080);
  if (!Number.isInteger(port) || port < 0 || port > 65535) {
    throw new ToolError(`PORT: expected a number up to 65535, found ${process.env.PORT}`);
  }
  const names = (process.env.HOST_NAMES ?? '').split(',').filter((name) => name !== '');
  return startServer({ port, host: process.env.HOST || '127.0.0.1', names });
}

if (isMain(import.meta.url)) {
  await runMain(async () => say(`serving ${(await serveSite()).url} (Ctrl-C stops)`));
}
