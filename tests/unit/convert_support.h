/* For tests of wick convert: models loaded from where they were written, and what was written
 * removed. The program that includes this asks for POSIX first (_XOPEN_SOURCE 700). */
#ifndef WICK_TESTS_CONVERT_SUPPORT_H
#define WICK_TESTS_CONVERT_SUPPORT_H

#include <sys/stat.h>
#include <unistd.h>

#include "../../native/lib/convert.h"
#include "../../native/lib/output.h"
#include "bytes.h"
#include "formats/json.h"
#include "tap.h"
#include "wick.h"

enum { MAX_FILES = 5 };

static const char *const folder_files[] = {"config.json", "generation_config.json",
                                           "tokenizer.json", "tokenizer_config.json",
                                           "model.safetensors"};

/* A model that stays in memory; files must outlive it. */
typedef struct loaded {
  test_bytes files[MAX_FILES];
  int n_files;
  wick_model *model;
} loaded;

static inline wick_status load_file(wick_loader *loader, loaded *out, const char *path,
                                    const char *name, wick_error *error) {
  test_bytes *file = &out->files[out->n_files++];
  *file = test_read_file(path);
  return wick_loader_map(loader, name, file->data, file->n, error);
}

static inline wick_status load(const char *path, loaded *out, wick_error *error) {
  wick_loader *loader = NULL;
  wick_load_options options = {.exact = true};
  *out = (loaded){0};
  wick_status status = wick_loader_new(&options, &loader, error);
  if (status == WICK_OK && wick_ends_with(path, ".gguf"))
    status = load_file(loader, out, path, "model.gguf", error);
  for (int i = 0; status == WICK_OK && !wick_ends_with(path, ".gguf") && i < MAX_FILES; i++) {
    char file[WICK_PATH_BYTES];
    if (i == 1) continue; /* generation_config.json is for others */
    wick_path_join(file, path, folder_files[i], NULL);
    status = load_file(loader, out, file, folder_files[i], error);
  }
  if (status == WICK_OK) status = wick_loader_finish(loader, &out->model, error);
  wick_loader_free(loader);
  return status;
}

static inline void unload(loaded *model) {
  if (model->model) wick_model_free(model->model);
  for (int i = 0; i < model->n_files; i++) free(model->files[i].data);
}

static inline void remove_folder(const char *folder) {
  char path[WICK_PATH_BYTES];
  for (int i = 0; i < MAX_FILES; i++) {
    wick_path_join(path, folder, folder_files[i], NULL);
    unlink(path);
  }
  rmdir(folder);
}

static inline int exists(const char *path) {
  struct stat information;
  return stat(path, &information) == 0;
}

#endif
