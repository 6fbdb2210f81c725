/* To GGUF: from a folder, metadata made from config.json and the tokenizer's files; from another
 * GGUF file, its metadata as it is. Keys: the GGUF specification's standardized ones. */
#include <string.h>

#include "convert_parts.h"
#include "formats/gguf_write.h"
#include "tokenizer/tokenizer.h"

static wick_string string_of(const char *text) {
  return (wick_string){text, strlen(text)};
}

/* llama_ftype's number for "most tensors are of this type". */
static uint32_t file_type(wick_dtype type) {
  switch (type) {
  case WICK_DTYPE_F32:
    return 0;
  case WICK_DTYPE_F16:
    return 1;
  case WICK_DTYPE_Q4_0:
    return 2;
  case WICK_DTYPE_Q4_1:
    return 3;
  case WICK_DTYPE_Q8_0:
    return 7;
  default:
    return 32; /* BF16 */
  }
}

/* ---- configuration ---- */

static void put_config_u32(wick_gguf_builder *b, const wick_config *config, const char *key,
                           int value) {
  char full[64];
  snprintf(full, sizeof full, "%s.%s", config->architecture, key);
  wick_gguf_put_u32(b, full, (uint32_t)value);
}

static void put_config_f32(wick_gguf_builder *b, const wick_config *config, const char *key,
                           double value) {
  char full[64];
  snprintf(full, sizeof full, "%s.%s", config->architecture, key);
  wick_gguf_put_f32(b, full, (float)value);
}

static void put_config(wick_gguf_builder *b, const wick_config *c) {
  put_config_u32(b, c, "vocab_size", c->n_vocab);
  put_config_u32(b, c, "block_count", c->n_layers);
  put_config_u32(b, c, "context_length", c->n_context);
  put_config_u32(b, c, "embedding_length", c->n_embd);
  put_config_u32(b, c, "feed_forward_length", c->n_ffn);
  put_config_u32(b, c, "attention.head_count", c->n_heads);
  put_config_u32(b, c, "attention.head_count_kv", c->n_kv_heads);
  put_config_u32(b, c, "attention.key_length", c->head_dim);
  put_config_u32(b, c, "attention.value_length", c->head_dim);
  put_config_u32(b, c, "rope.dimension_count", c->head_dim);
  put_config_f32(b, c, "rope.freq_base", c->rope_theta);
  put_config_f32(b, c, "attention.layer_norm_rms_epsilon", (double)c->norm_epsilon);
  if (c->rope_scaling == WICK_ROPE_SCALING_LINEAR) {
    char full[64];
    snprintf(full, sizeof full, "%s.rope.scaling.type", c->architecture);
    wick_gguf_put_string(b, full, string_of("linear"));
    put_config_f32(b, c, "rope.scaling.factor", c->rope_factor);
  }
}

/* ---- tokenizer ---- */

enum { TOKEN_NORMAL = 1, TOKEN_CONTROL = 3, TOKEN_USER = 4, TOKEN_UNUSED = 5 }; /* GGUF's */

typedef struct token_list {
  const char *file;
  wick_string *texts; /* [n] */
  int32_t *types;     /* [n] */
  size_t n;
} token_list;

static wick_status set_token(token_list *list, const char *text, const cJSON *id_value,
                             int32_t type, wick_error *error) {
  uint64_t id;
  if (!text || !wick_json_value_u64(id_value, &id) || id >= list->n)
    return wick_fail(error, WICK_ERROR_FORMAT,
                     "%s: expected tokens with ids below vocab_size (%zu), found another",
                     list->file, list->n);
  list->texts[id] = string_of(text);
  list->types[id] = type;
  return WICK_OK;
}

