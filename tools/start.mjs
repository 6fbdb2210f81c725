// `npm start`: from a fresh clone to the page. Every step is skipped when it is up to date.
//
//   npm start [-- --no-open]      $PORT sets the port, $WICK_MODELS where models lie
import { spawn } from 'node:child_process';
import { ensureDependencies } from './dependencies.mjs';
import { buildNative } from './build-native.mjs';
import { buildAllWasm } from './build-wasm.mjs';
import { buildSite } from './site.mjs';
import { ensureModel } from './model.mjs';
import { serveSite } from './serve.mjs';
import { commandLine, runMain, say, ToolError } from './lib/run.mjs';

/** The program that opens an address, where there is a desktop. @returns {string[] | null} */
function opener() {
  if (process.platform === 'darwin') return ['open'];
  if (process.platform === 'win32') return ['cmd', '/c', 'start', ''];
  if (process.env.DISPLAY || process.env.WAYLAND_DISPLAY) return ['xdg-open'];
  return null;
}

/** @param {string} url */
function openPage(url) {
  const command = opener();
  if (!command) return;
  const child = spawn(command[0], [...command.slice(1), url], { stdio: 'ignore', detached: true });
  child.on('error', () => {}); // the address has been printed
  child.unref();
}

/** @param {string} title @param {() => Promise<unknown>} step @param {number} n */
async function timed(title, step, n) {
  say(`[${n}/4] ${title}`);
  const start = Date.now();
  await step();
  say(`      done in ${((Date.now() - start) / 1000).toFixed(1)} s`);
}

await runMain(async () => {
  const { values } = commandLine({ options: { 'no-open': { type: 'boolean' } } });
  await timed('JavaScript dependencies', ensureDependencies, 1);
  await timed('native build', buildNative, 2);
  await timed('WebAssembly build', buildAllWasm, 3);
  await buildSite();
  const model = async () => {
    try {
      await ensureModel('135M');
    } catch (error) {
      if (!(error instanceof ToolError)) throw error;
      say(`      ${error.message}`);
      say('      SmolLM2 is not to be had now: the page uses its small built-in model');
    }
  };
  await timed('model', model, 4);
  const { url } = await serveSite();
  say(`\nwick is at ${url}  (Ctrl-C stops)`);
  if (!values['no-open']) openPage(url);
});
