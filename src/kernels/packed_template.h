/* Template: products of packed weights (kernels.h) with quantized activations (packed_tile.h). A
 * lane is a row, so no sum crosses lanes and every level adds in the contract's order. Chapters 6,
 * 18, 19. The including file defines:
 *
 *   ROWS, GROUPS           rows of a group = lanes of a vector; groups that the tile kernel takes
 *   bytes, floats          4 * ROWS bytes (the codes of a run), ROWS floats
 *   q4_sums, q8_sums       ROWS running integer sums
 *   load_bytes(p) store_bytes(p, bytes) low_nibbles(bytes) high_nibbles(bytes)
 *   even_codes(bytes) odd_codes(bytes)  the two pairs of 16-bit codes of packed_tile.h
 *   broadcast(p)           a word of activations in every lane
 *   load_floats(p) store_floats(p, floats) load_halves(p) set_floats(x) zero_floats()
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
  HEADER_BYTES = 2 * 4 * ROWS, /* of an unpacked block: d, m */
  AHEAD = 4096,                /* bytes that the vector kernels prefetch ahead: a page */
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

/* ---- one token, straight from the packed bytes: as fast as memory delivers them ---- */

static void matvec_q4(float *out, size_t n_rows, size_t n_cols, const void *groups,
                      const void *tile) {
  const uint8_t *w = groups;
  for (size_t row = 0; row < n_rows; row += ROWS) {
    const uint8_t *x = tile;
    floats acc = zero_floats();
    for (size_t b = 0; b < n_cols / WICK_BLOCK; b++) {
      WICK_UNROLL for (size_t line = 0; line < Q4_BLOCK_BYTES; line += 64)
          prefetch(w + AHEAD + line);
      q4_sums low = q4_start(), high = q4_start();
      WICK_EACH (j, PACKED_Q4_WORDS / 2) {
        bytes both = load_bytes(w + 4 * ROWS + j * RUN_BYTES);
        low = q4_dot(low, low_nibbles(both), broadcast(packed_word(x, 1, j, 0)));
        high = q4_dot(high, high_nibbles(both), broadcast(packed_word(x, 1, j + 4, 0)));
      }
      floats scale = multiply(load_halves(w), set_floats(packed_scale(x, WICK_PACKED_Q4, 1, 0)));
      acc = multiply_add(q4_total(q4_add(low, high)), scale, acc);
      acc = multiply_add(load_halves(w + 2 * ROWS), set_floats(packed_offset(x, 1, 0)), acc);
      w += Q4_BLOCK_BYTES;
      x += packed_token_bytes(WICK_PACKED_Q4);
    }
    store_rows(out + row, n_rows - row, acc);
  }
}

static void matvec_q8(float *out, size_t n_rows, size_t n_cols, const void *groups,
                      const void *tile) {
  const uint8_t *w = groups;
  for (size_t row = 0; row < n_rows; row += ROWS) {
    const uint8_t *x = tile;
    floats acc = zero_floats();
    for (size_t b = 0; b < n_cols / WICK_BLOCK; b++) {
      WICK_UNROLL for (size_t line = 0; line < Q8_BLOCK_BYTES; line += 64)
          prefetch(w + AHEAD + line);
      q8_sums sum = q8_start();
      WICK_EACH (j, PACKED_Q8_WORDS / 2) {
        bytes run = load_bytes(w + 2 * ROWS + j * RUN_BYTES);
        sum = q8_dot(sum, even_codes(run), broadcast(packed_word(x, 1, 2 * j, 0)));
        sum = q8_dot(sum, odd_codes(run), broadcast(packed_word(x, 1, 2 * j + 1, 0)));
      }
      floats scale = multiply(load_halves(w), set_floats(packed_scale(x, WICK_PACKED_Q8, 1, 0)));
      acc = multiply_add(q8_total(sum), scale, acc);
      w += Q8_BLOCK_BYTES;
      x += packed_token_bytes(WICK_PACKED_Q8);
    }
    store_rows(out + row, n_rows - row, acc);
  }
}

