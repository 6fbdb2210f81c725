/* A model's shape and options, from GGUF metadata or from config.json, checked: whatever later code
 * multiplies or divides by is in range here. Chapter 13. */
#ifndef WICK_MODEL_CONFIG_H
#define WICK_MODEL_CONFIG_H

#include "formats/gguf.h"
#include "formats/json.h"

typedef enum wick_rope_style {
  WICK_ROPE_INTERLEAVED, /* pairs (2i, 2i+1): GGUF's llama, whose Q and K rows are permuted */
  WICK_ROPE_HALF,        /* pairs (i, i + head_dim/2): Hugging Face, and GGUF's qwen */
} wick_rope_style;

typedef enum wick_rope_scaling {
  WICK_ROPE_SCALING_NONE,
  WICK_ROPE_SCALING_LINEAR,
  WICK_ROPE_SCALING_LLAMA3,
} wick_rope_scaling;

typedef struct wick_config {
  const char *architecture; /* "llama", "qwen2", "qwen3"; static */
  int n_vocab, n_layers, n_embd, n_heads, n_kv_heads, head_dim, n_ffn, n_context;
  float norm_epsilon;
  wick_rope_style rope_style;
  double rope_theta;
  wick_rope_scaling rope_scaling;
  double rope_factor;         /* linear, llama3 */
  double rope_low, rope_high; /* llama3: low_freq_factor, high_freq_factor */
  int rope_original_context;  /* llama3 */
  bool qkv_bias;              /* Qwen 2 */
  bool qk_norm;               /* Qwen 3 */
  bool tied_head;             /* the head is the embedding; GGUF: there is no output.weight */
} wick_config;

wick_status wick_config_from_gguf(const char *name, const wick_gguf *gguf, wick_config *out,
                                  wick_error *error);
wick_status wick_config_from_json(const char *name, const cJSON *json, wick_config *out,
                                  wick_error *error);

/* frequencies[i] of rotation pair i, i < head_dim / 2, in radians per position; factors: the
 * rope_freqs.weight that a GGUF file may bring (each frequency is divided by its factor), or NULL.
 */
void wick_rope_frequencies(const wick_config *config, const float *factors, float *frequencies);

#endif
