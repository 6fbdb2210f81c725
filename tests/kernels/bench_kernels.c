/* Times every kernel of every level of this CPU on one thread, in SmolLM2-135M's shapes. Not a
 * test: build/bench_kernels [LEVEL [KERNEL]] prints one CSV line per level and kernel (all, or
 * those whose name contains KERNEL): the median and the best of several runs. Time is the thread's
 * own processor time, so that other programs disturb only by the caches and the memory they share.
 * Chapter 17. */
#define _DEFAULT_SOURCE /* clock_gettime, madvise */
#if defined(__linux__)
#include <sys/mman.h>
#endif
#include <time.h>

#include "kernel_test.h"

enum { N_LAYERS = 30, N_TOKENS = 512, RUNS = 9 };

typedef struct shape {
  const char *name;
  size_t n_rows, n_cols;
  wick_dtype dtype;
  size_t count; /* in a model */
} shape;

static const shape shapes[] = {
    {"q, o", 576, 576, WICK_DTYPE_Q4_1, 2 * N_LAYERS},
    {"k, v", 192, 576, WICK_DTYPE_Q4_1, 2 * N_LAYERS},
    {"gate, up", 1536, 576, WICK_DTYPE_Q4_1, 2 * N_LAYERS},
    {"down", 576, 1536, WICK_DTYPE_Q4_1, N_LAYERS},
    {"head", 49152, 576, WICK_DTYPE_Q8_0, 1},
};
enum { N_SHAPES = sizeof shapes / sizeof shapes[0], MOST_ROWS = 49152, MOST_COLS = 1536 };

typedef struct bench {
  const wick_kernels *table;
  packed_matrix weights[N_SHAPES]; /* count matrices, one after another */
  float *x, *out;
  uint16_t *halves;
  uint8_t *tile[N_SHAPES], *tiles[N_SHAPES], *scratch; /* of one token and of N_TOKENS */
  size_t n_tokens;
  const char *wanted; /* in the names of the kernels to time */
} bench;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* amount: what one call does; printed per second, divided by 1e9. */
static void measure(bench *b, const char *name, const char *unit, double amount,
                    void (*call)(bench *)) {
  if (!strstr(name, b->wanted)) return;
  double seconds[RUNS];
  call(b);
  double once = now();
  call(b);
  once = now() - once;
  int calls = once > 0.01 ? 1 : (int)(0.01 / (once + 1e-9)) + 1;
  for (int run = 0; run < RUNS; run++) {
    double start = now();
    for (int i = 0; i < calls; i++) call(b);
    seconds[run] = (now() - start) / calls;
  }
  qsort(seconds, RUNS, sizeof *seconds, compare);
  printf("%s,%s,%s,%.2f,%.2f\n", b->table->level, name, unit, amount / seconds[RUNS / 2] * 1e-9,
         amount / seconds[0] * 1e-9);
  fflush(stdout);
}

