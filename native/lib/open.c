/* wick_model_open: a file or a model folder, mapped rather than read, so that weights that need no
 * packing are used where the operating system's page cache has them. The maps belong to the model.
 * Chapter 9. */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "file_map.h"
#include "model/model.h"
#include "weight_files.h"

typedef struct maps { /* belongs to the model once there is one */
  wick_file_map *items;
  size_t n;
} maps;

static void free_maps(void *context) {
  maps *list = context;
  for (size_t i = 0; i < list->n; i++) wick_file_map_close(&list->items[i]);
  free(list->items);
  free(list);
}

typedef struct source {
  const char *given; /* the path as the user has it: a file or a folder */
  bool is_folder;
  char folder[WICK_PATH_BYTES];
  wick_weight_files weights;
} source;

/* Map a file and give it to the loader. maps has room. */
static wick_status load_file(wick_loader *loader, maps *list, const char *path, wick_error *error) {
  wick_file_map *map = &list->items[list->n];
  WICK_TRY(wick_file_map_open(path, map, error));
  list->n++;
  return wick_loader_map(loader, path, map->data, map->n_bytes, error);
}

static const char *const side_files[] = {"config.json", "tokenizer.json", "tokenizer_config.json",
                                         "chat_template.jinja"};
enum { N_SIDE_FILES = 4, N_NEEDED = 2 };

/* What stands beside .safetensors files. */
static wick_status load_side_files(wick_loader *loader, maps *list, const source *from,
                                   wick_error *error) {
  for (int i = 0; i < N_SIDE_FILES; i++) {
    char path[WICK_PATH_BYTES];
    WICK_TRY(wick_path_join(path, from->folder, side_files[i], error));
    if (wick_path_exists(path) || (i < N_NEEDED && errno != ENOENT)) {
      WICK_TRY(load_file(loader, list, path, error));
    } else if (i < N_NEEDED) {
      return wick_fail(error, WICK_ERROR_FORMAT, "%s: expected %s %s it, found none", from->given,
                       side_files[i], from->is_folder ? "in" : "beside");
    }
  }
  return WICK_OK;
}

static wick_status load_files(wick_loader *loader, maps *list, const source *from,
                              wick_error *error) {
  bool gguf = wick_ends_with(from->weights.items[0], ".gguf");
  if (!gguf) WICK_TRY(load_side_files(loader, list, from, error));
  for (size_t i = 0; i < from->weights.n; i++) {
    char path[WICK_PATH_BYTES];
    WICK_TRY(wick_path_join(path, from->folder, from->weights.items[i], error));
    WICK_TRY(load_file(loader, list, path, error));
  }
  return WICK_OK;
}

static wick_status load(const source *from, const wick_load_options *options, wick_model **out,
                        wick_error *error) {
  maps *list = calloc(1, sizeof *list);
  if (list) list->items = calloc(from->weights.n + N_SIDE_FILES, sizeof *list->items);
  if (!list || !list->items) {
    free(list);
    return wick_fail(error, WICK_ERROR_MEMORY, "%s: no memory for its maps", from->given);
  }
  wick_load_options own = options ? *options : (wick_load_options){0};
  if (!own.forget) own.forget = wick_file_map_forget;
  wick_loader *loader = NULL;
  wick_status status = wick_loader_new(&own, &loader, error);
  if (status == WICK_OK) status = load_files(loader, list, from, error);
  if (status == WICK_OK) status = wick_loader_finish(loader, out, error);
  wick_loader_free(loader);
  if (status == WICK_OK) {
    wick_model_on_free(*out, free_maps, list);
  } else {
    free_maps(list);
  }
  return status;
}

/* The folder and the weight files that path means. */
static wick_status find_files(const char *path, source *out, wick_error *error) {
  struct stat info;
  if (stat(path, &info) != 0) {
    return wick_fail(error, WICK_ERROR_IO, "%s: %s", path, strerror(errno));
  }
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  out->given = path;
  out->is_folder = S_ISDIR(info.st_mode);
  if (out->is_folder) {
    WICK_TRY(wick_path_join(out->folder, "", path, error));
    return wick_weight_files_list(out->folder, &out->weights, error);
  }
  if (!wick_ends_with(name, ".gguf") && !wick_ends_with(name, ".safetensors")) {
    return wick_fail(error, WICK_ERROR_UNSUPPORTED,
                     "%s: expected a .gguf or .safetensors file or a folder, found another", path);
  }
  WICK_TRY(wick_path_folder(out->folder, path, error));
  int n;
  if (wick_weight_files_is_part(name, ".safetensors", &n)) /* one of several stands for all */
    return wick_weight_files_list(out->folder, &out->weights, error);
  return wick_weight_files_parts(path, name, &out->weights, error);
}

wick_status wick_model_open(const char *path, const wick_load_options *options, wick_model **out,
                            wick_error *error) {
  source from = {0};
  wick_status status = find_files(path, &from, error);
  if (status == WICK_OK) status = load(&from, options, out, error);
  wick_weight_files_free(&from.weights);
  return status;
}
