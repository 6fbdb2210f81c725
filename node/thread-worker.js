/** One more thread of an engine, in Node. */
import { serveThread } from '../web/lib/threads.js';
import { ownPort } from './platform.js';

serveThread(ownPort());
