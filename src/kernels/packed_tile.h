/* The activation tile that every level built on packed_template.h reads. For n tokens, n <=
 * PACKED_TILE_TOKENS, each block of 32 columns is 32-bit words of
 *
 *   Q4   8 runs of n words    run j, token: the one-byte codes of columns 4j .. 4j+3
 *        n scales, n offsets  s and t of kernels.h, float
 *   Q8   16 runs of n words   run 2j, token: the two-byte codes of columns 4j and 4j+2,
 *                             run 2j+1: of columns 4j+1 and 4j+3
 *        n scales             s
 *
 * so a word is one broadcast and a tile is read from front to back. A Q8 run of weights holds four
 * columns of a row in a 32-bit lane: shifted as 16-bit numbers, they become the same two pairs. */
#ifndef WICK_KERNELS_PACKED_TILE_H
#define WICK_KERNELS_PACKED_TILE_H

#include "kernels/activation.h"
#include "kernels/kernels.h"

enum {
  PACKED_TILE_TOKENS = 6,
  PACKED_WORD_BYTES = 4,
  PACKED_Q4_WORDS = WICK_BLOCK / 4,
  PACKED_Q8_WORDS = WICK_BLOCK / 2,
};

/* Words of codes, and bytes in all, of one token in one block. */
static inline size_t packed_words(wick_packing packing) {
  return packing == WICK_PACKED_Q4 ? PACKED_Q4_WORDS : PACKED_Q8_WORDS;
}
static inline size_t packed_token_bytes(wick_packing packing) {
  return PACKED_WORD_BYTES * (packed_words(packing) + (packing == WICK_PACKED_Q4 ? 2 : 1));
}

static inline size_t packed_tile_bytes(wick_packing packing, size_t n_cols) {
  size_t bytes = PACKED_TILE_TOKENS * (n_cols / WICK_BLOCK) * packed_token_bytes(packing);
  return (bytes + 63) / 64 * 64;
}

/* Where a word stands in a tile block of n tokens. */
static inline size_t packed_at(size_t n, size_t run, size_t token) {
  return PACKED_WORD_BYTES * (run * n + token);
}
static inline const uint8_t *packed_word(const uint8_t *block, size_t n, size_t run, size_t token) {
  return block + packed_at(n, run, token);
}
static inline float packed_float(const uint8_t *block, size_t n, size_t run, size_t token) {
  float x;
  memcpy(&x, packed_word(block, n, run, token), sizeof x);
  return x;
}
static inline float packed_scale(const uint8_t *block, wick_packing packing, size_t n,
                                 size_t token) {
  return packed_float(block, n, packed_words(packing), token);
}
static inline float packed_offset(const uint8_t *block, size_t n, size_t token) {
  return packed_float(block, n, PACKED_Q4_WORDS + 1, token);
}

/* Writes one token's codes, in the order of their words, and what goes with them. */
static inline void packed_store_q4(uint8_t *block, size_t n, size_t token,
                                   const int8_t codes[WICK_BLOCK], float scale, int sum) {
  for (size_t run = 0; run < PACKED_Q4_WORDS; run++)
    memcpy(block + packed_at(n, run, token), codes + 4 * run, PACKED_WORD_BYTES);
  float offset = scale * (float)sum;
  memcpy(block + packed_at(n, PACKED_Q4_WORDS, token), &scale, sizeof scale);
  memcpy(block + packed_at(n, PACKED_Q4_WORDS + 1, token), &offset, sizeof offset);
}
static inline void packed_store_q8(uint8_t *block, size_t n, size_t token,
                                   const int16_t codes[WICK_BLOCK], float scale) {
  for (size_t run = 0; run < PACKED_Q8_WORDS; run++)
    memcpy(block + packed_at(n, run, token), codes + 2 * run, PACKED_WORD_BYTES);
  memcpy(block + packed_at(n, PACKED_Q8_WORDS, token), &scale, sizeof scale);
}

#endif
