/* The wasm level without relaxed SIMD. i32x4.dot_i16x8_s is its only integer dot product, so codes
 * become int16, two columns a lane: the 16-bit lanes of a run hold columns 4j and 4j+1, then 4j+2
 * and 4j+3 of a row, and activations come as the pairs (4j, 4j+2) and (4j+1, 4j+3): word 2j and
 * word 2j+1.
 *
 * matvec saves masks. A 16-bit lane of a Q4 run is x = n0 + 16 n1 + 256 n2 + 4096 n3, where n0 and
 * n2 belong to columns 4j and 4j+1 (or two further), n1 and n3 to the ones 16 on. For activations
 * a0 .. a3,
 *
 *   n0 a0 + n1 a1 + n2 a2 + n3 a3
 *     = (x & 15) a0 + (x >> 4) a1 + (x >> 8) (a2 - 16 a1) + (x >> 12) (a3 - 16 a2)
 *
 * A lane of a Q8 run is two bytes; each is used as 256 times its code, the sum divided at the end.
 * Chapter 6. */
#include <string.h>
#include <wasm_simd128.h>

#include "kernels/wasm/simd128_elementwise.h"

enum { WORDS = 16, Q8_PASSES = 1 };

typedef struct token_block {
  v128_t q4_words[4][4]; /* of run j: a0, a1, a2 - 16 a1, a3 - 16 a2 */
  v128_t q8_words[WORDS];
  v128_t scale, offset;
} token_block;

static inline void set_token_words(token_block *block, const uint32_t words[WORDS]) {
  for (int i = 0; i < WORDS; i++) block->q8_words[i] = wasm_u32x4_splat(words[i]);
  for (int j = 0; j < 4; j++) {
    const v128_t *a02 = block->q8_words + 2 * j, *a13 = a02 + 8;
    block->q4_words[j][0] = a02[0];
    block->q4_words[j][1] = a13[0];
    block->q4_words[j][2] = wasm_i16x8_sub(a02[1], wasm_i16x8_shl(a13[0], 4));
    block->q4_words[j][3] = wasm_i16x8_sub(a13[1], wasm_i16x8_shl(a02[1], 4));
  }
}

static inline void arrange(uint32_t words[WORDS], const v128_t codes[4]) {
  for (int i = 0; i < 4; i++)
    wasm_v128_store(words + 4 * i, wasm_i16x8_shuffle(codes[i], codes[i], 0, 2, 1, 3, 4, 6, 5, 7));
}

static inline v128_t dot(v128_t activation, v128_t codes, v128_t acc) {
  return wasm_i32x4_add(acc, wasm_i32x4_dot_i16x8(codes, activation));
}

static inline v128_t multiply_add(v128_t a, v128_t b, v128_t c) {
  return wasm_f32x4_add(wasm_f32x4_mul(a, b), c);
}

static inline v128_t q4_sum(const uint8_t *runs, const token_block *x) {
  v128_t sum = wasm_i32x4_const_splat(0);
  for (int j = 0; j < 4; j++) {
    v128_t run = wasm_v128_load(runs + 32 * j);
    sum = dot(x->q4_words[j][0], wasm_v128_and(run, wasm_i16x8_const_splat(15)), sum);
    sum = dot(x->q4_words[j][1], wasm_u16x8_shr(run, 4), sum);
    sum = dot(x->q4_words[j][2], wasm_u16x8_shr(run, 8), sum);
    sum = dot(x->q4_words[j][3], wasm_u16x8_shr(run, 12), sum);
  }
  return sum;
}

static inline v128_t q8_sum(const uint8_t *runs, const token_block *x) {
  v128_t sum = wasm_i32x4_const_splat(0);
  for (int j = 0; j < 8; j++) {
    v128_t run = wasm_v128_load(runs + 32 * j);
    sum = dot(x->q8_words[2 * j], wasm_i16x8_shl(run, 8), sum);
    sum = dot(x->q8_words[2 * j + 1], wasm_v128_and(run, wasm_u16x8_const_splat(0xff00)), sum);
  }
  return wasm_i32x4_shr(sum, 8);
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

static inline void unpack_q8(v128_t codes[][2], int half, const uint8_t *runs) {
  for (int j = 0; j < 8; j++) {
    v128_t run = wasm_v128_load(runs + 32 * j);
    codes[2 * j][half] = wasm_i16x8_shr(wasm_i16x8_shl(run, 8), 8);
    codes[2 * j + 1][half] = wasm_i16x8_shr(run, 8);
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
