/* See config.h. Sources: the GGUF specification's standardized keys; the config.json of Llama, Qwen
 * 2 and Qwen 3 in transformers; Llama 3.1's frequency scaling as its reference code states it. */
#include "model/config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/elementary.h"

typedef struct architecture {
  const char *name;
  wick_rope_style gguf_rope;
  bool qkv_bias, qk_norm;
} architecture;

static const architecture architectures[] = {
    {"llama", WICK_ROPE_INTERLEAVED, false, false},
    {"qwen2", WICK_ROPE_HALF, true, false},
    {"qwen3", WICK_ROPE_HALF, false, true},
};

static const architecture *find_architecture(wick_string name) {
  for (size_t i = 0; i < sizeof architectures / sizeof *architectures; i++)
    if (wick_string_equal(name, architectures[i].name)) return &architectures[i];
  return NULL;
}

/* Where a setting is read from: the two formats differ in names only. */
typedef struct source {
  const char *file;
  const wick_gguf *gguf; /* or: */
  const cJSON *json;
  const char *architecture;
  wick_error *error;
} source;

static bool read_number(const source *from, const char *gguf_key, const char *json_key,
                        double *out) {
  if (from->json) return wick_json_f64(from->json, json_key, out);
  char key[96];
  snprintf(key, sizeof key, "%s.%s", from->architecture, gguf_key);
  uint64_t whole;
  if (wick_gguf_get_u64(from->gguf, key, &whole)) {
    *out = (double)whole;
    return true;
  }
  return wick_gguf_get_f64(from->gguf, key, out);
}

static const char *key_name(const source *from, const char *gguf_key, const char *json_key) {
  return from->json ? json_key : gguf_key;
}

/* A whole number in low .. high; fallback < 0: required. */
static wick_status read_int(const source *from, const char *gguf_key, const char *json_key, int low,
                            int high, int fallback, int *out) {
  double value;
  const char *key = key_name(from, gguf_key, json_key);
  if (!read_number(from, gguf_key, json_key, &value)) {
    if (fallback < 0)
      return wick_fail(from->error, WICK_ERROR_FORMAT, "%s: expected a number %s, found none",
                       from->file, key);
    value = fallback;
  }
  if (!(value >= low && value <= high) || value != floor(value))
    return wick_fail(from->error, WICK_ERROR_FORMAT,
                     "%s: expected %s to be a whole number from %d to %d, found %g", from->file,
                     key, low, high, value);
  *out = (int)value;
  return WICK_OK;
}

static wick_status read_positive(const source *from, const char *gguf_key, const char *json_key,
                                 double high, double fallback, double *out) {
  if (!read_number(from, gguf_key, json_key, out)) *out = fallback;
  if (*out > 0 && *out <= high) return WICK_OK;
  return wick_fail(from->error, WICK_ERROR_FORMAT,
                   "%s: expected %s above 0 and at most %g, found %g", from->file,
                   key_name(from, gguf_key, json_key), high, *out);
}

/* Everything that both formats have, by its two names. */
static wick_status read_shape(const source *from, wick_config *config) {
  enum { MAX_WIDTH = 1 << 17, MAX_CONTEXT = 1 << 24 };
  WICK_TRY(read_int(from, "block_count", "num_hidden_layers", 1, 1024, -1, &config->n_layers));
  WICK_TRY(read_int(from, "embedding_length", "hidden_size", 1, MAX_WIDTH, -1, &config->n_embd));
  WICK_TRY(read_int(from, "feed_forward_length", "intermediate_size", 1, 4 * MAX_WIDTH, -1,
                    &config->n_ffn));
  WICK_TRY(
      read_int(from, "attention.head_count", "num_attention_heads", 1, 4096, -1, &config->n_heads));
  WICK_TRY(read_int(from, "attention.head_count_kv", "num_key_value_heads", 1, 4096,
                    config->n_heads, &config->n_kv_heads));
  WICK_TRY(read_int(from, "attention.key_length", "head_dim", 8, 1024,
                    config->n_embd / config->n_heads, &config->head_dim));
  WICK_TRY(read_int(from, "context_length", "max_position_embeddings", 1, MAX_CONTEXT, 2048,
                    &config->n_context));
  double epsilon;
  WICK_TRY(
      read_positive(from, "attention.layer_norm_rms_epsilon", "rms_norm_eps", 1, 1e-6, &epsilon));
  config->norm_epsilon = (float)epsilon;
  config->rope_factor = 1;
  WICK_TRY(read_positive(from, "rope.freq_base", "rope_theta", 1e12, 10000, &config->rope_theta));
  if (config->n_heads % config->n_kv_heads != 0)
    return wick_fail(from->error, WICK_ERROR_FORMAT,
                     "%s: expected a number of heads that %d KV heads divide, found %d", from->file,
                     config->n_kv_heads, config->n_heads);
  if (config->head_dim % 8 != 0)
    return wick_fail(from->error, WICK_ERROR_UNSUPPORTED,
                     "%s: expected a head size that is a multiple of 8, found %d", from->file,
                     config->head_dim);
  return WICK_OK;
}

