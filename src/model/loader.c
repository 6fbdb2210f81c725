/* From files to a model, as their bytes come. A weight file is a header, which is gathered until it
 * parses, and tensors in the order of their offsets, each packed into its matrix row group by row
 * group; only an incomplete group is ever staged. A Hugging Face folder's JSON files are gathered
 * whole. Chapter 9. */
#include <stdlib.h>
#include <string.h>

#include "formats/names.h"
#include "formats/safetensors.h"
#include "model/buffer.h"
#include "model/model.h"

typedef enum file_kind {
  FILE_NONE,
  FILE_GGUF,
  FILE_SAFETENSORS,
  FILE_CONFIG,
  FILE_TOKENIZER,
  FILE_TOKENIZER_CONFIG,
  FILE_CHAT_TEMPLATE,
} file_kind;

/* A tensor of the current file and where it goes. */
typedef struct bound_tensor {
  const wick_tensor_entry *entry;
  wick_target target;
  size_t unit_bytes; /* staged and put together: a group of rows, or a whole vector */
} bound_tensor;

struct wick_loader {
  const wick_allocator *allocator;
  wick_model *model;
  wick_pool *pool;
  bool exact, failed;
  bool has_config, has_weights;

  file_kind kind;
  char *name; /* in the model's arena */
  uint64_t total_bytes, at;
  bool mapped;
  wick_buffer gathered; /* a header, or a whole JSON file */
  uint64_t need;        /* gathered bytes before the next attempt to parse */
  bool header_done;
  wick_arena file_arena; /* the current file's table */
  bound_tensor *tensors;
  size_t n_tensors, current;
  wick_buffer staged;
  uint64_t tensor_at; /* bytes of the current tensor taken, staged ones included */

  cJSON *tokenizer_config;
  wick_buffer tokenizer_json, chat_template;
};

wick_status wick_loader_new(const wick_load_options *options, wick_loader **out,
                            wick_error *error) {
  static const wick_load_options defaults = {0};
  if (!options) options = &defaults;
  const wick_allocator *allocator =
      options->allocator ? options->allocator : wick_allocator_default();
  wick_loader *loader = wick_allocate(allocator, sizeof *loader, WICK_ALIGNMENT);
  wick_model *model = wick_allocate(allocator, sizeof *model, WICK_ALIGNMENT);
  if (!loader || !model) {
    wick_release(allocator, loader, sizeof *loader, WICK_ALIGNMENT);
    wick_release(allocator, model, sizeof *model, WICK_ALIGNMENT);
    return wick_fail(error, WICK_ERROR_MEMORY, "loader: no memory");
  }
  *loader = (wick_loader){.allocator = allocator, .model = model, .exact = options->exact};
  *model = (wick_model){.allocator = allocator, .exact = options->exact};
  wick_arena_init(&model->arena, allocator);
  wick_arena_init(&loader->file_arena, allocator);
  wick_kernels_select(&model->kernels, options->levels);
  wick_status status = wick_pool_new(allocator, options->n_threads, &loader->pool, error);
  if (status != WICK_OK) {
    wick_loader_free(loader);
    return status;
  }
  *out = loader;
  return WICK_OK;
}

static void end_file(wick_loader *loader) {
  wick_buffer_free(&loader->gathered, loader->allocator);
  wick_buffer_free(&loader->staged, loader->allocator);
  wick_arena_free(&loader->file_arena);
  loader->tensors = NULL;
  loader->n_tensors = loader->current = 0;
  loader->kind = FILE_NONE;
}

void wick_loader_free(wick_loader *loader) {
  if (!loader) return;
  end_file(loader);
  wick_buffer_free(&loader->tokenizer_json, loader->allocator);
  wick_buffer_free(&loader->chat_template, loader->allocator);
  cJSON_Delete(loader->tokenizer_config);
  wick_pool_free(loader->pool);
  wick_model_free(loader->model);
  wick_release(loader->allocator, loader, sizeof *loader, WICK_ALIGNMENT);
}

static wick_status no_memory(wick_loader *loader, wick_error *error) {
  return wick_fail(error, WICK_ERROR_MEMORY, "%s: no memory",
                   loader->name ? loader->name : "model");
}

