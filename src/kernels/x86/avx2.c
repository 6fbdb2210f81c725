/* AVX2 with FMA and F16C: every kernel, 256 bits wide. Without VNNI the byte products are
 * vpmaddubsw's pairs in 16 bits: eight pairs of at most 2 * 15 * 127 still fit, so one vpmaddwd a
 * block widens them. Q8's codes become 16-bit pairs, which vpmaddwd multiplies and adds at once.
 * Source: Intel SDM volume 2. Chapters 6 and 18. */
#include "kernels/kernels.h"

#include <math.h>

#include "kernels/exponential.h"
#include "kernels/x86/vector256.h"

/* gcc sees through integer additions: it would reassociate a block's into a tree, whose many leaves
 * it then keeps on the stack. This makes a sum opaque; no instruction comes of it. */
WICK_INLINE __m256i in_order(__m256i sum) {
  __asm__("" : "+x"(sum));
  return sum;
}

WICK_INLINE q4_sums q4_start(void) {
  return _mm256_setzero_si256();
}
WICK_INLINE q4_sums q4_dot(q4_sums sum, bytes nibbles, word activations) {
  return in_order(_mm256_add_epi16(sum, _mm256_maddubs_epi16(nibbles, activations)));
}
WICK_INLINE q4_sums q4_add(q4_sums a, q4_sums b) {
  return _mm256_add_epi16(a, b);
}
WICK_INLINE floats q4_total(q4_sums sum) {
  return _mm256_cvtepi32_ps(_mm256_madd_epi16(sum, _mm256_set1_epi16(1)));
}

WICK_INLINE q8_sums q8_dot(q8_sums sum, bytes pairs, word activations) {
  return in_order(_mm256_add_epi32(sum, _mm256_madd_epi16(pairs, activations)));
}

#include "kernels/packed_template.h"

/* ---- activations ---- */

/* A block of 32 activations as whole numbers of at most largest_code; s into *scale. */
WICK_INLINE void round_block(__m256i whole[4], float *scale, const float *x, int largest_code) {
  __m256i magnitude = _mm256_set1_epi32(0x7fffffff), largest = _mm256_setzero_si256();
  WICK_EACH (i, 4) {
    __m256i bits = _mm256_loadu_si256((const __m256i *)(x + 8 * i));
    largest = _mm256_max_epi32(largest, _mm256_and_si256(bits, magnitude));
  }
  __m128i most =
      _mm_max_epi32(_mm256_castsi256_si128(largest), _mm256_extracti128_si256(largest, 1));
  most = _mm_max_epi32(most, _mm_shuffle_epi32(most, 0x4e));
  most = _mm_max_epi32(most, _mm_shuffle_epi32(most, 0xb1));
  wick_block_scale s = wick_scale_block((uint32_t)_mm_cvtsi128_si32(most), largest_code);
  *scale = s.scale;
  WICK_EACH (i, 4) {
    __m256 value = _mm256_mul_ps(_mm256_loadu_ps(x + 8 * i), _mm256_set1_ps(s.inverse));
    whole[i] = s.inverse > 0 ? _mm256_cvtps_epi32(value) : _mm256_setzero_si256();
  }
}

/* The sum of 32 whole numbers. */
WICK_INLINE int sum_block(const __m256i whole[4]) {
  __m256i eight =
      _mm256_add_epi32(_mm256_add_epi32(whole[0], whole[1]), _mm256_add_epi32(whole[2], whole[3]));
  __m128i s = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1)));
}

WICK_INLINE int round_q4(int8_t codes[WICK_BLOCK], float *scale, const float *x) {
  __m256i whole[4];
  round_block(whole, scale, x, WICK_LARGEST_CODE_Q4);
  /* the packs work on 128-bit halves, so the dwords come out as 0 2 4 6 1 3 5 7 */
  __m256i packed = _mm256_packs_epi16(_mm256_packs_epi32(whole[0], whole[1]),
                                      _mm256_packs_epi32(whole[2], whole[3]));
  packed = _mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
  _mm256_storeu_si256((__m256i *)codes, packed);
  return sum_block(whole);
}

WICK_INLINE void round_q8(int16_t codes[WICK_BLOCK], float *scale, const float *x) {
  __m256i whole[4];
  round_block(whole, scale, x, WICK_LARGEST_CODE_Q8);
  WICK_EACH (i, 2) {
    __m256i packed = _mm256_packs_epi32(whole[2 * i], whole[2 * i + 1]);
    packed = _mm256_permute4x64_epi64(packed, 0xd8); /* the packs' halves in order */
    packed = _mm256_shufflehi_epi16(_mm256_shufflelo_epi16(packed, 0xd8), 0xd8); /* 0 2 1 3 */
    _mm256_storeu_si256((__m256i *)(codes + 16 * i), packed);
  }
}

