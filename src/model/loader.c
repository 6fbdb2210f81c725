/* From files to a model, as their bytes come. A weight file is a header, which is gathered until it
 * parses, and then tensors (intake.h). A Hugging Face folder's JSON files are gathered whole.
 * Chapter 9. */
#include <string.h>

#include "formats/safetensors.h"
#include "model/intake.h"

typedef enum file_kind {
  FILE_NONE,
  FILE_GGUF,
  FILE_SAFETENSORS,
  FILE_CONFIG,
  FILE_TOKENIZER,
  FILE_TOKENIZER_CONFIG,
  FILE_CHAT_TEMPLATE,
} file_kind;

struct wick_loader {
  const wick_allocator *allocator;
  wick_model *model;
  wick_pool *pool;
  bool failed; /* takes nothing more */
  bool has_config, has_weights;
  uint64_t n_gguf_parts,
      n_gguf_done; /* files of a GGUF model: in all, and with their header read */

  file_kind kind;
  char *name; /* in the model's arena */
  uint64_t total_bytes;
  wick_buffer gathered; /* a header, or a whole JSON file */
  uint64_t need;        /* gathered bytes before the next attempt to parse */
  bool header_done;
  wick_intake intake;

  cJSON *tokenizer_config;
  wick_buffer tokenizer_json, chat_template;
  const char *tokenizer_name; /* tokenizer_json's, in the model's arena */
};

wick_status wick_loader_new(const wick_load_options *options, wick_loader **out,
                            wick_error *error) {
  static const wick_load_options defaults = {0};
  if (!options) options = &defaults;
  if (options->n_threads < 0)
    return wick_fail(error, WICK_ERROR_ARGUMENT, "loader: expected at least 0 threads, found %d",
                     options->n_threads);
  const wick_allocator *allocator =
      options->allocator ? options->allocator : wick_allocator_default();
  wick_loader *loader = wick_allocate(allocator, sizeof *loader, WICK_ALIGNMENT);
  wick_model *model = wick_allocate(allocator, sizeof *model, WICK_ALIGNMENT);
  if (!loader || !model) {
    wick_release(allocator, loader, sizeof *loader, WICK_ALIGNMENT);
    wick_release(allocator, model, sizeof *model, WICK_ALIGNMENT);
    return wick_fail(error, WICK_ERROR_MEMORY, "loader: no memory");
  }
  const wick_buffer empty = {.allocator = allocator};
  *loader = (wick_loader){.allocator = allocator,
                          .model = model,
                          .gathered = empty,
                          .tokenizer_json = empty,
                          .chat_template = empty};
  *model = (wick_model){.allocator = allocator, .exact = options->exact};
  wick_arena_init(&model->arena, allocator);
  loader->intake = (wick_intake){
      .allocator = allocator, .model = model, .staged = empty, .forget = options->forget};
  wick_arena_init(&loader->intake.arena, allocator);
  wick_kernels_select(&model->kernels, options->levels);
  wick_status status = wick_pool_new(allocator, options->n_threads, &loader->pool, error);
  if (status != WICK_OK) {
    wick_loader_free(loader);
    return status;
  }
  loader->intake.pool = loader->pool;
  *out = loader;
  return WICK_OK;
}

static void end_file(wick_loader *loader) {
  wick_buffer_free(&loader->gathered);
  wick_intake_reset(&loader->intake);
  loader->kind = FILE_NONE;
}

void wick_loader_free(wick_loader *loader) {
  if (!loader) return;
  end_file(loader);
  wick_buffer_free(&loader->tokenizer_json);
  wick_buffer_free(&loader->chat_template);
  cJSON_Delete(loader->tokenizer_config);
  wick_pool_free(loader->pool);
  wick_model_free(loader->model);
  wick_release(loader->allocator, loader, sizeof *loader, WICK_ALIGNMENT);
}

static wick_status no_memory(wick_loader *loader, wick_error *error) {
  return wick_fail(error, WICK_ERROR_MEMORY, "%s: no memory",
                   loader->name ? loader->name : "model");
}

/* How much of the current file has come. */
static uint64_t received_bytes(const wick_loader *loader) {
  return loader->header_done ? loader->intake.at : loader->gathered.n;
}

static file_kind kind_of(const char *name) {
  if (wick_ends_with(name, ".gguf")) return FILE_GGUF;
  if (wick_ends_with(name, ".safetensors")) return FILE_SAFETENSORS;
  if (wick_ends_with(name, "tokenizer_config.json")) return FILE_TOKENIZER_CONFIG;
  if (wick_ends_with(name, "tokenizer.json")) return FILE_TOKENIZER;
  if (wick_ends_with(name, "config.json")) return FILE_CONFIG;
  if (wick_ends_with(name, "chat_template.jinja")) return FILE_CHAT_TEMPLATE;
  return FILE_NONE;
}

