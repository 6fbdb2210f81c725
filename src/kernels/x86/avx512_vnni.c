/* AVX-512 with VNNI: the packed products and the float kernels, 512 bits wide, groups of 16 rows.
 * Quantization and conversions are AVX2's, the products those of avx_vnni.c. Source: Intel SDM
 * volume 2. Chapters 6 and 18. */
#include "kernels/kernels.h"

#include <immintrin.h>
#include <math.h>

#include "kernels/exponential.h"
#include "kernels/packed_tile.h"
#include "kernels/template.h"

enum { ROWS = 16 };
typedef __m512i bytes;
typedef __m512i word;
typedef __m512 floats;
typedef __m512i q4_sums;
typedef __m512i q8_sums;

WICK_INLINE bytes load_bytes(const uint8_t *p) {
  return _mm512_loadu_si512(p);
}
WICK_INLINE bytes low_nibbles(bytes b) {
  return _mm512_and_si512(b, _mm512_set1_epi8(15));
}
WICK_INLINE bytes high_nibbles(bytes b) {
  return low_nibbles(_mm512_srli_epi16(b, 4));
}
WICK_INLINE word broadcast(const uint8_t *p) {
  int32_t codes;
  memcpy(&codes, p, sizeof codes);
  return _mm512_set1_epi32(codes);
}
WICK_INLINE void store_floats(float *p, floats x) {
  _mm512_storeu_ps(p, x);
}
WICK_INLINE floats load_halves(const uint8_t *p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}
WICK_INLINE floats set_floats(float x) {
  return _mm512_set1_ps(x);
}
WICK_INLINE floats zero_floats(void) {
  return _mm512_setzero_ps();
}
WICK_INLINE floats multiply(floats a, floats b) {
  return _mm512_mul_ps(a, b);
}
WICK_INLINE floats multiply_add(floats a, floats b, floats acc) {
  return _mm512_fmadd_ps(a, b, acc);
}
WICK_INLINE void prefetch(const uint8_t *p) {
  _mm_prefetch((const char *)p, _MM_HINT_T0);
}

WICK_INLINE q4_sums q4_start(void) {
  return _mm512_setzero_si512();
}
WICK_INLINE q4_sums q4_dot(q4_sums sum, bytes nibbles, word activations) {
  return _mm512_dpbusd_epi32(sum, nibbles, activations);
}
WICK_INLINE q4_sums q4_add(q4_sums a, q4_sums b) {
  return _mm512_add_epi32(a, b);
}
WICK_INLINE floats q4_total(q4_sums sum) {
  return _mm512_cvtepi32_ps(sum);
}

WICK_INLINE bytes even_codes(bytes b) {
  return _mm512_srai_epi16(_mm512_slli_epi16(b, 8), 8);
}
WICK_INLINE bytes odd_codes(bytes b) {
  return _mm512_srai_epi16(b, 8);
}
WICK_INLINE q8_sums q8_start(void) {
  return _mm512_setzero_si512();
}
WICK_INLINE q8_sums q8_dot(q8_sums sum, bytes pairs, word activations) {
  return _mm512_dpwssd_epi32(sum, pairs, activations);
}
WICK_INLINE floats q8_total(q8_sums sum) {
  return _mm512_cvtepi32_ps(sum);
}

#include "kernels/packed_template.h"

enum { LANES = 16, MATMUL_TOKENS = 6, QUERY_TILE = 6 };
typedef __m512 vector;

WICK_INLINE __mmask16 lanes_below(size_t n) {
  return (__mmask16)((1u << n) - 1);
}
WICK_INLINE vector load(const float *p) {
  return _mm512_loadu_ps(p);
}
WICK_INLINE void store(float *p, vector v) {
  _mm512_storeu_ps(p, v);
}
WICK_INLINE vector load_part(const float *p, size_t n) {
  return _mm512_maskz_loadu_ps(lanes_below(n), p);
}
WICK_INLINE void store_part(float *p, vector v, size_t n) {
  _mm512_mask_storeu_ps(p, lanes_below(n), v);
}
WICK_INLINE vector set(float x) {
  return _mm512_set1_ps(x);
}
WICK_INLINE vector zero(void) {
  return _mm512_setzero_ps();
}
WICK_INLINE vector plus(vector a, vector b) {
  return _mm512_add_ps(a, b);
}
WICK_INLINE vector minus(vector a, vector b) {
  return _mm512_sub_ps(a, b);
}
WICK_INLINE vector times(vector a, vector b) {
  return _mm512_mul_ps(a, b);
}
WICK_INLINE vector divide(vector a, vector b) {
  return _mm512_div_ps(a, b);
}
WICK_INLINE vector larger(vector a, vector b) {
  return _mm512_max_ps(a, b);
}
WICK_INLINE vector fused(vector a, vector b, vector acc) {
  return _mm512_fmadd_ps(a, b, acc);
}

/* The upper half onto the lower, and so on: the same tree whatever the compiler's own reduction. */
WICK_INLINE float sum_lanes(vector v) {
  __m256 half = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}
WICK_INLINE float max_lanes(vector v) {
  return _mm512_reduce_max_ps(v);
}

WICK_INLINE vector exponential(vector x) {
  static const float coefficients[EXP_N_COEFFICIENTS] = EXP_COEFFICIENTS;
  x = _mm512_min_ps(set(EXP_HIGHEST), _mm512_max_ps(set(EXP_LOWEST), x)); /* x second: NaN stays */
  vector n = _mm512_roundscale_ps(times(x, set(EXP_LOG2_E)),
                                  _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  vector r = _mm512_fnmadd_ps(n, set(EXP_LN2_LOW), _mm512_fnmadd_ps(n, set(EXP_LN2_HIGH), x));
  vector e = set(coefficients[0]);
  WICK_UNROLL for (int i = 1; i < EXP_N_COEFFICIENTS; i++) e = fused(e, r, set(coefficients[i]));
  e = fused(fused(e, r, set(1.0f)), r, set(1.0f));
  return _mm512_scalef_ps(e, n);
}

#include "kernels/float_template.h"

void wick_kernels_avx512_vnni(wick_kernels *table) {
  table->level_bit = WICK_LEVEL_AVX512_VNNI;
  table->level = wick_level_name(WICK_LEVEL_AVX512_VNNI);
  fill_packed(table);
  fill_float(table);
}
