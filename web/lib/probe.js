/**
 * What this browser or Node can run, found by validating modules of a few bytes, and the choice
 * among the four builds with its reason. What validates can still compute wrongly: the engine
 * checks its kernels by known answers at start and has the last word (the level that it reports).
 *
 * @import { Build, Platform } from './messages.js'
 */

/** @param {number[]} types @param {number[]} sections */
const module = (types, sections) =>
  // "\0asm", version 1, a type section with one function type, then a function of that type.
  Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 1, types.length + 1, 1, ...types, ...sections);

// () -> v128: i8x16.splat(i32.const 0)
const SIMD = module([96, 0, 1, 123], [3, 2, 1, 0, 10, 8, 1, 6, 0, 65, 0, 253, 15, 11]);

// (v128, v128, v128) -> v128: i32x4.relaxed_dot_i8x16_i7x16_add_s of its arguments
const RELAXED = module(
  [96, 3, 123, 123, 123, 1, 123],
  [3, 2, 1, 0, 10, 13, 1, 11, 0, 32, 0, 32, 1, 32, 2, 253, 147, 2, 11],
);

// () -> (): i32.atomic.load of a shared memory (1 page, at most 1), dropped
const THREADS = module(
  [96, 0, 0],
  [3, 2, 1, 0, 5, 4, 1, 3, 1, 1, 10, 11, 1, 9, 0, 65, 0, 254, 16, 2, 0, 26, 11],
);

export const hasSimd = () => WebAssembly.validate(SIMD);
export const hasRelaxedSimd = () => WebAssembly.validate(RELAXED);
export const hasThreads = () => WebAssembly.validate(THREADS);

/**
 * @param {Platform} platform
 * @param {Build} [wanted]
 * @param {number} [threads]
 * @returns {{ build: Build, reason: string, threads: number, threadsReason: string }}
 */
export function chooseBuild(platform, wanted, threads) {
  if (!hasSimd())
    throw new Error('wick: expected WebAssembly with SIMD, found a browser or Node without it');
  const forced = wanted ?? platform.forced;
  const noThreads = hasThreads() ? platform.noThreads() : 'no WebAssembly threads here';
  const noRelaxed = hasRelaxedSimd() ? platform.noRelaxed() : 'no relaxed SIMD here';
  if (forced) {
    if (!/^(st|mt)(-relaxed)?$/.test(forced))
      // a platform's own, from the environment
      throw new Error(`wick: build: expected st, mt, st-relaxed or mt-relaxed, found ${forced}`);
    if (forced.startsWith('mt') && noThreads)
      throw new Error(`wick: build ${forced}: ${noThreads}`);
    if (forced.endsWith('-relaxed') && !hasRelaxedSimd())
      throw new Error(`wick: build ${forced}: ${noRelaxed}`);
  }
  const count = chooseThreads(platform, noThreads, forced, threads);
  const parallel = forced ? forced.startsWith('mt') : count.threads > 1;
  const build = forced ?? `${parallel ? 'mt' : 'st'}${noRelaxed ? '' : '-relaxed'}`;
  const reason = forced ? 'forced' : (noRelaxed ?? 'relaxed SIMD is here');
  return { build: /** @type {Build} */ (build), reason, ...count };
}

/**
 * @param {Platform} platform
 * @param {string | null} noThreads
 * @param {Build | null} forced
 * @param {number | undefined} wanted
 */
function chooseThreads(platform, noThreads, forced, wanted) {
  if (noThreads) return { threads: 1, threadsReason: noThreads };
  if (forced?.startsWith('st')) return { threads: 1, threadsReason: `build ${forced} has one` };
  if (wanted) return { threads: wanted, threadsReason: 'as asked' };
  const cores = platform.cores();
  // A page draws and answers clicks: one core is left to it, unless that would halve the speed.
  const spared = platform.page && cores > 2 ? 1 : 0;
  const threads = Math.max(1, Math.min(8, cores - spared));
  const kept = spared ? ', one left for the page' : '';
  return { threads, threadsReason: `${cores} cores${kept}` };
}