/* Most bytes of a file that is gathered whole. */
static uint64_t whole_file_cap(file_kind kind) {
  return kind == FILE_TOKENIZER ? 64u << 20 : kind == FILE_TOKENIZER_CONFIG ? 16u << 20 : 1u << 20;
}

static wick_status begin(wick_loader *loader, const char *name, uint64_t total_bytes,
                         wick_error *error) {
  if (loader->kind != FILE_NONE)
    return wick_fail(error, WICK_ERROR_ARGUMENT, "%s: expected %llu bytes, found %llu",
                     loader->name, (unsigned long long)loader->total_bytes,
                     (unsigned long long)received_bytes(loader));
  loader->name = wick_arena_copy_string(&loader->model->arena, name, strlen(name));
  if (!loader->name) return no_memory(loader, error);
  file_kind kind = kind_of(name);
  if (kind == FILE_NONE)
    return wick_fail(error, WICK_ERROR_UNSUPPORTED,
                     "%s: expected a .gguf, .safetensors or .json file of a model", name);
  if (kind == FILE_SAFETENSORS && !loader->has_config)
    return wick_fail(error, WICK_ERROR_ARGUMENT, "%s: expected config.json before it, found none",
                     name);
  bool folder = loader->has_config || loader->tokenizer_json.n || loader->tokenizer_config ||
                loader->chat_template.n;
  if (kind == FILE_GGUF && folder)
    return wick_fail(error, WICK_ERROR_ARGUMENT,
                     "%s: expected .gguf files alone, found files of a folder before it", name);
  bool more = kind == FILE_SAFETENSORS
                  ? loader->has_config
                  : kind == FILE_GGUF && loader->n_gguf_done < loader->n_gguf_parts;
  if (loader->has_weights && !more)
    return wick_fail(error, WICK_ERROR_ARGUMENT, "%s: expected no more files, found one", name);
  bool whole = kind != FILE_GGUF && kind != FILE_SAFETENSORS;
  if (whole && total_bytes > whole_file_cap(kind))
    return wick_fail(error, WICK_ERROR_FORMAT, "%s: expected at most %llu bytes, found %llu", name,
                     (unsigned long long)whole_file_cap(kind), (unsigned long long)total_bytes);
  if (total_bytes == 0)
    return wick_fail(error, WICK_ERROR_FORMAT, "%s: expected a model's file, found 0 bytes", name);
  loader->kind = kind;
  loader->total_bytes = total_bytes;
  loader->need = 0;
  loader->header_done = false;
  loader->intake.name = loader->name;
  return WICK_OK;
}

static wick_status use_config(wick_loader *loader, const cJSON *json, wick_error *error) {
  wick_model *model = loader->model;
  if (model->layers)
    return wick_fail(error, WICK_ERROR_ARGUMENT, "%s: expected one configuration, found another",
                     loader->name);
  WICK_TRY(wick_config_from_json(loader->name, json, &model->config, error));
  model->layers = WICK_ARENA_ARRAY(&model->arena, wick_layer, (uint64_t)model->config.n_layers);
  loader->has_config = true;
  return model->layers ? WICK_OK : no_memory(loader, error);
}

/* A file that was gathered whole is complete. */
static wick_status use_whole_file(wick_loader *loader, wick_error *error) {
  wick_buffer *gathered = &loader->gathered;
  wick_buffer *keep = loader->kind == FILE_TOKENIZER       ? &loader->tokenizer_json
                      : loader->kind == FILE_CHAT_TEMPLATE ? &loader->chat_template
                                                           : NULL;
  if (loader->kind == FILE_TOKENIZER) loader->tokenizer_name = loader->name;
  if (keep) {
    wick_buffer_free(keep);
    *keep = *gathered;
    *gathered = (wick_buffer){.allocator = loader->allocator};
    return WICK_OK;
  }
  cJSON *json;
  WICK_TRY(wick_json_parse(loader->name, gathered->data, gathered->n, &json, error));
  if (loader->kind == FILE_CONFIG) {
    wick_status status = use_config(loader, json, error);
    cJSON_Delete(json);
    return status;
  }
  cJSON_Delete(loader->tokenizer_config);
  loader->tokenizer_config = json;
  return WICK_OK;
}

