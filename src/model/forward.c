/* See forward.h. One run of the pool is one pass: every thread walks the same stages, takes its
 * share of rows (of tokens, of heads), and meets the others at a barrier where a stage needs all of
 * the one before. For one token the small row-wise steps are done by every thread for itself, which
 * is cheaper than a barrier. Source: Touvron et al. (2023), Llama; Qwen 2 and 3 add biases and
 * QK-norm. */
#include "model/forward.h"

#include <string.h>

#include "model/pass.h"

static void copy_hidden(const wick_pass *run, const wick_team *team, int state, const float *rows,
                        size_t stride) {
  const wick_batch *batch = run->batch;
  size_t n = (size_t)run->config->n_embd, begin, end;
  if (!batch->hidden) return;
  wick_team_range(team, batch->n_tokens, &begin, &end);
  for (size_t t = begin; t < end; t++)
    memcpy(batch->hidden + ((size_t)state * batch->hidden_stride + t) * n, rows + t * stride,
           n * sizeof(float));
}

/* The packings that products want tiles for, as bits. */
static unsigned wants(const wick_matrix *matrix) {
  return 1u << matrix->packing & ~(1u << WICK_PACKED_NONE);
}

/* rows [n][stride] of n_cols, normalized by weight (or as they are), in the forms that a product
 * wants. All threads see the result. */
static wick_activations prepare(const wick_pass *run, const wick_team *team, const float *rows,
                                size_t stride, size_t n, size_t n_cols, const float *weight,
                                unsigned packings) {
  const wick_kernels *kernels = run->kernels;
  wick_workspace *space = run->space;
  wick_thread_space *own = &space->threads[team->thread];
  float epsilon = run->config->norm_epsilon;
  wick_activations out = {.rows = rows, .stride = stride, .n_tokens = n};
  wick_pass_enter(run, team, WICK_STAGE_PREPARE);
  if (n == 1) {
    if (weight) {
      kernels->rmsnorm(own->row, rows, weight, n_cols, epsilon);
      out.rows = own->row;
    }
    for (wick_packing p = WICK_PACKED_NONE; p < WICK_N_PACKINGS; p++) {
      if (!(packings >> p & 1)) continue;
      kernels->quantize[p](own->tiles[p], out.rows, n_cols, 1, n_cols);
      out.tiles[p] = own->tiles[p];
    }
    return out;
  }
  if (!weight && !packings) return out;
  if (weight) {
    out.rows = space->normed;
    out.stride = space->max_cols;
  }
  memcpy(out.tiles, space->tiles, sizeof out.tiles);
  size_t each = kernels->tile_tokens, begin, end;
  wick_team_range(team, (n + each - 1) / each, &begin, &end);
  for (size_t tile = begin; tile < end; tile++) {
    size_t first = tile * each, count = n - first < each ? n - first : each;
    for (size_t t = first; weight && t < first + count; t++)
      kernels->rmsnorm(space->normed + t * space->max_cols, rows + t * stride, weight, n_cols,
                       epsilon);
    for (wick_packing p = WICK_PACKED_NONE; p < WICK_N_PACKINGS; p++)
      if (packings >> p & 1)
        kernels->quantize[p]((char *)space->tiles[p] + tile * kernels->tile_bytes(p, n_cols),
                             out.rows + first * out.stride, out.stride, count, n_cols);
  }
  wick_pass_join(run, team);
  return out;
}

/* This thread's rows of a matrix, in whole groups. */
static void share_rows(const wick_team *team, const wick_matrix *matrix, size_t *first, size_t *n) {
  size_t each = matrix->rows_per_group > 1 ? matrix->rows_per_group : 16, begin, end;
  wick_team_range(team, (matrix->n_rows + each - 1) / each, &begin, &end);
  begin *= each;
  end = end * each < matrix->n_rows ? end * each : matrix->n_rows;
  *first = begin;
  *n = end > begin ? end - begin : 0;
}

