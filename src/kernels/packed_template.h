/* Template: products of packed weights (kernels.h) with quantized activations (packed_tile.h). A
 * lane is a row, so no sum crosses lanes and every level adds in the contract's order. Chapters 6,
 * 18, 19. The including file defines:
 *
 *   ROWS                   rows of a group = lanes of a vector
 *   bytes, floats          4 * ROWS bytes (the codes of a run), ROWS floats
 *   q4_sums, q8_sums       ROWS running integer sums
 *   load_bytes(p) low_nibbles(bytes) high_nibbles(bytes)
 *   even_codes(bytes) odd_codes(bytes)  the two pairs of 16-bit codes of packed_tile.h
 *   broadcast(p)           a word of activations in every lane
 *   store_floats(p, floats) load_halves(p) set_floats(x) zero_floats()
 *   multiply(a, b) multiply_add(a, b, acc)   acc + a * b, fused
 *   prefetch(p)
 *   q4_start() q4_dot(sums, nibbles, word) q4_add(sums, sums) q4_total(sums) -> floats
 *   q8_start() q8_dot(sums, pairs, word) q8_total(sums) -> floats
 */
#include "kernels/packed_tile.h"
#include "kernels/template.h"

enum {
  RUN_BYTES = 4 * ROWS,
  Q4_BLOCK_BYTES = 20 * ROWS,
  Q8_BLOCK_BYTES = 34 * ROWS,
  AHEAD = 4096, /* bytes that products prefetch ahead: a page */
};

/* Writes a vector of ROWS outputs, or the first n_rows of it. */
WICK_INLINE void store_rows(float *out, size_t n_rows, floats values) {
  if (n_rows >= ROWS) {
    store_floats(out, values);
    return;
  }
  float part[ROWS];
  store_floats(part, values);
  for (size_t r = 0; r < n_rows; r++) out[r] = part[r];
}

WICK_INLINE size_t packed_block_bytes(wick_packing packing) {
  return packing == WICK_PACKED_Q4 ? Q4_BLOCK_BYTES : Q8_BLOCK_BYTES;
}

/* Integer sums of a packed block times n tokens. One token alone gets two chains of additions. */
WICK_INLINE void dot_q4(floats totals[], size_t n, const uint8_t *w, const uint8_t *x) {
  q4_sums low[PACKED_TILE_TOKENS], high[PACKED_TILE_TOKENS];
  WICK_EACH (t, n) low[t] = high[t] = q4_start();
  WICK_EACH (j, PACKED_Q4_WORDS / 2) {
    bytes both = load_bytes(w + 4 * ROWS + j * RUN_BYTES);
    bytes first = low_nibbles(both), second = high_nibbles(both);
    WICK_EACH (t, n) {
      low[t] = q4_dot(low[t], first, broadcast(packed_word(x, n, j, t)));
      word last = broadcast(packed_word(x, n, j + 4, t));
      if (n == 1)
        high[t] = q4_dot(high[t], second, last);
      else
        low[t] = q4_dot(low[t], second, last);
    }
  }
  WICK_EACH (t, n) totals[t] = q4_total(n == 1 ? q4_add(low[t], high[t]) : low[t]);
}

WICK_INLINE void dot_q8(floats totals[], size_t n, const uint8_t *w, const uint8_t *x) {
  q8_sums sum[PACKED_TILE_TOKENS];
  WICK_EACH (t, n) sum[t] = q8_start();
  WICK_EACH (j, PACKED_Q8_WORDS / 2) {
    bytes run = load_bytes(w + 2 * ROWS + j * RUN_BYTES);
    bytes even = even_codes(run), odd = odd_codes(run);
    WICK_EACH (t, n) {
      sum[t] = q8_dot(sum[t], even, broadcast(packed_word(x, n, 2 * j, t)));
      sum[t] = q8_dot(sum[t], odd, broadcast(packed_word(x, n, 2 * j + 1, t)));
    }
  }
  WICK_EACH (t, n) totals[t] = q8_total(sum[t]);
}

/* Packed groups times a tile of n tokens; packing and n are constants. */
WICK_INLINE void multiply_tile(wick_packing packing, size_t n, float *out, size_t out_stride,
                               size_t n_rows, size_t n_blocks, const uint8_t *w,
                               const uint8_t *tile) {
  for (size_t row = 0; row < n_rows; row += ROWS) {
    const uint8_t *x = tile;
    floats acc[PACKED_TILE_TOKENS], total[PACKED_TILE_TOKENS];
    WICK_EACH (t, n) acc[t] = zero_floats();
    for (size_t b = 0; b < n_blocks; b++) {
      WICK_UNROLL for (size_t line = 0; line < packed_block_bytes(packing); line += 64)
          prefetch(w + AHEAD + line);
      packing == WICK_PACKED_Q4 ? dot_q4(total, n, w, x) : dot_q8(total, n, w, x);
      floats d = load_halves(w), m = load_halves(w + 2 * ROWS);
      WICK_EACH (t, n) {
        floats scale = multiply(d, set_floats(packed_scale(x, packing, n, t)));
        acc[t] = multiply_add(total[t], scale, acc[t]);
        if (packing == WICK_PACKED_Q4)
          acc[t] = multiply_add(m, set_floats(packed_offset(x, n, t)), acc[t]);
      }
      w += packed_block_bytes(packing);
      x += n * packed_token_bytes(packing);
    }
    WICK_EACH (t, n) store_rows(out + t * out_stride + row, n_rows - row, acc[t]);
  }
}

