/* The wasm level with relaxed SIMD: one instruction multiplies four int8 with four codes and adds
 * them to a 32-bit lane. What it does with a second operand beyond 0..127 differs between machines,
 * so that operand is always 7 bits: a Q4 row's nibbles. Q8 is simd128's.
 *
 * multiply_add is fused where the machine fuses; the specification lets an engine choose only once,
 * so every kernel of an instance adds alike. Chapter 6. */
#ifdef __wasm_relaxed_simd__

#include <string.h>
#include <wasm_simd128.h>

#include "kernels/wasm/simd128_elementwise.h"

enum { Q4_WORDS = 8, Q4_TOKEN_WORDS = 8 }; /* columns 4j .. 4j+3 */

static inline void arrange_q4(uint32_t words[Q4_WORDS], const v128_t codes[4]) {
  wasm_v128_store(words, wasm_i8x16_narrow_i16x8(codes[0], codes[1]));
  wasm_v128_store(words + 4, wasm_i8x16_narrow_i16x8(codes[2], codes[3]));
}

static inline void set_q4_words(v128_t out[Q4_TOKEN_WORDS], const uint32_t words[Q4_WORDS]) {
  for (int i = 0; i < Q4_WORDS; i++) out[i] = wasm_u32x4_splat(words[i]);
}

static inline v128_t q4_dot(v128_t activation, v128_t codes, v128_t acc) {
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

static inline v128_t q4_sum(const uint8_t *runs, const v128_t words[Q4_TOKEN_WORDS]) {
  v128_t sum = wasm_i32x4_const_splat(0);
  for (int j = 0; j < 4; j++) {
    v128_t run = wasm_v128_load(runs + 32 * j);
    sum = q4_dot(words[j], low_nibbles(run), sum);
    sum = q4_dot(words[4 + j], high_nibbles(run), sum);
  }
  return sum;
}

static inline void unpack_q4(v128_t codes[][2], int half, const uint8_t *runs) {
  for (int j = 0; j < 4; j++) {
    v128_t run = wasm_v128_load(runs + 32 * j);
    codes[j][half] = low_nibbles(run);
    codes[4 + j][half] = high_nibbles(run);
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
