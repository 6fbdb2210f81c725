/* See workspace.h. */
#include "model/workspace.h"

#include "core/elementary.h"

enum { GROUP_QUERIES = 24 }; /* queries that share a KV block while it is in the L1 cache */

static size_t largest(size_t a, size_t b) {
  return a > b ? a : b;
}

/* n_rows * row_length elements. */
static void *take(wick_arena *arena, uint64_t n_rows, uint64_t row_length, size_t size) {
  uint64_t bytes;
  return wick_multiply_u64(n_rows, row_length, &bytes) && wick_multiply_u64(bytes, size, &bytes)
             ? wick_arena_allocate(arena, bytes, WICK_ALIGNMENT)
             : NULL;
}

/* cos and sin of every position's angles; the angle is rounded to float32 as PyTorch has it. */
static void fill_rope(wick_workspace *workspace, const wick_model *model, float *frequencies) {
  size_t n = (size_t)model->config.head_dim / 2;
  wick_rope_frequencies(&model->config, model->rope_factors, frequencies);
  for (size_t position = 0; position < (size_t)workspace->n_context; position++)
    for (size_t i = 0; i < n; i++) {
      float angle = (float)position * frequencies[i];
      workspace->cosines[position * n + i] = (float)wick_cos(angle);
      workspace->sines[position * n + i] = (float)wick_sin(angle);
    }
}

/* n_tiles tiles of any width for each packing. */
static bool take_tiles(wick_workspace *workspace, const wick_model *model, size_t n_tiles,
                       void *tiles[WICK_N_PACKINGS]) {
  for (int p = WICK_PACKED_NONE + 1; p < WICK_N_PACKINGS; p++) {
    size_t bytes = model->kernels.tile_bytes((wick_packing)p, workspace->max_cols);
    tiles[p] = take(&workspace->arena, n_tiles, bytes, 1);
    if (!tiles[p]) return false;
  }
  return true;
}

static bool take_thread(wick_workspace *workspace, const wick_model *model,
                        wick_thread_space *thread) {
  wick_arena *arena = &workspace->arena;
  const wick_config *config = &model->config;
  size_t dim = (size_t)config->head_dim;
  size_t n = workspace->group_tokens * (size_t)(config->n_heads / config->n_kv_heads);
  thread->row = take(arena, 1, workspace->max_cols, sizeof(float));
  bool tiles = take_tiles(workspace, model, 1, thread->tiles);
  thread->scratch =
      take(arena, 1, wick_matrix_scratch_bytes(&model->kernels, workspace->max_cols), 1);
  thread->queries = take(arena, n, dim, sizeof(float));
  thread->split = take(arena, n, dim, sizeof(float));
  thread->state = take(arena, n, dim, sizeof(float));
  thread->scores =
      take(arena, 1, wick_attention_scratch_floats(n, config->head_dim), sizeof(float));
  thread->partials = take(arena, n, 1, sizeof(wick_partial));
  thread->merged = take(arena, n, 1, sizeof(wick_partial));
  thread->positions = take(arena, n, 1, sizeof(int32_t));
  return thread->row && tiles && thread->scratch && thread->queries && thread->split &&
         thread->state && thread->scores && thread->partials && thread->merged && thread->positions;
}

