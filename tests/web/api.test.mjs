/** The library in Chromium: every build against the golden logits, sources, cancelling, freeing. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { largestDifference, meanKl, readFloats, readJson } from '../node/support.mjs';
import { launch, openPage, serveSite } from './support.mjs';

const GOLDEN = ['type_q4_1', 'type_q8_0', 'qwen3_bf16', 'qwen2_sharded_bf16'];
const FAST_KL = 0.0026;

/** @type {import('playwright-core').Browser} */
let browser;
/** @type {Awaited<ReturnType<typeof serveSite>>} */
let site;
/** @type {Awaited<ReturnType<typeof openPage>>} */
let opened;
before(async () => {
  [browser, site] = await Promise.all([launch(), serveSite()]);
  opened = await openPage(browser);
  // Any page of the site will do; the chat page would load a model of its own.
  await opened.page.goto(`${site.url}icon.svg`);
});

/**
 * Runs a function in the page with the library.
 * @template T, A
 * @param {(wick: typeof import('../../web/lib/index.js'), argument: A) => Promise<T>} body
 * @param {A} argument
 * @returns {Promise<T>}
 */
function inPage(body, argument) {
  const program = `async (argument) => (${body})(await import('/lib/index.js'), argument)`;
  // The page's policy allows no eval; evaluate runs outside of it.
  return opened.page.evaluate(`(${program})(${JSON.stringify(argument)})`);
}

/** A browser takes its time to end workers, but ends them. */
async function noWorkers() {
  const { page } = opened;
  for (let i = 0; page.workers().length && i < 200; i++) await page.waitForTimeout(50);
  assert.equal(page.workers().length, 0);
}

for (const build of ['st', 'mt', 'st-relaxed', 'mt-relaxed']) {
  test(`build ${build}: logits are those of transformers`, async () => {
    for (const { name, model, ids, positions, logits, n_vocab, tolerance } of readJson(
      'generality.json',
    ).models) {
      if (!GOLDEN.includes(name)) continue;
      const url = `/golden/${model}${model.endsWith('.gguf') ? '' : '/'}`;
      for (const exact of [true, false]) {
        const run = { url, ids, positions, build, exact, width: n_vocab };
        const found = await inPage(async ({ load }, { width, ...given }) => {
          const model = await load(given.url, {
            build: /** @type {any} */ (given.build),
            exact: given.exact,
            threads: given.build.startsWith('mt') ? 2 : undefined,
          });
          const { logits } = await model.evaluate(given.ids, { firstOutput: 0 });
          const { build, threads, level } = model.info;
          await model.free();
          const rows = given.positions.map((/** @type {number} */ at) =>
            Array.from(logits.subarray(at * width, (at + 1) * width)),
          );
          return { logits: rows.flat(), build, threads, level };
        }, run);
        assert.equal(found.build, build);
        assert.equal(found.threads, build.startsWith('mt') ? 2 : 1);
        assert.equal(found.level, build.endsWith('relaxed') ? 'relaxed' : 'simd128');
        const [got, expected] = [Float32Array.from(found.logits), readFloats(logits)];
        const far = exact ? largestDifference(got, expected) : meanKl(got, expected, n_vocab);
        assert.ok(far <= (exact ? tolerance : FAST_KL), `${name}, exact ${exact}: found ${far}`);
      }
    }
  });
}

test('an address, a Blob, a File, bytes: one text', async () => {
  const texts = await inPage(async ({ load }, url) => {
    const blob = await (await fetch(url)).blob();
    const bytes = new Uint8Array(await blob.arrayBuffer());
    const texts = [];
    for (const source of [url, blob, new File([blob], 'tiny.gguf'), bytes, bytes.buffer]) {
      const model = await load(source);
      texts.push((await model.chat('Hello!', { maxTokens: 12 })).text);
      await model.free();
    }
    return texts;
  }, '/models/tiny.gguf');
  assert.equal(texts.length, 5);
  assert.equal(new Set(texts).size, 1);
  assert.match(texts[0], /\w/);
});

for (const build of ['st', 'mt']) {
  test(`build ${build}: an abort ends the answer soon, and the next one is right`, async () => {
    const found = await inPage(async ({ load }, build) => {
      const model = await load('/models/tiny.gguf', { build: /** @type {any} */ (build) });
      const expected = await model.chat('Why is the sky blue?');
      const controller = new AbortController();
      let after = 0;
      let name = '';
      try {
        for await (const piece of model.generate('Tell me a story about a fox.', {
          ignoreEnd: true,
          signal: controller.signal,
        })) {
          if (controller.signal.aborted) after++;
          if (piece.nGenerated === 5) controller.abort();
        }
      } catch (error) {
        ({ name } = /** @type {Error} */ (error));
      }
      const again = await model.chat('Why is the sky blue?');
      await model.free();
      return { name, after, same: again.text === expected.text, reused: again.nReused };
    }, build);
    assert.equal(found.name, 'AbortError');
    assert.ok(found.after < 200, `${found.after} pieces after the abort`);
    assert.ok(found.same);
    assert.ok(found.reused > 0);
  });
}

test('several models and rounds keep no worker', async () => {
  const texts = await inPage(async ({ load }, rounds) => {
    const texts = [];
    for (let i = 0; i < rounds; i++) {
      const models = await Promise.all([load('/models/tiny.gguf'), load('/models/tiny.gguf')]);
      const answers = await Promise.all(models.map((model) => model.chat('Hello!')));
      texts.push(...answers.map(({ text }) => text));
      await Promise.all(models.map((model) => model.free()));
    }
    return texts;
  }, 3);
  assert.equal(new Set(texts).size, 1);
  await noWorkers();
});

test('a failed load names the address and leaves no worker', async () => {
  const messages = await inPage(
    async ({ load }, urls) => {
      const messages = [];
      for (const url of urls)
        messages.push(
          await load(url).then(
            () => 'loaded',
            (error) => error.message,
          ),
        );
      return messages;
    },
    ['/models/nowhere.gguf', '/index.html', '/golden/generality.json/'],
  );
  assert.match(messages[0], /nowhere\.gguf: expected status 200, found 404/);
  assert.match(messages[1], /index\.html: expected a model file, found a web page/);
  assert.match(messages[2], /expected status 200, found 404/);
  await noWorkers();
});

test('nothing broke the policy', () => {
  assert.deepEqual(
    opened.complaints.filter((text) => !/status of 404/.test(text)),
    [],
  );
});
