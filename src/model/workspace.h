/* The memory of a forward pass, shared by forward.c and workspace.c. */
#ifndef WICK_MODEL_WORKSPACE_H
#define WICK_MODEL_WORKSPACE_H

#include <stdatomic.h>

#include "core/clock.h"
#include "model/attention.h"
#include "model/forward.h"

/* Consecutive tokens of one sequence, whose queries read each KV block together. */
typedef struct wick_token_group {
  size_t first, n;
} wick_token_group;

/* One thread's own. */
typedef struct wick_thread_space {
  float *row;                      /* [max_cols]: a single token's normalized row */
  void *tiles[WICK_N_PACKINGS];    /* its quantized forms; [WICK_PACKED_NONE] is NULL */
  void *scratch;                   /* of matrix products */
  float *queries;                  /* [group_tokens * group_heads][head_dim] */
  float *split;                    /* [group_tokens * group_heads][head_dim]: values of one split */
  float *state;                    /* the same, merged */
  float *scores;                   /* of wick_attend_split */
  wick_partial *partials, *merged; /* [group_tokens * group_heads] */
  int32_t *positions;
  wick_stopwatch stopwatch;
} wick_thread_space;

struct wick_workspace {
  wick_arena arena;
  size_t max_tokens, max_cols;
  int n_context, max_threads;
  size_t group_tokens; /* most tokens of a group */
  int n_splits;        /* most splits of a sequence */
  size_t q_size, kv_size;

  float *x;                     /* [max_tokens][n_embd] residual stream */
  float *normed;                /* [max_tokens][max_cols] */
  void *tiles[WICK_N_PACKINGS]; /* of max_tokens tokens; [WICK_PACKED_NONE] is NULL */
  float *qkv;                   /* [max_tokens][q_size + 2 kv_size] */
  float *attended;              /* [max_tokens][q_size] */
  float *gate, *up;             /* [max_tokens][n_ffn] */
  float *y;                     /* [max_tokens][n_embd] */
  float *cosines, *sines;       /* [n_context][head_dim / 2] */
  wick_token_group *groups;
  wick_partial *partials;    /* [n_splits][n_heads], of a single token */
  float *partial_values;     /* [n_splits][n_heads][head_dim] */
  atomic_size_t *next_group; /* [n_layers]: attention's work counter */
  wick_thread_space *threads;
};

#endif
