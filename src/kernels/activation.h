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

/* s = max|x| / 127 from the largest magnitude's bits. 0 when that is no normal number (x / s could
 * exceed 127 or divide by zero), NaN when an x is not finite. The codes are x / s only when the
 * result is > 0, else they are all 0. */
static inline float wick_activation_scale(uint32_t largest_magnitude_bits) {
  float largest;
  memcpy(&largest, &largest_magnitude_bits, sizeof largest);
  if (!(largest <= FLT_MAX)) return NAN;
  float scale = largest / 127.0f;
  return scale >= FLT_MIN ? scale : 0.0f;
}

#endif
