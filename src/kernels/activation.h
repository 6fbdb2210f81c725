/* The scale of a block of 32 activations: one rule for every level, so that codes are equal bit for
 * bit everywhere. kernels.h states the arithmetic. Chapter 18. */
#ifndef WICK_KERNELS_ACTIVATION_H
#define WICK_KERNELS_ACTIVATION_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* The bits of |x|. As integers they are in the order of the magnitudes, with infinity and then NaN
 * above every finite value, so that an integer maximum cannot lose a NaN. */
static inline uint32_t wick_magnitude_bits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits & 0x7fffffffu;
}

/* The largest magnitude from its bits: NaN when an x is not finite, 0 when codes would need a scale
 * that is no normal number. The block has codes only when the result is > 0, else they are all 0.
 */
static inline float wick_largest_magnitude(uint32_t bits) {
  float largest;
  memcpy(&largest, &bits, sizeof largest);
  if (!(largest <= FLT_MAX)) return NAN;
  return largest / 127.0f >= FLT_MIN ? largest : 0.0f;
}

/* A scale s and what values are multiplied by to become codes. */
typedef struct wick_block_scale {
  float scale, inverse;
} wick_block_scale;

enum { WICK_SCALE_CANDIDATES = 4 };

static inline wick_block_scale wick_scale_candidate(float largest, int k) {
  float most = 127.0f - (float)k;
  return (wick_block_scale){largest / most, most / largest};
}

/* The first candidate with the least error; error: what a scale loses of the block's values, in the
 * order of kernels.h. largest > 0. */
typedef float wick_quantization_error(const void *values, wick_block_scale s);

static inline wick_block_scale wick_best_scale(float largest, const void *values,
                                               wick_quantization_error *error_of) {
  wick_block_scale best = wick_scale_candidate(largest, 0);
  float least = error_of(values, best);
  for (int k = 1; k < WICK_SCALE_CANDIDATES; k++) {
    wick_block_scale candidate = wick_scale_candidate(largest, k);
    float error = error_of(values, candidate);
    if (!(error < least)) continue;
    best = candidate;
    least = error;
  }
  return best;
}

#endif
