/* The wasm level without relaxed SIMD. i32x4.dot_i16x8_s is its only integer dot product: codes
 * become int16, two columns a lane. The 16-bit lanes of a run hold columns 4j and 4j+1, then 4j+2
 * and 4j+3 of a row (in a Q4 run, each as a low nibble beside 16+4j ... in the high one), so
 * activations come as the pairs (4j, 4j+2) and (4j+1, 4j+3): word 2j and word 2j+1. Chapter 6. */
#include <string.h>
#include <wasm_simd128.h>

#include "kernels/wasm/elementwise.h"

enum { WORDS = 16, Q8_PASSES = 1 };

typedef struct token_block {
  v128_t words[WORDS];
  v128_t scale, offset;
} token_block;

static inline void set_token_words(token_block *block, const uint32_t words[WORDS]) {
  for (int i = 0; i < WORDS; i++) block->words[i] = wasm_u32x4_splat(words[i]);
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

/* Two words' codes of a Q4 run as int16: of the low nibbles, of the high ones. */
static inline void split_q4(v128_t low[2], v128_t high[2], v128_t run) {
  const v128_t nibble = wasm_i16x8_const_splat(15);
  low[0] = wasm_v128_and(run, nibble);
  low[1] = wasm_v128_and(wasm_u16x8_shr(run, 8), nibble);
  high[0] = wasm_v128_and(wasm_u16x8_shr(run, 4), nibble);
  high[1] = wasm_u16x8_shr(run, 12);
}

/* Two words' codes of a Q8 run. */
static inline void split_q8(v128_t codes[2], v128_t run) {
  codes[0] = wasm_i16x8_shr(wasm_i16x8_shl(run, 8), 8);
  codes[1] = wasm_i16x8_shr(run, 8);
}

static inline v128_t q4_sum(const uint8_t *runs, const token_block *x) {
  v128_t sum = wasm_i32x4_const_splat(0);
  for (int j = 0; j < 4; j++) {
    v128_t low[2], high[2];
    split_q4(low, high, wasm_v128_load(runs + 32 * j));
    for (int i = 0; i < 2; i++) {
      sum = dot(x->words[2 * j + i], low[i], sum);
      sum = dot(x->words[8 + 2 * j + i], high[i], sum);
    }
  }
  return sum;
}

static inline v128_t q8_sum(const uint8_t *runs, const token_block *x) {
  v128_t sum = wasm_i32x4_const_splat(0);
  for (int j = 0; j < 8; j++) {
    v128_t codes[2];
    split_q8(codes, wasm_v128_load(runs + 32 * j));
    for (int i = 0; i < 2; i++) sum = dot(x->words[2 * j + i], codes[i], sum);
  }
  return sum;
}

static inline void unpack_q4(v128_t codes[][2], int half, const uint8_t *runs) {
  for (int j = 0; j < 4; j++) {
    v128_t low[2], high[2];
    split_q4(low, high, wasm_v128_load(runs + 32 * j));
    for (int i = 0; i < 2; i++) {
      codes[2 * j + i][half] = low[i];
      codes[8 + 2 * j + i][half] = high[i];
    }
  }
}

static inline void unpack_q8(v128_t codes[][2], int half, const uint8_t *runs) {
  for (int j = 0; j < 8; j++) {
    v128_t words[2];
    split_q8(words, wasm_v128_load(runs + 32 * j));
    for (int i = 0; i < 2; i++) codes[2 * j + i][half] = words[i];
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
