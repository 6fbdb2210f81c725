/* K-quants, super-blocks of 256 weights, to float32. Source: ggml's block types as the GGUF
 * specification lists them. Chapter 19.
 *
 * h = IEEE half; eight sub-blocks of 32 (Q4_K, Q5_K) or sixteen of 16 (Q6_K), each with a scale of
 * its own relative to the super-block's d.
 *   Q4_K 144 bytes  h d | h dmin | 12 packed scales and minima | 128 nibbles
 *   Q5_K 176 bytes  h d | h dmin | 12 packed scales and minima | 32 fifth bits | 128 nibbles
 *                   weight = (d * scale) * q - (dmin * minimum)
 *   Q6_K 210 bytes  128 low nibbles | 64 high bit pairs | 16 int8 scales | h d
 *                   weight = (d * scale) * (q - 32) */
#include "tensor/blocks.h"

/* The 6-bit scale and minimum of sub-block j out of twelve bytes: bytes 0-3 and 4-7 hold those of
 * 0-3 in their low six bits; 8-11 the low nibbles of 4-7, whose upper two bits top the first
 * eight bytes. */
static void unpack_scale(const uint8_t *packed, int j, int *scale, int *minimum) {
  if (j < 4) {
    *scale = packed[j] & 63;
    *minimum = packed[4 + j] & 63;
  } else {
    *scale = (packed[4 + j] & 15) | packed[j - 4] >> 6 << 4;
    *minimum = packed[4 + j] >> 4 | packed[j] >> 6 << 4;
  }
}

/* Q4_K and Q5_K differ by the fifth bits only: fifth is NULL for Q4_K. Nibble byte i of pair p
 * holds weight i of sub-blocks 2p (low) and 2p + 1 (high); bit j of fifth[i] is bit 4 of weight i
 * of sub-block j. */
static void q45_k_to_f32(const uint8_t *block, const uint8_t *fifth, const uint8_t *nibbles,
                         float *out) {
  float d = read_half(block), d_minimum = read_half(block + 2);
  for (int j = 0; j < 8; j++) {
    int scale, minimum;
    unpack_scale(block + 4, j, &scale, &minimum);
    float factor = d * (float)scale, offset = d_minimum * (float)minimum;
    const uint8_t *bytes = nibbles + j / 2 * 32;
    for (int i = 0; i < 32; i++) {
      int q = j % 2 ? bytes[i] >> 4 : bytes[i] & 15;
      if (fifth) q |= (fifth[i] >> j & 1) << 4;
      out[32 * j + i] = factor * (float)q - offset;
    }
  }
}

void wick_block_q4_k_to_f32(const uint8_t *block, float *out) {
  q45_k_to_f32(block, NULL, block + 16, out);
}

void wick_block_q5_k_to_f32(const uint8_t *block, float *out) {
  q45_k_to_f32(block, block + 16, block + 48, out);
}

void wick_block_q6_k_to_f32(const uint8_t *block, float *out) {
  const uint8_t *low = block, *high = block + 128, *scales = block + 192;
  float d = read_half(block + 208);
  for (int half = 0; half < 2; half++, low += 64, high += 32, scales += 8, out += 128)
    for (int run = 0; run < 4; run++) /* 32 weights: 64 low bytes hold runs 0|2 and 1|3 */
      for (int i = 0; i < 32; i++) {
        int byte = low[run % 2 * 32 + i];
        int q = (run < 2 ? byte & 15 : byte >> 4) | (high[i] >> 2 * run & 3) << 4;
        float factor = d * (float)(int8_t)scales[2 * run + i / 16];
        out[32 * run + i] = factor * (float)(q - 32);
      }
}
