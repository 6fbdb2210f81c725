/* The forward pass over a batch: tokens of any number of sequences, each with its position and its
 * place in the cache. Prefill, decode, chunks and several sequences at once are this one code path.
 * Chapters 13, 14, 23. */
#ifndef WICK_MODEL_FORWARD_H
#define WICK_MODEL_FORWARD_H

#include "cache/kv_cache.h"
#include "core/pool.h"
#include "model/model.h"

/* What a pass works in; sized once. */
typedef struct wick_workspace wick_workspace;

/* max_tokens of one batch, positions below n_context, on at most max_threads threads. */
wick_status wick_workspace_new(const wick_allocator *allocator, const wick_model *model,
                               size_t max_tokens, int n_context, int max_threads,
                               wick_workspace **out, wick_error *error);
void wick_workspace_free(wick_workspace *workspace);

typedef struct wick_batch {
  size_t n_tokens;          /* 1 .. max_tokens */
  const int32_t *ids;       /* [n_tokens], each < n_vocab */
  const int32_t *positions; /* [n_tokens], each < n_context; ascending within a sequence */
  wick_kv_sequence *const *sequences; /* [n_tokens]; blocks reserved up to the position */

  size_t n_outputs;       /* tokens whose logits are wanted */
  const int32_t *outputs; /* [n_outputs], indices into the batch */
  float *logits;          /* out, [n_outputs][n_vocab] */

  float *hidden; /* out, or NULL: state s of token t at [(s * hidden_stride + t) * n_embd], */
  size_t hidden_stride; /* s = 0 the embedding, s = i after layer i, the last after the norm */

  bool (*cancelled)(void *context); /* or NULL; asked once a layer by the calling thread */
  void *context;
} wick_batch;

/* WICK_OK, or WICK_ERROR_CANCELLED: then the cache holds the batch's tokens for some layers only,
 * and logits nothing. */
wick_status wick_forward(const wick_model *model, wick_workspace *workspace, wick_kv_cache *cache,
                         wick_pool *pool, const wick_batch *batch);

#endif
