/* See model.h. The table of a model's tensors: which names there are, and which shape each must
 * have. */
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum dimension {
  DIM_EMBD,
  DIM_Q,
  DIM_KV,
  DIM_FFN,
  DIM_HEAD,
  DIM_VOCAB,
  DIM_PAIRS
} dimension;
typedef enum presence { ALWAYS, WITH_BIAS, WITH_QK_NORM, OPTIONAL } presence;

typedef struct tensor_place {
  const char *name; /* in a layer: what follows "blk.N." */
  bool is_matrix;
  size_t offset;        /* in wick_layer or wick_model */
  dimension rows, cols; /* a vector's length is cols */
  presence when;
} tensor_place;

#define MATRIX(type, name, member, rows, cols, when)                                               \
  {name, true, offsetof(type, member), rows, cols, when}
#define VECTOR(type, name, member, cols, when)                                                     \
  {name, false, offsetof(type, member), cols, cols, when}

static const tensor_place layer_places[] = {
    VECTOR(wick_layer, "attn_norm.weight", attention_norm, DIM_EMBD, ALWAYS),
    MATRIX(wick_layer, "attn_q.weight", q, DIM_Q, DIM_EMBD, ALWAYS),
    MATRIX(wick_layer, "attn_k.weight", k, DIM_KV, DIM_EMBD, ALWAYS),
    MATRIX(wick_layer, "attn_v.weight", v, DIM_KV, DIM_EMBD, ALWAYS),
    VECTOR(wick_layer, "attn_q.bias", q_bias, DIM_Q, WITH_BIAS),
    VECTOR(wick_layer, "attn_k.bias", k_bias, DIM_KV, WITH_BIAS),
    VECTOR(wick_layer, "attn_v.bias", v_bias, DIM_KV, WITH_BIAS),
    VECTOR(wick_layer, "attn_q_norm.weight", q_norm, DIM_HEAD, WITH_QK_NORM),
    VECTOR(wick_layer, "attn_k_norm.weight", k_norm, DIM_HEAD, WITH_QK_NORM),
    MATRIX(wick_layer, "attn_output.weight", o, DIM_EMBD, DIM_Q, ALWAYS),
    VECTOR(wick_layer, "ffn_norm.weight", ffn_norm, DIM_EMBD, ALWAYS),
    MATRIX(wick_layer, "ffn_gate.weight", gate, DIM_FFN, DIM_EMBD, ALWAYS),
    MATRIX(wick_layer, "ffn_up.weight", up, DIM_FFN, DIM_EMBD, ALWAYS),
    MATRIX(wick_layer, "ffn_down.weight", down, DIM_EMBD, DIM_FFN, ALWAYS),
};

static const tensor_place model_places[] = {
    MATRIX(wick_model, "token_embd.weight", embedding, DIM_VOCAB, DIM_EMBD, ALWAYS),
    MATRIX(wick_model, "output.weight", output, DIM_VOCAB, DIM_EMBD, OPTIONAL),
    VECTOR(wick_model, "output_norm.weight", output_norm, DIM_EMBD, ALWAYS),
    VECTOR(wick_model, "rope_freqs.weight", rope_factors, DIM_PAIRS, OPTIONAL),
};

enum {
  N_LAYER_PLACES = sizeof layer_places / sizeof *layer_places,
  N_MODEL_PLACES = sizeof model_places / sizeof *model_places
};

static size_t dimension_of(const wick_config *config, dimension which) {
  switch (which) {
  case DIM_EMBD:
    return (size_t)config->n_embd;
  case DIM_Q:
    return (size_t)config->n_heads * (size_t)config->head_dim;
  case DIM_KV:
    return (size_t)config->n_kv_heads * (size_t)config->head_dim;
  case DIM_FFN:
    return (size_t)config->n_ffn;
  case DIM_HEAD:
    return (size_t)config->head_dim;
  case DIM_VOCAB:
    return (size_t)config->n_vocab;
  case DIM_PAIRS:
    return (size_t)config->head_dim / 2;
  }
  return 0;
}

static bool is_expected(const wick_config *config, presence when) {
  return when == ALWAYS || (when == WITH_BIAS && config->qkv_bias) ||
         (when == WITH_QK_NORM && config->qk_norm);
}

static bool find_place(wick_model *model, void *base, const tensor_place *places, size_t n,
                       const char *name, wick_target *out) {
  for (size_t i = 0; i < n; i++) {
    const tensor_place *place = &places[i];
    if (strcmp(name, place->name) != 0) continue;
    if (place->when != OPTIONAL && !is_expected(&model->config, place->when)) return false;
    void *member = (char *)base + place->offset;
    *out = (wick_target){
        .matrix = place->is_matrix ? member : NULL,
        .vector = place->is_matrix ? NULL : member,
        .n_rows = place->is_matrix ? dimension_of(&model->config, place->rows) : 1,
        .n_cols = dimension_of(&model->config, place->cols),
    };
    if (out->matrix == &model->output && model->config.tied_head) out->matrix = NULL;
    return true;
  }
  return false;
}

bool wick_model_find_target(wick_model *model, const char *name, wick_target *out) {
  if (strncmp(name, "blk.", 4) != 0)
    return find_place(model, model, model_places, N_MODEL_PLACES, name, out);
  char *end;
  if (name[4] < '0' || name[4] > '9') return false;
  unsigned long layer = strtoul(name + 4, &end, 10);
  if (*end != '.' || layer >= (unsigned long)model->config.n_layers) return false;
  return find_place(model, &model->layers[layer], layer_places, N_LAYER_PLACES, end + 1, out);
}

static const char *find_missing(const wick_config *config, const void *base,
                                const tensor_place *places, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const char *member = (const char *)base + places[i].offset;
    bool there = places[i].is_matrix ? ((const wick_matrix *)(const void *)member)->data != NULL
                                     : *(float *const *)(const void *)member != NULL;
    if (!there && is_expected(config, places[i].when)) return places[i].name;
  }
  return NULL;
}

wick_status wick_model_check_complete(wick_model *model, const char *name, wick_error *error) {
  const wick_config *config = &model->config;
  const char *missing = find_missing(config, model, model_places, N_MODEL_PLACES);
  if (missing)
    return wick_fail(error, WICK_ERROR_FORMAT, "%s: expected a tensor %s, found none", name,
                     missing);
  for (int i = 0; i < config->n_layers; i++) {
    missing = find_missing(config, &model->layers[i], layer_places, N_LAYER_PLACES);
    if (missing)
      return wick_fail(error, WICK_ERROR_FORMAT, "%s: expected a tensor blk.%d.%s, found none",
                       name, i, missing);
  }
  if (!model->output.data && !config->tied_head)
    return wick_fail(error, WICK_ERROR_FORMAT, "%s: expected a tensor output.weight, found none",
                     name);
  return WICK_OK;
}

const wick_model_info *wick_model_get_info(const wick_model *model) {
  return &model->info;
}

void wick_model_on_free(wick_model *model, void (*release)(void *context), void *context) {
  model->on_free = release;
  model->on_free_context = context;
}

void wick_model_free(wick_model *model) {
  if (!model) return;
  wick_tokenizer_free(model->tokenizer);
  for (wick_slab *slab = model->slabs; slab; slab = slab->next)
    wick_release(model->allocator, slab->data, slab->n_bytes, WICK_ALIGNMENT);
  wick_arena_free(&model->arena);
  if (model->on_free) model->on_free(model->on_free_context);
  wick_release(model->allocator, model, sizeof *model, WICK_ALIGNMENT);
}