/* x[token][row] += (matrix * activations)[token][row], this thread's rows. */
static void multiply_add(const wick_pass *run, const wick_team *team, wick_stage stage,
                         const wick_matrix *matrix, const wick_activations *in) {
  wick_pass_enter(run, team, stage);
  wick_workspace *space = run->space;
  size_t n_embd = (size_t)run->config->n_embd, first, n;
  share_rows(team, matrix, &first, &n);
  wick_matrix_multiply(matrix, run->kernels, first, n, in, space->y + first, n_embd,
                       space->threads[team->thread].scratch);
  for (size_t t = 0; n && t < in->n_tokens; t++)
    run->kernels->add(space->x + t * n_embd + first, space->y + t * n_embd + first, n);
}

static void rotate(const wick_pass *run, float *head, int32_t position) {
  size_t n = (size_t)run->config->head_dim / 2;
  const float *cosines = run->space->cosines + (size_t)position * n;
  const float *sines = run->space->sines + (size_t)position * n;
  bool half = run->config->rope_style == WICK_ROPE_HALF;
  for (size_t i = 0; i < n; i++) {
    float *a = half ? &head[i] : &head[2 * i], *b = half ? &head[n + i] : &head[2 * i + 1];
    float x = *a, y = *b;
    *a = x * cosines[i] - y * sines[i];
    *b = x * sines[i] + y * cosines[i];
  }
}

/* After a product: bias, QK-norm and rotation of heads first .. first + n - 1 of one token's row.
 */
static void finish_heads(const wick_pass *run, float *row, size_t first, size_t n,
                         const float *bias, const float *norm, bool rotated, int32_t position) {
  size_t dim = (size_t)run->config->head_dim;
  for (size_t h = first; h < first + n; h++) {
    float *head = row + h * dim;
    if (bias) run->kernels->add(head, bias + h * dim, dim);
    if (norm) run->kernels->rmsnorm(head, head, norm, dim, run->config->norm_epsilon);
    if (rotated) rotate(run, head, position);
  }
}

enum { PART_Q, PART_K, PART_V };

/* Heads first .. first + n - 1 of Q, K or V for every token; keys and values go to the cache. */
static void project_heads(const wick_pass *run, const wick_team *team, int layer_index, int part,
                          size_t first, size_t n, const wick_activations *in) {
  const wick_layer *layer = &run->model->layers[layer_index];
  const wick_batch *batch = run->batch;
  wick_workspace *space = run->space;
  size_t dim = (size_t)run->config->head_dim, stride = space->q_size + 2 * space->kv_size;
  const wick_matrix *matrix = part == PART_Q ? &layer->q : part == PART_K ? &layer->k : &layer->v;
  const float *bias = part == PART_Q   ? layer->q_bias
                      : part == PART_K ? layer->k_bias
                                       : layer->v_bias;
  const float *norm = part == PART_Q ? layer->q_norm : part == PART_K ? layer->k_norm : NULL;
  float *out =
      space->qkv + (part == PART_Q ? 0 : space->q_size) + (part == PART_V ? space->kv_size : 0);
  wick_matrix_multiply(matrix, run->kernels, first * dim, n * dim, in, out + first * dim, stride,
                       space->threads[team->thread].scratch);
  for (size_t t = 0; t < batch->n_tokens; t++) {
    float *row = out + t * stride;
    int32_t position = batch->positions[t];
    finish_heads(run, row, first, n, bias, norm, part != PART_V, position);
    for (size_t h = first; part != PART_Q && h < first + n; h++) {
      if (part == PART_K)
        wick_kv_store_key(run->cache, batch->sequences[t], layer_index, (int)h, position,
                          row + h * dim);
      else
        wick_kv_store_value(run->cache, run->kernels, batch->sequences[t], layer_index, (int)h,
                            position, row + h * dim);
    }
  }
}

