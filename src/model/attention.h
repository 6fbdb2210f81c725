/* Causal attention of queries over a block cache, in splits of 128 positions at fixed offsets: each
 * split gives a partial result (largest score, sum of exponentials, weighted sum of values), and
 * partials are merged in ascending order. So the bits are the same whether the splits run one after
 * another or on several threads, for one token or for many. What a query does not see adds nothing,
 * even where it is infinite or NaN (values that overflowed the cache's type are). Source: the
 * online softmax of Milakov and Gimelshein (2018); split-KV decoding of FlashDecoding (2023).
 * Chapters 12, 20. */
#ifndef WICK_MODEL_ATTENTION_H
#define WICK_MODEL_ATTENTION_H

#include "cache/kv_cache.h"

enum { WICK_SPLIT_BLOCKS = 4, WICK_SPLIT = WICK_SPLIT_BLOCKS * WICK_KV_BLOCK };

/* Queries that share a KV head of a layer and a sequence. */
typedef struct wick_query_group {
  const wick_kernels *kernels;
  const wick_kv_cache *cache;
  const wick_kv_sequence *sequence;
  int layer, kv_head;
  size_t n_queries;
  const float *queries;     /* [n_queries][head_dim], already divided by sqrt(head_dim) */
  const int32_t *positions; /* [n_queries], never falling; a query sees positions 0 .. its own */
  int last_position;        /* the last of them */
} wick_query_group;

/* One query's state over some splits. sum is 0 before the first. */
typedef struct wick_partial {
  float maximum, sum;
} wick_partial;

/* Floats of scratch for wick_attend_split. */
size_t wick_attention_scratch_floats(size_t n_queries, int head_dim);

/* Split number split: partials [n_queries] and values [n_queries][head_dim] are overwritten; a
 * query that sees nothing of the split gets a sum of 0. */
void wick_attend_split(const wick_query_group *group, int split, wick_partial *partials,
                       float *values, float *scratch);

/* Merge a later split's partial into one query's running state, values [head_dim]. */
void wick_merge_partial(wick_partial *state, float *values, const wick_partial *next,
                        const float *next_values, int head_dim);

#endif
