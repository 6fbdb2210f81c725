/* AVX-VNNI: vpdpbusd on 256 bits multiplies four unsigned by four signed bytes and adds them to a
 * 32-bit lane in one step. Nibbles are the unsigned side; int8 codes are made unsigned by adding
 * 128, which the tile's correction takes back. Everything else is AVX2's. Source: Intel SDM volume
 * 2, VPDPBUSD. Chapters 6 and 18. */
#include "kernels/kernels.h"

#include "kernels/x86/vector256.h"

WICK_INLINE sums q4_start(void) {
  return _mm256_setzero_si256();
}
WICK_INLINE sums q4_dot(sums sum, bytes nibbles, four_codes activations) {
  return _mm256_dpbusd_avx_epi32(sum, nibbles, activations);
}
WICK_INLINE sums q4_add(sums a, sums b) {
  return _mm256_add_epi32(a, b);
}
WICK_INLINE floats q4_total(sums sum) {
  return _mm256_cvtepi32_ps(sum);
}

WICK_INLINE bytes q8_prepare(bytes codes) {
  return _mm256_xor_si256(codes, _mm256_set1_epi8(-128));
}
WICK_INLINE sums q8_start(int32_t correction) {
  return _mm256_set1_epi32(correction);
}
WICK_INLINE sums q8_dot(sums sum, bytes prepared, four_codes activations) {
  return _mm256_dpbusd_avx_epi32(sum, prepared, activations);
}
WICK_INLINE floats q8_total(sums sum) {
  return _mm256_cvtepi32_ps(sum);
}

#include "kernels/packed_template.h"

void wick_kernels_avx_vnni(wick_kernels *table) {
  table->level_bit = WICK_LEVEL_AVX_VNNI;
  table->level = wick_level_name(WICK_LEVEL_AVX_VNNI);
  fill_packed(table);
}
