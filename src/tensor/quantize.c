/* Blocks of 32 float32 values to Q8_0, Q4_0 and Q4_1: round to nearest, halves away from zero, bit
 * for bit as ggml's reference quantizers. Layouts in dequantize.c. Chapters 18 and 19. */
#include <math.h>

#include "tensor/blocks.h"

/* Truncation to 0 .. 15; NaN (of infinite input) gives 0 instead of undefined behaviour. */
static int to_nibble(float value) {
  if (!(value > 0)) return 0;
  return value < 15 ? (int)value : 15;
}

static float inverse(float d) {
  return d != 0 ? 1.0f / d : 0;
}

void wick_block_q8_0_from_f32(const float *values, uint8_t *out) {
  float largest = 0;
  for (int i = 0; i < QUANT_BLOCK; i++)
    if (fabsf(values[i]) > largest) largest = fabsf(values[i]);
  float d = largest / 127, scale = inverse(d);
  write_u16(out, wick_f32_to_f16(d));
  for (int i = 0; i < QUANT_BLOCK; i++) {
    float q = roundf(values[i] * scale);
    out[2 + i] = (uint8_t)(int8_t)(q > -127 ? (q < 127 ? (int)q : 127) : -127);
  }
}

void wick_block_q4_0_from_f32(const float *values, uint8_t *out) {
  float largest = 0; /* of greatest magnitude, with its sign: it becomes exactly -8 */
  for (int i = 0; i < QUANT_BLOCK; i++)
    if (fabsf(values[i]) > fabsf(largest)) largest = values[i];
  float d = largest / -8, scale = inverse(d);
  write_u16(out, wick_f32_to_f16(d));
  for (int i = 0; i < 16; i++) {
    int low = to_nibble(values[i] * scale + 8.5f);
    int high = to_nibble(values[16 + i] * scale + 8.5f);
    out[2 + i] = (uint8_t)(low | high << 4);
  }
}

void wick_block_q4_1_from_f32(const float *values, uint8_t *out) {
  float lowest = values[0], highest = values[0];
  for (int i = 1; i < QUANT_BLOCK; i++) {
    if (values[i] < lowest) lowest = values[i];
    if (values[i] > highest) highest = values[i];
  }
  float d = (highest - lowest) / 15, scale = inverse(d);
  write_u16(out, wick_f32_to_f16(d));
  write_u16(out + 2, wick_f32_to_f16(lowest));
  for (int i = 0; i < 16; i++) {
    int low = to_nibble((values[i] - lowest) * scale + 0.5f);
    int high = to_nibble((values[16 + i] - lowest) * scale + 0.5f);
    out[4 + i] = (uint8_t)(low | high << 4);
  }
}
