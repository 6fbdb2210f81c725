/**
 * Damaged models dropped on the chat page: hundreds of seeded damages (tests/fuzz/mutate.h), each of
 * which is one line that names the file, or harmless; the page goes on, and what talked talks on.
 */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { onPath, run } from '../../tools/lib/run.mjs';
import {
  answered,
  ask,
  hasSmolLM2,
  lastAnswer,
  launch,
  openPage,
  ready,
  root,
  serveSite,
} from './support.mjs';

/** @typedef {import('playwright-core').Page} Page */

const compiler = ['cc', 'gcc', 'clang'].find(onPath);
const N_EACH = 150;
/** A GGUF file, and the weights of a model folder whose other files are sound. */
const kinds = {
  gguf: { sound: 'tests/golden/generality/type_q4_0.gguf', beside: [] },
  safetensors: {
    sound: 'tests/golden/generality/smollm2_f16/model.safetensors',
    beside: ['config.json', 'tokenizer.json', 'tokenizer_config.json'],
  },
};

/** @type {import('playwright-core').Browser} */
let browser;
/** @type {Awaited<ReturnType<typeof serveSite>>} */
let site;
let folder = '';
before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'wick-damaged-'));
  [browser, site] = await Promise.all([launch(), serveSite({ prefix: '/damaged/', folder })]);
});
after(() => rm(folder, { recursive: true }));

/** Writes the damaged files. @param {string} writer The program. @param {keyof typeof kinds} kind */
async function write(writer, kind) {
  const target = path.join(folder, kind);
  mkdirSync(target);
  await run([writer, kind, path.join(root, kinds[kind].sound), target, String(N_EACH)]);
}

/**
 * Drops each file on the page, and waits for what comes of it.
 * @param {Page} page
 * @param {{ kind: string, n: number, beside: { name: string, text: string }[] }} what
 * @returns {Promise<{ name: string, state: string, loaded: boolean }[]>}
 */
const dropAll = (page, what) =>
  page.evaluate(async ({ kind, n, beside }) => {
    const [loading, state, summary] = ['loading', 'state', 'summary'].map(
      (id) => /** @type {HTMLElement} */ (document.getElementById(id)),
    );
    const drop = (/** @type {File[]} */ files) => {
      const dataTransfer = new DataTransfer();
      for (const file of files) dataTransfer.items.add(file);
      const options = { dataTransfer, bubbles: true, cancelable: true };
      for (const type of ['dragover', 'drop'])
        document.body.dispatchEvent(new DragEvent(type, options));
    };
    const failed = () => loading.classList.contains('failed');
    const results = [];
    for (let seed = 0; seed < n; seed++) {
      const number = String(seed).padStart(3, '0');
      const name = `damaged-${number}.${kind}`;
      const bytes = await (await fetch(`/damaged/${kind}/${number}`)).arrayBuffer();
      drop([...beside.map((each) => new File([each.text], each.name)), new File([bytes], name)]);
      while (!failed() && !summary.innerText.startsWith(name))
        await new Promise((resolve) => setTimeout(resolve, 5));
      results.push({ name, state: state.innerText, loaded: !failed() });
    }
    return results;
  }, what);

test(
  'hundreds of damaged files: one line each, and the page goes on working',
  { skip: compiler ? false : 'no C compiler writes them' },
  async () => {
    const writer = path.join(folder, 'write_mutations');
    const source = path.join(root, 'tests/fuzz/write_mutations.c');
    const include = path.join(root, 'tests');
    await run([String(compiler), '-std=c17', '-I', include, source, '-o', writer]);
    const { page, complaints, close } = await openPage(browser);
    await page.goto(`${site.url}?model=tiny&threads=1`);
    await ready(page);
    const workers = page.workers().length;
    let nRefused = 0;
    for (const kind of /** @type {const} */ (['gguf', 'safetensors'])) {
      await write(writer, kind);
      const from = path.dirname(path.join(root, kinds[kind].sound));
      const beside = kinds[kind].beside.map((name) => ({
        name,
        text: readFileSync(path.join(from, name), 'utf8'),
      }));
      for (const { name, state, loaded } of await dropAll(page, { kind, n: N_EACH, beside })) {
        if (loaded) continue;
        nRefused++;
        // What is wrong with a folder as a whole is said of its first file.
        const named = state.startsWith(`${name}: `) || state.startsWith('config.json: ');
        assert.ok(named && state.length < 400 && !/[\n\r]/.test(state), `${name}: ${state}`);
      }
    }
    assert.ok(nRefused > N_EACH, `the damage is real: ${nRefused} refused`);
    await page.locator('#model').selectOption('wick tiny');
    await page.locator('#summary', { hasText: /^wick tiny/ }).waitFor();
    await ask(page, 'Why is the sky blue?');
    await answered(page);
    assert.match(await lastAnswer(page).innerText(), /blue light/);
    for (let i = 0; page.workers().length > workers && i < 200; i++) await page.waitForTimeout(50);
    assert.equal(page.workers().length, workers, 'every other model has gone, with its memory');
    const odd = complaints.filter((text) => hasSmolLM2 || !/status of 404/.test(text));
    assert.deepEqual(odd, []);
    await close();
  },
);
