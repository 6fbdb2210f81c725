/** The worker thread that owns the engine, in Node. */
import { serve } from '../web/lib/host.js';
import { ownPort, platform } from './platform.js';

serve(ownPort(), platform);