wick_status wick_config_from_gguf(const char *name, const wick_gguf *gguf, wick_config *out,
                                  wick_error *error) {
  *out = (wick_config){0};
  wick_string text = {0};
  if (!wick_gguf_get_string(gguf, "general.architecture", &text))
    return wick_fail(error, WICK_ERROR_FORMAT,
                     "%s: expected a string general.architecture, found none", name);
  const architecture *arch = find_architecture(text);
  if (!arch)
    return wick_fail(error, WICK_ERROR_UNSUPPORTED,
                     "%s: expected architecture llama, qwen2 or qwen3, found %.*s", name,
                     WICK_STRING_ARGS(text));
  source from = {.file = name, .gguf = gguf, .architecture = arch->name, .error = error};
  out->architecture = arch->name;
  out->rope_style = arch->gguf_rope;
  out->qkv_bias = arch->qkv_bias;
  out->qk_norm = arch->qk_norm;
  WICK_TRY(read_shape(&from, out));

  int only = out->head_dim, found;
  WICK_TRY(read_int(&from, "attention.value_length", "", only, only, only, &found));
  WICK_TRY(read_int(&from, "rope.dimension_count", "", only, only, only, &found));
  WICK_TRY(read_int(&from, "expert_count", "", 0, 0, 0, &found));
  const wick_gguf_value *tokens = wick_gguf_find(gguf, "tokenizer.ggml.tokens");
  if (!tokens || !tokens->is_array || tokens->n < 1 || tokens->n > 1 << 22)
    return wick_fail(error, WICK_ERROR_FORMAT,
                     "%s: expected an array tokenizer.ggml.tokens of 1 to %d strings, found %s",
                     name, 1 << 22, tokens ? "another size" : "none");
  out->n_vocab = (int)tokens->n;

  char key[64];
  snprintf(key, sizeof key, "%s.rope.scaling.type", arch->name);
  if (wick_gguf_get_string(gguf, key, &text) && !wick_string_equal(text, "none")) {
    if (!wick_string_equal(text, "linear"))
      return wick_fail(error, WICK_ERROR_UNSUPPORTED,
                       "%s: expected rope scaling none or linear, found %.*s", name,
                       WICK_STRING_ARGS(text));
    out->rope_scaling = WICK_ROPE_SCALING_LINEAR;
    WICK_TRY(read_positive(&from, "rope.scaling.factor", "", 1e6, 1, &out->rope_factor));
  }
  return WICK_OK;
}

/* rope_scaling (transformers 4) or rope_parameters (5). */
static wick_status read_rope_json(const source *from, wick_config *config) {
  const cJSON *rope = cJSON_GetObjectItemCaseSensitive(from->json, "rope_parameters");
  if (!cJSON_IsObject(rope)) rope = cJSON_GetObjectItemCaseSensitive(from->json, "rope_scaling");
  if (!cJSON_IsObject(rope)) return WICK_OK;
  source inner = *from;
  inner.json = rope;
  WICK_TRY(read_positive(&inner, "", "rope_theta", 1e12, config->rope_theta, &config->rope_theta));
  wick_string type = {"default", 7};
  if (!wick_json_string(rope, "rope_type", &type)) wick_json_string(rope, "type", &type);
  if (wick_string_equal(type, "default")) return WICK_OK;
  WICK_TRY(read_positive(&inner, "", "factor", 1e6, 1, &config->rope_factor));
  if (wick_string_equal(type, "linear")) {
    config->rope_scaling = WICK_ROPE_SCALING_LINEAR;
    return WICK_OK;
  }
  if (!wick_string_equal(type, "llama3"))
    return wick_fail(from->error, WICK_ERROR_UNSUPPORTED,
                     "%s: expected rope type default, linear or llama3, found %.*s", from->file,
                     WICK_STRING_ARGS(type));
  config->rope_scaling = WICK_ROPE_SCALING_LLAMA3;
  WICK_TRY(read_positive(&inner, "", "low_freq_factor", 1e6, 1, &config->rope_low));
  WICK_TRY(read_positive(&inner, "", "high_freq_factor", 1e6, 4, &config->rope_high));
  WICK_TRY(read_int(&inner, "", "original_max_position_embeddings", 1, 1 << 24, 8192,
                    &config->rope_original_context));
  if (config->rope_high > config->rope_low) return WICK_OK;
  return wick_fail(from->error, WICK_ERROR_FORMAT,
                   "%s: expected high_freq_factor above low_freq_factor, found %g and %g",
                   from->file, config->rope_high, config->rope_low);
}