/* ---- many tokens: unpack a few groups once, then a register tile over the tokens ---- */

WICK_INLINE size_t unpacked_bytes(wick_packing packing) {
  return HEADER_BYTES + packed_words(packing) * RUN_BYTES;
}

static size_t scratch_bytes(size_t n_cols) {
  return (GROUPS * (n_cols / WICK_BLOCK) * unpacked_bytes(WICK_PACKED_Q8) + 63) / 64 * 64;
}

/* One group into every GROUPS-th place of the scratch. The group that will be unpacked after the
 * tokens is asked for now, so that it arrives meanwhile. */
static void unpack_group(uint8_t *to, wick_packing packing, size_t n_blocks, const uint8_t *w) {
  size_t block_bytes = packing == WICK_PACKED_Q4 ? Q4_BLOCK_BYTES : Q8_BLOCK_BYTES;
  for (size_t b = 0; b < n_blocks; b++, to += GROUPS * unpacked_bytes(packing)) {
    uint8_t *codes = to + HEADER_BYTES;
    for (size_t line = 0; line < block_bytes; line += 64)
      prefetch(w + GROUPS * n_blocks * block_bytes + line);
    store_floats((float *)to, load_halves(w));
    if (packing == WICK_PACKED_Q4) {
      store_floats((float *)to + ROWS, load_halves(w + 2 * ROWS));
      for (size_t j = 0; j < PACKED_Q4_WORDS / 2; j++) {
        bytes both = load_bytes(w + 4 * ROWS + j * RUN_BYTES);
        store_bytes(codes + j * RUN_BYTES, low_nibbles(both));
        store_bytes(codes + (j + 4) * RUN_BYTES, high_nibbles(both));
      }
    } else {
      for (size_t j = 0; j < PACKED_Q8_WORDS / 2; j++) {
        bytes run = load_bytes(w + 2 * ROWS + j * RUN_BYTES);
        store_bytes(codes + 2 * j * RUN_BYTES, even_codes(run));
        store_bytes(codes + (2 * j + 1) * RUN_BYTES, odd_codes(run));
      }
    }
    w += block_bytes;
  }
}

/* GROUPS unpacked groups times a tile of n tokens; packing and n are constants. */
WICK_INLINE void multiply_tile(wick_packing packing, size_t n, float *out, size_t out_stride,
                               size_t n_rows, size_t n_blocks, const uint8_t *w, const uint8_t *x) {
  const size_t group_bytes = unpacked_bytes(packing);
  floats acc[GROUPS][PACKED_TILE_TOKENS];
  WICK_EACH (t, n)
    WICK_EACH (g, GROUPS) acc[g][t] = zero_floats();

  for (size_t b = 0; b < n_blocks; b++) {
    q4_sums sum4[GROUPS][PACKED_TILE_TOKENS]; /* one of the two is used */
    q8_sums sum8[GROUPS][PACKED_TILE_TOKENS];
    WICK_EACH (t, n)
      WICK_EACH (g, GROUPS) {
        sum4[g][t] = q4_start();
        sum8[g][t] = q8_start();
      }

    WICK_EACH (j, packed_words(packing)) {
      bytes codes[GROUPS];
      WICK_EACH (g, GROUPS)
        codes[g] = load_bytes(w + g * group_bytes + HEADER_BYTES + j * RUN_BYTES);
      WICK_EACH (t, n) {
        word activations = broadcast(packed_word(x, n, j, t));
        WICK_EACH (g, GROUPS)
          if (packing == WICK_PACKED_Q4)
            sum4[g][t] = q4_dot(sum4[g][t], codes[g], activations);
          else
            sum8[g][t] = q8_dot(sum8[g][t], codes[g], activations);
      }
    }
    WICK_EACH (g, GROUPS) {
      floats d = load_floats((const float *)(w + g * group_bytes));
      floats m = load_floats((const float *)(w + g * group_bytes) + ROWS);
      WICK_EACH (t, n) {
        floats scale = multiply(d, set_floats(packed_scale(x, packing, n, t)));
        floats total = packing == WICK_PACKED_Q4 ? q4_total(sum4[g][t]) : q8_total(sum8[g][t]);
        acc[g][t] = multiply_add(total, scale, acc[g][t]);
        if (packing == WICK_PACKED_Q4)
          acc[g][t] = multiply_add(m, set_floats(packed_offset(x, n, t)), acc[g][t]);
      }
    }
    w += GROUPS * group_bytes;
    x += n * packed_token_bytes(packing);
  }
  WICK_EACH (t, n)
    WICK_EACH (g, GROUPS)
      if (g * ROWS < n_rows)
        store_rows(out + t * out_stride + g * ROWS, n_rows - g * ROWS, acc[g][t]);
}