/* Q, K and V of this thread's heads. A unit is the fewest heads that fill whole groups of rows. */
static void project(const wick_pass *run, const wick_team *team, int layer_index,
                    const wick_activations *in) {
  size_t n_heads[] = {(size_t)run->config->n_heads, (size_t)run->config->n_kv_heads,
                      (size_t)run->config->n_kv_heads};
  size_t unit = 1, n_units[3], begin, end;
  while (unit * (size_t)run->config->head_dim % run->kernels->rows_per_group != 0) unit++;
  wick_pass_enter(run, team, WICK_STAGE_QKV);
  for (int part = 0; part < 3; part++) n_units[part] = (n_heads[part] + unit - 1) / unit;
  wick_team_range(team, n_units[0] + n_units[1] + n_units[2], &begin, &end);
  for (int part = 0; part < 3; part++) {
    size_t last = end < n_units[part] ? end : n_units[part];
    if (begin < last) {
      size_t first = begin * unit;
      size_t n = last * unit < n_heads[part] ? last * unit - first : n_heads[part] - first;
      project_heads(run, team, layer_index, part, first, n, in);
    }
    begin = begin > n_units[part] ? begin - n_units[part] : 0;
    end = end > n_units[part] ? end - n_units[part] : 0;
  }
}

static void feed_forward(const wick_pass *run, const wick_team *team, const wick_layer *layer) {
  wick_workspace *space = run->space;
  size_t n_tokens = run->batch->n_tokens, n_embd = (size_t)run->config->n_embd;
  size_t n_ffn = (size_t)run->config->n_ffn, first, n;
  void *scratch = space->threads[team->thread].scratch;
  wick_activations in = prepare(run, team, space->x, n_embd, n_tokens, n_embd, layer->ffn_norm,
                                wants(&layer->gate) | wants(&layer->up));
  const wick_matrix *widest =
      layer->gate.rows_per_group >= layer->up.rows_per_group ? &layer->gate : &layer->up;
  share_rows(team, widest, &first, &n);
  wick_pass_enter(run, team, WICK_STAGE_GATE_UP);
  wick_matrix_multiply(&layer->gate, run->kernels, first, n, &in, space->gate + first, n_ffn,
                       scratch);
  wick_matrix_multiply(&layer->up, run->kernels, first, n, &in, space->up + first, n_ffn, scratch);
  for (size_t t = 0; n && t < n_tokens; t++) {
    float *gate = space->gate + t * n_ffn + first;
    run->kernels->silu_multiply(gate, gate, space->up + t * n_ffn + first, n);
  }
  wick_pass_join(run, team);
  in = prepare(run, team, space->gate, n_ffn, n_tokens, n_ffn, NULL, wants(&layer->down));
  multiply_add(run, team, WICK_STAGE_DOWN, &layer->down, &in);
}

static void embed(const wick_pass *run, const wick_team *team) {
  const wick_batch *batch = run->batch;
  size_t n_embd = (size_t)run->config->n_embd, begin, end;
  wick_team_range(team, batch->n_tokens, &begin, &end);
  for (size_t t = begin; t < end; t++)
    wick_matrix_row(&run->model->embedding, (size_t)batch->ids[t], run->space->x + t * n_embd);
  copy_hidden(run, team, 0, run->space->x, n_embd);
  wick_pass_join(run, team);
}