static uint8_t *allocate_weights(size_t n_bytes) {
  enum { HUGE_PAGE = 1 << 21 };
  uint8_t *memory = aligned_alloc(HUGE_PAGE, (n_bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE);
  if (!memory) abort();
#if defined(__linux__)
  madvise(memory, n_bytes, MADV_HUGEPAGE);
#endif
  return memory;
}

static void make_weights(bench *b, test_random *random) {
  for (int i = 0; i < N_SHAPES; i++) {
    source_matrix m = source_new(shapes[i].dtype, shapes[i].n_rows, shapes[i].n_cols);
    source_fill(&m, random, 0.01f, -0.08f);
    packed_matrix one = pack_matrix(b->table, &m, 0);
    size_t r = b->table->rows_per_group, n_bytes = (m.n_rows + r - 1) / r * one.group_bytes;
    uint8_t *all = allocate_weights(n_bytes * shapes[i].count);
    for (size_t k = 0; k < shapes[i].count; k++) memcpy(all + k * n_bytes, one.data, n_bytes);
    free(one.memory);
    free(m.rows);
    one.memory = one.data = all;
    b->weights[i] = one;
  }
}

static size_t matrix_bytes(const bench *b, int i) {
  size_t r = b->table->rows_per_group;
  return (shapes[i].n_rows + r - 1) / r * b->weights[i].group_bytes;
}

static void run_matvec(bench *b, int i, size_t number) {
  const packed_matrix *w = &b->weights[i];
  b->table->matvec[w->packing](b->out, w->n_rows, w->n_cols, w->data + number * matrix_bytes(b, i),
                               b->tile[i]);
}

static void run_matmul(bench *b, int i, size_t number) {
  const packed_matrix *w = &b->weights[i];
  b->table->matmul[w->packing](b->out, w->n_rows, w->n_rows, w->n_cols,
                               w->data + number * matrix_bytes(b, i), b->tiles[i], b->n_tokens,
                               b->scratch);
}

/* All matrices of a decode step, in the model's order. */
static void decode(bench *b) {
  for (size_t layer = 0; layer < N_LAYERS; layer++)
    for (int i = 0; i < 4; i++)
      for (size_t k = 0; k < shapes[i].count / N_LAYERS; k++)
        run_matvec(b, i, layer * (shapes[i].count / N_LAYERS) + k);
  run_matvec(b, 4, 0);
}

/* All layer matrices, over n_tokens tokens. */
static void prefill(bench *b) {
  for (size_t layer = 0; layer < N_LAYERS; layer++)
    for (int i = 0; i < 4; i++)
      for (size_t k = 0; k < shapes[i].count / N_LAYERS; k++)
        run_matmul(b, i, layer * (shapes[i].count / N_LAYERS) + k);
}

/* Only reads what a decode step reads: the bound of this machine's memory. */
static void read_weights(bench *b) {
  uint64_t sum[4] = {0};
  for (int i = 0; i < N_SHAPES; i++) {
    const uint8_t *w = b->weights[i].data, *end = w + matrix_bytes(b, i) * shapes[i].count;
    for (; w + 32 <= end; w += 32) {
      uint64_t words[4];
      memcpy(words, w, sizeof words);
      for (int k = 0; k < 4; k++) sum[k] += words[k];
      __builtin_prefetch(w + 4096);
    }
  }
  b->out[0] = (float)(sum[0] ^ sum[1] ^ sum[2] ^ sum[3]);
}

static void matvec_q4(bench *b) {
  run_matvec(b, 2, 0);
}
static void matvec_q8(bench *b) {
  run_matvec(b, 4, 0);
}
static void matmul_576(bench *b) {
  run_matmul(b, 0, 0);
}
static void matmul_1536(bench *b) {
  run_matmul(b, 2, 0);
}
static void matmul_down(bench *b) {
  run_matmul(b, 3, 0);
}
static void head(bench *b) {
  run_matmul(b, 4, 0);
}
static void quantize(bench *b) {
  b->table->quantize[WICK_PACKED_Q4](b->tile[0], b->x, 576, 1, 576);
}
static void quantize_tile(bench *b) {
  b->table->quantize[WICK_PACKED_Q4](b->tiles[0], b->x, 576, b->table->tile_tokens, 576);
}
static void matmul_f32(bench *b) {
  b->table->matmul_f32(b->out, 576, 576, 576, b->x, b->x, 576, b->n_tokens);
}
static void rmsnorm(bench *b) {
  b->table->rmsnorm(b->out, b->x, b->x, 576, 1e-5f);
}
static void silu(bench *b) {
  b->table->silu_multiply(b->out, b->x, b->x + 1536, 1536);
}
static void add(bench *b) {
  b->table->add(b->out, b->x, 576);
}
static void scores(bench *b) {
  b->table->attention_scores(b->out, 32, b->x, 48, b->x, 64);
}
static void values(bench *b) {
  b->table->attention_values(b->out, b->x, 32, 48, b->x, 64);
}
static void exp_sum(bench *b) {
  memcpy(b->out, b->x, 2048 * sizeof(float));
  b->table->exp_sum(b->out, 2048, 1);
}
static void f16_to_f32(bench *b) {
  b->table->f16_to_f32(b->out, b->halves, 4096);
}

static double multiply_adds(int first, int last, double n_tokens) {
  double sum = 0;
  for (int i = first; i <= last; i++)
    sum += (double)(shapes[i].n_rows * shapes[i].n_cols * shapes[i].count);
  return sum * n_tokens;
}

static void bench_level(const wick_kernels *table, const char *wanted) {
  test_random random = {1};
  bench b = {.table = table, .wanted = wanted};
  make_weights(&b, &random);
  b.x = test_allocate_aligned(N_TOKENS * MOST_COLS * sizeof(float));
  random_fill(&random, b.x, N_TOKENS * MOST_COLS, 1);
  b.out = test_allocate_aligned(24 * MOST_ROWS * sizeof(float));
  b.halves = test_allocate(4096 * sizeof(uint16_t));
  for (size_t i = 0; i < 4096; i++) b.halves[i] = (uint16_t)(i * 7);
  for (int i = 0; i < N_SHAPES; i++) {
    size_t n_cols = shapes[i].n_cols;
    b.tile[i] = quantize_tiles(table, b.x, n_cols, 1, n_cols, b.weights[i].packing);
    b.tiles[i] = quantize_tiles(table, b.x, n_cols, N_TOKENS, n_cols, b.weights[i].packing);
  }
  b.scratch = test_allocate_aligned(table->scratch_bytes(MOST_COLS));

  double all_bytes = 0;
  for (int i = 0; i < N_SHAPES; i++) all_bytes += (double)(matrix_bytes(&b, i) * shapes[i].count);
  measure(&b, "only reading 98 MB", "GB/s", all_bytes, read_weights);
  measure(&b, "decode 98 MB", "GB/s", all_bytes, decode);
  measure(&b, "matvec q4 1536x576 in cache", "GB/s", (double)matrix_bytes(&b, 2), matvec_q4);
  measure(&b, "matvec q8 49152x576", "GB/s", (double)matrix_bytes(&b, 4), matvec_q8);
  b.n_tokens = N_TOKENS;
  measure(&b, "prefill 512 layer matrices", "Gmac/s", multiply_adds(0, 3, N_TOKENS), prefill);
  measure(&b, "matmul q4 576x576 by 512", "Gmac/s", 576.0 * 576 * N_TOKENS, matmul_576);
  measure(&b, "matmul q4 1536x576 by 512", "Gmac/s", 576.0 * 1536 * N_TOKENS, matmul_1536);
  measure(&b, "matmul q4 576x1536 by 512", "Gmac/s", 576.0 * 1536 * N_TOKENS, matmul_down);
  measure(&b, "matmul f32 576x576 by 512", "Gmac/s", 576.0 * 576 * N_TOKENS, matmul_f32);
  b.n_tokens = 2;
  measure(&b, "matmul q8 49152x576 by 2", "Gmac/s", multiply_adds(4, 4, 2), head);
  measure(&b, "layer matrices by 2", "Gmac/s", multiply_adds(0, 3, 2), prefill);
  b.n_tokens = 4;
  measure(&b, "layer matrices by 4", "Gmac/s", multiply_adds(0, 3, 4), prefill);
  b.n_tokens = 8;
  measure(&b, "layer matrices by 8", "Gmac/s", multiply_adds(0, 3, 8), prefill);
  measure(&b, "matmul q8 49152x576 by 8", "Gmac/s", multiply_adds(4, 4, 8), head);
  b.n_tokens = 24;
  measure(&b, "matmul q8 49152x576 by 24", "Gmac/s", multiply_adds(4, 4, 24), head);
  b.n_tokens = 1;
  measure(&b, "matmul f32 576x576 by 1", "Gmac/s", 576.0 * 576, matmul_f32);
  measure(&b, "quantize 576 of one token", "G/s", 576, quantize);
  measure(&b, "quantize 576 of a tile", "G/s", 576.0 * (double)table->tile_tokens, quantize_tile);
  measure(&b, "rmsnorm 576", "G/s", 576, rmsnorm);
  measure(&b, "silu 1536", "G/s", 1536, silu);
  measure(&b, "add 576", "G/s", 576, add);
  measure(&b, "attention scores 48 queries", "Gmac/s", 48.0 * 64 * 32, scores);
  measure(&b, "attention values 48 queries", "Gmac/s", 48.0 * 64 * 32, values);
  measure(&b, "exp 2048", "G/s", 2048, exp_sum);
  measure(&b, "f16 to f32", "G/s", 4096, f16_to_f32);

  for (int i = 0; i < N_SHAPES; i++) {
    free(b.weights[i].memory);
    free(b.tile[i]);
    free(b.tiles[i]);
  }
  free(b.x);
  free(b.out);
  free(b.halves);
  free(b.scratch);
}

int main(int argc, char **argv) {
  uint32_t available = wick_kernels_available();
  printf("level,kernel,unit,median,best\n");
  for (int bit = 0; bit < 32; bit++) {
    uint32_t level = available & (uint32_t)1 << bit;
    bool wanted = argc > 1 ? strcmp(argv[1], wick_level_name(level)) == 0
                           : level != WICK_LEVEL_REFERENCE; /* which takes minutes */
    wick_kernels table;
    if (!level || !wanted) continue;
    wick_kernels_select(&table, level);
    bench_level(&table, argc > 2 ? argv[2] : "");
  }
  return 0;
}
