// What a server on somebody's own machine must guard against: pages of other sites that reach it
// under a name of theirs (DNS rebinding), and clients that hold connections without using them.
import { isIP } from 'node:net';
import os from 'node:os';

/** @typedef {import('node:http').Server} Server */
/** @typedef {import('node:net').Socket} Socket */

/**
 * The names under which a server that is bound to `host` answers. One that is bound to every
 * address also has the machine's own name, and any address: only a name can be rebound.
 * @param {string} host
 * @param {string[]} [more]
 * @returns {(name: string) => boolean} name: in lower case, without port and brackets
 */
export function namesOf(host, more = []) {
  const everywhere = host === '0.0.0.0' || host === '::' || host === '';
  const own = everywhere ? [os.hostname()] : [host];
  const names = new Set(
    ['localhost', '127.0.0.1', '::1', ...own, ...more].map((name) => name.toLowerCase()),
  );
  return (name) => names.has(name) || (everywhere && isIP(name) !== 0);
}

/**
 * Path and host name of a request; null when either is malformed. An absolute target decides
 * alone. Source: RFC 9112, section 3.2.
 * @param {string} target
 * @param {string} host the Host header
 * @returns {{ path: string, name: string } | null}
 */
export function addressOf(target, host) {
  const absolute = /^https?:\/\/([^/?#]*)(.*)$/i.exec(target);
  const authority = absolute ? absolute[1] : host;
  const path = absolute ? absolute[2] : target;
  const parts = /^(?:\[([0-9a-f:.]+)\]|([^:@[\]\s/]+))(?::\d*)?$/i.exec(authority);
  if (!parts) return null;
  const name = (parts[1] ?? parts[2]).toLowerCase();
  // `http://host?query` has an empty path, which is the top.
  return { path: path.startsWith('/') || !absolute ? path : `/${path}`, name };
}

/**
 * Keeps at most `most` connections: a new one takes the place of that which has waited longest
 * without a request under way; where all are at work, the new one is closed.
 * @param {Server} server
 * @param {number} most
 */
export function boundConnections(server, most) {
  /** @type {Set<Socket>} in the order in which they fell idle */
  const idle = new Set();
  let n = 0;
  server.on('connection', (socket) => {
    n++;
    idle.add(socket);
    socket.once('close', () => {
      n--;
      idle.delete(socket);
    });
    if (n <= most) return;
    const [oldest] = idle;
    oldest.destroy(); // the new one itself, when it is the only one
    idle.delete(oldest);
  });
  server.on('request', ({ socket }, response) => {
    idle.delete(socket);
    response.once('close', () => {
      if (!socket.destroyed) idle.add(socket);
    });
  });
}