/* The final norm and the head, for the tokens whose logits are wanted. */
static void predict(const wick_pass *run, const wick_team *team) {
  const wick_batch *batch = run->batch;
  wick_workspace *space = run->space;
  size_t n_embd = (size_t)run->config->n_embd, n_vocab = (size_t)run->config->n_vocab, begin, end;
  if (batch->hidden) {
    wick_team_range(team, batch->n_tokens, &begin, &end);
    for (size_t t = begin; t < end; t++)
      run->kernels->rmsnorm(space->y + t * n_embd, space->x + t * n_embd, run->model->output_norm,
                            n_embd, run->config->norm_epsilon);
    copy_hidden(run, team, run->config->n_layers, space->y, n_embd);
    wick_pass_join(run, team);
  }
  if (!batch->n_outputs) return;
  wick_team_range(team, batch->n_outputs, &begin, &end);
  for (size_t i = begin; i < end; i++)
    memcpy(space->y + i * n_embd, space->x + (size_t)batch->outputs[i] * n_embd,
           n_embd * sizeof(float));
  wick_pass_join(run, team);
  const wick_matrix *head = wick_model_head(run->model);
  wick_activations in = prepare(run, team, space->y, n_embd, batch->n_outputs, n_embd,
                                run->model->output_norm, wants(head));
  size_t first, n;
  share_rows(team, head, &first, &n);
  wick_pass_enter(run, team, WICK_STAGE_HEAD);
  wick_matrix_multiply(head, run->kernels, first, n, &in, batch->logits + first, n_vocab,
                       space->threads[team->thread].scratch);
}

static void run_pass(void *context, const wick_team *team) {
  wick_pass *run = context;
  const wick_batch *batch = run->batch;
  wick_workspace *space = run->space;
  size_t n_embd = (size_t)run->config->n_embd;
  wick_pass_enter(run, team, WICK_STAGE_EMBEDDING);
  embed(run, team);
  for (int i = 0; i < run->config->n_layers; i++) {
    const wick_layer *layer = &run->model->layers[i];
    unsigned packings = wants(&layer->q) | wants(&layer->k) | wants(&layer->v);
    wick_activations in = prepare(run, team, space->x, n_embd, batch->n_tokens, n_embd,
                                  layer->attention_norm, packings);
    project(run, team, i, &in);
    wick_pass_join(run, team);
    wick_pass_attend(run, team, i);
    wick_pass_join(run, team);
    in = prepare(run, team, space->attended, space->q_size, batch->n_tokens, space->q_size, NULL,
                 wants(&layer->o));
    multiply_add(run, team, WICK_STAGE_OUTPUT, &layer->o, &in);
    wick_pass_join(run, team);
    feed_forward(run, team, layer);
    if (team->thread == 0) run->stopped = batch->cancelled && batch->cancelled(batch->context);
    wick_pass_join(run, team);
    if (run->stopped) break;
    /* The last state is reported after the final norm, as the reference does. */
    if (i + 1 < run->config->n_layers) copy_hidden(run, team, i + 1, space->x, n_embd);
  }
  if (!run->stopped) predict(run, team);
  wick_stopwatch_stop(&space->threads[team->thread].stopwatch);
}

/* Runs of consecutive positions of one sequence, at most group_tokens long. */
static size_t group_tokens(wick_workspace *space, const wick_batch *batch) {
  size_t n_groups = 0;
  for (size_t t = 0; t < batch->n_tokens; t++) {
    wick_token_group *last = n_groups ? &space->groups[n_groups - 1] : NULL;
    if (last && last->n < space->group_tokens && batch->sequences[t] == batch->sequences[t - 1] &&
        batch->positions[t] == batch->positions[t - 1] + 1)
      last->n++;
    else
      space->groups[n_groups++] = (wick_token_group){t, 1};
  }
  return n_groups;
}

wick_status wick_forward(const wick_model *model, wick_workspace *workspace, wick_kv_cache *cache,
                         wick_pool *pool, const wick_batch *batch) {
  wick_pass run = {
      .model = model,
      .kernels = &model->kernels,
      .config = &model->config,
      .space = workspace,
      .cache = cache,
      .batch = batch,
      .n_groups = group_tokens(workspace, batch),
  };
  for (int i = 0; i < model->config.n_layers; i++) atomic_store(&workspace->next_group[i], 0);
  wick_pool_run(pool, run_pass, &run);
  return run.stopped ? WICK_ERROR_CANCELLED : WICK_OK;
}
