/* The known-answer test that a level must pass before it is used: some engines miscompile some
 * instructions (Node 20 the relaxed dot product), some emulators lack what they announce. The
 * inputs are small integers and powers of two, so that every float sum is exact in any order and
 * the answers must equal the reference's; only what contains an exp or a root gets a tolerance. */
#include "kernels/probe.h"

#include <math.h>
#include <string.h>

#include "kernels/activation.h"

enum {
  N_COLS = 64,
  MAX_ROWS = WICK_MAX_GROUP_ROWS + 1, /* two groups of any level, the second partial */
  MAX_TOKENS = 13,
  SPACE_BYTES = 6144, /* for tiles, scratch and groups, all of two blocks */
};

typedef struct probe {
  uint32_t state; /* of the generator */
  size_t n_tokens;
  float x[MAX_TOKENS * N_COLS];
  float expected[MAX_TOKENS * MAX_ROWS], found[MAX_TOKENS * MAX_ROWS];
  uint8_t rows[MAX_ROWS * 2 * 34]; /* two source blocks a row */
  _Alignas(64) uint8_t groups[SPACE_BYTES];
  _Alignas(64) uint8_t tiles[SPACE_BYTES];
  _Alignas(64) uint8_t scratch[SPACE_BYTES];
} probe;

static uint32_t next_random(probe *p) {
  p->state = p->state * 1664525u + 1013904223u;
  return p->state >> 16;
}

/* Integers; every block starts with +-largest, so its scale is 1, and
 * token 0 is of that size throughout. */
static void make_activations(probe *p, int largest) {
  for (size_t i = 0; i < p->n_tokens * N_COLS; i++) {
    bool extreme = i % WICK_BLOCK == 0 || i < N_COLS;
    float magnitude = (float)(extreme ? largest : (int)(next_random(p) % 128));
    p->x[i] = next_random(p) & 1 ? magnitude : -magnitude;
  }
}

/* Source blocks with scale 0.5 and, for Q4_1, minimum -3; the first row has the extreme codes. */
static void make_rows(probe *p, wick_dtype dtype, size_t block_bytes) {
  for (size_t b = 0; b < 2 * MAX_ROWS; b++) {
    uint8_t *block = p->rows + b * block_bytes;
    for (size_t i = 0; i < block_bytes; i++) block[i] = (uint8_t)next_random(p);
    if (b < 2) memset(block, dtype == WICK_DTYPE_Q8_0 ? 0x80 : 0xff, block_bytes);
    memcpy(block, "\x00\x38", 2);
    if (dtype == WICK_DTYPE_Q4_1) memcpy(block + 2, "\x00\xc2", 2);
  }
}

/* Rows times tokens by one table into out[token][n_rows]; false when the table needs more space
 * than a probe has. */
static bool multiply(probe *p, const wick_kernels *table, wick_dtype dtype, size_t block_bytes,
                     size_t n_rows, float *out) {
  size_t r = table->rows_per_group, tile_tokens = table->tile_tokens;
  wick_packing packing = wick_packing_for(dtype, N_COLS);
  size_t group_bytes = wick_packed_group_bytes(packing, r, N_COLS);
  size_t tile_bytes = table->tile_bytes(packing, N_COLS);
  size_t n_groups = (n_rows + r - 1) / r, n_tiles = (p->n_tokens + tile_tokens - 1) / tile_tokens;
  if (n_groups * group_bytes > SPACE_BYTES || n_tiles * tile_bytes > SPACE_BYTES ||
      table->scratch_bytes(N_COLS) > SPACE_BYTES)
    return false;

  for (size_t g = 0; g < n_groups; g++) {
    size_t in_group = n_rows - g * r < r ? n_rows - g * r : r;
    if (!wick_pack_group(dtype, p->rows + g * r * 2 * block_bytes, 2 * block_bytes, in_group, r,
                         N_COLS, p->groups + g * group_bytes))
      return false;
  }
  for (size_t t = 0; t < p->n_tokens; t += tile_tokens) {
    size_t in_tile = p->n_tokens - t < tile_tokens ? p->n_tokens - t : tile_tokens;
    table->quantize[packing](p->tiles + t / tile_tokens * tile_bytes, p->x + t * N_COLS, N_COLS,
                             in_tile, N_COLS);
  }
  table->matmul[packing](out, n_rows, n_rows, N_COLS, p->groups, p->tiles, p->n_tokens, p->scratch);
  return true;
}

static bool same(const float *a, const float *b, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (a[i] != b[i]) return false;
  return true;
}

static bool near(const float *a, const float *b, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!(fabsf(a[i] - b[i]) <= 1e-5f * fabsf(b[i]) + 1e-30f)) return false;
  return true;
}