static bool take_all(wick_workspace *workspace, const wick_model *model) {
  wick_arena *arena = &workspace->arena;
  const wick_config *config = &model->config;
  size_t n_tokens = workspace->max_tokens, n_embd = (size_t)config->n_embd;
  size_t n_ffn = (size_t)config->n_ffn, n_heads = (size_t)config->n_heads;
  size_t dim = (size_t)config->head_dim, n_splits = (size_t)workspace->n_splits;
  size_t n_context = (size_t)workspace->n_context;
  size_t qkv_size = workspace->q_size + 2 * workspace->kv_size; /* config.c bounds it */
  size_t n_tiles = (n_tokens + model->kernels.tile_tokens - 1) / model->kernels.tile_tokens;
  workspace->x = take(arena, n_tokens, n_embd, sizeof(float));
  workspace->normed = take(arena, n_tokens, workspace->max_cols, sizeof(float));
  bool tiles = take_tiles(workspace, model, n_tiles, workspace->tiles);
  workspace->qkv = take(arena, n_tokens, qkv_size, sizeof(float));
  workspace->attended = take(arena, n_tokens, workspace->q_size, sizeof(float));
  workspace->gate = take(arena, n_tokens, n_ffn, sizeof(float));
  workspace->up = take(arena, n_tokens, n_ffn, sizeof(float));
  workspace->y = take(arena, n_tokens, n_embd, sizeof(float));
  workspace->cosines = take(arena, n_context, dim / 2, sizeof(float));
  workspace->sines = take(arena, n_context, dim / 2, sizeof(float));
  workspace->groups = take(arena, n_tokens, 1, sizeof(wick_token_group));
  workspace->partials = take(arena, n_splits, n_heads, sizeof(wick_partial));
  workspace->partial_values = take(arena, n_splits, workspace->q_size, sizeof(float));
  workspace->next_group = take(arena, (uint64_t)config->n_layers, 1, sizeof(atomic_size_t));
  workspace->threads = take(arena, (uint64_t)workspace->max_threads, 1, sizeof(wick_thread_space));
  if (!workspace->x || !workspace->normed || !tiles || !workspace->qkv || !workspace->attended ||
      !workspace->gate || !workspace->up || !workspace->y || !workspace->cosines ||
      !workspace->sines || !workspace->groups || !workspace->partials ||
      !workspace->partial_values || !workspace->next_group || !workspace->threads)
    return false;
  for (int i = 0; i < workspace->max_threads; i++)
    if (!take_thread(workspace, model, &workspace->threads[i])) return false;
  return true;
}

wick_status wick_workspace_new(const wick_allocator *allocator, const wick_model *model,
                               size_t max_tokens, int n_context, int max_threads,
                               wick_workspace **out, wick_error *error) {
  const wick_config *config = &model->config;
  wick_arena arena;
  wick_arena_init(&arena, allocator);
  wick_workspace *workspace = WICK_ARENA_ARRAY(&arena, wick_workspace, 1);
  float *frequencies = WICK_ARENA_ARRAY(&arena, float, (uint64_t)config->head_dim);
  if (!workspace || !frequencies) {
    wick_arena_free(&arena);
    return wick_fail(error, WICK_ERROR_MEMORY, "engine: no memory");
  }
  workspace->arena = arena;
  workspace->max_tokens = max_tokens;
  workspace->n_context = n_context;
  workspace->max_threads = max_threads;
  workspace->q_size = (size_t)config->n_heads * (size_t)config->head_dim;
  workspace->kv_size = (size_t)config->n_kv_heads * (size_t)config->head_dim;
  size_t cols = largest(workspace->q_size, largest((size_t)config->n_embd, (size_t)config->n_ffn));
  workspace->max_cols = (cols + WICK_BLOCK - 1) / WICK_BLOCK * WICK_BLOCK;
  workspace->group_tokens =
      largest(1, GROUP_QUERIES / (size_t)(config->n_heads / config->n_kv_heads));
  workspace->n_splits = n_context / WICK_SPLIT + (n_context % WICK_SPLIT != 0);
  if (!take_all(workspace, model)) {
    wick_workspace_free(workspace);
    return wick_fail(error, WICK_ERROR_MEMORY,
                     "engine: no memory for %zu tokens at once in a context of %d", max_tokens,
                     n_context);
  }
  fill_rope(workspace, model, frequencies);
  *out = workspace;
  return WICK_OK;
}

void wick_workspace_free(wick_workspace *workspace) {
  if (!workspace) return;
  wick_arena arena = workspace->arena; /* which holds the workspace itself */
  wick_arena_free(&arena);
}
