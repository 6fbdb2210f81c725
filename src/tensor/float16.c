/* The two 16-bit floats: IEEE 754 binary16 (1 sign, 5 exponent, 10 mantissa bits) and bfloat16 (the
 * upper half of a float32). Source: IEEE 754-2019, sections 3.4 and 4.3.1. Chapter 2. */
#include <string.h>

#include "tensor/dtype.h"

static float float_from_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint32_t bits_from_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

enum { EXPONENT_SHIFT = 127 - 15 }; /* between the exponent biases of float32 and half */

float wick_f16_to_f32(uint16_t half) {
  uint32_t sign = (uint32_t)(half & 0x8000) << 16, magnitude = half & 0x7fff;
  if (magnitude < 0x0400) { /* subnormal: a whole number of 2^-24, exact in float32 */
    float value = (float)magnitude * 0x1p-24f;
    return float_from_bits(bits_from_float(value) | sign);
  }
  uint32_t bits = magnitude << 13;
  if (magnitude >= 0x7c00) return float_from_bits(sign | 0x7f800000 | bits); /* infinity, NaN */
  return float_from_bits(sign | (bits + ((uint32_t)EXPONENT_SHIFT << 23)));
}

uint16_t wick_f32_to_f16(float value) {
  uint32_t bits = bits_from_float(value), magnitude = bits & 0x7fffffff;
  uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
  if (magnitude > 0x7f800000) /* NaN: keep what fits of the payload, quiet */
    return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x03ff));
  if (magnitude >= 0x477ff000) return sign | 0x7c00; /* 65520 and more round to infinity */
  if (magnitude < 0x38800000) {
    /* Below 2^-14. A unit in the last place of 0.5 is 2^-24, so this addition rounds to the half's
     * subnormal grid, ties to even, and leaves the result in the lowest bits. */
    float shifted = float_from_bits(magnitude) + 0.5f;
    return (uint16_t)(sign | (bits_from_float(shifted) - 0x3f000000));
  }
  uint32_t rounded = magnitude + 0x0fff + (magnitude >> 13 & 1);
  return (uint16_t)(sign | ((rounded - ((uint32_t)EXPONENT_SHIFT << 23)) >> 13));
}

float wick_bf16_to_f32(uint16_t half) {
  return float_from_bits((uint32_t)half << 16);
}

uint16_t wick_f32_to_bf16(float value) {
  uint32_t bits = bits_from_float(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return (uint16_t)(bits >> 16 | 0x0040);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
