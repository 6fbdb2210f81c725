/* NEON as every 64-bit Arm has it: every kernel. A run's nibble products are 16 bits wide and
 * belong in fours to a row, two rows a register; a lane collects eight products of at most 15 *
 * 127, which fit, and is widened once a block. Source: Arm Architecture Reference Manual, C7.
 * Chapters 6 and 18. */
#include "kernels/kernels.h"

#include <math.h>

#include "kernels/arm/vector128.h"
#include "kernels/exponential.h"

/* Registers 0..3 hold rows 0-1, 2-3, 4-5, 6-7 in 16-bit lanes. */
typedef int32x4x4_t q4_sums;

WICK_INLINE q4_sums q4_start(void) {
  int32x4_t zeros = vdupq_n_s32(0);
  return (q4_sums){{zeros, zeros, zeros, zeros}};
}
WICK_INLINE int32x4_t q4_low(int32x4_t sum, int8x16_t nibbles, word activations) {
  return vreinterpretq_s32_s16(
      vmlal_s8(vreinterpretq_s16_s32(sum), vget_low_s8(nibbles), vget_low_s8(activations)));
}
WICK_INLINE int32x4_t q4_high(int32x4_t sum, int8x16_t nibbles, word activations) {
  return vreinterpretq_s32_s16(vmlal_high_s8(vreinterpretq_s16_s32(sum), nibbles, activations));
}
WICK_INLINE q4_sums q4_dot(q4_sums sum, bytes nibbles, word activations) {
  return (q4_sums){{q4_low(sum.val[0], nibbles.val[0], activations),
                    q4_high(sum.val[1], nibbles.val[0], activations),
                    q4_low(sum.val[2], nibbles.val[1], activations),
                    q4_high(sum.val[3], nibbles.val[1], activations)}};
}
WICK_INLINE int32x4_t add16(int32x4_t a, int32x4_t b) {
  return vreinterpretq_s32_s16(vaddq_s16(vreinterpretq_s16_s32(a), vreinterpretq_s16_s32(b)));
}
WICK_INLINE q4_sums q4_add(q4_sums a, q4_sums b) {
  return (q4_sums){{add16(a.val[0], b.val[0]), add16(a.val[1], b.val[1]), add16(a.val[2], b.val[2]),
                    add16(a.val[3], b.val[3])}};
}
WICK_INLINE int32x4_t widen(int32x4_t sum) {
  return vpaddlq_s16(vreinterpretq_s16_s32(sum));
}
WICK_INLINE floats q4_total(q4_sums sum) {
  return to_floats(vpaddq_s32(widen(sum.val[0]), widen(sum.val[1])),
                   vpaddq_s32(widen(sum.val[2]), widen(sum.val[3])));
}

#include "kernels/packed_template.h"

/* ---- activations ---- */

/* A block of 32 activations as whole numbers of at most largest_code; s into *scale. */
WICK_INLINE void round_block(int32x4_t whole[8], float *scale, const float *x, int largest_code) {
  uint32x4_t largest = vdupq_n_u32(0);
  WICK_EACH (i, 8)
    largest = vmaxq_u32(largest, vreinterpretq_u32_f32(vabsq_f32(vld1q_f32(x + 4 * i))));
  wick_block_scale s = wick_scale_block(vmaxvq_u32(largest), largest_code);
  *scale = s.scale;
  WICK_EACH (i, 8)
    whole[i] = s.inverse > 0 ? vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(x + 4 * i), s.inverse))
                             : vdupq_n_s32(0);
}

WICK_INLINE int round_q4(int8_t codes[WICK_BLOCK], float *scale, const float *x) {
  int32x4_t whole[8], sum = vdupq_n_s32(0);
  round_block(whole, scale, x, WICK_LARGEST_CODE_Q4);
  WICK_EACH (i, 4) {
    int32x4_t low = whole[2 * i], high = whole[2 * i + 1];
    sum = vaddq_s32(sum, vaddq_s32(low, high));
    vst1_s8(codes + 8 * i, vmovn_s16(vcombine_s16(vmovn_s32(low), vmovn_s32(high))));
  }
  return vaddvq_s32(sum);
}

WICK_INLINE void round_q8(int16_t codes[WICK_BLOCK], float *scale, const float *x) {
  int32x4_t whole[8];
  round_block(whole, scale, x, WICK_LARGEST_CODE_Q8);
  WICK_EACH (i, 8) { /* columns 0 2 1 3 */
    int16x4_t four = vmovn_s32(whole[i]);
    int16x4_t pairs = vuzp1_s16(four, four), others = vuzp2_s16(four, four);
    vst1_s16(codes + 4 * i, vreinterpret_s16_s32(vzip1_s32(vreinterpret_s32_s16(pairs),
                                                           vreinterpret_s32_s16(others))));
  }
}

