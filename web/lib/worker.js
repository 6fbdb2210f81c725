/** The worker that owns the engine, in a browser. */
import { serve } from './host.js';
import { platform } from './platform.js';

const scope = /** @type {any} */ (globalThis);

serve(
  {
    post: (message, transfer = []) => scope.postMessage(message, transfer),
    onMessage: (listener) => {
      scope.onmessage = (/** @type {MessageEvent} */ { data }) => listener(data);
    },
    onError: () => {},
    terminate: () => scope.close(),
  },
  platform,
);
