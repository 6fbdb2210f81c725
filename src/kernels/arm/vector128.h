/* The vectors that packed_template.h names, as pairs of 128-bit registers: groups of eight rows,
 * rows 0-3 in the first half and 4-7 in the second. */
#ifndef WICK_KERNELS_ARM_VECTOR128_H
#define WICK_KERNELS_ARM_VECTOR128_H

#include <arm_neon.h>

#include "kernels/packed_tile.h"
#include "kernels/template.h"

enum { ROWS = 8 };
typedef int8x16x2_t bytes;
typedef float32x4x2_t floats;
typedef int8x16_t word;

WICK_INLINE bytes load_bytes(const uint8_t *p) {
  return (bytes){{vreinterpretq_s8_u8(vld1q_u8(p)), vreinterpretq_s8_u8(vld1q_u8(p + 16))}};
}
WICK_INLINE bytes low_nibbles(bytes b) {
  int8x16_t mask = vdupq_n_s8(15);
  return (bytes){{vandq_s8(b.val[0], mask), vandq_s8(b.val[1], mask)}};
}
WICK_INLINE int8x16_t high_nibble(int8x16_t b) {
  return vreinterpretq_s8_u8(vshrq_n_u8(vreinterpretq_u8_s8(b), 4));
}
WICK_INLINE bytes high_nibbles(bytes b) {
  return (bytes){{high_nibble(b.val[0]), high_nibble(b.val[1])}};
}
WICK_INLINE word broadcast(const uint8_t *p) {
  int32_t codes;
  memcpy(&codes, p, sizeof codes);
  return vreinterpretq_s8_s32(vdupq_n_s32(codes));
}
WICK_INLINE void store_floats(float *p, floats x) {
  vst1q_f32(p, x.val[0]);
  vst1q_f32(p + 4, x.val[1]);
}
WICK_INLINE floats load_halves(const uint8_t *p) {
  float16x8_t h = vreinterpretq_f16_u8(vld1q_u8(p));
  return (floats){{vcvt_f32_f16(vget_low_f16(h)), vcvt_high_f32_f16(h)}};
}
WICK_INLINE floats set_floats(float x) {
  return (floats){{vdupq_n_f32(x), vdupq_n_f32(x)}};
}
WICK_INLINE floats zero_floats(void) {
  return set_floats(0);
}
WICK_INLINE floats multiply(floats a, floats b) {
  return (floats){{vmulq_f32(a.val[0], b.val[0]), vmulq_f32(a.val[1], b.val[1])}};
}
WICK_INLINE floats multiply_add(floats a, floats b, floats acc) {
  return (floats){
      {vfmaq_f32(acc.val[0], a.val[0], b.val[0]), vfmaq_f32(acc.val[1], a.val[1], b.val[1])}};
}
WICK_INLINE floats to_floats(int32x4_t low, int32x4_t high) {
  return (floats){{vcvtq_f32_s32(low), vcvtq_f32_s32(high)}};
}
/* Q8's codes as 16-bit pairs: a lane of 32 bits is a row; SMLAL keeps the two products of a pair
 * apart, so registers 0..3 hold two sums each of rows 0-1, 2-3, 4-5, 6-7. */
typedef int32x4x4_t q8_sums;

WICK_INLINE int8x16_t even_code(int8x16_t b) {
  return vreinterpretq_s8_s16(vshrq_n_s16(vshlq_n_s16(vreinterpretq_s16_s8(b), 8), 8));
}
WICK_INLINE bytes even_codes(bytes b) {
  return (bytes){{even_code(b.val[0]), even_code(b.val[1])}};
}
WICK_INLINE int8x16_t odd_code(int8x16_t b) {
  return vreinterpretq_s8_s16(vshrq_n_s16(vreinterpretq_s16_s8(b), 8));
}
WICK_INLINE bytes odd_codes(bytes b) {
  return (bytes){{odd_code(b.val[0]), odd_code(b.val[1])}};
}
WICK_INLINE q8_sums q8_start(void) {
  int32x4_t zeros = vdupq_n_s32(0);
  return (q8_sums){{zeros, zeros, zeros, zeros}};
}
WICK_INLINE q8_sums q8_dot(q8_sums sum, bytes pairs, word activations) {
  int16x8_t a = vreinterpretq_s16_s8(activations);
  int16x8_t low = vreinterpretq_s16_s8(pairs.val[0]), high = vreinterpretq_s16_s8(pairs.val[1]);
  return (q8_sums){{vmlal_s16(sum.val[0], vget_low_s16(low), vget_low_s16(a)),
                    vmlal_high_s16(sum.val[1], low, a),
                    vmlal_s16(sum.val[2], vget_low_s16(high), vget_low_s16(a)),
                    vmlal_high_s16(sum.val[3], high, a)}};
}
WICK_INLINE floats q8_total(q8_sums sum) {
  return to_floats(vpaddq_s32(sum.val[0], sum.val[1]), vpaddq_s32(sum.val[2], sum.val[3]));
}
WICK_INLINE void prefetch(const uint8_t *p) {
  __builtin_prefetch(p);
}

#endif
