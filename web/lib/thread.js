/** One more thread of an engine, in a browser. */
import { runThread } from './threads.js';

const scope = /** @type {any} */ (globalThis);

scope.onmessage = (/** @type {MessageEvent} */ { data }) =>
  runThread(data, () => scope.postMessage('ready'));
