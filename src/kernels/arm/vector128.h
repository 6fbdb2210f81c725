/* The vectors that packed_template.h names, as pairs of 128-bit registers: groups of eight rows,
 * rows 0-3 in the first half and 4-7 in the second. */
#ifndef WICK_KERNELS_ARM_VECTOR128_H
#define WICK_KERNELS_ARM_VECTOR128_H

#include <arm_neon.h>

#include "kernels/packed_tile.h"
#include "kernels/template.h"

enum { ROWS = 8, GROUPS = 1 };
typedef int8x16x2_t bytes;
typedef float32x4x2_t floats;
typedef int8x16_t four_codes;

WICK_INLINE bytes load_bytes(const uint8_t *p) {
  return (bytes){{vreinterpretq_s8_u8(vld1q_u8(p)), vreinterpretq_s8_u8(vld1q_u8(p + 16))}};
}
WICK_INLINE void store_bytes(uint8_t *p, bytes b) {
  vst1q_u8(p, vreinterpretq_u8_s8(b.val[0]));
  vst1q_u8(p + 16, vreinterpretq_u8_s8(b.val[1]));
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
WICK_INLINE four_codes broadcast(const uint8_t *p) {
  int32_t codes;
  memcpy(&codes, p, sizeof codes);
  return vreinterpretq_s8_s32(vdupq_n_s32(codes));
}
WICK_INLINE floats load_floats(const float *p) {
  return (floats){{vld1q_f32(p), vld1q_f32(p + 4)}};
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
WICK_INLINE void prefetch(const uint8_t *p) {
  __builtin_prefetch(p);
}

#endif
