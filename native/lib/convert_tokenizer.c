/* tokenizer.json from GGUF metadata: the same byte-level BPE in Hugging Face's words. Which
 * normalizer and pre-tokenizer a name stands for: the tokenizer.json files published with GPT-2,
 * SmolLM2, Llama 3 and Qwen 2. Chapter 11. */
#include <inttypes.h>
#include <string.h>

#include "convert_parts.h"
#include "escape.h"

#define SPLIT(digits)                                                                              \
  "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":{\"Regex\":"          \
  "\"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|\\\\p{N}" digits         \
  "| ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+\"},"       \
  "\"behavior\":\"Isolated\",\"invert\":false},"                                                   \
  "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true,\"use_regex\":false}]" \
  "}"

#define BYTE_LEVEL                                                                                 \
  "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true,\"use_regex\":true}"

typedef struct pre_tokenizer {
  const char *name, *alias; /* in tokenizer.ggml.pre */
  const char *json, *normalizer, *ignore_merges;
} pre_tokenizer;

static const pre_tokenizer pre_tokenizers[] = {
    {"gpt-2", "gpt2", BYTE_LEVEL, "null", "false"},
    {"smollm", "smollm",
     "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Digits\",\"individual_digits\":"
     "true}," //
     BYTE_LEVEL "]}",
     "null", "false"},
    {"llama-bpe", "llama3", SPLIT("{1,3}"), "null", "true"},
    {"qwen2", "qwen2", SPLIT(""), "{\"type\":\"NFC\"}", "false"},
};

/* Types of tokens, as GGUF numbers them. */
enum { TOKEN_NORMAL = 1, TOKEN_UNKNOWN, TOKEN_CONTROL, TOKEN_USER, TOKEN_UNUSED, TOKEN_BYTE };

typedef struct vocabulary {
  const wick_gguf_value *tokens, *types, *merges;
  uint64_t n_model; /* ids below are in the model's vocabulary, the others only added to it */
  uint64_t n_added; /* ids from here on stand for nothing */
} vocabulary;

static int64_t token_type(const vocabulary *v, uint64_t id) {
  return v->types ? wick_gguf_int_at(v->types, id) : TOKEN_NORMAL;
}

static bool is_added(int64_t type) {
  return type != TOKEN_NORMAL && type != TOKEN_BYTE;
}

static bool is_array(const wick_gguf_value *value, wick_gguf_type type) {
  return value && value->is_array && value->type == type;
}

static wick_status read_vocabulary(const convert_source *source, vocabulary *out,
                                   wick_error *error) {
  const wick_gguf *gguf = &source->gguf;
  wick_string model = {0};
  wick_gguf_get_string(gguf, "tokenizer.ggml.model", &model);
  if (!wick_string_equal(model, "gpt2"))
    return wick_fail(error, WICK_ERROR_UNSUPPORTED,
                     "%s: tokenizer.ggml.model: expected gpt2 (byte-level BPE), found %.*s",
                     source->path, WICK_STRING_ARGS(model));
  *out = (vocabulary){.tokens = wick_gguf_find(gguf, "tokenizer.ggml.tokens"),
                      .types = wick_gguf_find(gguf, "tokenizer.ggml.token_type"),
                      .merges = wick_gguf_find(gguf, "tokenizer.ggml.merges")};
  if (!is_array(out->tokens, WICK_GGUF_STRING) || !is_array(out->merges, WICK_GGUF_STRING))
    return wick_fail(error, WICK_ERROR_FORMAT,
                     "%s: expected strings in tokenizer.ggml.tokens and .merges, found others",
                     source->path);
  if (out->types && (!is_array(out->types, WICK_GGUF_I32) || out->types->n != out->tokens->n))
    return wick_fail(error, WICK_ERROR_FORMAT,
                     "%s: tokenizer.ggml.token_type: expected one i32 for each token, found others",
                     source->path);
  for (uint64_t id = 0; id < out->tokens->n; id++) {
    int64_t type = token_type(out, id);
    if (!is_added(type)) out->n_model = id + 1;
    if (type != TOKEN_UNUSED) out->n_added = id + 1;
  }
  return WICK_OK;
}

static void write_added_tokens(FILE *file, const vocabulary *v) {
  uint64_t at = 0;
  const char *comma = "";
  wick_string token;
  for (uint64_t id = 0; id < v->n_added && wick_gguf_next_string(v->tokens, &at, &token); id++) {
    int64_t type = token_type(v, id);
    if (!is_added(type)) continue;
    fprintf(file, "%s{\"id\":%" PRIu64 ",\"content\":", comma, id);
    wick_print_quoted(file, token, SIZE_MAX);
    fprintf(file,
            ",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,\"normalized\":false,"
            "\"special\":%s}",
            type == TOKEN_CONTROL || type == TOKEN_UNKNOWN ? "true" : "false");
    comma = ",";
  }
}

static void write_model(FILE *file, const vocabulary *v, const pre_tokenizer *pre) {
  fprintf(file,
          "{\"type\":\"BPE\",\"dropout\":null,\"unk_token\":null,"
          "\"continuing_subword_prefix\":null,\"end_of_word_suffix\":null,\"fuse_unk\":false,"
          "\"byte_fallback\":false,\"ignore_merges\":%s,\"vocab\":{",
          pre->ignore_merges);
  uint64_t at = 0;
  wick_string text;
  for (uint64_t id = 0; id < v->n_model && wick_gguf_next_string(v->tokens, &at, &text); id++) {
    if (id) fputc(',', file);
    wick_print_quoted(file, text, SIZE_MAX);
    fprintf(file, ":%" PRIu64, id);
  }
  fputs("},\"merges\":[", file);
  at = 0;
  for (uint64_t i = 0; wick_gguf_next_string(v->merges, &at, &text); i++) {
    if (i) fputc(',', file);
    wick_print_quoted(file, text, SIZE_MAX);
  }
  fputs("]}", file);
}

static void write_bos_step(FILE *file, wick_string bos, const char *sequence) {
  fputs("{\"SpecialToken\":{\"id\":", file);
  wick_print_quoted(file, bos, SIZE_MAX);
  fprintf(file, ",\"type_id\":0}},{\"Sequence\":{\"id\":\"%s\",\"type_id\":0}}", sequence);
}

/* Whether a text starts with the BOS token: as the file says; Llama 3's does by default. */
static void write_post_processor(FILE *file, const convert_source *source, const vocabulary *v,
                                 const pre_tokenizer *pre) {
  bool add_bos = strcmp(pre->name, "llama-bpe") == 0;
  uint64_t bos, at = 0;
  wick_string token = {0};
  wick_gguf_get_bool(&source->gguf, "tokenizer.ggml.add_bos_token", &add_bos);
  if (!wick_gguf_get_u64(&source->gguf, "tokenizer.ggml.bos_token_id", &bos)) add_bos = false;
  if (!add_bos || bos >= v->tokens->n) {
    fputs("null", file);
    return;
  }
  for (uint64_t id = 0; id <= bos; id++) wick_gguf_next_string(v->tokens, &at, &token);
  fputs("{\"type\":\"TemplateProcessing\",\"single\":[", file);
  write_bos_step(file, token, "A");
  fputs("],\"pair\":[", file);
  write_bos_step(file, token, "A");
  fputc(',', file);
  write_bos_step(file, token, "B");
  fputs("],\"special_tokens\":{", file);
  wick_print_quoted(file, token, SIZE_MAX);
  fputs(":{\"id\":", file);
  wick_print_quoted(file, token, SIZE_MAX);
  fprintf(file, ",\"ids\":[%" PRIu64 "],\"tokens\":[", bos);
  wick_print_quoted(file, token, SIZE_MAX);
  fputs("]}}}", file);
}

wick_status convert_write_tokenizer(FILE *file, const convert_source *source, wick_error *error) {
  vocabulary v = {0};
  wick_string name = {0};
  WICK_TRY(read_vocabulary(source, &v, error));
  wick_gguf_get_string(&source->gguf, "tokenizer.ggml.pre", &name);
  const pre_tokenizer *pre = NULL;
  for (size_t i = 0; i < sizeof pre_tokenizers / sizeof *pre_tokenizers; i++)
    if (wick_string_equal(name, pre_tokenizers[i].name) ||
        wick_string_equal(name, pre_tokenizers[i].alias))
      pre = &pre_tokenizers[i];
  if (!pre)
    return wick_fail(
        error, WICK_ERROR_UNSUPPORTED,
        "%s: tokenizer.ggml.pre: expected smollm, gpt-2, llama-bpe or qwen2, found %.*s",
        source->path, WICK_STRING_ARGS(name));
  fputs("{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[", file);
  write_added_tokens(file, &v);
  fprintf(file, "],\"normalizer\":%s,\"pre_tokenizer\":%s,\"post_processor\":", pre->normalizer,
          pre->json);
  write_post_processor(file, source, &v, pre);
  fputs(",\"decoder\":{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"trim_offsets\":true,"
        "\"use_regex\":true},\"model\":",
        file);
  write_model(file, &v, pre);
  fputs("}\n", file);
  return WICK_OK;
}
