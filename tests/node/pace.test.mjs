/** How much of a prompt a step takes where a cancel is seen between steps only. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pace } from '../../web/lib/pace.js';

const CANCEL_MILLISECONDS = 100;

for (const perToken of [0.05, 0.5, 5, 19, 200]) {
  test(`at ${perToken} ms a token a step stays within what a cancel may wait`, () => {
    const pace = new Pace();
    let longest = 0;
    for (let i = 0; i < 20; i++) {
      longest = Math.max(longest, pace.tokens * perToken);
      pace.took(pace.tokens * perToken);
    }
    const least = pace.tokens * perToken;
    if (pace.tokens > 2) assert.ok(longest <= CANCEL_MILLISECONDS, `${longest} ms`);
    // Nor is it cut smaller than it must be: a fast machine keeps its speed.
    assert.ok(least > CANCEL_MILLISECONDS / 5, `${least} ms`);
  });
}

test('a machine that becomes slower, or a clock that stands, is recovered from at once', () => {
  const pace = new Pace();
  for (let i = 0; i < 10; i++) pace.took(0);
  assert.equal(pace.tokens, 2048);
  pace.took(2048 * 20);
  assert.equal(pace.tokens, 2);
});