typedef void tile_function(float *out, size_t out_stride, size_t n_rows, size_t n_blocks,
                           const uint8_t *w, const uint8_t *x);

#define TILE_FUNCTION(packing, n)                                                                  \
  static void tile_##packing##_##n(float *out, size_t out_stride, size_t n_rows, size_t n_blocks,  \
                                   const uint8_t *w, const uint8_t *x) {                           \
    multiply_tile(WICK_PACKED_##packing, n, out, out_stride, n_rows, n_blocks, w, x);              \
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

static void multiply_groups(wick_packing packing, tile_function *const *functions, float *out,
                            size_t out_stride, size_t n_rows, size_t n_cols, const uint8_t *groups,
                            const uint8_t *tiles, size_t n_tokens, uint8_t *scratch) {
  size_t n_blocks = n_cols / WICK_BLOCK;
  size_t group_bytes = n_blocks * (packing == WICK_PACKED_Q4 ? Q4_BLOCK_BYTES : Q8_BLOCK_BYTES);
  for (size_t row = 0; row < n_rows; row += GROUPS * ROWS) {
    for (size_t g = 0; g < GROUPS; g++) {
      /* an odd last group is computed twice and stored once */
      size_t group = row / ROWS + (row + g * ROWS < n_rows ? g : 0);
      unpack_group(scratch + g * unpacked_bytes(packing), packing, n_blocks,
                   groups + group * group_bytes);
    }
    for (size_t token = 0; token < n_tokens; token += PACKED_TILE_TOKENS) {
      size_t n = n_tokens - token < PACKED_TILE_TOKENS ? n_tokens - token : PACKED_TILE_TOKENS;
      functions[n - 1](out + token * out_stride + row, out_stride, n_rows - row, n_blocks, scratch,
                       tiles + token / PACKED_TILE_TOKENS * packed_tile_bytes(packing, n_cols));
    }
  }
}

static void matmul_q4(float *out, size_t out_stride, size_t n_rows, size_t n_cols,
                      const void *groups, const void *tiles, size_t n_tokens, void *scratch) {
  if (n_tokens == 1)
    matvec_q4(out, n_rows, n_cols, groups, tiles);
  else
    multiply_groups(WICK_PACKED_Q4, tiles_Q4, out, out_stride, n_rows, n_cols, groups, tiles,
                    n_tokens, scratch);
}

static void matmul_q8(float *out, size_t out_stride, size_t n_rows, size_t n_cols,
                      const void *groups, const void *tiles, size_t n_tokens, void *scratch) {
  if (n_tokens == 1)
    matvec_q8(out, n_rows, n_cols, groups, tiles);
  else
    multiply_groups(WICK_PACKED_Q8, tiles_Q8, out, out_stride, n_rows, n_cols, groups, tiles,
                    n_tokens, scratch);
}

static void fill_packed(wick_kernels *table) {
  table->rows_per_group = ROWS;
  table->scratch_bytes = scratch_bytes;
  table->matvec[WICK_PACKED_Q4] = matvec_q4;
  table->matvec[WICK_PACKED_Q8] = matvec_q8;
  table->matmul[WICK_PACKED_Q4] = matmul_q4;
  table->matmul[WICK_PACKED_Q8] = matmul_q8;
}
