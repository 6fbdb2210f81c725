/* The activation tile that every level built on packed_template.h reads. For n tokens, n <=
 * PACKED_TILE_TOKENS, each block of 32 columns is
 *
 *   8 runs of n x 4 codes   run j, token: the codes of columns 4j .. 4j+3
 *   n x float  scale        s of kernels.h
 *   n x float  offset       t of kernels.h
 *   n x int32  correction   -128 * (sum of the codes): what an unsigned weight code, 128 too large,
 *                           adds too much
 *
 * so four codes are one 32-bit broadcast and a tile is read from front to back. */
#ifndef WICK_KERNELS_PACKED_TILE_H
#define WICK_KERNELS_PACKED_TILE_H

#include "kernels/activation.h"
#include "kernels/kernels.h"

enum {
  PACKED_TILE_TOKENS = 6,
  PACKED_RUNS = WICK_BLOCK / 4,
  PACKED_TOKEN_BYTES = WICK_BLOCK + 3 * 4, /* of one token in one block */
};

static inline size_t packed_tile_bytes(size_t n_cols) {
  size_t bytes = PACKED_TILE_TOKENS * (n_cols / WICK_BLOCK) * PACKED_TOKEN_BYTES;
  return (bytes + 63) / 64 * 64;
}

/* Places in a tile block of n tokens. */
static inline const uint8_t *packed_codes(const uint8_t *block, size_t n, size_t run,
                                          size_t token) {
  return block + 4 * (run * n + token);
}
static inline float packed_scale(const uint8_t *block, size_t n, size_t token) {
  float scale;
  memcpy(&scale, block + 4 * ((PACKED_RUNS + 0) * n + token), 4);
  return scale;
}
static inline float packed_offset(const uint8_t *block, size_t n, size_t token) {
  float offset;
  memcpy(&offset, block + 4 * ((PACKED_RUNS + 1) * n + token), 4);
  return offset;
}
static inline int32_t packed_correction(const uint8_t *block, size_t n, size_t token) {
  int32_t correction;
  memcpy(&correction, block + 4 * ((PACKED_RUNS + 2) * n + token), 4);
  return correction;
}

/* Writes one token's 32 codes and what goes with them. */
static inline void packed_store(uint8_t *block, size_t n, size_t token, const int8_t *codes,
                                float scale, int sum) {
  for (size_t run = 0; run < PACKED_RUNS; run++)
    memcpy(block + 4 * (run * n + token), codes + 4 * run, 4);
  float offset = scale * (float)sum;
  int32_t correction = -128 * sum;
  memcpy(block + 4 * ((PACKED_RUNS + 0) * n + token), &scale, 4);
  memcpy(block + 4 * ((PACKED_RUNS + 1) * n + token), &offset, 4);
  memcpy(block + 4 * ((PACKED_RUNS + 2) * n + token), &correction, 4);
}

#endif