static bool ends_with(const char *name, const char *end) {
  size_t n = strlen(name), m = strlen(end);
  return n >= m && strcmp(name + n - m, end) == 0;
}

static file_kind kind_of(const char *name) {
  if (ends_with(name, ".gguf")) return FILE_GGUF;
  if (ends_with(name, ".safetensors")) return FILE_SAFETENSORS;
  if (ends_with(name, "tokenizer_config.json")) return FILE_TOKENIZER_CONFIG;
  if (ends_with(name, "tokenizer.json")) return FILE_TOKENIZER;
  if (ends_with(name, "config.json")) return FILE_CONFIG;
  if (ends_with(name, "chat_template.jinja")) return FILE_CHAT_TEMPLATE;
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
                     (unsigned long long)loader->at);
  loader->name = wick_arena_copy_string(&loader->model->arena, name, strlen(name));
  if (!loader->name) return no_memory(loader, error);
  file_kind kind = kind_of(name);
  if (kind == FILE_NONE)
    return wick_fail(error, WICK_ERROR_UNSUPPORTED,
                     "%s: expected a .gguf, .safetensors or .json file of a model", name);
  if (kind == FILE_SAFETENSORS && !loader->has_config)
    return wick_fail(error, WICK_ERROR_ARGUMENT, "%s: expected config.json before it, found none",
                     name);
  if (loader->has_weights && (kind != FILE_SAFETENSORS || !loader->has_config))
    return wick_fail(error, WICK_ERROR_ARGUMENT, "%s: expected no more files, found one", name);
  bool whole = kind != FILE_GGUF && kind != FILE_SAFETENSORS;
  if (whole && total_bytes > whole_file_cap(kind))
    return wick_fail(error, WICK_ERROR_FORMAT, "%s: expected at most %llu bytes, found %llu", name,
                     (unsigned long long)whole_file_cap(kind), (unsigned long long)total_bytes);
  if (total_bytes == 0)
    return wick_fail(error, WICK_ERROR_FORMAT, "%s: expected a model's file, found 0 bytes", name);
  loader->kind = kind;
  loader->total_bytes = total_bytes;
  loader->at = loader->need = loader->tensor_at = 0;
  loader->header_done = loader->mapped = false;
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
  if (keep) {
    wick_buffer_free(keep, loader->allocator);
    *keep = *gathered;
    *gathered = (wick_buffer){0};
    return WICK_OK;
  }
  cJSON *json;
  WICK_TRY(wick_json_parse(loader->name, (const char *)gathered->data, gathered->n, &json, error));
  if (loader->kind == FILE_CONFIG) {
    wick_status status = use_config(loader, json, error);
    cJSON_Delete(json);
    return status;
  }
  cJSON_Delete(loader->tokenizer_config);
  loader->tokenizer_config = json;
  return WICK_OK;
}

static wick_status check_tensor(wick_loader *loader, const bound_tensor *bound, const char *name,
                                wick_error *error) {
  const wick_tensor_entry *entry = bound->entry;
  const wick_target *target = &bound->target;
  uint64_t rows = entry->dims[1], cols = entry->dims[0];
  bool flat = entry->dims[2] == 1 && entry->dims[3] == 1;
  if (!flat || cols != target->n_cols || rows != target->n_rows)
    return wick_fail(error, WICK_ERROR_FORMAT,
                     "%s: tensor %s: expected %zu rows of %zu, found %llu of %llu%s", loader->name,
                     name, target->n_rows, target->n_cols, (unsigned long long)rows,
                     (unsigned long long)cols, flat ? "" : " in more dimensions");
  if (target->matrix ? target->matrix->n_rows != 0 : target->vector && *target->vector != NULL)
    return wick_fail(error, WICK_ERROR_FORMAT, "%s: tensor %s: expected once, found twice",
                     loader->name, name);
  return WICK_OK;
}

/* Weights that stay where the file's mapping has them. */
static bool is_in_place(const wick_loader *loader, const wick_matrix *matrix) {
  return loader->mapped && matrix->packing == WICK_PACKED_NONE;
}

