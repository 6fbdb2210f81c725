/* Opening what is converted: a GGUF file or a folder, mapped, parsed, names made canonical. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "convert_parts.h"
#include "formats/safetensors.h"
#include "model/model.h"
#include "weight_files.h"

enum { MAX_FILES = 4096 }; /* of a folder: config, tokenizer and shards */

const convert_tensor *convert_find(const convert_source *source, const char *name) {
  for (size_t i = 0; i < source->n_tensors; i++)
    if (strcmp(source->tensors[i].name, name) == 0) return &source->tensors[i];
  return NULL;
}

static wick_status out_of_memory(const convert_source *source, wick_error *error) {
  return wick_fail(error, WICK_ERROR_MEMORY, "%s: out of memory", source->path);
}

static wick_status map_file(convert_source *source, const char *path, const wick_file_map **out,
                            wick_error *error) {
  if (source->n_maps == source->maps_capacity)
    return wick_fail(error, WICK_ERROR_UNSUPPORTED, "%s: expected at most %zu files, found more",
                     source->path, source->maps_capacity);
  wick_file_map *map = &source->maps[source->n_maps];
  WICK_TRY(wick_file_map_open(path, map, error));
  source->n_maps++;
  *out = map;
  return WICK_OK;
}

/* Add the entries of one file. A tensor that has no canonical name would be lost: refused. */
static wick_status add_tensors(convert_source *source, const char *path,
                               const wick_tensor_table *table, const uint8_t *data,
                               wick_error *error) {
  convert_tensor *all =
      WICK_ARENA_ARRAY(&source->arena, convert_tensor, source->n_tensors + table->n);
  if (!all) return out_of_memory(source, error);
  if (source->n_tensors) memcpy(all, source->tensors, source->n_tensors * sizeof *all);
  source->tensors = all;
  for (size_t i = 0; i < table->n; i++) {
    const wick_tensor_entry *entry = &table->entries[i];
    convert_tensor *tensor = &all[source->n_tensors];
    *tensor = (convert_tensor){.entry = *entry, .data = data + entry->offset};
    if (wick_canonical_name(tensor->name, sizeof tensor->name, entry->name)) {
      if (!(source->config.tied_head && strcmp(tensor->name, "output.weight") == 0))
        source->n_tensors++;
    } else if (source->is_gguf && wick_string_equal(entry->name, "rope_freqs.weight")) {
      if (entry->dtype != WICK_DTYPE_F32 || entry->n_dims != 1 ||
          entry->dims[0] != (uint64_t)(source->config.head_dim / 2))
        return wick_fail(error, WICK_ERROR_FORMAT,
                         "%s: tensor rope_freqs.weight: expected %d float32 values, found others",
                         path, source->config.head_dim / 2);
      float *factors = WICK_ARENA_ARRAY(&source->arena, float, entry->dims[0]);
      if (!factors) return out_of_memory(source, error);
      memcpy(factors, tensor->data, (size_t)entry->n_bytes);
      source->rope_factors = factors;
    } else if (!strstr(tensor->name, "rotary_emb.inv_freq")) { /* old checkpoints; recomputed */
      return wick_fail(error, WICK_ERROR_UNSUPPORTED,
                       "%s: expected tensors of a llama, qwen2 or qwen3 model, found %.*s", path,
                       WICK_STRING_ARGS(entry->name));
    }
  }
  return WICK_OK;
}

/* Part number of a GGUF model; the first has the metadata. */
static wick_status add_part(convert_source *source, const char *path, uint64_t number,
                            uint64_t *n_parts, wick_error *error) {
  const wick_file_map *map;
  wick_gguf gguf;
  uint64_t need;
  WICK_TRY(map_file(source, path, &map, error));
  WICK_TRY(wick_gguf_parse(path, map->data, map->n_bytes, map->n_bytes, &source->arena, &gguf,
                           &need, error));
  WICK_TRY(wick_gguf_check_part(path, &gguf, number, n_parts, error));
  if (number == 0) {
    source->gguf = gguf;
    WICK_TRY(wick_config_from_gguf(path, &gguf, &source->config, error));
    source->config.tied_head = true;
  }
  if (wick_tensor_table_find(&gguf.tensors, "output.weight")) source->config.tied_head = false;
  return add_tensors(source, path, &gguf.tensors, map->data, error);
}

