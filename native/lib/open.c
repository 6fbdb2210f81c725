/* wick_model_open: a file or a model folder, mapped rather than read, so that weights that need no
 * packing are used where the operating system's page cache has them. The maps belong to the model.
 * Chapter 9. */
#define _POSIX_C_SOURCE 200809L

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "file_map.h"
#include "formats/json.h"
#include "model/model.h"

enum { MAX_SHARDS = 4096 };

typedef struct names { /* of files in a folder, owned */
  char **items;
  size_t n;
} names;

typedef struct maps { /* belongs to the model once there is one */
  wick_file_map *items;
  size_t n;
} maps;

static void free_names(names *list) {
  for (size_t i = 0; i < list->n; i++) free(list->items[i]);
  free(list->items);
}

static void free_maps(void *context) {
  maps *list = context;
  for (size_t i = 0; i < list->n; i++) wick_file_map_close(&list->items[i]);
  free(list->items);
  free(list);
}

static bool ends_with(const char *text, const char *ending) {
  size_t n = strlen(text), m = strlen(ending);
  return n > m && strcmp(text + n - m, ending) == 0;
}

/* FOLDER/NAME, owned, or NULL. */
static char *join(const char *folder, const char *name) {
  size_t capacity = strlen(folder) + strlen(name) + 2;
  char *path = malloc(capacity);
  if (path) snprintf(path, capacity, "%s/%s", folder, name);
  return path;
}

static bool exists(const char *folder, const char *name) {
  struct stat status;
  char *path = join(folder, name);
  bool found = path && stat(path, &status) == 0;
  free(path);
  return found;
}

/* ---- which weight files ---------------------------------------------------------------------- */

static wick_status add_name(names *list, const char *folder, const char *name, size_t n,
                            wick_error *error) {
  for (size_t i = 0; i < list->n; i++) {
    if (strlen(list->items[i]) == n && memcmp(list->items[i], name, n) == 0) return WICK_OK;
  }
  if (list->n == MAX_SHARDS) {
    return wick_fail(error, WICK_ERROR_UNSUPPORTED,
                     "%s: expected at most %d weight files, found more", folder, (int)MAX_SHARDS);
  }
  char **larger = realloc(list->items, (list->n + 1) * sizeof *larger);
  char *copy = larger ? malloc(n + 1) : NULL;
  if (larger) list->items = larger;
  if (!copy) return wick_fail(error, WICK_ERROR_MEMORY, "%s: no memory for its file names", folder);
  memcpy(copy, name, n);
  copy[n] = '\0';
  list->items[list->n++] = copy;
  return WICK_OK;
}

