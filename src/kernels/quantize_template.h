/* Template: activations into the tiles of packed_tile.h. Chapter 18. The including file defines,
 * for a block of 32 values:
 *
 *   round_q4(codes, &scale, x) -> sum of the codes
 *   round_q8(codes, &scale, x)   codes in the order of their words
 */
#include "kernels/packed_tile.h"
#include "kernels/template.h"

static void quantize_q4(void *tile, const float *x, size_t stride, size_t n_tokens, size_t n_cols) {
  for (size_t token = 0; token < n_tokens; token++) {
    uint8_t *block = tile;
    for (size_t c = 0; c < n_cols; c += WICK_BLOCK) {
      int8_t codes[WICK_BLOCK];
      float scale;
      int sum = round_q4(codes, &scale, x + token * stride + c);
      packed_store_q4(block, n_tokens, token, codes, scale, sum);
      block += n_tokens * packed_token_bytes(WICK_PACKED_Q4);
    }
  }
}

static void quantize_q8(void *tile, const float *x, size_t stride, size_t n_tokens, size_t n_cols) {
  for (size_t token = 0; token < n_tokens; token++) {
    uint8_t *block = tile;
    for (size_t c = 0; c < n_cols; c += WICK_BLOCK) {
      int16_t codes[WICK_BLOCK];
      float scale;
      round_q8(codes, &scale, x + token * stride + c);
      packed_store_q8(block, n_tokens, token, codes, scale);
      block += n_tokens * packed_token_bytes(WICK_PACKED_Q8);
    }
  }
}

static void fill_quantize(wick_kernels *table) {
  table->tile_tokens = PACKED_TILE_TOKENS;
  table->tile_bytes = packed_tile_bytes;
  table->quantize[WICK_PACKED_Q4] = quantize_q4;
  table->quantize[WICK_PACKED_Q8] = quantize_q8;
}
