// `npm run build`: the native command (build/wick), the four wasm files (dist/wasm/) and the page's
// library (dist/vendor/).
import { buildNative } from './build-native.mjs';
import { buildAllWasm } from './build-wasm.mjs';
import { vendor } from './vendor.mjs';
import { runMain } from './lib/run.mjs';

await runMain(async () => {
  await buildNative();
  await buildAllWasm();
  await vendor();
});
