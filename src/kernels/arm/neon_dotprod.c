/* NEON with the dot product instructions of Armv8.2 (Armv8.4 has them always): SDOT multiplies four
 * signed bytes by four and adds them to a 32-bit lane. Everything else is NEON's. Source: Arm
 * Architecture Reference Manual, C7 SDOT. Chapters 6 and 18. */
#include "kernels/kernels.h"

#include "kernels/arm/vector128.h"

typedef int32x4x2_t sums;

WICK_INLINE sums dot(sums sum, bytes codes, four_codes activations) {
  return (sums){{vdotq_s32(sum.val[0], codes.val[0], activations),
                 vdotq_s32(sum.val[1], codes.val[1], activations)}};
}

WICK_INLINE sums q4_start(void) {
  return (sums){{vdupq_n_s32(0), vdupq_n_s32(0)}};
}
WICK_INLINE sums q4_dot(sums sum, bytes nibbles, four_codes activations) {
  return dot(sum, nibbles, activations);
}
WICK_INLINE sums q4_add(sums a, sums b) {
  return (sums){{vaddq_s32(a.val[0], b.val[0]), vaddq_s32(a.val[1], b.val[1])}};
}
WICK_INLINE floats q4_total(sums sum) {
  return to_floats(sum.val[0], sum.val[1]);
}

WICK_INLINE bytes q8_prepare(bytes codes) {
  return codes;
}
WICK_INLINE sums q8_start(int32_t correction) {
  (void)correction; /* codes stay signed */
  return q4_start();
}
WICK_INLINE sums q8_dot(sums sum, bytes codes, four_codes activations) {
  return dot(sum, codes, activations);
}
WICK_INLINE floats q8_total(sums sum) {
  return q4_total(sum);
}

#include "kernels/packed_template.h"

void wick_kernels_neon_dotprod(wick_kernels *table) {
  table->level_bit = WICK_LEVEL_NEON_DOTPROD;
  table->level = wick_level_name(WICK_LEVEL_NEON_DOTPROD);
  fill_packed(table);
}
