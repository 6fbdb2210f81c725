// `npm run build`: the native command (build/wick) and the four wasm files (dist/wasm/).
import { buildNative } from './build-native.mjs';
import { buildAllWasm } from './build-wasm.mjs';
import { runMain } from './lib/run.mjs';

await runMain(async () => {
  await buildNative();
  await buildAllWasm();
});
