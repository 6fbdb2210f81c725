// `npm run build`: the native command (build/wick), the four wasm files (dist/wasm/) and what
// pages need beside (tools/site.mjs).
import { buildNative } from './build-native.mjs';
import { buildAllWasm } from './build-wasm.mjs';
import { buildSite } from './site.mjs';
import { runMain } from './lib/run.mjs';

await runMain(async () => {
  await buildNative();
  await buildAllWasm();
  await buildSite();
});
