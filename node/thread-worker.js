/** One more thread of an engine, in Node. */
import { parentPort } from 'node:worker_threads';
import { runThread } from '../web/lib/threads.js';

const port = /** @type {import('node:worker_threads').MessagePort} */ (parentPort);

port.once('message', (start) => runThread(start, () => port.postMessage('ready')));
