/* See measure.h. */
#include "measure.h"

#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "sampling/rng.h"

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

cli_spread cli_spread_of(double *values, size_t n) {
  qsort(values, n, sizeof *values, ascending);
  double median = n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
  return (cli_spread){median, values[0], values[n - 1]};
}

/* ---- bandwidth ------------------------------------------------------------------------------- */

typedef struct reading {
  const uint64_t *data;
  size_t n;
  uint64_t sums[WICK_MAX_THREADS]; /* so that no read can be left out */
} reading;

static void read_share(void *context, const wick_team *team) {
  reading *r = context;
  size_t begin, end;
  wick_team_range(team, r->n / 8, &begin, &end);
  uint64_t a = 0, b = 0, c = 0, d = 0; /* named, so that no compiler keeps them in memory */
  for (size_t i = 8 * begin; i < 8 * end; i += 8) {
    const uint64_t *line = r->data + i;
    a += line[0] + line[4];
    b += line[1] + line[5];
    c += line[2] + line[6];
    d += line[3] + line[7];
#if defined(__GNUC__)
    __builtin_prefetch(line + 512); /* 4 KB ahead, as the decode kernels do */
#endif
  }
  r->sums[team->thread] = a + b + c + d;
}

double cli_read_bandwidth(wick_pool *pool, const uint64_t *data, size_t bytes) {
  reading r = {.data = data, .n = bytes / sizeof *data};
  double begin = cli_now();
  wick_pool_run(pool, read_share, &r);
  return (double)bytes / (cli_now() - begin);
}

/* ---- latency --------------------------------------------------------------------------------- */

enum { LINE_BYTES = 64 };

