/* AVX2 with FMA and F16C: every kernel, 256 bits wide. Without VNNI the byte products are
 * vpmaddubsw's pairs in 16 bits. Nibbles: eight pairs of at most 2 * 15 * 127 still fit, so one
 * vpmaddwd a block widens them. int8 codes: the code's sign moves to the activation (never -128, so
 * it can be negated), and |code| is the unsigned side (|-128| = 128 fits there); a pair is at most
 * 2 * 128 * 127 = 32512, so nothing saturates. Source: Intel SDM volume 2. Chapters 6 and 18. */
#include "kernels/kernels.h"

#include <math.h>

#include "kernels/exponential.h"
#include "kernels/x86/vector256.h"

/* gcc sees through integer additions: it would reassociate a block's into a tree, whose many leaves
 * it then keeps on the stack. This makes a sum opaque; no instruction comes of it. */
WICK_INLINE sums in_order(sums sum) {
  __asm__("" : "+x"(sum));
  return sum;
}

WICK_INLINE sums q4_start(void) {
  return _mm256_setzero_si256();
}
WICK_INLINE sums q4_dot(sums sum, bytes nibbles, four_codes activations) {
  return in_order(_mm256_add_epi16(sum, _mm256_maddubs_epi16(nibbles, activations)));
}
WICK_INLINE sums q4_add(sums a, sums b) {
  return _mm256_add_epi16(a, b);
}
WICK_INLINE floats q4_total(sums sum) {
  return _mm256_cvtepi32_ps(_mm256_madd_epi16(sum, _mm256_set1_epi16(1)));
}

WICK_INLINE bytes q8_prepare(bytes codes) {
  return codes;
}
WICK_INLINE sums q8_start(int32_t correction) {
  (void)correction; /* codes stay signed */
  return _mm256_setzero_si256();
}
WICK_INLINE sums q8_dot(sums sum, bytes codes, four_codes activations) {
  __m256i pairs =
      _mm256_maddubs_epi16(_mm256_abs_epi8(codes), _mm256_sign_epi8(activations, codes));
  return in_order(_mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1))));
}
WICK_INLINE floats q8_total(sums sum) {
  return _mm256_cvtepi32_ps(sum);
}

#include "kernels/packed_template.h"

/* ---- activations ---- */

/* What a scale loses: the sum of (x - s q)^2, in the order of kernels.h. */
static float quantization_error(const void *values, wick_block_scale s) {
  const __m256 *parts = values;
  __m256 scale = _mm256_set1_ps(s.scale), inverse = _mm256_set1_ps(s.inverse);
  __m256 total = _mm256_setzero_ps();
  for (int i = 0; i < 4; i++) {
    __m256 whole = _mm256_round_ps(_mm256_mul_ps(parts[i], inverse),
                                   _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256 error = _mm256_sub_ps(parts[i], _mm256_mul_ps(whole, scale));
    total = _mm256_add_ps(total, _mm256_mul_ps(error, error));
  }
  __m128 t = _mm_add_ps(_mm256_castps256_ps128(total), _mm256_extractf128_ps(total, 1));
  t = _mm_add_ps(t, _mm_movehl_ps(t, t));
  return _mm_cvtss_f32(_mm_add_ss(t, _mm_movehdup_ps(t)));
}

/* One block of 32 activations of one token. */
static void quantize_block(uint8_t *block, size_t n, size_t token, const float *x) {
  __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
  __m256 parts[4];
  __m256i largest = _mm256_setzero_si256();
  for (int i = 0; i < 4; i++) {
    parts[i] = _mm256_loadu_ps(x + 8 * i);
    largest = _mm256_max_epi32(largest, _mm256_and_si256(_mm256_castps_si256(parts[i]), magnitude));
  }
  __m128i most =
      _mm_max_epi32(_mm256_castsi256_si128(largest), _mm256_extracti128_si256(largest, 1));
  most = _mm_max_epi32(most, _mm_shuffle_epi32(most, 0x4e));
  most = _mm_max_epi32(most, _mm_shuffle_epi32(most, 0xb1));
  float largest_value = wick_largest_magnitude((uint32_t)_mm_cvtsi128_si32(most));
  float scale = largest_value; /* NaN or 0: no codes */

  int8_t codes[WICK_BLOCK] = {0};
  int sum = 0;
  if (largest_value > 0) {
    wick_block_scale best = wick_best_scale(largest_value, parts, quantization_error);
    __m256 inverse = _mm256_set1_ps(best.inverse);
    scale = best.scale;
    __m256i whole[4];
    for (int i = 0; i < 4; i++) whole[i] = _mm256_cvtps_epi32(_mm256_mul_ps(parts[i], inverse));
    __m256i sums32 = _mm256_add_epi32(_mm256_add_epi32(whole[0], whole[1]),
                                      _mm256_add_epi32(whole[2], whole[3]));
    __m128i s = _mm_add_epi32(_mm256_castsi256_si128(sums32), _mm256_extracti128_si256(sums32, 1));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1));
    sum = _mm_cvtsi128_si32(s);
    /* the packs work on 128-bit halves, so the dwords come out as 0 2 4 6 1 3 5 7 */
    __m256i packed = _mm256_packs_epi16(_mm256_packs_epi32(whole[0], whole[1]),
                                        _mm256_packs_epi32(whole[2], whole[3]));
    packed = _mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    _mm256_storeu_si256((__m256i *)codes, packed);
  }
  packed_store(block, n, token, codes, scale, sum);
}

static void quantize(void *tile, const float *x, size_t stride, size_t n_tokens, size_t n_cols) {
  for (size_t token = 0; token < n_tokens; token++) {
    uint8_t *block = tile;
    for (size_t c = 0; c < n_cols; c += WICK_BLOCK, block += n_tokens * PACKED_TOKEN_BYTES)
      quantize_block(block, n_tokens, token, x + token * stride + c);
  }
}

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
  table->tile_tokens = PACKED_TILE_TOKENS;
  table->tile_bytes = packed_tile_bytes;
  table->quantize = quantize;
  fill_packed(table);
  fill_float(table);
  table->f16_to_f32 = f16_to_f32;
  table->bf16_to_f32 = bf16_to_f32;
  table->f32_to_f16 = f32_to_f16;
}
