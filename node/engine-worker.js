/** The worker thread that owns the engine, in Node. */
import { parentPort } from 'node:worker_threads';
import { serve } from '../web/lib/host.js';
import { platform } from './platform.js';

const port = /** @type {import('node:worker_threads').MessagePort} */ (parentPort);

serve(
  {
    post: (message, transfer = []) => port.postMessage(message, /** @type {any} */ (transfer)),
    onMessage: (listener) => {
      port.on('message', listener);
    },
    onError: () => {},
    terminate: () => process.exit(),
  },
  platform,
);