#include "kernels/quantize_template.h"

/* ---- floats ---- */

enum { LANES = 8, MATMUL_TOKENS = 3, QUERY_TILE = 3 };
typedef __m256 vector;

/* The first n lanes. */
WICK_INLINE __m256i lanes_below(size_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
WICK_INLINE vector load(const float *p) {
  return _mm256_loadu_ps(p);
}
WICK_INLINE void store(float *p, vector v) {
  _mm256_storeu_ps(p, v);
}
WICK_INLINE vector load_part(const float *p, size_t n) {
  return _mm256_maskload_ps(p, lanes_below(n));
}
WICK_INLINE void store_part(float *p, vector v, size_t n) {
  _mm256_maskstore_ps(p, lanes_below(n), v);
}
WICK_INLINE vector set(float x) {
  return _mm256_set1_ps(x);
}
WICK_INLINE vector zero(void) {
  return _mm256_setzero_ps();
}
WICK_INLINE vector plus(vector a, vector b) {
  return _mm256_add_ps(a, b);
}
WICK_INLINE vector minus(vector a, vector b) {
  return _mm256_sub_ps(a, b);
}
WICK_INLINE vector times(vector a, vector b) {
  return _mm256_mul_ps(a, b);
}
WICK_INLINE vector divide(vector a, vector b) {
  return _mm256_div_ps(a, b);
}
WICK_INLINE vector larger(vector a, vector b) {
  return _mm256_max_ps(a, b);
}
WICK_INLINE vector fused(vector a, vector b, vector acc) {
  return _mm256_fmadd_ps(a, b, acc);
}

WICK_INLINE float sum_lanes(vector v) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

WICK_INLINE float max_lanes(vector v) {
  __m128 m = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  m = _mm_max_ps(m, _mm_movehl_ps(m, m));
  return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
}

/* 2^n for -126 <= n <= 127, by its exponent bits. */
WICK_INLINE vector power_of_two(__m256i n) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23));
}

WICK_INLINE vector exponential(vector x) {
  static const float coefficients[EXP_N_COEFFICIENTS] = EXP_COEFFICIENTS;
  x = _mm256_min_ps(set(EXP_HIGHEST), _mm256_max_ps(set(EXP_LOWEST), x)); /* x second: NaN stays */
  vector n =
      _mm256_round_ps(times(x, set(EXP_LOG2_E)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  vector r = _mm256_fnmadd_ps(n, set(EXP_LN2_LOW), _mm256_fnmadd_ps(n, set(EXP_LN2_HIGH), x));
  vector e = set(coefficients[0]);
  WICK_UNROLL for (int i = 1; i < EXP_N_COEFFICIENTS; i++) e = fused(e, r, set(coefficients[i]));
  e = fused(fused(e, r, set(1.0f)), r, set(1.0f));
  /* in two steps: 2^n itself may be no float where e^x is one */
  __m256i whole = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(whole, 1);
  return times(times(e, power_of_two(half)), power_of_two(_mm256_sub_epi32(whole, half)));
}

#include "kernels/float_template.h"

static void f16_to_f32(float *out, const uint16_t *in, size_t n) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(in + i))));
  for (; i < n; i++) out[i] = _cvtsh_ss(in[i]);
}

static void bf16_to_f32(float *out, const uint16_t *in, size_t n) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(in + i)));
    _mm256_storeu_si256((__m256i *)(out + i), _mm256_slli_epi32(wide, 16));
  }
  for (; i < n; i++) out[i] = wick_bf16_to_f32(in[i]);
}

static void f32_to_f16(uint16_t *out, const float *in, size_t n) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128((__m128i *)(out + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT));
  for (; i < n; i++) out[i] = _cvtss_sh(in[i], _MM_FROUND_TO_NEAREST_INT);
}

void wick_kernels_avx2(wick_kernels *table) {
  table->level_bit = WICK_LEVEL_AVX2;
  table->level = wick_level_name(WICK_LEVEL_AVX2);
  fill_quantize(table);
  fill_packed(table);
  fill_float(table);
  table->f16_to_f32 = f16_to_f32;
  table->bf16_to_f32 = bf16_to_f32;
  table->f32_to_f16 = f32_to_f16;
}