#include "kernels/quantize_template.h"

/* ---- floats ---- */

enum { LANES = 4, MATMUL_TOKENS = 4, QUERY_TILE = 3 };
typedef float32x4_t vector;

WICK_INLINE vector load(const float *p) {
  return vld1q_f32(p);
}
WICK_INLINE void store(float *p, vector v) {
  vst1q_f32(p, v);
}
WICK_INLINE vector load_part(const float *p, size_t n) {
  float values[LANES] = {0};
  memcpy(values, p, n * sizeof *p);
  return vld1q_f32(values);
}
WICK_INLINE void store_part(float *p, vector v, size_t n) {
  float values[LANES];
  vst1q_f32(values, v);
  memcpy(p, values, n * sizeof *p);
}
WICK_INLINE vector set(float x) {
  return vdupq_n_f32(x);
}
WICK_INLINE vector zero(void) {
  return vdupq_n_f32(0);
}
WICK_INLINE vector plus(vector a, vector b) {
  return vaddq_f32(a, b);
}
WICK_INLINE vector minus(vector a, vector b) {
  return vsubq_f32(a, b);
}
WICK_INLINE vector times(vector a, vector b) {
  return vmulq_f32(a, b);
}
WICK_INLINE vector divide(vector a, vector b) {
  return vdivq_f32(a, b);
}
WICK_INLINE vector larger(vector a, vector b) {
  return vmaxq_f32(a, b);
}
WICK_INLINE vector fused(vector a, vector b, vector acc) {
  return vfmaq_f32(acc, a, b);
}
WICK_INLINE float sum_lanes(vector v) {
  return vaddvq_f32(v);
}
WICK_INLINE float max_lanes(vector v) {
  return vmaxvq_f32(v);
}

/* 2^n for -126 <= n <= 127, by its exponent bits. */
WICK_INLINE vector power_of_two(int32x4_t n) {
  return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(n, vdupq_n_s32(127)), 23));
}

WICK_INLINE vector exponential(vector x) {
  static const float coefficients[EXP_N_COEFFICIENTS] = EXP_COEFFICIENTS;
  x = vminq_f32(set(EXP_HIGHEST), vmaxq_f32(set(EXP_LOWEST), x)); /* NaN stays */
  vector n = vrndnq_f32(times(x, set(EXP_LOG2_E)));
  vector r = vfmsq_f32(vfmsq_f32(x, n, set(EXP_LN2_HIGH)), n, set(EXP_LN2_LOW));
  vector e = set(coefficients[0]);
  WICK_UNROLL for (int i = 1; i < EXP_N_COEFFICIENTS; i++) e = fused(e, r, set(coefficients[i]));
  e = fused(fused(e, r, set(1.0f)), r, set(1.0f));
  /* in two steps: 2^n itself may be no float where e^x is one */
  int32x4_t whole = vcvtq_s32_f32(n), half = vshrq_n_s32(whole, 1);
  return times(times(e, power_of_two(half)), power_of_two(vsubq_s32(whole, half)));
}

#include "kernels/float_template.h"

static void f16_to_f32(float *out, const uint16_t *in, size_t n) {
  size_t i = 0;
  for (; i + 4 <= n; i += 4)
    vst1q_f32(out + i, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(in + i))));
  for (; i < n; i++) out[i] = wick_f16_to_f32(in[i]);
}

static void bf16_to_f32(float *out, const uint16_t *in, size_t n) {
  size_t i = 0;
  for (; i + 4 <= n; i += 4)
    vst1q_f32(out + i, vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(in + i), 16)));
  for (; i < n; i++) out[i] = wick_bf16_to_f32(in[i]);
}

static void f32_to_f16(uint16_t *out, const float *in, size_t n) {
  size_t i = 0;
  for (; i + 4 <= n; i += 4)
    vst1_u16(out + i, vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(in + i))));
  for (; i < n; i++) out[i] = wick_f32_to_f16(in[i]);
}

void wick_kernels_neon(wick_kernels *table) {
  table->level_bit = WICK_LEVEL_NEON;
  table->level = wick_level_name(WICK_LEVEL_NEON);
  fill_quantize(table);
  fill_packed(table);
  fill_float(table);
  table->f16_to_f32 = f16_to_f32;
  table->bf16_to_f32 = bf16_to_f32;
  table->f32_to_f16 = f32_to_f16;
}