/* Settings that would change the arithmetic in ways that aren't done here are refused by name. */
static wick_status refuse_unknown_json(const source *from) {
  static const char *const must_be_false[] = {"use_sliding_window", "mlp_bias", "attention_bias"};
  for (size_t i = 0; i < sizeof must_be_false / sizeof *must_be_false; i++) {
    bool value;
    if (wick_json_bool(from->json, must_be_false[i], &value) && value)
      return wick_fail(from->error, WICK_ERROR_UNSUPPORTED, "%s: expected %s false, found true",
                       from->file, must_be_false[i]);
  }
  wick_string activation;
  if (wick_json_string(from->json, "hidden_act", &activation) &&
      !wick_string_equal(activation, "silu"))
    return wick_fail(from->error, WICK_ERROR_UNSUPPORTED,
                     "%s: expected hidden_act silu, found %.*s", from->file,
                     WICK_STRING_ARGS(activation));
  double partial;
  if (wick_json_f64(from->json, "partial_rotary_factor", &partial) && partial != 1)
    return wick_fail(from->error, WICK_ERROR_UNSUPPORTED,
                     "%s: expected partial_rotary_factor 1, found %g", from->file, partial);
  return WICK_OK;
}

wick_status wick_config_from_json(const char *name, const cJSON *json, wick_config *out,
                                  wick_error *error) {
  *out = (wick_config){.rope_style = WICK_ROPE_HALF};
  wick_string type = {0};
  if (!wick_json_string(json, "model_type", &type))
    return wick_fail(error, WICK_ERROR_FORMAT, "%s: expected a string model_type, found none",
                     name);
  const architecture *arch = find_architecture(type);
  if (!arch)
    return wick_fail(error, WICK_ERROR_UNSUPPORTED,
                     "%s: expected model_type llama, qwen2 or qwen3, found %.*s", name,
                     WICK_STRING_ARGS(type));
  source from = {.file = name, .json = json, .architecture = arch->name, .error = error};
  out->architecture = arch->name;
  out->qkv_bias = arch->qkv_bias;
  out->qk_norm = arch->qk_norm;
  WICK_TRY(read_int(&from, "", "vocab_size", 1, 1 << 22, -1, &out->n_vocab));
  WICK_TRY(read_shape(&from, out));
  WICK_TRY(refuse_unknown_json(&from));
  wick_json_bool(json, "tie_word_embeddings", &out->tied_head);
  return read_rope_json(&from, out);
}

/* As PyTorch computes them, in float32, so that angles at long positions agree:
 * f = 1 / theta^(2i / head_dim). Llama 3.1: wavelengths above original_context / low are slowed by
 * factor, those below original_context / high kept, and between blended. */
void wick_rope_frequencies(const wick_config *config, const float *factors, float *frequencies) {
  for (int i = 0; i < config->head_dim / 2; i++) {
    double exponent = (double)(2.0f * (float)i / (float)config->head_dim);
    float frequency = 1.0f / (float)wick_pow(config->rope_theta, exponent);
    if (config->rope_scaling == WICK_ROPE_SCALING_LINEAR) {
      frequency /= (float)config->rope_factor;
    } else if (config->rope_scaling == WICK_ROPE_SCALING_LLAMA3) {
      const double pi = 3.14159265358979323846;
      float wavelength = (float)(2 * pi) / frequency;
      float context = (float)config->rope_original_context;
      float low = (float)config->rope_low, high = (float)config->rope_high;
      float slowed = frequency / (float)config->rope_factor;
      if (wavelength > context / low) {
        frequency = slowed;
      } else if (wavelength >= context / high) {
        float smooth = (context / wavelength - low) / (high - low);
        frequency = (1 - smooth) * slowed + smooth * frequency;
      }
    }
    frequencies[i] = factors ? frequency / factors[i] : frequency;
  }
}
