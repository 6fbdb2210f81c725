/* Private to src/tensor: one function per quantized type, each turning one block into float32 or
 * back. dtype.c holds the table that finds them. */
#ifndef WICK_TENSOR_BLOCKS_H
#define WICK_TENSOR_BLOCKS_H

#include "tensor/dtype.h"

enum { QUANT_BLOCK = 32, K_BLOCK = 256 }; /* weights in a block of the two families */

/* block: block_bytes bytes at any address; out: block_size values. */
typedef void block_to_f32_function(const uint8_t *block, float *out);
/* values: block_size values; out: block_bytes bytes at any address. */
typedef void block_from_f32_function(const float *values, uint8_t *out);

block_to_f32_function wick_block_q4_0_to_f32, wick_block_q4_1_to_f32, wick_block_q5_0_to_f32,
    wick_block_q5_1_to_f32, wick_block_q8_0_to_f32, wick_block_q4_k_to_f32, wick_block_q5_k_to_f32,
    wick_block_q6_k_to_f32;
block_from_f32_function wick_block_q4_0_from_f32, wick_block_q4_1_from_f32,
    wick_block_q8_0_from_f32;

/* A little-endian half at any address. */
static inline uint16_t read_u16(const uint8_t *bytes) {
  return (uint16_t)(bytes[0] | bytes[1] << 8);
}
static inline float read_half(const uint8_t *bytes) {
  return wick_f16_to_f32(read_u16(bytes));
}
static inline void write_u16(uint8_t *bytes, uint16_t value) {
  bytes[0] = (uint8_t)value;
  bytes[1] = (uint8_t)(value >> 8);
}

#endif
