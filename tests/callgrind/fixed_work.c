/* The same work every time, for callgrind to count: each work_NAME is one call of a kernel of the
 * AVX2 level, or one step of the engine with the tiny model. counts.mjs runs it and says how. Its
 * one argument is the model. */
#include <stdio.h>

#include "kernels/kernel_test.h"
#include "wick.h"

enum {
  ROWS = 256,
  COLS = 576,
  TOKENS = 24,
  PROMPT = 64,
  CONTEXT = 256,
  HEAD_DIM = 64,
  QUERIES = 12
};

typedef struct work {
  wick_kernels table;
  packed_matrix q4, q8;
  float *x, *out;
  uint16_t *halves;
  void *q4_tile, *q4_tiles, *q8_tile, *q8_tiles, *scratch;
  wick_engine *engine;
} work;

/* What follows the call keeps it from becoming a jump, whose end callgrind would not see, and two
 * works from becoming one. */
#define WORK(name, call)                                                                           \
  void work_##name(work *w);                                                                       \
  __attribute__((noinline)) void work_##name(work *w) {                                            \
    call;                                                                                          \
    __asm__ volatile("/* " #name " */" ::: "memory");                                              \
  }

WORK(matvec_q4, w->table.matvec[WICK_PACKED_Q4](w->out, ROWS, COLS, w->q4.data, w->q4_tile))
WORK(matvec_q8, w->table.matvec[WICK_PACKED_Q8](w->out, ROWS, COLS, w->q8.data, w->q8_tile))
WORK(matmul_q4, w->table.matmul[WICK_PACKED_Q4](w->out, ROWS, ROWS, COLS, w->q4.data, w->q4_tiles,
                                                TOKENS, w->scratch))
WORK(matmul_q8, w->table.matmul[WICK_PACKED_Q8](w->out, ROWS, ROWS, COLS, w->q8.data, w->q8_tiles,
                                                TOKENS, w->scratch))
WORK(matmul_f32, w->table.matmul_f32(w->out, ROWS, ROWS, COLS, w->x, w->x, COLS, TOKENS))
WORK(quantize_q4,
     w->table.quantize[WICK_PACKED_Q4](w->q4_tiles, w->x, COLS, w->table.tile_tokens, COLS))
WORK(quantize_q8,
     w->table.quantize[WICK_PACKED_Q8](w->q8_tiles, w->x, COLS, w->table.tile_tokens, COLS))
WORK(rmsnorm, w->table.rmsnorm(w->out, w->x, w->x, COLS, 1e-5f))
WORK(silu_multiply, w->table.silu_multiply(w->out, w->x, w->x + COLS, COLS))
WORK(attention_scores,
     w->table.attention_scores(w->out, WICK_KV_BLOCK, w->x, QUERIES, w->x, HEAD_DIM))
WORK(attention_values,
     w->table.attention_values(w->out, w->x, WICK_KV_BLOCK, QUERIES, w->x, HEAD_DIM))
WORK(exp_sum, w->table.exp_sum(w->out, 1024, 1))
WORK(f16_to_f32, w->table.f16_to_f32(w->out, w->halves, 1024))
WORK(engine_prefill, wick_engine_step(w->engine, NULL))
WORK(engine_decode, wick_engine_step(w->engine, NULL))

static void drain(work *w) {
  wick_event event;
  while (wick_engine_next(w->engine, &event)) {
  }
}

static void kernels(work *w) {
  test_random random = {1};
  source_matrix q4 = source_new(WICK_DTYPE_Q4_1, ROWS, COLS);
  source_matrix q8 = source_new(WICK_DTYPE_Q8_0, ROWS, COLS);
  source_fill(&q4, &random, 0.01f, -0.08f);
  source_fill(&q8, &random, 0.01f, 0);
  w->q4 = pack_matrix(&w->table, &q4, 0);
  w->q8 = pack_matrix(&w->table, &q8, 0);
  w->x = test_allocate_aligned(ROWS * COLS * sizeof(float));
  random_fill(&random, w->x, ROWS * COLS, 1);
  w->out = test_allocate_aligned(ROWS * COLS * sizeof(float));
  w->halves = test_allocate(1024 * sizeof *w->halves);
  for (size_t i = 0; i < 1024; i++) w->halves[i] = (uint16_t)(i * 7);
  w->scratch = test_allocate_aligned(w->table.scratch_bytes(COLS));
  w->q4_tile = quantize_tiles(&w->table, w->x, COLS, 1, COLS, WICK_PACKED_Q4);
  w->q8_tile = quantize_tiles(&w->table, w->x, COLS, 1, COLS, WICK_PACKED_Q8);
  w->q4_tiles = quantize_tiles(&w->table, w->x, COLS, TOKENS, COLS, WICK_PACKED_Q4);
  w->q8_tiles = quantize_tiles(&w->table, w->x, COLS, TOKENS, COLS, WICK_PACKED_Q8);
  work_matvec_q4(w);
  work_matvec_q8(w);
  work_matmul_q4(w);
  work_matmul_q8(w);
  work_matmul_f32(w);
  work_quantize_q4(w);
  work_quantize_q8(w);
  work_rmsnorm(w);
  work_silu_multiply(w);
  work_attention_scores(w);
  work_attention_values(w);
  memcpy(w->out, w->x, 1024 * sizeof *w->x);
  work_exp_sum(w);
  work_f16_to_f32(w);
}

static wick_status steps(work *w, const char *path, wick_error *error) {
  const wick_load_options load = {.levels = WICK_LEVEL_AVX2};
  const wick_engine_options options = {.n_threads = 1, .n_context = CONTEXT, .max_requests = 1};
  wick_model *model;
  WICK_TRY(wick_model_open(path, &load, &model, error));
  int32_t ids[PROMPT];
  for (int i = 0; i < PROMPT; i++) ids[i] = 100 + i;
  const wick_request request = {.ids = ids,
                                .n_ids = PROMPT,
                                .sampling = wick_sampling_default(),
                                .n_logprobs = -1,
                                .ignore_end = true};
  wick_request_id id;
  wick_status status = wick_engine_new(model, &options, &w->engine, error);
  if (status == WICK_OK) status = wick_engine_submit(w->engine, &request, &id, error);
  if (status == WICK_OK) {
    work_engine_prefill(w);
    drain(w);
    work_engine_decode(w);
    drain(w);
  }
  wick_engine_free(w->engine);
  wick_model_free(model);
  return status;
}

int main(int argc, char **argv) {
  work w = {0};
  wick_error error = {WICK_ERROR_ARGUMENT, "usage: fixed_work MODEL"};
  wick_kernels_select(&w.table, WICK_LEVEL_AVX2);
  if (w.table.level_bit != WICK_LEVEL_AVX2) {
    fprintf(stderr, "fixed_work: expected AVX2, found %s\n", w.table.level);
    return 2;
  }
  kernels(&w);
  if (argc == 2 && steps(&w, argv[1], &error) == WICK_OK) return 0;
  fprintf(stderr, "fixed_work: %s\n", error.message);
  return 1;
}
