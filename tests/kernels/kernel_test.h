/* What the kernel tests and the benchmark share: levels, random data, packed matrices. */
#ifndef WICK_TESTS_KERNELS_KERNEL_TEST_H
#define WICK_TESTS_KERNELS_KERNEL_TEST_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu.h"
#include "kernels/kernels.h"
#include "tap.h"

static inline void *test_allocate(size_t bytes) {
  void *memory = malloc(bytes ? bytes : 1);
  if (!memory) abort();
  return memory;
}

static inline void *test_allocate_aligned(size_t bytes) {
  void *memory = aligned_alloc(64, (bytes + 64) / 64 * 64);
  if (!memory) abort();
  return memory;
}

/* xorshift: the same data on every machine. */
typedef struct test_random {
  uint32_t state;
} test_random;

static inline uint32_t random_bits(test_random *r) {
  r->state ^= r->state << 13;
  r->state ^= r->state >> 17;
  r->state ^= r->state << 5;
  return r->state;
}

/* Uniform in [-1, 1). */
static inline float random_float(test_random *r) {
  return (float)(int32_t)random_bits(r) * 0x1p-31f;
}

static inline void random_fill(test_random *r, float *x, size_t n, float scale) {
  for (size_t i = 0; i < n; i++) x[i] = random_float(r) * scale;
}

static inline bool same_bits(const float *a, const float *b, size_t n) {
  return memcmp(a, b, n * sizeof *a) == 0;
}

/* Calls check for every level that this CPU has. A level that fails its probe fails the test: it
 * must not slip away unseen. */
static inline void for_each_level(tap *t, void (*check)(tap *, const wick_kernels *)) {
  uint32_t available = wick_kernels_available();
  for (int bit = 0; bit < 32; bit++) {
    uint32_t level = (uint32_t)1 << bit;
    if (!wick_cpu_has_level(level)) continue;
    char name[100];
    snprintf(name, sizeof name, "%s passes its probe", wick_level_name(level));
    CHECK(t, available & level, name);
    wick_kernels table;
    wick_kernels_select(&table, level);
    if (table.level_bit == level) check(t, &table);
  }
}

/* A quantized matrix as it stands in a file: n_rows rows of n_cols / 32 blocks. */
typedef struct source_matrix {
  wick_dtype dtype;
  size_t n_rows, n_cols, block_bytes, row_bytes;
  uint8_t *rows;
} source_matrix;

static inline source_matrix source_new(wick_dtype dtype, size_t n_rows, size_t n_cols) {
  source_matrix m = {.dtype = dtype, .n_rows = n_rows, .n_cols = n_cols};
  m.block_bytes = (size_t)wick_dtype_get_info((uint32_t)dtype)->block_bytes;
  m.row_bytes = n_cols / WICK_BLOCK * m.block_bytes;
  m.rows = test_allocate(n_rows * m.row_bytes);
  return m;
}

/* Random codes; scales and minima as the function gives them. */
static inline void source_fill(source_matrix *m, test_random *r, float scale, float minimum) {
  for (size_t b = 0; b < m->n_rows * (m->n_cols / WICK_BLOCK); b++) {
    uint8_t *block = m->rows + b * m->block_bytes;
    for (size_t i = 0; i < m->block_bytes; i++) block[i] = (uint8_t)(random_bits(r) >> 8);
    uint16_t d = wick_f32_to_f16(scale * (1.0f + random_float(r) * 0.5f));
    uint16_t low = wick_f32_to_f16(minimum * (1.0f + random_float(r) * 0.5f));
    memcpy(block, &d, 2);
    if (m->dtype == WICK_DTYPE_Q4_1) memcpy(block + 2, &low, 2);
  }
}

/* The same matrix packed for a table. data = memory + offset, so that any alignment can be tried.
 */
typedef struct packed_matrix {
  wick_packing packing;
  size_t n_rows, n_cols, group_bytes;
  uint8_t *memory, *data;
} packed_matrix;

static inline packed_matrix pack_matrix(const wick_kernels *table, const source_matrix *m,
                                        size_t offset) {
  size_t r = table->rows_per_group, n_groups = (m->n_rows + r - 1) / r;
  packed_matrix p = {
      .packing = wick_packing_for(m->dtype, m->n_cols), .n_rows = m->n_rows, .n_cols = m->n_cols};
  p.group_bytes = wick_packed_group_bytes(p.packing, r, m->n_cols);
  p.memory = test_allocate(n_groups * p.group_bytes + offset);
  p.data = p.memory + offset;
  for (size_t g = 0; g < n_groups; g++) {
    size_t n = m->n_rows - g * r < r ? m->n_rows - g * r : r;
    if (!wick_pack_group(m->dtype, m->rows + g * r * m->row_bytes, m->row_bytes, n, r, m->n_cols,
                         p.data + g * p.group_bytes))
      abort();
  }
  return p;
}

/* n_tokens rows of x, stride apart, in tiles. */
static inline uint8_t *quantize_tiles(const wick_kernels *table, const float *x, size_t stride,
                                      size_t n_tokens, size_t n_cols, wick_packing packing) {
  size_t tile_tokens = table->tile_tokens, tile_bytes = table->tile_bytes(packing, n_cols);
  size_t n_tiles = (n_tokens + tile_tokens - 1) / tile_tokens;
  uint8_t *tiles = test_allocate_aligned(n_tiles * tile_bytes);
  for (size_t i = 0; i < n_tiles; i++) {
    size_t first = i * tile_tokens;
    size_t n = n_tokens - first < tile_tokens ? n_tokens - first : tile_tokens;
    table->quantize[packing](tiles + i * tile_bytes, x + first * stride, stride, n, n_cols);
  }
  return tiles;
}

/* The whole product by one table: quantize, then the vector or the tile kernel. */
static inline void multiply(const wick_kernels *table, const packed_matrix *w, const float *x,
                            size_t stride, size_t n_tokens, float *out, size_t out_stride) {
  uint8_t *tiles = quantize_tiles(table, x, stride, n_tokens, w->n_cols, w->packing);
  uint8_t *scratch = test_allocate_aligned(table->scratch_bytes(w->n_cols));
  table->matmul[w->packing](out, out_stride, w->n_rows, w->n_cols, w->data, tiles, n_tokens,
                            scratch);
  free(scratch);
  free(tiles);
}

static inline void multiply_vector(const wick_kernels *table, const packed_matrix *w,
                                   const float *x, float *out) {
  uint8_t *tile = quantize_tiles(table, x, w->n_cols, 1, w->n_cols, w->packing);
  table->matvec[w->packing](out, w->n_rows, w->n_cols, w->data, tile);
  free(tile);
}

#endif