static wick_status read_tokens(convert_source *source, const cJSON *tokenizer, token_list *list,
                               wick_error *error) {
  list->file = source->tokenizer_path;
  list->n = (size_t)source->config.n_vocab;
  list->texts = WICK_ARENA_ARRAY(&source->arena, wick_string, list->n);
  list->types = WICK_ARENA_ARRAY(&source->arena, int32_t, list->n);
  if (!list->texts || !list->types)
    return wick_fail(error, WICK_ERROR_MEMORY, "%s: out of memory", list->file);
  const cJSON *model = cJSON_GetObjectItemCaseSensitive(tokenizer, "model");
  const cJSON *vocab = cJSON_GetObjectItemCaseSensitive(model, "vocab");
  const cJSON *added = cJSON_GetObjectItemCaseSensitive(tokenizer, "added_tokens");
  if (!cJSON_IsObject(vocab))
    return wick_fail(error, WICK_ERROR_FORMAT, "%s: expected an object model.vocab, found none",
                     list->file);
  for (const cJSON *item = vocab->child; item; item = item->next)
    WICK_TRY(set_token(list, item->string, item, TOKEN_NORMAL, error));
  for (const cJSON *item = cJSON_IsArray(added) ? added->child : NULL; item; item = item->next) {
    bool special = false;
    wick_json_bool(item, "special", &special);
    WICK_TRY(set_token(
        list, cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "content")),
        cJSON_GetObjectItemCaseSensitive(item, "id"), special ? TOKEN_CONTROL : TOKEN_USER, error));
  }
  for (size_t id = 0; id < list->n; id++) { /* rows of the embedding that no token uses */
    if (list->types[id]) continue;
    char text[32];
    int n = snprintf(text, sizeof text, "[PAD%zu]", id);
    const char *copy = wick_arena_copy_string(&source->arena, text, (size_t)n);
    if (!copy) return wick_fail(error, WICK_ERROR_MEMORY, "%s: out of memory", list->file);
    list->texts[id] = string_of(copy);
    list->types[id] = TOKEN_UNUSED;
  }
  return WICK_OK;
}

/* "a b", or ["a", "b"] in newer files. */
static wick_status put_merges(wick_gguf_builder *b, convert_source *source, const cJSON *tokenizer,
                              wick_error *error) {
  const cJSON *model = cJSON_GetObjectItemCaseSensitive(tokenizer, "model");
  const cJSON *merges = cJSON_GetObjectItemCaseSensitive(model, "merges");
  uint64_t n = 0;
  for (const cJSON *item = cJSON_IsArray(merges) ? merges->child : NULL; item; item = item->next)
    n++;
  wick_gguf_put_array(b, "tokenizer.ggml.merges", WICK_GGUF_STRING, n);
  for (const cJSON *item = n ? merges->child : NULL; item; item = item->next) {
    const char *text = cJSON_GetStringValue(item);
    const char *left = cJSON_IsArray(item) ? cJSON_GetStringValue(item->child) : NULL;
    const char *right = left ? cJSON_GetStringValue(item->child->next) : NULL;
    if (!text && !right)
      return wick_fail(error, WICK_ERROR_FORMAT,
                       "%s: expected merges of two tokens, found another value",
                       source->tokenizer_path);
    if (!text) {
      size_t n_left = strlen(left), n_right = strlen(right);
      char *joined = wick_arena_allocate(&source->arena, (uint64_t)n_left + n_right + 2, 1);
      if (!joined)
        return wick_fail(error, WICK_ERROR_MEMORY, "%s: out of memory", source->tokenizer_path);
      memcpy(joined, left, n_left);
      joined[n_left] = ' ';
      memcpy(joined + n_left + 1, right, n_right);
      text = joined;
    }
    wick_gguf_add_string(b, string_of(text));
  }
  return WICK_OK;
}

/* The id of tokenizer_config.json's "pad_token" and the like: a string, or an object with content.
 */
static void put_named_token(wick_gguf_builder *b, const convert_source *source,
                            const token_list *list, const char *name, const char *key) {
  const cJSON *value = cJSON_GetObjectItemCaseSensitive(source->tokenizer_config, name);
  if (cJSON_IsObject(value)) value = cJSON_GetObjectItemCaseSensitive(value, "content");
  const char *text = cJSON_GetStringValue(value);
  for (size_t id = 0; text && id < list->n; id++)
    if (wick_string_equal(list->texts[id], text)) {
      wick_gguf_put_u32(b, key, (uint32_t)id);
      return;
    }
}

/* config.json's id: a number, or the first of several. */
static bool config_token(const convert_source *source, const char *key, uint64_t *out) {
  const cJSON *value = cJSON_GetObjectItemCaseSensitive(source->json, key);
  if (cJSON_IsArray(value)) value = value->child;
  return wick_json_value_u64(value, out) && *out < (uint64_t)source->config.n_vocab;
}

static void put_end(wick_gguf_builder *b, const convert_source *source, int32_t known,
                    const char *json_key, const char *key) {
  uint64_t id = (uint64_t)(known < 0 ? 0 : known);
  if (known >= 0 || config_token(source, json_key, &id)) wick_gguf_put_u32(b, key, (uint32_t)id);
}