typedef void tile_function(float *out, size_t out_stride, size_t n_rows, size_t n_blocks,
                           const uint8_t *w, const uint8_t *tile);

#define TILE_FUNCTION(packing, n)                                                                  \
  static void tile_##packing##_##n(float *out, size_t out_stride, size_t n_rows, size_t n_blocks,  \
                                   const uint8_t *w, const uint8_t *tile) {                        \
    multiply_tile(WICK_PACKED_##packing, n, out, out_stride, n_rows, n_blocks, w, tile);           \
  }
#define TILE_FUNCTIONS(packing)                                                                    \
  TILE_FUNCTION(packing, 1)                                                                        \
  TILE_FUNCTION(packing, 2)                                                                        \
  TILE_FUNCTION(packing, 3)                                                                        \
  TILE_FUNCTION(packing, 4)                                                                        \
  TILE_FUNCTION(packing, 5)                                                                        \
  TILE_FUNCTION(packing, 6)                                                                        \
  static tile_function *const tiles_##packing[PACKED_TILE_TOKENS] = {                              \
      tile_##packing##_1, tile_##packing##_2, tile_##packing##_3,                                  \
      tile_##packing##_4, tile_##packing##_5, tile_##packing##_6,                                  \
  };
TILE_FUNCTIONS(Q4)
TILE_FUNCTIONS(Q8)

/* Group by group, so that memory is read once: the tiles after the first find a group in the cache.
 * Unpacking a group for them first was measured to gain nothing. */
static void multiply_tiles(wick_packing packing, tile_function *const *functions, float *out,
                           size_t out_stride, size_t n_rows, size_t n_cols, const uint8_t *groups,
                           const uint8_t *tiles, size_t n_tokens) {
  size_t n_blocks = n_cols / WICK_BLOCK, tile_bytes = packed_tile_bytes(packing, n_cols);
  size_t rows = n_tokens <= PACKED_TILE_TOKENS ? n_rows : ROWS; /* at once */
  for (size_t row = 0; row < n_rows; row += rows) {
    const uint8_t *tile = tiles;
    for (size_t token = 0; token < n_tokens; token += PACKED_TILE_TOKENS, tile += tile_bytes) {
      size_t n = n_tokens - token < PACKED_TILE_TOKENS ? n_tokens - token : PACKED_TILE_TOKENS;
      functions[n - 1](out + token * out_stride + row, out_stride,
                       n_rows - row < rows ? n_rows - row : rows, n_blocks, groups, tile);
    }
    groups += n_blocks * packed_block_bytes(packing);
  }
}

static void matmul_q4(float *out, size_t out_stride, size_t n_rows, size_t n_cols,
                      const void *groups, const void *tiles, size_t n_tokens, void *scratch) {
  (void)scratch;
  multiply_tiles(WICK_PACKED_Q4, tiles_Q4, out, out_stride, n_rows, n_cols, groups, tiles,
                 n_tokens);
}

static void matmul_q8(float *out, size_t out_stride, size_t n_rows, size_t n_cols,
                      const void *groups, const void *tiles, size_t n_tokens, void *scratch) {
  (void)scratch;
  multiply_tiles(WICK_PACKED_Q8, tiles_Q8, out, out_stride, n_rows, n_cols, groups, tiles,
                 n_tokens);
}

static void matvec_q4(float *out, size_t n_rows, size_t n_cols, const void *groups,
                      const void *tile) {
  tile_Q4_1(out, 0, n_rows, n_cols / WICK_BLOCK, groups, tile);
}

static void matvec_q8(float *out, size_t n_rows, size_t n_cols, const void *groups,
                      const void *tile) {
  tile_Q8_1(out, 0, n_rows, n_cols / WICK_BLOCK, groups, tile);
}

static void fill_packed(wick_kernels *table) {
  table->rows_per_group = ROWS;
  table->matvec[WICK_PACKED_Q4] = matvec_q4;
  table->matvec[WICK_PACKED_Q8] = matvec_q8;
  table->matmul[WICK_PACKED_Q4] = matmul_q4;
  table->matmul[WICK_PACKED_Q8] = matmul_q8;
}