static wick_status bind_tensor(wick_loader *loader, const wick_tensor_entry *entry,
                               wick_error *error) {
  wick_model *model = loader->model;
  char name[WICK_NAME_BYTES];
  wick_canonical_name(name, sizeof name, entry->name);
  bound_tensor bound = {.entry = entry};
  if (!wick_model_find_target(model, name, &bound.target))
    return wick_fail(error, WICK_ERROR_UNSUPPORTED,
                     "%s: tensor %.*s: not one that architecture %s is known to have", loader->name,
                     WICK_STRING_ARGS(entry->name), model->config.architecture);
  WICK_TRY(check_tensor(loader, &bound, name, error));
  wick_matrix *matrix = bound.target.matrix;
  size_t n_rows = bound.target.n_rows, n_cols = bound.target.n_cols;
  if (matrix) {
    if (!wick_matrix_init(matrix, &model->kernels, entry->dtype, n_rows, n_cols, loader->exact))
      return wick_fail(error, WICK_ERROR_FORMAT, "%s: tensor %s: too large", loader->name, name);
    bound.unit_bytes = matrix->rows_per_group * matrix->row_bytes;
    model->info.weight_bytes += wick_matrix_bytes(matrix);
  } else if (bound.target.vector) {
    bound.unit_bytes = (size_t)entry->n_bytes;
    *bound.target.vector = WICK_ARENA_ARRAY(&model->arena, float, n_cols);
    if (!*bound.target.vector) return no_memory(loader, error);
  } else {
    return WICK_OK; /* a tied head's copy: passed over */
  }
  model->info.n_parameters += (uint64_t)n_rows * n_cols;
  loader->tensors[loader->n_tensors++] = bound;
  return WICK_OK;
}

static int compare_offsets(const void *a, const void *b) {
  uint64_t x = ((const bound_tensor *)a)->entry->offset;
  uint64_t y = ((const bound_tensor *)b)->entry->offset;
  return x < y ? -1 : x > y;
}

/* One slab for all matrices of the file that need memory of their own. */
static wick_status allocate_slab(wick_loader *loader, wick_error *error) {
  wick_model *model = loader->model;
  uint64_t total = 0;
  for (size_t i = 0; i < loader->n_tensors; i++) {
    const wick_matrix *matrix = loader->tensors[i].target.matrix;
    if (matrix && !is_in_place(loader, matrix)) total += wick_matrix_bytes(matrix);
  }
  if (!total) return WICK_OK;
  wick_slab *slab = WICK_ARENA_ARRAY(&model->arena, wick_slab, 1);
  if (!slab) return no_memory(loader, error);
  if (wick_to_size(total, &slab->n_bytes))
    slab->data = wick_allocate(model->allocator, slab->n_bytes, WICK_ALIGNMENT);
  if (!slab->data)
    return wick_fail(error, WICK_ERROR_MEMORY, "%s: no memory for %llu bytes of weights",
                     loader->name, (unsigned long long)total);
  slab->next = model->slabs;
  model->slabs = slab;
  size_t at = 0;
  for (size_t i = 0; i < loader->n_tensors; i++) {
    wick_matrix *matrix = loader->tensors[i].target.matrix;
    if (!matrix || is_in_place(loader, matrix)) continue;
    matrix->data = matrix->owned = slab->data + at;
    at += wick_matrix_bytes(matrix);
  }
  return WICK_OK;
}

static wick_status bind_tensors(wick_loader *loader, const wick_tensor_table *table,
                                wick_error *error) {
  loader->tensors = WICK_ARENA_ARRAY(&loader->file_arena, bound_tensor, table->n);
  if (!loader->tensors) return no_memory(loader, error);
  for (size_t i = 0; i < table->n; i++) WICK_TRY(bind_tensor(loader, &table->entries[i], error));
  qsort(loader->tensors, loader->n_tensors, sizeof *loader->tensors, compare_offsets);
  return allocate_slab(loader, error);
}