double cli_load_latency(size_t bytes) {
  const wick_allocator *allocator = wick_allocator_default();
  size_t n = bytes / LINE_BYTES;
  char *lines = wick_allocate(allocator, n * LINE_BYTES, LINE_BYTES);
  size_t *order = malloc(n * sizeof *order);
  double seconds = -1;
  if (lines && order) {
    wick_rng rng;
    wick_rng_seed(&rng, 4);
    for (size_t i = 0; i < n; i++) order[i] = i;
    for (size_t i = n - 1; i > 0; i--) { /* Sattolo's shuffle: one cycle through all lines */
      size_t k = wick_rng_next(&rng) % i, swapped = order[i];
      order[i] = order[k];
      order[k] = swapped;
    }
    for (size_t i = 0; i < n; i++) {
      void *next = lines + order[i] * LINE_BYTES;
      memcpy(lines + i * LINE_BYTES, &next, sizeof next);
    }
    size_t n_loads = 200000 + 2 * n;
    void *volatile *at = (void *volatile *)lines;
    for (size_t i = 0; i < n; i++) at = *at; /* warm */
    double begin = cli_now();
    for (size_t i = 0; i < n_loads; i++) at = *at;
    seconds = (cli_now() - begin) / (double)n_loads;
  }
  free(order);
  wick_release(allocator, lines, n * LINE_BYTES, LINE_BYTES);
  return seconds;
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* A matrix that stays in the second-level cache, as wide as SmolLM2-135M. */
enum { N_ROWS = 192, N_COLS = 576, N_TOKENS = 96 };
static const double least_seconds = 0.02;

typedef struct bed { /* operands of one level, from an arena */
  const wick_kernels *kernels;
  float *x, *weights, *out;
  void *tiles, *scratch, *groups[WICK_N_PACKINGS];
  wick_packing packing;
} bed;

static size_t most_tile_bytes(const wick_kernels *kernels) {
  size_t most = 0;
  for (wick_packing p = WICK_PACKED_Q4; p < WICK_N_PACKINGS; p++) {
    size_t bytes = kernels->tile_bytes(p, N_COLS);
    if (bytes > most) most = bytes;
  }
  return most;
}

static bool make_bed(bed *b, wick_arena *arena) {
  const wick_kernels *k = b->kernels;
  size_t n_tiles = (N_TOKENS + k->tile_tokens - 1) / k->tile_tokens, rows = k->rows_per_group;
  size_t n_groups = (N_ROWS + rows - 1) / rows;
  b->x = wick_arena_allocate(arena, sizeof(float) * N_TOKENS * N_COLS, 64);
  b->weights = wick_arena_allocate(arena, sizeof(float) * N_ROWS * N_COLS, 64);
  b->out = wick_arena_allocate(arena, sizeof(float) * N_TOKENS * N_ROWS, 64);
  b->tiles = wick_arena_allocate(arena, n_tiles * most_tile_bytes(k), 64);
  b->scratch = wick_arena_allocate(arena, k->scratch_bytes(N_COLS), 64);
  if (!b->x || !b->weights || !b->out || !b->tiles || !b->scratch) return false;
  wick_rng rng;
  wick_rng_seed(&rng, 6);
  for (size_t i = 0; i < N_TOKENS * N_COLS; i++) b->x[i] = (float)wick_rng_unit(&rng) - 0.5f;
  for (size_t i = 0; i < N_ROWS * N_COLS; i++) b->weights[i] = (float)wick_rng_unit(&rng) - 0.5f;
  static const wick_dtype sources[] = {
      [WICK_PACKED_Q4] = WICK_DTYPE_Q4_1, [WICK_PACKED_Q8] = WICK_DTYPE_Q8_0};
  for (int p = WICK_PACKED_Q4; p < WICK_N_PACKINGS; p++) {
    uint64_t row_bytes = 0;
    if (!wick_dtype_row_bytes(sources[p], N_COLS, &row_bytes)) return false;
    size_t group_bytes = wick_packed_group_bytes((wick_packing)p, rows, N_COLS);
    char *quantized = wick_arena_allocate(arena, rows * row_bytes, 64);
    char *groups = wick_arena_allocate(arena, n_groups * group_bytes, 64);
    if (!quantized || !groups) return false;
    for (size_t g = 0; g < n_groups; g++) { /* the same rows in every group will do */
      for (size_t r = 0; r < rows; r++) {
        wick_row_from_f32(sources[p], b->weights + r * N_COLS, N_COLS, quantized + r * row_bytes);
      }
      wick_pack_group(sources[p], quantized, row_bytes, rows, rows, N_COLS,
                      groups + g * group_bytes);
    }
    b->groups[p] = groups;
  }
  return true;
}

static void quantize_all(const bed *b, size_t n_tokens) {
  size_t tile_tokens = b->kernels->tile_tokens;
  size_t tile_bytes = b->kernels->tile_bytes(b->packing, N_COLS);
  for (size_t at = 0, i = 0; at < n_tokens; at += tile_tokens, i++) {
    size_t n = n_tokens - at < tile_tokens ? n_tokens - at : tile_tokens;
    b->kernels->quantize[b->packing]((char *)b->tiles + i * tile_bytes, b->x + at * N_COLS, N_COLS,
                                     n, N_COLS);
  }
}

static void run_matvec(const bed *b) {
  b->kernels->matvec[b->packing](b->out, N_ROWS, N_COLS, b->groups[b->packing], b->tiles);
}

static void run_matmul(const bed *b) {
  b->kernels->matmul[b->packing](b->out, N_ROWS, N_ROWS, N_COLS, b->groups[b->packing], b->tiles,
                                 N_TOKENS, b->scratch);
}

static void run_matmul_f32(const bed *b) {
  b->kernels->matmul_f32(b->out, N_ROWS, N_ROWS, N_COLS, b->weights, b->x, N_COLS, N_TOKENS);
}

/* The best of five rounds of at least 20 ms each: a peak, not a mean. */
static double peak(void (*run)(const bed *b), const bed *b, size_t n_tokens) {
  double best = 0;
  size_t n_runs = 1;
  for (int round = 0; round < 5;) {
    double begin = cli_now();
    for (size_t i = 0; i < n_runs; i++) run(b);
    double seconds = cli_now() - begin;
    if (seconds < least_seconds) {
      n_runs *= 2;
      continue;
    }
    double each = (double)n_tokens * N_ROWS * N_COLS * (double)n_runs / seconds;
    if (each > best) best = each;
    round++;
  }
  return best;
}

static void measure_packing(bed *b, wick_packing packing, double *matvec, double *matmul) {
  b->packing = packing;
  quantize_all(b, 1);
  *matvec = peak(run_matvec, b, 1);
  quantize_all(b, N_TOKENS);
  *matmul = peak(run_matmul, b, N_TOKENS);
}

bool cli_measure_kernels(const wick_kernels *kernels, cli_kernel_peaks *out) {
  wick_arena arena;
  wick_arena_init(&arena, NULL);
  bed b = {.kernels = kernels};
  bool good = make_bed(&b, &arena);
  if (good) {
    measure_packing(&b, WICK_PACKED_Q4, &out->matvec_q4, &out->matmul_q4);
    measure_packing(&b, WICK_PACKED_Q8, &out->matvec_q8, &out->matmul_q8);
    out->matmul_f32 = peak(run_matmul_f32, &b, N_TOKENS);
  }
  wick_arena_free(&arena);
  return good;
}
