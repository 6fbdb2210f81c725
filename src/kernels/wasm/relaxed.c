/* The wasm level with relaxed SIMD: one instruction multiplies four int8 with four codes and adds
 * them to a 32-bit lane. What it does with a second operand beyond 0..127 differs between machines,
 * so that operand is always 7 bits: a Q4 row's nibbles; for Q8, one of the two int8 factors is
 * split, a = (a & 127) - 128 * (a < 0), and takes two dots (in matvec the activation, which is
 * splatted once; in a tile the weight, which is unpacked once).
 *
 * multiply_add is fused where the machine fuses; the specification lets an engine choose only once,
 * so every kernel of an instance adds alike. Chapter 6. */
#ifdef __wasm_relaxed_simd__

#include <string.h>
#include <wasm_simd128.h>

#include "kernels/wasm/simd128_elementwise.h"

enum { WORDS = 8, Q8_PASSES = 2 };

typedef struct token_block {
  v128_t words[WORDS];                        /* columns 4j .. 4j+3 */
  v128_t low_words[WORDS], sign_words[WORDS]; /* a & 127 and a < 0 */
  v128_t scale, offset;
} token_block;

static inline v128_t low_bits(v128_t codes) {
  return wasm_v128_and(codes, wasm_i8x16_const_splat(127));
}

static inline v128_t sign_bits(v128_t codes) {
  return wasm_v128_and(wasm_u16x8_shr(codes, 7), wasm_i8x16_const_splat(1));
}

static inline void set_token_words(token_block *block, const uint32_t words[WORDS]) {
  for (int i = 0; i < WORDS; i++) {
    block->words[i] = wasm_u32x4_splat(words[i]);
    block->low_words[i] = low_bits(block->words[i]);
    block->sign_words[i] = sign_bits(block->words[i]);
  }
}

static inline void arrange(uint32_t words[WORDS], const v128_t codes[4]) {
  wasm_v128_store(words, wasm_i8x16_narrow_i16x8(codes[0], codes[1]));
  wasm_v128_store(words + 4, wasm_i8x16_narrow_i16x8(codes[2], codes[3]));
}

static inline v128_t dot(v128_t activation, v128_t codes, v128_t acc) {
  return wasm_i32x4_relaxed_dot_i8x16_i7x16_add(activation, codes, acc);
}

static inline v128_t multiply_add(v128_t a, v128_t b, v128_t c) {
  return wasm_f32x4_relaxed_madd(a, b, c);
}

static inline v128_t low_nibbles(v128_t run) {
  return wasm_v128_and(run, wasm_i8x16_const_splat(15));
}

/* By a 16-bit shift and a mask: an 8-bit shift is four instructions more in V8. */
static inline v128_t high_nibbles(v128_t run) {
  return low_nibbles(wasm_u16x8_shr(run, 4));
}

static inline v128_t q4_sum(const uint8_t *runs, const token_block *x) {
  v128_t sum = wasm_i32x4_const_splat(0);
  for (int j = 0; j < 4; j++) {
    v128_t run = wasm_v128_load(runs + 32 * j);
    sum = dot(x->words[j], low_nibbles(run), sum);
    sum = dot(x->words[4 + j], high_nibbles(run), sum);
  }
  return sum;
}

static inline v128_t q8_sum(const uint8_t *runs, const token_block *x) {
  v128_t sum = wasm_i32x4_const_splat(0), signs = sum;
  for (int j = 0; j < 8; j++) {
    v128_t run = wasm_v128_load(runs + 32 * j);
    sum = dot(run, x->low_words[j], sum);
    signs = dot(run, x->sign_words[j], signs);
  }
  return wasm_i32x4_sub(sum, wasm_i32x4_shl(signs, 7));
}

static inline void unpack_q4(v128_t codes[][2], int half, const uint8_t *runs) {
  for (int j = 0; j < 4; j++) {
    v128_t run = wasm_v128_load(runs + 32 * j);
    codes[j][half] = low_nibbles(run);
    codes[4 + j][half] = high_nibbles(run);
  }
}

/* The first pass sums the signs, which the second one takes 128 times from its start. */
static inline void unpack_q8(v128_t codes[][2], int half, const uint8_t *runs) {
  for (int j = 0; j < 8; j++) {
    v128_t run = wasm_v128_load(runs + 32 * j);
    codes[j][half] = sign_bits(run);
    codes[WORDS + j][half] = low_bits(run);
  }
}

#include "kernels/wasm/packed.inc"
#include "kernels/wasm/products.inc"

void wick_kernels_relaxed(wick_kernels *table) {
  table->level = "relaxed";
  table->level_bit = WICK_LEVEL_RELAXED;
  set_packed(table);
  set_products(table);
  wick_wasm_elementwise(table);
}

#endif