static wick_status use_gguf_header(wick_loader *loader, const wick_gguf *gguf, wick_error *error) {
  wick_model *model = loader->model;
  wick_config *config = &model->config;
  WICK_TRY(wick_config_from_gguf(loader->name, gguf, config, error));
  config->tied_head = !wick_tensor_table_find(&gguf->tensors, "output.weight");
  model->layers = WICK_ARENA_ARRAY(&model->arena, wick_layer, (uint64_t)config->n_layers);
  if (!model->layers) return no_memory(loader, error);
  wick_string title;
  if (wick_gguf_get_string(gguf, "general.name", &title)) {
    model->info.name = wick_arena_copy_string(&model->arena, title.data, title.n);
    if (!model->info.name) return no_memory(loader, error);
  }
  WICK_TRY(bind_tensors(loader, &gguf->tensors, error));
  return wick_tokenizer_from_gguf(loader->name, gguf, loader->allocator, &model->tokenizer, error);
}

/* WICK_NEED_MORE, or the header is done and *header_bytes says where it ended. */
static wick_status use_header(wick_loader *loader, const uint8_t *data, uint64_t n,
                              uint64_t *header_bytes, wick_error *error) {
  wick_arena *arena = &loader->file_arena;
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
    WICK_TRY(bind_tensors(loader, &table, error));
  }
  loader->has_weights = loader->header_done = true;
  return WICK_OK;
}

/* Whole units of a tensor: rows first .. of a matrix, or all of a vector. */
typedef struct put_run {
  const bound_tensor *bound;
  const uint8_t *bytes;
  size_t first, n_rows;
  bool failed[WICK_MAX_THREADS];
} put_run;

static void put_share(void *context, const wick_team *team) {
  put_run *run = context;
  wick_matrix *matrix = run->bound->target.matrix;
  size_t each = matrix->rows_per_group, begin, end;
  wick_team_range(team, (run->n_rows + each - 1) / each, &begin, &end);
  begin *= each;
  end = end * each < run->n_rows ? end * each : run->n_rows;
  if (begin < end)
    run->failed[team->thread] = !wick_matrix_put(matrix, run->first + begin, end - begin,
                                                 run->bytes + begin * matrix->row_bytes);
}

static wick_status put_units(wick_loader *loader, const bound_tensor *bound, uint64_t at,
                             const uint8_t *bytes, size_t n, wick_error *error) {
  const wick_matrix *matrix = bound->target.matrix;
  if (!matrix) {
    wick_row_to_f32(bound->entry->dtype, bytes, bound->target.n_cols, *bound->target.vector);
    return WICK_OK;
  }
  put_run run = {.bound = bound, .bytes = bytes};
  run.first = (size_t)(at / matrix->row_bytes);
  run.n_rows = n / matrix->row_bytes;
  wick_pool_run(loader->pool, put_share, &run);
  for (int i = 0; i < WICK_MAX_THREADS; i++)
    if (run.failed[i])
      return wick_fail(error, WICK_ERROR_FORMAT,
                       "%s: tensor %.*s: expected finite block scales, found NaN or infinity",
                       loader->name, WICK_STRING_ARGS(bound->entry->name));
  return WICK_OK;
}

/* Up to n bytes of the current tensor; *taken says how many. */
static wick_status take_tensor_bytes(wick_loader *loader, const uint8_t *bytes, uint64_t n,
                                     uint64_t *taken, wick_error *error) {
  const bound_tensor *bound = &loader->tensors[loader->current];
  wick_matrix *matrix = bound->target.matrix;
  uint64_t left = bound->entry->n_bytes - loader->tensor_at;
  if (n > left) n = left;
  *taken = n;
  uint64_t at = loader->tensor_at;
  loader->tensor_at += n;
  if (matrix && is_in_place(loader, matrix)) {
    matrix->data = bytes;
    return WICK_OK;
  }
  wick_buffer *staged = &loader->staged;
  if (staged->n) {
    size_t missing = bound->unit_bytes - staged->n;
    if (missing > left) missing = (size_t)left;
    size_t part = n < missing ? (size_t)n : missing;
    if (!wick_buffer_append(staged, loader->allocator, bytes, part))
      return no_memory(loader, error);
    if (part < missing) return WICK_OK;
    WICK_TRY(put_units(loader, bound, at + part - staged->n, staged->data, staged->n, error));
    staged->n = 0;
    bytes += part;
    at += part;
    n -= part;
  }
  bool last = loader->tensor_at == bound->entry->n_bytes;
  size_t whole = last ? (size_t)n : (size_t)(n - n % bound->unit_bytes);
  if (whole) WICK_TRY(put_units(loader, bound, at, bytes, whole, error));
  if (!wick_buffer_append(staged, loader->allocator, bytes + whole, (size_t)n - whole))
    return no_memory(loader, error);
  return WICK_OK;
}