static wick_status open_gguf(convert_source *source, wick_error *error) {
  const char *slash = strrchr(source->path, '/');
  wick_weight_files parts = {0};
  uint64_t n_parts = 0;
  source->is_gguf = true;
  WICK_TRY(wick_path_folder(source->folder, source->path, error));
  wick_status status =
      wick_weight_files_parts(source->path, slash ? slash + 1 : source->path, &parts, error);
  for (size_t i = 0; status == WICK_OK && i < parts.n; i++) {
    char path[WICK_PATH_BYTES];
    status = wick_path_join(path, source->folder, parts.items[i], error);
    if (status == WICK_OK) status = add_part(source, path, i, &n_parts, error);
  }
  if (status == WICK_OK && parts.n < n_parts)
    status = wick_fail(error, WICK_ERROR_FORMAT, "%s: expected a model of %llu parts, found %zu",
                       source->path, (unsigned long long)n_parts, parts.n);
  wick_weight_files_free(&parts);
  return status;
}

static wick_status add_shard(convert_source *source, const char *name, wick_error *error) {
  char path[WICK_PATH_BYTES];
  const wick_file_map *map;
  wick_tensor_table table;
  uint64_t header, need;
  WICK_TRY(wick_path_join(path, source->folder, name, error));
  WICK_TRY(map_file(source, path, &map, error));
  WICK_TRY(wick_safetensors_parse(path, map->data, map->n_bytes, map->n_bytes, &source->arena,
                                  &table, &header, &need, error));
  return add_tensors(source, path, &table, map->data, error);
}

static wick_status add_shards(convert_source *source, wick_error *error) {
  wick_weight_files shards = {0};
  wick_status status = wick_weight_files_list(source->folder, &shards, error);
  for (size_t i = 0; status == WICK_OK && i < shards.n; i++)
    status = add_shard(source, shards.items[i], error);
  wick_weight_files_free(&shards);
  return status;
}

/* A file's text, and its path for messages; empty when it is absent and that is allowed. */
static wick_status read_text(convert_source *source, const char *name, bool required,
                             char path[WICK_PATH_BYTES], wick_string *out, wick_error *error) {
  const wick_file_map *map;
  *out = (wick_string){0};
  WICK_TRY(wick_path_join(path, source->folder, name, error));
  if (!wick_path_exists(path)) {
    if (!required) return WICK_OK;
    return wick_fail(error, WICK_ERROR_FORMAT, "%s: expected %s %s it, found none", source->path,
                     name, strcmp(source->folder, source->path) == 0 ? "in" : "beside");
  }
  WICK_TRY(map_file(source, path, &map, error));
  *out = (wick_string){(const char *)map->data, (size_t)map->n_bytes};
  return WICK_OK;
}

static wick_status open_folder(convert_source *source, wick_error *error) {
  wick_string text;
  char path[WICK_PATH_BYTES];
  WICK_TRY(read_text(source, "config.json", true, path, &text, error));
  WICK_TRY(wick_json_parse(path, text.data, text.n, &source->json, error));
  WICK_TRY(wick_config_from_json(path, source->json, &source->config, error));
  WICK_TRY(read_text(source, "tokenizer_config.json", false, path, &text, error));
  if (text.n) WICK_TRY(wick_json_parse(path, text.data, text.n, &source->tokenizer_config, error));
  WICK_TRY(read_text(source, "chat_template.jinja", false, path, &source->chat_template, error));
  WICK_TRY(read_text(source, "tokenizer.json", true, source->tokenizer_path,
                     &source->tokenizer_json, error));
  return add_shards(source, error);
}

/* The order in which a forward pass meets them: embedding, layers by number, the rest. */
static long layer_of(const char *name) {
  if (strcmp(name, "token_embd.weight") == 0) return -1;
  return strncmp(name, "blk.", 4) == 0 ? strtol(name + 4, NULL, 10) : LONG_MAX;
}

