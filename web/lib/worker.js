/** The worker that owns the engine, in a browser. */
import { serve } from './host.js';
import { ownPort, platform } from './platform.js';

serve(ownPort(), platform);