/* Tensor data, with the gaps between tensors passed over. */
static wick_status take_data(wick_loader *loader, const uint8_t *bytes, uint64_t n,
                             wick_error *error) {
  while (n) {
    uint64_t taken = n;
    if (loader->current < loader->n_tensors) {
      const wick_tensor_entry *entry = loader->tensors[loader->current].entry;
      if (loader->at < entry->offset) {
        taken = entry->offset - loader->at < n ? entry->offset - loader->at : n;
      } else {
        WICK_TRY(take_tensor_bytes(loader, bytes, n, &taken, error));
        if (loader->tensor_at == entry->n_bytes) {
          loader->current++;
          loader->tensor_at = 0;
        }
      }
    }
    bytes += taken;
    n -= taken;
    loader->at += taken;
  }
  return WICK_OK;
}

static wick_status take(wick_loader *loader, const uint8_t *bytes, uint64_t n, wick_error *error) {
  if (loader->kind == FILE_NONE)
    return wick_fail(error, WICK_ERROR_ARGUMENT, "model: expected wick_loader_begin before bytes");
  if (n > loader->total_bytes - loader->at - (loader->header_done ? 0 : loader->gathered.n))
    return wick_fail(error, WICK_ERROR_FORMAT, "%s: expected %llu bytes, found more", loader->name,
                     (unsigned long long)loader->total_bytes);
  wick_buffer *gathered = &loader->gathered;
  bool weights = loader->kind == FILE_GGUF || loader->kind == FILE_SAFETENSORS;
  if (weights && loader->header_done) {
    WICK_TRY(take_data(loader, bytes, n, error));
  } else if (!wick_buffer_append(gathered, loader->allocator, bytes, (size_t)n)) {
    return no_memory(loader, error);
  } else if (!weights && gathered->n == loader->total_bytes) {
    WICK_TRY(use_whole_file(loader, error));
    loader->at = loader->total_bytes;
  } else if (weights && (gathered->n >= loader->need || gathered->n == loader->total_bytes)) {
    uint64_t header_bytes;
    wick_status status = use_header(loader, gathered->data, gathered->n, &header_bytes, error);
    if (status == WICK_NEED_MORE) return WICK_OK;
    WICK_TRY(status);
    uint64_t first = header_bytes < gathered->n ? header_bytes : gathered->n;
    loader->at = first;
    WICK_TRY(take_data(loader, gathered->data + first, gathered->n - first, error));
  }
  if (loader->at == loader->total_bytes) end_file(loader);
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
  loader->mapped = true;
  uint64_t header_bytes;
  WICK_TRY(use_header(loader, bytes, n, &header_bytes, error));
  if (header_bytes > n) header_bytes = n;
  loader->at = header_bytes;
  WICK_TRY(take_data(loader, bytes + header_bytes, n - header_bytes, error));
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
  wick_string chat = {(const char *)loader->chat_template.data, loader->chat_template.n};
  return wick_tokenizer_from_json("tokenizer.json", (const char *)loader->tokenizer_json.data,
                                  loader->tokenizer_json.n, loader->tokenizer_config, chat,
                                  loader->allocator, &loader->model->tokenizer, error);
}

static void fill_info(wick_model *model, const char *file_name) {
  const wick_config *config = &model->config;
  const wick_tokenizer_info *text = wick_tokenizer_get_info(model->tokenizer);
  wick_model_info *info = &model->info;
  if (!info->name) info->name = file_name;
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
                     (unsigned long long)(loader->header_done ? loader->at : loader->gathered.n));
  if (!loader->has_weights)
    return wick_fail(error, WICK_ERROR_ARGUMENT, "%s: expected weights, found none",
                     loader->name ? loader->name : "model");
  wick_model *model = loader->model;
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
