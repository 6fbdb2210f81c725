/** One more thread of an engine, in a browser. */
import { ownPort } from './platform.js';
import { serveThread } from './threads.js';

serveThread(ownPort());
