/* The 256-bit vectors that packed_template.h names: groups of eight rows. */
#ifndef WICK_KERNELS_X86_VECTOR256_H
#define WICK_KERNELS_X86_VECTOR256_H

#include <immintrin.h>

#include "kernels/packed_tile.h"
#include "kernels/template.h"

enum { ROWS = 8 };
typedef __m256i bytes;
typedef __m256i word;
typedef __m256 floats;
typedef __m256i q4_sums;
typedef __m256i q8_sums;

WICK_INLINE bytes load_bytes(const uint8_t *p) {
  return _mm256_loadu_si256((const __m256i *)p);
}
WICK_INLINE bytes low_nibbles(bytes b) {
  return _mm256_and_si256(b, _mm256_set1_epi8(15));
}
WICK_INLINE bytes high_nibbles(bytes b) {
  return low_nibbles(_mm256_srli_epi16(b, 4));
}
WICK_INLINE bytes even_codes(bytes b) {
  return _mm256_srai_epi16(_mm256_slli_epi16(b, 8), 8);
}
WICK_INLINE bytes odd_codes(bytes b) {
  return _mm256_srai_epi16(b, 8);
}
WICK_INLINE q8_sums q8_start(void) {
  return _mm256_setzero_si256();
}
WICK_INLINE floats q8_total(q8_sums sum) {
  return _mm256_cvtepi32_ps(sum);
}
WICK_INLINE word broadcast(const uint8_t *p) {
  int32_t codes;
  memcpy(&codes, p, sizeof codes);
  return _mm256_set1_epi32(codes);
}
WICK_INLINE void store_floats(float *p, floats x) {
  _mm256_storeu_ps(p, x);
}
WICK_INLINE floats load_halves(const uint8_t *p) {
  return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
}
WICK_INLINE floats set_floats(float x) {
  return _mm256_set1_ps(x);
}
WICK_INLINE floats zero_floats(void) {
  return _mm256_setzero_ps();
}
WICK_INLINE floats multiply(floats a, floats b) {
  return _mm256_mul_ps(a, b);
}
WICK_INLINE floats multiply_add(floats a, floats b, floats acc) {
  return _mm256_fmadd_ps(a, b, acc);
}
WICK_INLINE void prefetch(const uint8_t *p) {
  _mm_prefetch((const char *)p, _MM_HINT_T0);
}

#endif