static int by_name(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Every *.safetensors of a folder. */
static wick_status list_folder(const char *folder, names *list, wick_error *error) {
  DIR *directory = opendir(folder);
  if (!directory) return wick_fail(error, WICK_ERROR_IO, "%s: %s", folder, strerror(errno));
  wick_status status = WICK_OK;
  const struct dirent *entry;
  while (status == WICK_OK && (entry = readdir(directory)) != NULL) {
    if (!ends_with(entry->d_name, ".safetensors")) continue;
    status = add_name(list, folder, entry->d_name, strlen(entry->d_name), error);
  }
  closedir(directory);
  return status;
}

/* The files that an index names: {"weight_map": {"TENSOR": "FILE", ...}}. They must lie in the same
 * folder. */
static wick_status list_index(const char *folder, const char *index_name, names *list,
                              wick_error *error) {
  char *path = join(folder, index_name);
  if (!path) return wick_fail(error, WICK_ERROR_MEMORY, "%s: no memory for a path", folder);
  wick_file_map map = {0};
  cJSON *index = NULL;
  wick_status status = wick_file_map_open(path, &map, error);
  free(path);
  if (status == WICK_OK) {
    status =
        wick_json_parse(index_name, (const char *)map.data, (size_t)map.n_bytes, &index, error);
  }
  const cJSON *weights = cJSON_GetObjectItemCaseSensitive(index, "weight_map"), *item;
  if (status == WICK_OK && !cJSON_IsObject(weights)) {
    status =
        wick_fail(error, WICK_ERROR_FORMAT, "%s: expected a weight_map, found none", index_name);
  }
  const char *last = NULL; /* tensors of one file mostly stand together */
  cJSON_ArrayForEach(item, weights) {
    const char *name = cJSON_GetStringValue(item);
    if (status != WICK_OK || (last && name && strcmp(name, last) == 0)) continue;
    if (!name || strchr(name, '/') || !ends_with(name, ".safetensors")) {
      status = wick_fail(error, WICK_ERROR_FORMAT,
                         "%s: expected names of .safetensors files beside it, found %.80s",
                         index_name, name ? name : "another type");
    } else {
      status = add_name(list, folder, name, strlen(name), error);
      last = name;
    }
  }
  cJSON_Delete(index);
  wick_file_map_close(&map);
  return status;
}

static wick_status list_weights(const char *folder, names *list, wick_error *error) {
  static const char whole[] = "model.safetensors", index[] = "model.safetensors.index.json";
  wick_status status;
  if (exists(folder, index)) {
    status = list_index(folder, index, list, error);
  } else if (exists(folder, whole)) {
    status = add_name(list, folder, whole, strlen(whole), error);
  } else {
    status = list_folder(folder, list, error);
  }
  if (status != WICK_OK) return status;
  if (list->n == 0) {
    return wick_fail(error, WICK_ERROR_FORMAT, "%s: expected a .safetensors file in it, found none",
                     folder);
  }
  qsort(list->items, list->n, sizeof *list->items, by_name);
  return WICK_OK;
}

/* ---- loading --------------------------------------------------------------------------------- */

/* Map FOLDER/NAME and give it to the loader. maps has room. */
static wick_status load_file(wick_loader *loader, maps *list, const char *folder, const char *name,
                             wick_error *error) {
  char *path = join(folder, name);
  if (!path) return wick_fail(error, WICK_ERROR_MEMORY, "%s: no memory for its path", name);
  wick_file_map *map = &list->items[list->n];
  wick_status status = wick_file_map_open(path, map, error);
  free(path);
  if (status != WICK_OK) return status;
  list->n++;
  return wick_loader_map(loader, name, map->data, map->n_bytes, error);
}

static const char *const side_files[] = {"config.json", "tokenizer.json", "tokenizer_config.json",
                                         "chat_template.jinja"};
enum { N_SIDE_FILES = 4, N_NEEDED = 2 };

static wick_status load_files(wick_loader *loader, maps *list, const char *folder,
                              const names *weights, wick_error *error) {
  bool gguf = ends_with(weights->items[0], ".gguf");
  for (int i = 0; !gguf && i < N_SIDE_FILES; i++) {
    if (i >= N_NEEDED && !exists(folder, side_files[i])) continue;
    WICK_TRY(load_file(loader, list, folder, side_files[i], error));
  }
  for (size_t i = 0; i < weights->n; i++) {
    WICK_TRY(load_file(loader, list, folder, weights->items[i], error));
  }
  return WICK_OK;
}

static wick_status load(const char *folder, const names *weights, const wick_load_options *options,
                        wick_model **out, wick_error *error) {
  maps *list = calloc(1, sizeof *list);
  if (list) list->items = calloc(weights->n + N_SIDE_FILES, sizeof *list->items);
  if (!list || !list->items) {
    free(list);
    return wick_fail(error, WICK_ERROR_MEMORY, "%s: no memory for its maps", folder);
  }
  wick_loader *loader = NULL;
  wick_status status = wick_loader_new(options, &loader, error);
  if (status == WICK_OK) status = load_files(loader, list, folder, weights, error);
  if (status == WICK_OK) status = wick_loader_finish(loader, out, error);
  wick_loader_free(loader);
  if (status == WICK_OK) {
    wick_model_on_free(*out, free_maps, list);
  } else {
    free_maps(list);
  }
  return status;
}

/* A shard of several ("model-00001-of-00003.safetensors") stands for all. */
static bool is_shard(const char *name) {
  static const char tail[] = "-00000-of-00000.safetensors";
  size_t n = strlen(name), m = sizeof tail - 1;
  if (n <= m) return false;
  for (size_t i = 0; i < m; i++) {
    char c = name[n - m + i];
    if (tail[i] == '0' ? c < '0' || c > '9' : c != tail[i]) return false;
  }
  return true;
}

/* The folder of a file's path, owned, or NULL. */
static char *folder_of(const char *path) {
  const char *slash = strrchr(path, '/');
  size_t n = slash ? (size_t)(slash - path) : 0;
  char *folder = malloc(n + 2);
  if (folder) snprintf(folder, n + 2, "%.*s", (int)n, path);
  if (folder && n == 0) snprintf(folder, 2, "%s", slash ? "/" : ".");
  return folder;
}

wick_status wick_model_open(const char *path, const wick_load_options *options, wick_model **out,
                            wick_error *error) {
  struct stat info;
  if (stat(path, &info) != 0) {
    return wick_fail(error, WICK_ERROR_IO, "%s: %s", path, strerror(errno));
  }
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  bool is_folder = S_ISDIR(info.st_mode);
  if (!is_folder && !ends_with(name, ".gguf") && !ends_with(name, ".safetensors")) {
    return wick_fail(error, WICK_ERROR_UNSUPPORTED,
                     "%s: expected a .gguf or .safetensors file or a folder, found another", path);
  }
  char *folder = is_folder ? NULL : folder_of(path);
  if (!is_folder && !folder) {
    return wick_fail(error, WICK_ERROR_MEMORY, "%s: no memory for its path", path);
  }
  const char *where = is_folder ? path : folder;
  names weights = {0};
  wick_status status = is_folder || is_shard(name)
                           ? list_weights(where, &weights, error)
                           : add_name(&weights, where, name, strlen(name), error);
  if (status == WICK_OK) status = load(where, &weights, options, out, error);
  free_names(&weights);
  free(folder);
  return status;
}