static wick_status use_gguf_header(wick_loader *loader, const wick_gguf *gguf, wick_error *error) {
  wick_model *model = loader->model;
  wick_config *config = &model->config;
  WICK_TRY(
      wick_gguf_check_part(loader->name, gguf, loader->n_gguf_done, &loader->n_gguf_parts, error));
  if (loader->n_gguf_done++ > 0) return wick_intake_bind(&loader->intake, &gguf->tensors, error);
  WICK_TRY(wick_config_from_gguf(loader->name, gguf, config, error));
  model->layers = WICK_ARENA_ARRAY(&model->arena, wick_layer, (uint64_t)config->n_layers);
  if (!model->layers) return no_memory(loader, error);
  wick_string title;
  if (wick_gguf_get_string(gguf, "general.name", &title)) {
    model->info.name = wick_arena_copy_string(&model->arena, title.data, title.n);
    if (!model->info.name) return no_memory(loader, error);
  }
  WICK_TRY(wick_intake_bind(&loader->intake, &gguf->tensors, error));
  return wick_tokenizer_from_gguf(loader->name, gguf, loader->allocator, &model->tokenizer, error);
}

/* WICK_NEED_MORE, or the header is done and *header_bytes says where it ended. */
static wick_status use_header(wick_loader *loader, const uint8_t *data, uint64_t n,
                              uint64_t *header_bytes, wick_error *error) {
  wick_arena *arena = &loader->intake.arena;
  wick_arena_free(arena); /* of an attempt that needed more */
  if (loader->kind == FILE_GGUF) {
    wick_gguf gguf;
    WICK_TRY(wick_gguf_parse(loader->name, data, n, loader->total_bytes, arena, &gguf,
                             &loader->need, error));
    *header_bytes = gguf.header_bytes;
    WICK_TRY(use_gguf_header(loader, &gguf, error));
  } else {
    wick_tensor_table table;
    WICK_TRY(wick_safetensors_parse(loader->name, data, n, loader->total_bytes, arena, &table,
                                    header_bytes, &loader->need, error));
    WICK_TRY(wick_intake_bind(&loader->intake, &table, error));
  }
  loader->has_weights = loader->header_done = true;
  return WICK_OK;
}

/* The header is parsed out of the first n bytes; what follows it there is tensor data. */
static wick_status take_header(wick_loader *loader, const uint8_t *bytes, uint64_t n,
                               wick_error *error) {
  uint64_t header_bytes;
  WICK_TRY(use_header(loader, bytes, n, &header_bytes, error));
  uint64_t first = header_bytes < n ? header_bytes : n;
  loader->intake.at = first;
  return wick_intake_take(&loader->intake, bytes + first, n - first, error);
}

static wick_status take(wick_loader *loader, const uint8_t *bytes, uint64_t n, wick_error *error) {
  if (loader->kind == FILE_NONE)
    return wick_fail(error, WICK_ERROR_ARGUMENT, "model: expected wick_loader_begin before bytes");
  if (n > loader->total_bytes - received_bytes(loader))
    return wick_fail(error, WICK_ERROR_FORMAT, "%s: expected %llu bytes, found more", loader->name,
                     (unsigned long long)loader->total_bytes);
  wick_buffer *gathered = &loader->gathered;
  bool weights = loader->kind == FILE_GGUF || loader->kind == FILE_SAFETENSORS;
  if (loader->header_done) {
    WICK_TRY(wick_intake_take(&loader->intake, bytes, n, error));
  } else if (!wick_buffer_append(gathered, bytes, (size_t)n)) {
    return no_memory(loader, error);
  } else if (weights && (gathered->n >= loader->need || gathered->n == loader->total_bytes)) {
    wick_status status = take_header(loader, (const uint8_t *)gathered->data, gathered->n, error);
    if (status != WICK_OK) return status == WICK_NEED_MORE ? WICK_OK : status;
    wick_buffer_free(gathered);
  }
  if (received_bytes(loader) < loader->total_bytes) return WICK_OK;
  if (!weights) WICK_TRY(use_whole_file(loader, error));
  end_file(loader);
  return WICK_OK;
}

/* After an error the loader takes nothing more. */
static wick_status once_failed(wick_loader *loader, wick_status status) {
  if (status != WICK_OK) loader->failed = true;
  return status;
}

static wick_status check_usable(const wick_loader *loader, wick_error *error) {
  if (!loader->failed) return WICK_OK;
  return wick_fail(error, WICK_ERROR_ARGUMENT, "model: loading has failed before");
}

