/* What needs no multiply-add, in wasm SIMD128 for both levels: conversions, normalization,
 * activation function, softmax. Results per element don't depend on n. Chapters 2, 6, 8. */
#include "kernels/wasm/simd128_elementwise.h"

#include <math.h>
#include <string.h>
#include <wasm_simd128.h>

/* ---- conversions ----------------------------------------------------------------------------- */

/* Four halves (zero-extended) to floats: the exponent's bias grows by 127 - 15 = 112. */
static v128_t halves_to_floats(v128_t halves) {
  v128_t magnitude = wasm_v128_and(halves, wasm_i32x4_const_splat(0x7fff));
  v128_t sign = wasm_i32x4_shl(wasm_v128_xor(halves, magnitude), 16);
  v128_t value = wasm_i32x4_shl(magnitude, 13);
  v128_t special = wasm_i32x4_gt(magnitude, wasm_i32x4_const_splat(0x7bff)); /* infinity, NaN */
  value = wasm_f32x4_mul(value, wasm_f32x4_const_splat(0x1p112f));
  value = wasm_v128_or(value, wasm_v128_and(special, wasm_i32x4_const_splat(0x7f800000)));
  return wasm_v128_or(value, sign);
}

/* The other way, in the low 16 bits: F. Giesen, "Float->half variants" (2012), round to nearest
 * even. */
static v128_t floats_to_halves(v128_t value) {
  v128_t magnitude = wasm_v128_and(value, wasm_i32x4_const_splat(0x7fffffff));
  v128_t sign = wasm_u32x4_shr(wasm_v128_xor(value, magnitude), 16);
  /* Normal results: rebias the exponent, round at bit 13. */
  v128_t odd = wasm_v128_and(wasm_u32x4_shr(magnitude, 13), wasm_i32x4_const_splat(1));
  v128_t normal = wasm_i32x4_add(magnitude, wasm_i32x4_const_splat(0xfff - (112 << 23)));
  normal = wasm_u32x4_shr(wasm_i32x4_add(normal, odd), 13);
  /* Subnormal results: beside 0.5 a float's last place is 2^-24, as theirs: the addition rounds. */
  v128_t half = wasm_f32x4_const_splat(0.5f);
  v128_t subnormal = wasm_i32x4_sub(wasm_f32x4_add(magnitude, half), half);
  v128_t is_subnormal = wasm_i32x4_lt(magnitude, wasm_i32x4_const_splat(113 << 23));
  v128_t is_large = wasm_i32x4_gt(magnitude, wasm_i32x4_const_splat((127 + 16) * (1 << 23) - 1));
  v128_t is_nan = wasm_i32x4_gt(magnitude, wasm_i32x4_const_splat(0x7f800000));
  v128_t quiet = wasm_v128_and(is_nan, wasm_i32x4_const_splat(0x200));
  v128_t large = wasm_v128_or(quiet, wasm_i32x4_const_splat(0x7c00));
  v128_t result = wasm_v128_bitselect(subnormal, normal, is_subnormal);
  return wasm_v128_or(wasm_v128_bitselect(large, result, is_large), sign);
}

static void f16_to_f32(float *out, const uint16_t *in, size_t n) {
  size_t i = 0;
  for (; i + 4 <= n; i += 4)
    wasm_v128_store(out + i, halves_to_floats(wasm_u32x4_load16x4(in + i)));
  for (; i < n; i++) out[i] = wasm_f32x4_extract_lane(halves_to_floats(wasm_i32x4_splat(in[i])), 0);
}

static void bf16_to_f32(float *out, const uint16_t *in, size_t n) {
  size_t i = 0;
  for (; i + 4 <= n; i += 4)
    wasm_v128_store(out + i, wasm_i32x4_shl(wasm_u32x4_load16x4(in + i), 16));
  for (; i < n; i++) {
    uint32_t bits = (uint32_t)in[i] << 16;
    memcpy(out + i, &bits, sizeof bits);
  }
}

static void f32_to_f16(uint16_t *out, const float *in, size_t n) {
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    v128_t halves = floats_to_halves(wasm_v128_load(in + i));
    halves = wasm_u16x8_narrow_i32x4(halves, halves);
    wasm_v128_store64_lane(out + i, halves, 0);
  }
  for (; i < n; i++) {
    v128_t halves = floats_to_halves(wasm_v128_load32_splat(in + i));
    out[i] = (uint16_t)wasm_i32x4_extract_lane(halves, 0);
  }
}

/* ---- element by element ---------------------------------------------------------------------- */

static void rmsnorm(float *out, const float *x, const float *w, size_t n, float epsilon) {
  v128_t low = wasm_f64x2_const_splat(0), high = low;
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    v128_t v = wasm_v128_load(x + i);
    v128_t a = wasm_f64x2_promote_low_f32x4(v);
    v128_t b = wasm_f64x2_promote_low_f32x4(wasm_i32x4_shuffle(v, v, 2, 3, 0, 1));
    low = wasm_f64x2_add(low, wasm_f64x2_mul(a, a));
    high = wasm_f64x2_add(high, wasm_f64x2_mul(b, b));
  }
  low = wasm_f64x2_add(low, high);
  double sum = wasm_f64x2_extract_lane(low, 0) + wasm_f64x2_extract_lane(low, 1);
  for (; i < n; i++) sum += (double)x[i] * (double)x[i];

  float scale = (float)(1.0 / sqrt(sum / (double)n + (double)epsilon));
  v128_t scales = wasm_f32x4_splat(scale);
  for (i = 0; i + 4 <= n; i += 4) {
    v128_t scaled = wasm_f32x4_mul(wasm_v128_load(x + i), scales);
    wasm_v128_store(out + i, wasm_f32x4_mul(scaled, wasm_v128_load(w + i)));
  }
  for (; i < n; i++) out[i] = x[i] * scale * w[i];
}

