/** An abort in the middle of a long prompt, in Chromium, with threads and without shared memory. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, test } from 'node:test';
import { atPage, inPage } from './loader-page.mjs';
import { hasSmolLM2, launch, serveFaulty, serveNotIsolated, serveSite } from './support.mjs';

/** The worker as it is, but what it says of an answer carries the time at which it was said. */
const STAMPING = `${readFileSync('web/lib/worker.js', 'utf8')}
const post = self.postMessage.bind(self);
self.postMessage = (message, transfer) => {
  const time = performance.timeOrigin + performance.now();
  for (const piece of message.pieces ?? []) piece.time = time;
  post(message, transfer);
};`;

/** @type {import('./support.mjs').Answer} */
const stampingWorker = (response) =>
  response.setHeader('content-type', 'text/javascript').end(STAMPING);

/** @type {import('playwright-core').Browser} */
let browser;
/** @type {Awaited<ReturnType<typeof serveSite>>} */
let site;
before(async () => {
  [browser, site] = await Promise.all([launch(), serveSite()]);
});

for (const isolated of [true, false]) {
  const where = isolated ? 'with threads' : 'without shared memory';
  test(
    `${where}: at most one step of work follows an abort, and the next answer goes on from there`,
    { skip: !hasSmolLM2 },
    async (t) => {
      const serve = isolated ? serveFaulty : serveNotIsolated;
      const server = await serve(site.url, { '/lib/worker.js': stampingWorker });
      t.after(() => server.close());
      const { page, close } = await atPage(browser, server.url);
      const found = await inPage(
        page,
        async ({ load }, threads) => {
          const model = await load('/models/smollm2-135m.gguf', { threads, keep: false });
          const prompt = Array.from({ length: 400 }, (_, i) => 1000 + ((i * 7919) % 40_000));
          const controller = new AbortController();
          const { signal } = controller;
          const now = () => performance.timeOrigin + performance.now();
          let aborted = Infinity;
          let steps = 0;
          let nDone = 0;
          let name = '';
          try {
            for await (const piece of model.generate(prompt, { signal, maxTokens: 1 })) {
              nDone = piece.nPromptDone;
              // A piece without a time counts too: then the test proves nothing.
              if (!(/** @type {any} */ (piece).time <= aborted)) steps++;
              if (signal.aborted || nDone < 16) continue;
              aborted = now();
              controller.abort();
            }
          } catch (error) {
            ({ name } = /** @type {Error} */ (error));
          }
          const next = await model.chat(prompt.slice(0, nDone + 8), { maxTokens: 2 });
          const { build } = model.info;
          await model.free();
          return { name, steps, nDone, next: { ...next, tokens: next.tokens.length }, build };
        },
        isolated ? 2 : undefined,
      );
      await close();
      assert.match(found.build, isolated ? /^mt/ : /^st/);
      assert.equal(found.name, 'AbortError');
      assert.ok(found.steps <= 1, `${found.steps} steps after the abort`);
      assert.ok(found.nDone >= 16 && found.nDone < 400, `${found.nDone} tokens were computed`);
      assert.equal(found.next.nReused, found.nDone);
      assert.equal(found.next.tokens, 2);
    },
  );
}
