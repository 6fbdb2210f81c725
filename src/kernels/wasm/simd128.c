/* The wasm level without relaxed SIMD. i32x4.dot_i16x8_s is its only integer dot product, so Q4's
 * codes become int16 too, two columns a lane, in the pairs of packed.inc.
 *
 * matvec saves masks. A 16-bit lane of a Q4 run is x = n0 + 16 n1 + 256 n2 + 4096 n3, where n0 and
 * n2 belong to columns 4j and 4j+1 (or two further), n1 and n3 to the ones 16 on. For activations
 * a0 .. a3,
 *
 *   n0 a0 + n1 a1 + n2 a2 + n3 a3
 *     = (x & 15) a0 + (x >> 4) a1 + (x >> 8) (a2 - 16 a1) + (x >> 12) (a3 - 16 a2)
 *
 * Chapter 6. */
#include <string.h>
#include <wasm_simd128.h>

#include "kernels/wasm/simd128_elementwise.h"

enum { Q4_WORDS = 16, Q4_TOKEN_WORDS = 16 };

static inline void arrange_pairs(uint32_t words[16], const v128_t codes[4]);

static inline void arrange_q4(uint32_t words[Q4_WORDS], const v128_t codes[4]) {
  arrange_pairs(words, codes);
}

/* Of run j, at 4j: a0, a1, a2 - 16 a1, a3 - 16 a2. */
static inline void set_q4_words(v128_t out[Q4_TOKEN_WORDS], const uint32_t words[Q4_WORDS]) {
  for (int j = 0; j < 4; j++) {
    v128_t a0 = wasm_u32x4_splat(words[2 * j]), a2 = wasm_u32x4_splat(words[2 * j + 1]);
    v128_t a1 = wasm_u32x4_splat(words[8 + 2 * j]), a3 = wasm_u32x4_splat(words[8 + 2 * j + 1]);
    out[4 * j] = a0;
    out[4 * j + 1] = a1;
    out[4 * j + 2] = wasm_i16x8_sub(a2, wasm_i16x8_shl(a1, 4));
    out[4 * j + 3] = wasm_i16x8_sub(a3, wasm_i16x8_shl(a2, 4));
  }
}

static inline v128_t q4_dot(v128_t activation, v128_t codes, v128_t acc) {
  return wasm_i32x4_add(acc, wasm_i32x4_dot_i16x8(codes, activation));
}

static inline v128_t multiply_add(v128_t a, v128_t b, v128_t c) {
  return wasm_f32x4_add(wasm_f32x4_mul(a, b), c);
}

static inline v128_t q4_sum(const uint8_t *runs, const v128_t words[Q4_TOKEN_WORDS]) {
  v128_t sum = wasm_i32x4_const_splat(0);
  for (int j = 0; j < 4; j++) {
    v128_t run = wasm_v128_load(runs + 32 * j);
    sum = q4_dot(words[4 * j + 0], wasm_v128_and(run, wasm_i16x8_const_splat(15)), sum);
    sum = q4_dot(words[4 * j + 1], wasm_u16x8_shr(run, 4), sum);
    sum = q4_dot(words[4 * j + 2], wasm_u16x8_shr(run, 8), sum);
    sum = q4_dot(words[4 * j + 3], wasm_u16x8_shr(run, 12), sum);
  }
  return sum;
}

static inline void unpack_q4(v128_t codes[][2], int half, const uint8_t *runs) {
  const v128_t nibble = wasm_i16x8_const_splat(15);
  for (int j = 0; j < 4; j++) {
    v128_t run = wasm_v128_load(runs + 32 * j);
    codes[2 * j][half] = wasm_v128_and(run, nibble);
    codes[2 * j + 1][half] = wasm_v128_and(wasm_u16x8_shr(run, 8), nibble);
    codes[8 + 2 * j][half] = wasm_v128_and(wasm_u16x8_shr(run, 4), nibble);
    codes[8 + 2 * j + 1][half] = wasm_u16x8_shr(run, 12);
  }
}

#include "kernels/wasm/packed.inc"
#include "kernels/wasm/products.inc"

void wick_kernels_simd128(wick_kernels *table) {
  table->level = "simd128";
  table->level_bit = WICK_LEVEL_SIMD128;
  set_packed(table);
  set_products(table);
  wick_wasm_elementwise(table);
}
