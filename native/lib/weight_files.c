/* See weight_files.h. */
#define _POSIX_C_SOURCE 200809L
#include "weight_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file_map.h"
#include "formats/json.h"

enum { MAX_SHARDS = 4096 };

void wick_weight_files_free(wick_weight_files *list) {
  for (size_t i = 0; i < list->n; i++) free(list->items[i]);
  free(list->items);
  *list = (wick_weight_files){0};
}

wick_status wick_weight_files_add(wick_weight_files *list, const char *folder, const char *name,
                                  size_t n, wick_error *error) {
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
static wick_status list_folder(const char *folder, wick_weight_files *list, wick_error *error) {
  DIR *directory = opendir(*folder ? folder : ".");
  if (!directory) return wick_fail(error, WICK_ERROR_IO, "%s: %s", folder, strerror(errno));
  wick_status status = WICK_OK;
  const struct dirent *entry;
  while (status == WICK_OK && (entry = readdir(directory)) != NULL) {
    /* "._model.safetensors" is another system's note about a file */
    if (entry->d_name[0] == '.' || !wick_ends_with(entry->d_name, ".safetensors")) continue;
    status = wick_weight_files_add(list, folder, entry->d_name, strlen(entry->d_name), error);
  }
  closedir(directory);
  return status;
}

/* The files that an index names: {"weight_map": {"TENSOR": "FILE", ...}}. They must lie in the same
 * folder. */
static wick_status list_index(const char *folder, const char *path, wick_weight_files *list,
                              wick_error *error) {
  wick_file_map map = {0};
  cJSON *index = NULL;
  wick_status status = wick_file_map_open(path, &map, error);
  if (status == WICK_OK) {
    status = wick_json_parse(path, (const char *)map.data, (size_t)map.n_bytes, &index, error);
  }
  const cJSON *weights = cJSON_GetObjectItemCaseSensitive(index, "weight_map"), *item;
  if (status == WICK_OK && !cJSON_IsObject(weights)) {
    status = wick_fail(error, WICK_ERROR_FORMAT, "%s: expected a weight_map, found none", path);
  }
  const char *last = NULL; /* tensors of one file mostly stand together */
  cJSON_ArrayForEach(item, weights) {
    const char *name = cJSON_GetStringValue(item);
    if (status != WICK_OK || (last && name && strcmp(name, last) == 0)) continue;
    if (!name || strchr(name, '/') || !wick_ends_with(name, ".safetensors")) {
      status = wick_fail(error, WICK_ERROR_FORMAT,
                         "%s: expected names of .safetensors files beside it, found %.80s", path,
                         name ? name : "another type");
    } else {
      status = wick_weight_files_add(list, folder, name, strlen(name), error);
      last = name;
    }
  }
  cJSON_Delete(index);
  wick_file_map_close(&map);
  return status;
}

wick_status wick_weight_files_list(const char *folder, wick_weight_files *list, wick_error *error) {
  static const char whole[] = "model.safetensors";
  char index_path[WICK_PATH_BYTES], whole_path[WICK_PATH_BYTES];
  wick_status status;
  WICK_TRY(wick_path_join(index_path, folder, "model.safetensors.index.json", error));
  WICK_TRY(wick_path_join(whole_path, folder, whole, error));
  if (wick_path_exists(index_path)) {
    status = list_index(folder, index_path, list, error);
  } else if (wick_path_exists(whole_path)) {
    status = wick_weight_files_add(list, folder, whole, strlen(whole), error);
  } else {
    status = list_folder(folder, list, error);
  }
  if (status != WICK_OK) return status;
  if (list->n == 0) {
    return wick_fail(error, WICK_ERROR_FORMAT, "%s: expected a .safetensors file in it, found none",
                     *folder ? folder : ".");
  }
  qsort(list->items, list->n, sizeof *list->items, by_name);
  return WICK_OK;
}

bool wick_weight_files_is_part(const char *name, const char *ending, int *n) {
  static const char numbers[] = "-00000-of-00000";
  size_t n_name = strlen(name), n_numbers = sizeof numbers - 1, n_ending = strlen(ending);
  if (n_name <= n_numbers + n_ending || !wick_ends_with(name, ending)) return false;
  const char *at = name + n_name - n_ending - n_numbers;
  for (size_t i = 0; i < n_numbers; i++)
    if (numbers[i] == '0' ? at[i] < '0' || at[i] > '9' : at[i] != numbers[i]) return false;
  *n = atoi(at + n_numbers - 5);
  return true;
}

wick_status wick_weight_files_parts(const char *folder, const char *name, wick_weight_files *list,
                                    wick_error *error) {
  int n;
  size_t n_name = strlen(name);
  if (!wick_weight_files_is_part(name, ".gguf", &n))
    return wick_weight_files_add(list, folder, name, n_name, error);
  char part[WICK_PATH_BYTES];
  if (n_name >= sizeof part)
    return wick_fail(error, WICK_ERROR_ARGUMENT, "%s: expected a shorter name", name);
  int n_stem = (int)(n_name - strlen("-00000-of-00000.gguf"));
  for (int i = 1; i <= n; i++) {
    snprintf(part, sizeof part, "%.*s-%05d-of-%05d.gguf", n_stem, name, i, n);
    WICK_TRY(wick_weight_files_add(list, folder, part, n_name, error));
  }
  if (n == 0)
    return wick_fail(error, WICK_ERROR_FORMAT, "%s: expected a part of at least 1, found of 0",
                     name);
  return WICK_OK;
}