static int compare_tensors(const void *a, const void *b) {
  const char *x = ((const convert_tensor *)a)->name, *y = ((const convert_tensor *)b)->name;
  long x_layer = layer_of(x), y_layer = layer_of(y);
  return x_layer != y_layer ? (x_layer > y_layer) - (x_layer < y_layer) : strcmp(x, y);
}

/* Every tensor that the configuration asks for, in its shape, and no other: else a model would be
 * written that nothing can load. The places of a model are filled with what cannot be read. */
static wick_status check_shapes(convert_source *source, wick_error *error) {
  wick_model *model = WICK_ARENA_ARRAY(&source->arena, wick_model, 1);
  if (!model) return out_of_memory(source, error);
  model->config = source->config;
  model->layers = WICK_ARENA_ARRAY(&source->arena, wick_layer, (uint64_t)source->config.n_layers);
  if (!model->layers) return out_of_memory(source, error);
  for (size_t i = 0; i < source->n_tensors; i++) {
    const convert_tensor *tensor = &source->tensors[i];
    const uint64_t *dims = tensor->entry.dims;
    wick_target target;
    if (!wick_model_find_target(model, tensor->name, &target))
      return wick_fail(error, WICK_ERROR_FORMAT,
                       "%s: expected the tensors of a %s model of %d layers, found %s too",
                       source->path, source->config.architecture, source->config.n_layers,
                       tensor->name);
    if (dims[0] != target.n_cols || dims[1] != target.n_rows || dims[2] != 1 || dims[3] != 1)
      return wick_fail(error, WICK_ERROR_FORMAT,
                       "%s: tensor %s: expected %zu rows of %zu, found %llu of %llu", source->path,
                       tensor->name, target.n_rows, target.n_cols, (unsigned long long)dims[1],
                       (unsigned long long)dims[0]);
    if (target.matrix) target.matrix->data = (const void *)model;
    if (target.vector) *target.vector = (void *)model;
  }
  return wick_model_check_complete(model, source->path, error);
}

/* One of each, whatever the shards say, and those that the configuration asks for. */
static wick_status check_tensors(convert_source *source, wick_error *error) {
  qsort(source->tensors, source->n_tensors, sizeof *source->tensors, compare_tensors);
  for (size_t i = 1; i < source->n_tensors; i++)
    if (compare_tensors(&source->tensors[i - 1], &source->tensors[i]) == 0)
      return wick_fail(error, WICK_ERROR_FORMAT, "%s: expected every tensor once, found %s twice",
                       source->path, source->tensors[i].name);
  return check_shapes(source, error);
}

wick_status convert_open(convert_source *source, const char *path, wick_error *error) {
  *source = (convert_source){0};
  wick_arena_init(&source->arena, NULL);
  size_t n = strlen(path);
  if (n >= sizeof source->path)
    return wick_fail(error, WICK_ERROR_ARGUMENT, "%s: expected a shorter path", path);
  memcpy(source->path, path, n + 1);
  source->maps = WICK_ARENA_ARRAY(&source->arena, wick_file_map, MAX_FILES);
  if (!source->maps) return out_of_memory(source, error);
  source->maps_capacity = MAX_FILES;
  struct stat information;
  if (stat(source->path, &information) != 0)
    return wick_fail(error, WICK_ERROR_IO, "%s: %s", source->path, strerror(errno));
  bool is_folder = S_ISDIR(information.st_mode);
  if (!is_folder && !wick_ends_with(path, ".safetensors")) {
    WICK_TRY(open_gguf(source, error));
  } else {
    if (is_folder) memcpy(source->folder, path, n + 1);
    if (!is_folder) WICK_TRY(wick_path_folder(source->folder, path, error));
    WICK_TRY(open_folder(source, error));
  }
  return check_tensors(source, error);
}

void convert_close(convert_source *source) {
  for (size_t i = 0; i < source->n_maps; i++) wick_file_map_close(&source->maps[i]);
  cJSON_Delete(source->json);
  cJSON_Delete(source->tokenizer_config);
  wick_arena_free(&source->arena);
}