wick_status wick_loader_begin(wick_loader *loader, const char *name, uint64_t total_bytes,
                              wick_error *error) {
  WICK_TRY(check_usable(loader, error));
  return once_failed(loader, begin(loader, name, total_bytes, error));
}

wick_status wick_loader_write(wick_loader *loader, const void *bytes, size_t n_bytes,
                              wick_error *error) {
  WICK_TRY(check_usable(loader, error));
  return once_failed(loader, n_bytes ? take(loader, bytes, n_bytes, error) : WICK_OK);
}

static wick_status map_file(wick_loader *loader, const char *name, const uint8_t *bytes, uint64_t n,
                            wick_error *error) {
  WICK_TRY(begin(loader, name, n, error));
  if (loader->kind != FILE_GGUF && loader->kind != FILE_SAFETENSORS)
    return take(loader, bytes, n, error);
  loader->intake.mapped = true;
  WICK_TRY(take_header(loader, bytes, n, error));
  end_file(loader);
  return WICK_OK;
}

wick_status wick_loader_map(wick_loader *loader, const char *name, const void *bytes,
                            uint64_t n_bytes, wick_error *error) {
  WICK_TRY(check_usable(loader, error));
  return once_failed(loader, map_file(loader, name, bytes, n_bytes, error));
}

static wick_status make_tokenizer(wick_loader *loader, wick_error *error) {
  if (!loader->tokenizer_json.n)
    return wick_fail(error, WICK_ERROR_ARGUMENT,
                     "%s: expected tokenizer.json beside it, found none", loader->name);
  wick_string chat = {loader->chat_template.data, loader->chat_template.n};
  return wick_tokenizer_from_json(loader->tokenizer_name, loader->tokenizer_json.data,
                                  loader->tokenizer_json.n, loader->tokenizer_config, chat,
                                  loader->allocator, &loader->model->tokenizer, error);
}

static void fill_info(wick_model *model, const char *file_name) {
  const wick_config *config = &model->config;
  const wick_tokenizer_info *text = wick_tokenizer_get_info(model->tokenizer);
  wick_model_info *info = &model->info;
  const char *slash = strrchr(file_name, '/');
  if (!info->name) info->name = slash ? slash + 1 : file_name;
  info->architecture = config->architecture;
  info->level = model->kernels.level;
  info->chat_format = text->chat_format;
  info->n_vocab = config->n_vocab;
  info->n_layers = config->n_layers;
  info->n_embd = config->n_embd;
  info->n_heads = config->n_heads;
  info->n_kv_heads = config->n_kv_heads;
  info->head_dim = config->head_dim;
  info->n_ffn = config->n_ffn;
  info->n_context = config->n_context;
  info->bos_id = text->bos_id;
  info->eos_id = text->eos_id;
}

static wick_status finish(wick_loader *loader, wick_model **out, wick_error *error) {
  if (loader->kind != FILE_NONE)
    return wick_fail(error, WICK_ERROR_FORMAT, "%s: expected %llu bytes, found %llu", loader->name,
                     (unsigned long long)loader->total_bytes,
                     (unsigned long long)received_bytes(loader));
  if (!loader->has_weights)
    return wick_fail(error, WICK_ERROR_ARGUMENT, "%s: expected weights, found none",
                     loader->name ? loader->name : "model");
  if (loader->n_gguf_done < loader->n_gguf_parts)
    return wick_fail(error, WICK_ERROR_FORMAT, "%s: expected a model of %llu parts, found %llu",
                     loader->name, (unsigned long long)loader->n_gguf_parts,
                     (unsigned long long)loader->n_gguf_done);
  wick_model *model = loader->model;
  /* A GGUF file says so by having no output.weight. */
  if (loader->n_gguf_done && !model->output.data) model->config.tied_head = true;
  WICK_TRY(wick_model_check_complete(model, loader->name, error));
  if (!model->tokenizer) WICK_TRY(make_tokenizer(loader, error));
  int n_tokens = wick_tokenizer_get_info(model->tokenizer)->n_vocab;
  if (n_tokens > model->config.n_vocab)
    return wick_fail(error, WICK_ERROR_FORMAT, "%s: expected at most %d tokens, found %d",
                     loader->name, model->config.n_vocab, n_tokens);
  fill_info(model, loader->name);
  *out = model;
  loader->model = NULL;
  loader->failed = true; /* nothing more to load into */
  return WICK_OK;
}

wick_status wick_loader_finish(wick_loader *loader, wick_model **out, wick_error *error) {
  WICK_TRY(check_usable(loader, error));
  return once_failed(loader, finish(loader, out, error));
}
