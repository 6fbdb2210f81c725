/* See names.h. A name is a stem, found in one table, and ".weight" or ".bias"; stems of layers are
 * preceded by "blk.N." or "model.layers.N.". */
#include "formats/names.h"

#include <stdio.h>
#include <string.h>

typedef struct name_pair {
  const char *canonical, *hugging_face;
} name_pair;

static const name_pair model_names[] = {
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
};

static const name_pair layer_names[] = {
    {"attn_norm", "input_layernorm"},    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},      {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"}, {"attn_q_norm", "self_attn.q_norm"},
    {"attn_k_norm", "self_attn.k_norm"}, {"ffn_norm", "post_attention_layernorm"},
    {"ffn_gate", "mlp.gate_proj"},       {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
};

static const char *const layer_prefixes[] = {"blk.", "model.layers."};

static bool starts_with(wick_string s, const char *prefix) {
  size_t n = strlen(prefix);
  return s.n >= n && memcmp(s.data, prefix, n) == 0;
}

static wick_string skip(wick_string s, size_t n) {
  return (wick_string){s.data + n, s.n - n};
}

/* The number at the start of *s, up to four digits without a leading zero, and the dot after it. */
static bool take_layer(wick_string *s, wick_string *digits) {
  size_t n = 0;
  while (n < s->n && n < 5 && s->data[n] >= '0' && s->data[n] <= '9') n++;
  if (n == 0 || n > 4 || n == s->n || s->data[n] != '.') return false;
  if (n > 1 && s->data[0] == '0') return false;
  *digits = (wick_string){s->data, n};
  *s = skip(*s, n + 1);
  return true;
}

static const name_pair *find(const name_pair *pairs, size_t n, wick_string stem) {
  for (size_t i = 0; i < n; i++)
    if (wick_string_equal(stem, pairs[i].canonical) ||
        wick_string_equal(stem, pairs[i].hugging_face))
      return &pairs[i];
  return NULL;
}

static bool translate(char *out, size_t n, wick_string name, bool to_hugging_face) {
  wick_string stem = name, digits = {NULL, 0};
  bool in_layer = false;
  for (size_t i = 0; i < 2 && !in_layer; i++)
    if (starts_with(name, layer_prefixes[i])) {
      stem = skip(name, strlen(layer_prefixes[i]));
      in_layer = take_layer(&stem, &digits);
    }
  const char *suffix = NULL;
  static const char *const suffixes[] = {".weight", ".bias"};
  for (size_t i = 0; i < 2; i++) {
    size_t n_suffix = strlen(suffixes[i]);
    if (stem.n > n_suffix && memcmp(stem.data + stem.n - n_suffix, suffixes[i], n_suffix) == 0) {
      suffix = suffixes[i];
      stem.n -= n_suffix;
      break;
    }
  }
  const name_pair *pair = in_layer
                              ? find(layer_names, sizeof layer_names / sizeof *layer_names, stem)
                              : find(model_names, sizeof model_names / sizeof *model_names, stem);
  if (!suffix || !pair) {
    size_t n_copied = name.n < n - 1 ? name.n : n - 1;
    if (n_copied) memcpy(out, name.data, n_copied);
    out[n_copied] = 0;
    return false;
  }
  const char *translated = to_hugging_face ? pair->hugging_face : pair->canonical;
  int written = in_layer ? snprintf(out, n, "%s%.*s.%s%s", layer_prefixes[to_hugging_face],
                                    (int)digits.n, digits.data, translated, suffix)
                         : snprintf(out, n, "%s%s", translated, suffix);
  return written > 0 && (size_t)written < n;
}

bool wick_canonical_name(char *out, size_t n, wick_string file_name) {
  return translate(out, n, file_name, false);
}

bool wick_hugging_face_name(char *out, size_t n, wick_string file_name) {
  return translate(out, n, file_name, true);
}
