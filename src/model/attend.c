/* The pass's attention stage: who attends for which tokens, KV heads and splits of the context,
 * over the threads. The attention itself is attention.c. Chapters 12, 20. */
#include <math.h>
#include <string.h>

#include "model/pass.h"

/* The queries of a group of tokens for one KV head, divided by sqrt(head_dim). */
static wick_query_group gather_queries(const wick_pass *run, const wick_team *team, int layer,
                                       int kv_head, const wick_token_group *tokens) {
  const wick_config *config = run->config;
  wick_workspace *space = run->space;
  wick_thread_space *own = &space->threads[team->thread];
  size_t dim = (size_t)config->head_dim, stride = space->q_size + 2 * space->kv_size;
  size_t shared = (size_t)(config->n_heads / config->n_kv_heads);
  float scale = 1.0f / sqrtf((float)config->head_dim);
  size_t at = 0;
  for (size_t t = tokens->first; t < tokens->first + tokens->n; t++)
    for (size_t h = 0; h < shared; h++, at++) {
      const float *q = space->qkv + t * stride + ((size_t)kv_head * shared + h) * dim;
      for (size_t i = 0; i < dim; i++) own->queries[at * dim + i] = q[i] * scale;
      own->positions[at] = run->batch->positions[t];
    }
  return (wick_query_group){
      .kernels = run->kernels,
      .cache = run->cache,
      .sequence = run->batch->sequences[tokens->first],
      .layer = layer,
      .kv_head = kv_head,
      .n_queries = at,
      .queries = own->queries,
      .positions = own->positions,
      .last_position = run->batch->positions[tokens->first + tokens->n - 1],
  };
}

static void write_attended(const wick_pass *run, size_t token, size_t head,
                           const wick_partial *state, const float *values) {
  size_t dim = (size_t)run->config->head_dim;
  float *out = run->space->attended + token * run->space->q_size + head * dim;
  for (size_t i = 0; i < dim; i++) out[i] = values[i] / state->sum;
}

/* A group's tokens, one KV head: all splits in ascending order. */
static void attend_group(const wick_pass *run, const wick_team *team, int layer, int kv_head,
                         const wick_token_group *tokens) {
  wick_thread_space *own = &run->space->threads[team->thread];
  wick_query_group group = gather_queries(run, team, layer, kv_head, tokens);
  int dim = run->config->head_dim;
  size_t shared = (size_t)(run->config->n_heads / run->config->n_kv_heads);
  memset(own->merged, 0, group.n_queries * sizeof *own->merged);
  for (int split = 0; split <= group.last_position / WICK_SPLIT; split++) {
    wick_attend_split(&group, split, own->partials, own->split, own->scores);
    for (size_t i = 0; i < group.n_queries; i++)
      wick_merge_partial(&own->merged[i], own->state + i * (size_t)dim, &own->partials[i],
                         own->split + i * (size_t)dim, dim);
  }
  for (size_t i = 0; i < group.n_queries; i++)
    write_attended(run, tokens->first + i / shared, (size_t)kv_head * shared + i % shared,
                   &own->merged[i], own->state + i * (size_t)dim);
}

/* A single token: its splits are spread over the threads, then merged in ascending order. */
static void attend_single(const wick_pass *run, const wick_team *team, int layer) {
  const wick_config *config = run->config;
  wick_workspace *space = run->space;
  wick_thread_space *own = &space->threads[team->thread];
  size_t dim = (size_t)config->head_dim, n_heads = (size_t)config->n_heads;
  size_t n_kv = (size_t)config->n_kv_heads, shared = n_heads / n_kv, item, begin, end;
  size_t n_splits = (size_t)run->batch->positions[0] / WICK_SPLIT + 1;
  const wick_token_group token = {0, 1};
  while ((item = atomic_fetch_add(&space->next_group[layer], 1)) < n_splits * n_kv) {
    size_t split = item / n_kv, kv_head = item % n_kv, at = split * n_heads + kv_head * shared;
    wick_query_group group = gather_queries(run, team, layer, (int)kv_head, &token);
    wick_attend_split(&group, (int)split, space->partials + at, space->partial_values + at * dim,
                      own->scores);
  }
  wick_pass_join(run, team);
  wick_pass_enter(run, team, WICK_STAGE_ATTENTION);
  wick_team_range(team, n_heads, &begin, &end);
  for (size_t h = begin; h < end; h++) {
    wick_partial state = {0};
    for (size_t split = 0; split < n_splits; split++) {
      size_t at = split * n_heads + h;
      wick_merge_partial(&state, own->state, &space->partials[at], space->partial_values + at * dim,
                         (int)dim);
    }
    write_attended(run, 0, h, &state, own->state);
  }
}

void wick_pass_attend(const wick_pass *run, const wick_team *team, int layer) {
  wick_pass_enter(run, team, WICK_STAGE_ATTENTION);
  if (run->batch->n_tokens == 1) {
    attend_single(run, team, layer);
    return;
  }
  size_t n_kv = (size_t)run->config->n_kv_heads, item;
  while ((item = atomic_fetch_add(&run->space->next_group[layer], 1)) < run->n_groups * n_kv)
    attend_group(run, team, layer, (int)(item % n_kv), &run->space->groups[item / n_kv]);
}