/* exp: x = k ln 2 + r, |r| <= ln 2 / 2, exp(r) by Taylor's series (remainder below 6e-9), k into
 * the exponent by two factors, since 2^-150 and 2^128 are no normal floats. ln 2 in two parts, the
 * first with 9 significant bits (W. Cody and W. Waite, "Software Manual for the Elementary
 * Functions", 1980). NaN stays NaN. */
static v128_t exponential(v128_t x) {
  x = wasm_f32x4_pmin(wasm_f32x4_pmax(x, wasm_f32x4_const_splat(-104.0f)),
                      wasm_f32x4_const_splat(89.0f));
  /* Beside 1.5 * 2^23 a float's last place is 1: the addition rounds to an integer. */
  v128_t shift = wasm_f32x4_const_splat(0x1.8p23f);
  v128_t shifted = wasm_f32x4_add(wasm_f32x4_mul(x, wasm_f32x4_const_splat(0x1.715476p+0f)), shift);
  v128_t k = wasm_f32x4_sub(shifted, shift), integer = wasm_i32x4_sub(shifted, shift);
  v128_t r = wasm_f32x4_sub(x, wasm_f32x4_mul(k, wasm_f32x4_const_splat(0x1.63p-1f)));
  r = wasm_f32x4_add(r, wasm_f32x4_mul(k, wasm_f32x4_const_splat(0x1.bd0106p-13f)));

  static const float inverse_factorials[] = {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6,
                                             1.0f / 2,   1.0f,       1.0f};
  v128_t p = wasm_f32x4_const_splat(1.0f / 5040);
  for (int i = 0; i < 7; i++)
    p = wasm_f32x4_add(wasm_f32x4_mul(p, r), wasm_f32x4_splat(inverse_factorials[i]));

  v128_t first = wasm_i32x4_shr(integer, 1), second = wasm_i32x4_sub(integer, first);
  v128_t one = wasm_f32x4_const_splat(1.0f);
  p = wasm_f32x4_mul(p, wasm_i32x4_add(wasm_i32x4_shl(first, 23), one));
  return wasm_f32x4_mul(p, wasm_i32x4_add(wasm_i32x4_shl(second, 23), one));
}

static v128_t silu_times(v128_t gate, v128_t up) {
  v128_t one = wasm_f32x4_const_splat(1.0f);
  v128_t divisor = wasm_f32x4_add(one, exponential(wasm_f32x4_neg(gate)));
  return wasm_f32x4_mul(wasm_f32x4_div(gate, divisor), up);
}

static void silu_multiply(float *out, const float *gate, const float *up, size_t n) {
  size_t i = 0;
  for (; i + 4 <= n; i += 4)
    wasm_v128_store(out + i, silu_times(wasm_v128_load(gate + i), wasm_v128_load(up + i)));
  for (; i < n; i++) {
    v128_t product = silu_times(wasm_f32x4_splat(gate[i]), wasm_f32x4_splat(up[i]));
    out[i] = wasm_f32x4_extract_lane(product, 0);
  }
}

static void add(float *out, const float *x, size_t n) {
  size_t i = 0;
  for (; i + 4 <= n; i += 4)
    wasm_v128_store(out + i, wasm_f32x4_add(wasm_v128_load(out + i), wasm_v128_load(x + i)));
  for (; i < n; i++) out[i] += x[i];
}

static float exp_sum(float *x, size_t n, float maximum) {
  v128_t sum = wasm_f32x4_const_splat(0), sum2 = sum, largest = wasm_f32x4_splat(maximum);
  for (size_t i = 0; i < n; i += 8) {
    v128_t a = exponential(wasm_f32x4_sub(wasm_v128_load(x + i), largest));
    v128_t b = exponential(wasm_f32x4_sub(wasm_v128_load(x + i + 4), largest));
    wasm_v128_store(x + i, a);
    wasm_v128_store(x + i + 4, b);
    sum = wasm_f32x4_add(sum, a);
    sum2 = wasm_f32x4_add(sum2, b);
  }
  sum = wasm_f32x4_add(sum, sum2);
  sum = wasm_f32x4_add(sum, wasm_i32x4_shuffle(sum, sum, 2, 3, 0, 1));
  return wasm_f32x4_extract_lane(sum, 0) + wasm_f32x4_extract_lane(sum, 1);
}

static float maximum(const float *x, size_t n) {
  v128_t most = wasm_f32x4_splat(x[0]);
  size_t i = 0;
  for (; i + 4 <= n; i += 4) most = wasm_f32x4_pmax(most, wasm_v128_load(x + i));
  for (; i < n; i++) most = wasm_f32x4_pmax(most, wasm_v128_load32_splat(x + i));
  most = wasm_f32x4_pmax(most, wasm_i32x4_shuffle(most, most, 2, 3, 0, 1));
  most = wasm_f32x4_pmax(most, wasm_i32x4_shuffle(most, most, 1, 0, 3, 2));
  return wasm_f32x4_extract_lane(most, 0);
}

void wick_wasm_elementwise(wick_kernels *table) {
  table->f16_to_f32 = f16_to_f32;
  table->bf16_to_f32 = bf16_to_f32;
  table->f32_to_f16 = f32_to_f16;
  table->rmsnorm = rmsnorm;
  table->silu_multiply = silu_multiply;
  table->add = add;
  table->exp_sum = exp_sum;
  table->maximum = maximum;
}
