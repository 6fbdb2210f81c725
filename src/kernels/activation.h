/* The scale of a block of 32 activations: one rule for every level, so that codes are equal bit for
 * bit everywhere. kernels.h states the arithmetic. Chapter 18. */
#ifndef WICK_KERNELS_ACTIVATION_H
#define WICK_KERNELS_ACTIVATION_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* The largest code of an activation, by the packing of the weights that it meets. */
enum { WICK_LARGEST_CODE_Q4 = INT8_MAX, WICK_LARGEST_CODE_Q8 = INT16_MAX };

/* The bits of |x|. As integers they are in the order of the magnitudes, with infinity and then NaN
 * above every finite value, so that an integer maximum cannot lose a NaN. */
static inline uint32_t wick_magnitude_bits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits & 0x7fffffffu;
}

/* A scale s and what values are multiplied by to become codes. */
typedef struct wick_block_scale {
  float scale, inverse; /* inverse: 0 when all codes are 0 */
} wick_block_scale;

/* From the bits of a block's largest magnitude: s is NaN when a value is not finite, and 0 when it
 * would be no normal number. Then the values must not be multiplied at all: 0 * infinity. */
static inline wick_block_scale wick_scale_block(uint32_t magnitude_bits, int largest_code) {
  float largest, most = (float)largest_code;
  memcpy(&largest, &magnitude_bits, sizeof largest);
  if (!(largest <= FLT_MAX)) return (wick_block_scale){NAN, 0};
  if (largest / most < FLT_MIN) return (wick_block_scale){0, 0};
  return (wick_block_scale){largest / most, most / largest};
}

#endif