static bool packed_is_right(probe *p, const wick_kernels *reference, const wick_kernels *table,
                            wick_dtype dtype) {
  size_t block_bytes = (size_t)wick_dtype_get_info((uint32_t)dtype)->block_bytes;
  size_t n_rows = table->rows_per_group + 1;
  make_rows(p, dtype, block_bytes);
  size_t several = table->tile_tokens + 1 < MAX_TOKENS ? table->tile_tokens + 1 : MAX_TOKENS;
  for (int single = 0; single < 2; single++) { /* the tile, then the vector kernel */
    p->n_tokens = single ? 1 : several;
    make_activations(p, dtype == WICK_DTYPE_Q8_0 ? WICK_LARGEST_CODE_Q8 : WICK_LARGEST_CODE_Q4);
    if (!multiply(p, reference, dtype, block_bytes, n_rows, p->expected)) return false;
    if (!multiply(p, table, dtype, block_bytes, n_rows, p->found)) return false;
    if (!same(p->found, p->expected, p->n_tokens * n_rows)) return false;
  }
  return true;
}

/* Two queries over a KV block of head size 24, and a float matrix, all of small integers. */
static bool sums_are_right(probe *p, const wick_kernels *reference, const wick_kernels *table) {
  enum { QUERIES = 2, HEAD = 24 };
  float block[HEAD * WICK_KV_BLOCK];
  for (size_t i = 0; i < HEAD * WICK_KV_BLOCK; i++) block[i] = (float)(next_random(p) % 64);
  p->n_tokens = QUERIES;
  make_activations(p, 127);

  reference->attention_scores(p->expected, WICK_KV_BLOCK, p->x, QUERIES, block, HEAD);
  table->attention_scores(p->found, WICK_KV_BLOCK, p->x, QUERIES, block, HEAD);
  if (!same(p->found, p->expected, QUERIES * WICK_KV_BLOCK)) return false;
  memset(p->expected, 0, sizeof p->expected);
  memset(p->found, 0, sizeof p->found);
  reference->attention_values(p->expected, p->x, WICK_KV_BLOCK, QUERIES, block, HEAD);
  table->attention_values(p->found, p->x, WICK_KV_BLOCK, QUERIES, block, HEAD);
  if (!same(p->found, p->expected, QUERIES * HEAD)) return false;
  reference->matmul_f32(p->expected, 5, 5, 37, block, p->x, 37, 3);
  table->matmul_f32(p->found, 5, 5, 37, block, p->x, 37, 3);
  return same(p->found, p->expected, 15);
}

static bool elements_are_right(probe *p, const wick_kernels *reference, const wick_kernels *table) {
  enum { N = WICK_KV_BLOCK };
  uint16_t halves[N], found[N];
  for (int i = 0; i < N; i++) halves[i] = (uint16_t)(next_random(p) & 0x7bff); /* finite */
  reference->f16_to_f32(p->expected, halves, N);
  table->f16_to_f32(p->found, halves, N);
  if (!same(p->found, p->expected, N)) return false;
  table->f32_to_f16(found, p->expected, N);
  if (memcmp(found, halves, sizeof halves) != 0) return false;
  reference->bf16_to_f32(p->expected, halves, N);
  table->bf16_to_f32(p->found, halves, N);
  if (!same(p->found, p->expected, N)) return false;

  float x[N], w[N];
  for (int i = 0; i < N; i++) {
    x[i] = (float)(next_random(p) % 2048) / 128.0f - 8.0f;
    w[i] = (float)(next_random(p) % 256);
    p->expected[i] = p->found[i] = x[i];
  }
  reference->add(p->expected, w, N);
  table->add(p->found, w, N);
  if (!same(p->found, p->expected, N)) return false;
  reference->rmsnorm(p->expected, x, w, N, 1e-5f);
  table->rmsnorm(p->found, x, w, N, 1e-5f);
  if (!near(p->found, p->expected, N)) return false;
  reference->silu_multiply(p->expected, x, w, N);
  table->silu_multiply(p->found, x, w, N);
  if (!near(p->found, p->expected, N)) return false;

  float largest = reference->maximum(x, N);
  if (table->maximum(x, N) != largest) return false;
  memcpy(p->expected, x, sizeof x);
  memcpy(p->found, x, sizeof x);
  float expected_sum = reference->exp_sum(p->expected, N, largest);
  float found_sum = table->exp_sum(p->found, N, largest);
  return near(p->found, p->expected, N) && near(&found_sum, &expected_sum, 1);
}

bool wick_kernels_probe(const wick_kernels *table) {
  /* volatile: a compiler that folded the instructions at build time would test itself */
  volatile uint32_t seed = 1;
  wick_kernels reference;
  wick_kernels_reference(&reference);
  probe p = {.state = seed};
  return packed_is_right(&p, &reference, table, WICK_DTYPE_Q4_1) &&
         packed_is_right(&p, &reference, table, WICK_DTYPE_Q4_0) &&
         packed_is_right(&p, &reference, table, WICK_DTYPE_Q8_0) &&
         sums_are_right(&p, &reference, table) && elements_are_right(&p, &reference, table);
}