static void put_tokens(wick_gguf_builder *b, const token_list *list) {
  wick_gguf_put_array(b, "tokenizer.ggml.tokens", WICK_GGUF_STRING, list->n);
  for (size_t id = 0; id < list->n; id++) wick_gguf_add_string(b, list->texts[id]);
  wick_gguf_put_array(b, "tokenizer.ggml.token_type", WICK_GGUF_I32, list->n);
  for (size_t id = 0; id < list->n; id++) wick_gguf_add_i32(b, list->types[id]);
}

static wick_status put_tokenizer(wick_gguf_builder *b, convert_source *source,
                                 const cJSON *tokenizer, const wick_tokenizer_info *info,
                                 wick_error *error) {
  token_list list;
  WICK_TRY(read_tokens(source, tokenizer, &list, error));
  wick_gguf_put_string(b, "tokenizer.ggml.model", string_of("gpt2"));
  bool is_gpt2 = strcmp(info->pre, "gpt2") == 0; /* GGUF readers know it with a hyphen */
  wick_gguf_put_string(b, "tokenizer.ggml.pre", string_of(is_gpt2 ? "gpt-2" : info->pre));
  put_tokens(b, &list);
  WICK_TRY(put_merges(b, source, tokenizer, error));
  put_end(b, source, info->bos_id, "bos_token_id", "tokenizer.ggml.bos_token_id");
  put_end(b, source, info->eos_id, "eos_token_id", "tokenizer.ggml.eos_token_id");
  put_named_token(b, source, &list, "pad_token", "tokenizer.ggml.padding_token_id");
  put_named_token(b, source, &list, "unk_token", "tokenizer.ggml.unknown_token_id");
  wick_gguf_put_bool(b, "tokenizer.ggml.add_bos_token", info->add_bos);
  wick_gguf_put_bool(b, "tokenizer.ggml.add_space_prefix", false);
  if (info->chat_template)
    wick_gguf_put_string(b, "tokenizer.chat_template", string_of(info->chat_template));
  return WICK_OK;
}

/* wick's own tokenizer reads the files first: it knows the pre-tokenizer's name, refuses what it
 * can't do, and finds BOS, EOS and the chat template wherever they stand. */
static wick_status put_tokenizer_files(wick_gguf_builder *b, convert_source *source,
                                       wick_error *error) {
  wick_string text = source->tokenizer_json;
  wick_tokenizer *known = NULL;
  cJSON *tokenizer = NULL;
  wick_status status =
      wick_tokenizer_from_json(source->tokenizer_path, text.data, text.n, source->tokenizer_config,
                               source->chat_template, wick_allocator_default(), &known, error);
  if (status != WICK_OK) return status;
  status = wick_json_parse(source->tokenizer_path, text.data, text.n, &tokenizer, error);
  if (status == WICK_OK)
    status = put_tokenizer(b, source, tokenizer, wick_tokenizer_get_info(known), error);
  cJSON_Delete(tokenizer);
  wick_tokenizer_free(known);
  return status;
}

/* ---- the file ---- */

static wick_status put_metadata(wick_gguf_builder *b, convert_source *source,
                                const convert_target *target, wick_dtype most, wick_error *error) {
  if (source->is_gguf) { /* what was written for other tensors does not hold any more */
    for (size_t i = 0; i < source->gguf.n_values; i++) {
      const wick_gguf_value *value = &source->gguf.values[i];
      bool replaced = wick_string_equal(value->key, "general.alignment") ||
                      (value->key.n > 6 && memcmp(value->key.data, "split.", 6) == 0) ||
                      (target->has_type && (wick_string_equal(value->key, "general.file_type")));
      if (!replaced) wick_gguf_put_value(b, value);
    }
    if (target->has_type) wick_gguf_put_u32(b, "general.file_type", file_type(most));
    return WICK_OK;
  }
  const char *slash = strrchr(source->folder, '/');
  wick_string name = string_of(slash && slash[1] ? slash + 1 : source->folder);
  wick_json_string(source->json, "_name_or_path", &name);
  wick_gguf_put_string(b, "general.architecture", string_of(source->config.architecture));
  wick_gguf_put_string(b, "general.type", string_of("model"));
  wick_gguf_put_string(b, "general.name", name);
  wick_gguf_put_u32(b, "general.file_type", file_type(most));
  if (wick_dtype_get_info(most)->block_size > 1)
    wick_gguf_put_u32(b, "general.quantization_version", 2);
  put_config(b, &source->config);
  return put_tokenizer_files(b, source, error);
}

