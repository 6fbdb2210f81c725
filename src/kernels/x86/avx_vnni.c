/* AVX-VNNI: vpdpbusd on 256 bits multiplies four unsigned by four signed bytes, vpdpwssd two by two
 * signed 16-bit numbers, and adds them to a 32-bit lane in one step. Everything else is AVX2's.
 * Source: Intel SDM volume 2, VPDPBUSD and VPDPWSSD. Chapters 6 and 18. */
#include "kernels/kernels.h"

#include "kernels/x86/vector256.h"

WICK_INLINE q4_sums q4_start(void) {
  return _mm256_setzero_si256();
}
WICK_INLINE q4_sums q4_dot(q4_sums sum, bytes nibbles, word activations) {
  return _mm256_dpbusd_avx_epi32(sum, nibbles, activations);
}
WICK_INLINE q4_sums q4_add(q4_sums a, q4_sums b) {
  return _mm256_add_epi32(a, b);
}
WICK_INLINE floats q4_total(q4_sums sum) {
  return _mm256_cvtepi32_ps(sum);
}

WICK_INLINE q8_sums q8_dot(q8_sums sum, bytes pairs, word activations) {
  return _mm256_dpwssd_avx_epi32(sum, pairs, activations);
}

#include "kernels/packed_template.h"

void wick_kernels_avx_vnni(wick_kernels *table) {
  table->level_bit = WICK_LEVEL_AVX_VNNI;
  table->level = wick_level_name(WICK_LEVEL_AVX_VNNI);
  fill_packed(table);
}
