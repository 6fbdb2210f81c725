/* Blocks of 32 weights to float32. Source: ggml's block types as the GGUF specification lists them.
 * Chapters 18 and 19.
 *
 * h = IEEE half. Byte i of the nibbles holds weight i in its low and weight 16+i in its high half.
 *   Q4_0  18 bytes  h d | 16 nibbles          weight = d * (q - 8)
 *   Q4_1  20 bytes  h d | h m | 16 nibbles    weight = d * q + m
 *   Q5_0  22 bytes  h d | u32 fifth | 16      weight = d * (q - 16), bit i of fifth is q_i's bit 4
 *   Q5_1  24 bytes  h d | h m | u32 fifth |16 weight = d * q + m
 *   Q8_0  34 bytes  h d | 32 int8             weight = d * q */
#include "tensor/blocks.h"

static uint32_t read_u32(const uint8_t *bytes) {
  return read_u16(bytes) | (uint32_t)read_u16(bytes + 2) << 16;
}

void wick_block_q4_0_to_f32(const uint8_t *block, float *out) {
  float d = read_half(block);
  const uint8_t *nibbles = block + 2;
  for (int i = 0; i < 16; i++) {
    out[i] = d * (float)((nibbles[i] & 15) - 8);
    out[16 + i] = d * (float)((nibbles[i] >> 4) - 8);
  }
}

void wick_block_q4_1_to_f32(const uint8_t *block, float *out) {
  float d = read_half(block), m = read_half(block + 2);
  const uint8_t *nibbles = block + 4;
  for (int i = 0; i < 16; i++) {
    out[i] = d * (float)(nibbles[i] & 15) + m;
    out[16 + i] = d * (float)(nibbles[i] >> 4) + m;
  }
}

void wick_block_q5_0_to_f32(const uint8_t *block, float *out) {
  float d = read_half(block);
  uint32_t fifth = read_u32(block + 2);
  const uint8_t *nibbles = block + 6;
  for (int i = 0; i < 16; i++) {
    int low = (nibbles[i] & 15) | (int)(fifth >> i & 1) << 4;
    int high = nibbles[i] >> 4 | (int)(fifth >> (16 + i) & 1) << 4;
    out[i] = d * (float)(low - 16);
    out[16 + i] = d * (float)(high - 16);
  }
}

void wick_block_q5_1_to_f32(const uint8_t *block, float *out) {
  float d = read_half(block), m = read_half(block + 2);
  uint32_t fifth = read_u32(block + 4);
  const uint8_t *nibbles = block + 8;
  for (int i = 0; i < 16; i++) {
    int low = (nibbles[i] & 15) | (int)(fifth >> i & 1) << 4;
    int high = nibbles[i] >> 4 | (int)(fifth >> (16 + i) & 1) << 4;
    out[i] = d * (float)low + m;
    out[16 + i] = d * (float)high + m;
  }
}

void wick_block_q8_0_to_f32(const uint8_t *block, float *out) {
  float d = read_half(block);
  for (int i = 0; i < QUANT_BLOCK; i++) out[i] = d * (float)(int8_t)block[2 + i];
}