/* rope_freqs.weight, in a GGUF file in place of Llama 3's scaling. */
static wick_status make_rope_factors(convert_source *source, wick_error *error) {
  if (source->config.rope_scaling != WICK_ROPE_SCALING_LLAMA3) return WICK_OK;
  float *factors = WICK_ARENA_ARRAY(&source->arena, float, (uint64_t)source->config.head_dim / 2);
  if (!factors) return wick_fail(error, WICK_ERROR_MEMORY, "%s: out of memory", source->path);
  convert_rope_factors(&source->config, factors);
  source->rope_factors = factors;
  return WICK_OK;
}

static wick_status plan_tensors(const convert_source *source, const convert_target *target,
                                wick_tensor_table *table, wick_error *error) {
  if (source->rope_factors) {
    uint64_t n = (uint64_t)source->config.head_dim / 2;
    table->entries[table->n++] = (wick_tensor_entry){.name = string_of("rope_freqs.weight"),
                                                     .dtype = WICK_DTYPE_F32,
                                                     .n_dims = 1,
                                                     .dims = {n, 1, 1, 1},
                                                     .n_bytes = n * sizeof(float)};
  }
  for (size_t i = 0; i < source->n_tensors; i++) {
    const convert_tensor *tensor = &source->tensors[i];
    wick_tensor_entry entry = tensor->entry;
    entry.name = string_of(tensor->name);
    entry.dtype = convert_tensor_type(source, target, tensor);
    bool fits = wick_dtype_row_bytes(entry.dtype, entry.dims[0], &entry.n_bytes);
    for (int d = 1; d < WICK_MAX_DIMS; d++)
      fits = fits && wick_multiply_u64(entry.n_bytes, entry.dims[d], &entry.n_bytes);
    if (!fits)
      return wick_fail(error, WICK_ERROR_UNSUPPORTED, "%s: tensor %s: expected whole blocks",
                       source->path, tensor->name);
    table->entries[table->n++] = entry;
  }
  return WICK_OK;
}

static wick_status write_tensors(const convert_source *source, const convert_target *target,
                                 const wick_tensor_table *table, const wick_sink *sink,
                                 wick_error *error) {
  size_t at = 0;
  if (source->rope_factors) {
    uint64_t n_bytes = table->entries[at++].n_bytes;
    WICK_TRY(wick_sink_write(sink, source->rope_factors, (size_t)n_bytes, error));
    WICK_TRY(wick_gguf_write_padding(sink, n_bytes, error));
  }
  for (size_t i = 0; i < source->n_tensors; i++, at++) {
    WICK_TRY(convert_write_tensor(source, target, &source->tensors[i], sink, error));
    WICK_TRY(wick_gguf_write_padding(sink, table->entries[at].n_bytes, error));
  }
  return WICK_OK;
}

static wick_status write_file(convert_source *source, const convert_target *target,
                              wick_gguf_builder *builder, const wick_sink *sink,
                              wick_error *error) {
  wick_dtype most = WICK_DTYPE_F32;
  for (size_t i = 0; i < source->n_tensors; i++)
    if (strcmp(source->tensors[i].name, "blk.0.ffn_up.weight") == 0)
      most = convert_tensor_type(source, target, &source->tensors[i]);
  WICK_TRY(make_rope_factors(source, error));
  WICK_TRY(put_metadata(builder, source, target, most, error));
  wick_tensor_table table = {
      WICK_ARENA_ARRAY(&source->arena, wick_tensor_entry, source->n_tensors + 1), 0};
  if (!table.entries) return wick_fail(error, WICK_ERROR_MEMORY, "%s: out of memory", source->path);
  WICK_TRY(plan_tensors(source, target, &table, error));
  WICK_TRY(wick_gguf_write_header(sink, builder, &table, error));
  return write_tensors(source, target, &table, sink, error);
}

wick_status convert_to_gguf(convert_source *source, const convert_target *target,
                            wick_output *output, wick_error *error) {
  WICK_TRY(wick_output_open(output, NULL, error));
  wick_gguf_builder builder;
  wick_gguf_builder_init(&builder, NULL);
  wick_sink sink = wick_output_sink(output);
  wick_status status = write_file(source, target, &builder, &sink, error);
  wick_gguf_builder_free(&builder);
  return status == WICK_OK ? wick_output_close(output, error) : status;
}
