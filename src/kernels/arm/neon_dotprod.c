/* NEON with the dot product instructions of Armv8.2 (Armv8.4 has them always): SDOT multiplies four
 * signed bytes by four and adds them to a 32-bit lane. Everything else is NEON's. Source: Arm
 * Architecture Reference Manual, C7 SDOT. Chapters 6 and 18. */
#include "kernels/kernels.h"

#include "kernels/arm/vector128.h"

typedef int32x4x2_t q4_sums;

WICK_INLINE q4_sums q4_start(void) {
  return (q4_sums){{vdupq_n_s32(0), vdupq_n_s32(0)}};
}
WICK_INLINE q4_sums q4_dot(q4_sums sum, bytes nibbles, word activations) {
  return (q4_sums){{vdotq_s32(sum.val[0], nibbles.val[0], activations),
                    vdotq_s32(sum.val[1], nibbles.val[1], activations)}};
}
WICK_INLINE q4_sums q4_add(q4_sums a, q4_sums b) {
  return (q4_sums){{vaddq_s32(a.val[0], b.val[0]), vaddq_s32(a.val[1], b.val[1])}};
}
WICK_INLINE floats q4_total(q4_sums sum) {
  return to_floats(sum.val[0], sum.val[1]);
}

#include "kernels/packed_template.h"

void wick_kernels_neon_dotprod(wick_kernels *table) {
  table->level_bit = WICK_LEVEL_NEON_DOTPROD;
  table->level = wick_level_name(WICK_LEVEL_NEON_DOTPROD);
  fill_packed(table);
}
