/* See attention.h. */
#include "model/attention.h"

#include <math.h>
#include <string.h>

#include "core/elementary.h"

size_t wick_attention_scratch_floats(size_t n_queries, int head_dim) {
  return n_queries * WICK_SPLIT + WICK_KV_BLOCK * (size_t)head_dim;
}

/* Scores of one query to probabilities, not yet divided by their sum; zeros for what it does not
 * see. How many are touched by exp depends on the query alone. */
static wick_partial exponentiate(const wick_kernels *kernels, float *scores, int n_seen,
                                 int n_scores) {
  wick_partial partial = {-INFINITY, 0};
  int n = (n_seen + WICK_KV_BLOCK - 1) / WICK_KV_BLOCK * WICK_KV_BLOCK;
  if (n_seen > 0) {
    for (int i = n_seen; i < n; i++) scores[i] = -INFINITY;
    partial.maximum = kernels->maximum(scores, (size_t)n_seen);
    partial.sum = kernels->exp_sum(scores, (size_t)n, partial.maximum);
  }
  memset(scores + n, 0, (size_t)(n_scores - n) * sizeof *scores);
  return partial;
}

/* No infinity and no NaN. */
static bool all_finite(const float *x, size_t n) {
  uint32_t largest = 0, magnitude;
  for (size_t i = 0; i < n; i++) {
    memcpy(&magnitude, &x[i], sizeof magnitude);
    magnitude &= 0x7fffffff;
    largest = magnitude > largest ? magnitude : largest;
  }
  return largest < 0x7f800000;
}

/* How many of the 32 positions from first on a query at position sees. */
static size_t seen_of_block(int position, int first) {
  int n = position + 1 - first;
  return n < 0 ? 0 : n > WICK_KV_BLOCK ? WICK_KV_BLOCK : (size_t)n;
}

/* values += p v over one block, v [32][head_dim], p [n_queries][WICK_SPLIT]. p is 0 where a query
 * sees nothing, but 0 times a value that overflowed is NaN: then each position's queries get v with
 * zeros in place of what they do not see. block: scratch for that, perhaps v itself. */
static void add_values(const wick_query_group *group, int first, const float *p, const float *v,
                       float *block, float *values) {
  const wick_kernels *kernels = group->kernels;
  size_t dim = (size_t)group->cache->head_dim;
  size_t seen_by_all = seen_of_block(group->positions[0], first);
  if (all_finite(v + seen_by_all * dim, (WICK_KV_BLOCK - seen_by_all) * dim)) {
    kernels->attention_values(values, p, WICK_SPLIT, group->n_queries, v, dim);
    return;
  }
  if (v != block) memcpy(block, v, WICK_KV_BLOCK * dim * sizeof *v);
  for (size_t end = group->n_queries, begin; end > 0; end = begin) {
    int position = group->positions[end - 1];
    begin = end - 1;
    while (begin > 0 && group->positions[begin - 1] == position) begin--;
    size_t n_seen = seen_of_block(position, first);
    memset(block + n_seen * dim, 0, (WICK_KV_BLOCK - n_seen) * dim * sizeof *block);
    kernels->attention_values(values + begin * dim, p + begin * WICK_SPLIT, WICK_SPLIT, end - begin,
                              block, dim);
  }
}

void wick_attend_split(const wick_query_group *group, int split, wick_partial *partials,
                       float *values, float *scratch) {
  const wick_kernels *kernels = group->kernels;
  size_t n_queries = group->n_queries, dim = (size_t)group->cache->head_dim;
  float *scores = scratch, *block = scratch + n_queries * WICK_SPLIT;
  int first_block = split * WICK_SPLIT_BLOCKS, first = split * WICK_SPLIT;
  int n_blocks = wick_kv_blocks_for(group->last_position + 1) - first_block;
  if (n_blocks > WICK_SPLIT_BLOCKS) n_blocks = WICK_SPLIT_BLOCKS;

  for (int b = 0; b < n_blocks; b++) {
    const float *k = wick_kv_load_keys(group->cache, kernels, group->sequence, group->layer,
                                       group->kv_head, first_block + b, block);
    kernels->attention_scores(scores + b * WICK_KV_BLOCK, WICK_SPLIT, group->queries, n_queries, k,
                              dim);
  }
  for (size_t i = 0; i < n_queries; i++) {
    int n_seen = group->positions[i] + 1 - first, n_scores = n_blocks * WICK_KV_BLOCK;
    n_seen = n_seen < 0 ? 0 : n_seen > n_scores ? n_scores : n_seen;
    partials[i] = exponentiate(kernels, scores + i * WICK_SPLIT, n_seen, n_scores);
  }
  memset(values, 0, n_queries * dim * sizeof *values);
  for (int b = 0; b < n_blocks; b++) {
    const float *v = wick_kv_load_values(group->cache, kernels, group->sequence, group->layer,
                                         group->kv_head, first_block + b, block);
    add_values(group, first + b * WICK_KV_BLOCK, scores + b * WICK_KV_BLOCK, v, block, values);
  }
}

void wick_merge_partial(wick_partial *state, float *values, const wick_partial *next,
                        const float *next_values, int head_dim) {
  if (next->sum == 0) return;
  if (state->sum == 0) {
    *state = *next;
    memcpy(values, next_values, (size_t)head_dim * sizeof *values);
    return;
  }
  float maximum = state->maximum > next->maximum ? state->maximum : next->maximum;
  float old = wick_expf(state->maximum - maximum), fresh = wick_expf(next->maximum - maximum);
  state->sum = state->sum * old + next->sum * fresh;
  state->maximum = maximum;
  for (int i = 0; i < head_dim; i++) values[i] = values[i] * old + next_values[i] * fresh;
}
