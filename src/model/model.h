/* A model in memory: configuration, tokenizer, weights bound by name. Made by a loader, immutable
 * afterwards. Chapter 13. */
#ifndef WICK_MODEL_MODEL_H
#define WICK_MODEL_MODEL_H

#include "core/pool.h"
#include "model/config.h"
#include "model/matrix.h"
#include "tokenizer/tokenizer.h"

/* One transformer layer. Vectors are float32, NULL where the architecture has none. */
typedef struct wick_layer {
  wick_matrix q;          /* [n_heads * head_dim][n_embd] */
  wick_matrix k, v;       /* [n_kv_heads * head_dim][n_embd] */
  wick_matrix o;          /* [n_embd][n_heads * head_dim] */
  wick_matrix gate, up;   /* [n_ffn][n_embd] */
  wick_matrix down;       /* [n_embd][n_ffn] */
  float *attention_norm;  /* [n_embd] */
  float *ffn_norm;        /* [n_embd] */
  float *q_bias;          /* [n_heads * head_dim] */
  float *k_bias, *v_bias; /* [n_kv_heads * head_dim] */
  float *q_norm, *k_norm; /* [head_dim] */
} wick_layer;

/* Memory that holds one file's weights. */
typedef struct wick_slab {
  struct wick_slab *next;
  uint8_t *data;
  size_t n_bytes;
} wick_slab;

struct wick_model {
  const wick_allocator *allocator;
  wick_kernels kernels;
  bool exact;
  wick_config config;
  wick_tokenizer *tokenizer;
  wick_matrix embedding; /* [n_vocab][n_embd] */
  wick_matrix output;    /* [n_vocab][n_embd]; data is NULL when the embedding serves as head */
  float *output_norm;    /* [n_embd] */
  float *rope_factors;   /* [head_dim / 2] or NULL */
  wick_layer *layers;    /* [n_layers] */
  wick_arena arena;      /* small things: layers, vectors, strings */
  wick_slab *slabs;
  wick_model_info info;
  void (*on_free)(void *context); /* NULL, or called last of all */
  void *on_free_context;
};

/* What a model's freeing must free besides: the maps that its weights lie in. Once per model. */
void wick_model_on_free(wick_model *model, void (*release)(void *context), void *context);

static inline const wick_matrix *wick_model_head(const wick_model *model) {
  return model->output.data ? &model->output : &model->embedding;
}

/* Where a tensor of a file belongs: one of matrix and vector, or neither when the tensor is known
 * to be useless (a tied head's copy). */
typedef struct wick_target {
  wick_matrix *matrix;
  float **vector;
  size_t n_rows, n_cols; /* a vector has one row */
} wick_target;

/* Find the place of a canonical name; false: this model has no such tensor. */
bool wick_model_find_target(wick_model *model, const char *canonical_name, wick_target *out);

/* WICK_OK when every tensor of the model has arrived, else an error that names the first missing.
 */
wick_status wick_model_check_complete(wick_model *model, const char *name, wick_error *error);

#endif
