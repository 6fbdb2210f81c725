/* See output.h. POSIX rename replaces a file at once. */
#define _POSIX_C_SOURCE 200809L
#include "output.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static wick_status io_error(const char *path, wick_error *error) {
  return wick_fail(error, WICK_ERROR_IO, "%s: %s", path, strerror(errno));
}

/* What may be replaced: an empty folder, or a model's. A loader takes every *.safetensors of a
 * folder: none may be left over from an earlier model. */
static wick_status check_folder(const char *path, wick_error *error) {
  DIR *folder = opendir(path);
  if (!folder) return io_error(path, error);
  wick_status status = WICK_OK;
  bool empty = true, has_config = false, has_weights = false;
  for (struct dirent *entry; status == WICK_OK && (entry = readdir(folder));) {
    const char *name = entry->d_name;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) continue;
    bool weights = strcmp(name, "model.safetensors") == 0;
    empty = false;
    has_weights |= weights;
    has_config |= strcmp(name, "config.json") == 0;
    if (!weights && wick_ends_with(name, ".safetensors"))
      status = wick_fail(error, WICK_ERROR_ARGUMENT,
                         "%s: expected a folder without other weights, found %s", path, name);
  }
  closedir(folder);
  if (status != WICK_OK || empty || (has_config && has_weights)) return status;
  return wick_fail(error, WICK_ERROR_ARGUMENT,
                   "%s: expected an empty folder or a model's (config.json, model.safetensors), "
                   "found another",
                   path);
}

/* What stands at the final name may be replaced, or is written in place. */
static wick_status check_existing(wick_output *output, bool force, wick_error *error) {
  struct stat information;
  output->exists = stat(output->path, &information) == 0;
  if (!output->exists) return WICK_OK;
  bool is_folder = S_ISDIR(information.st_mode);
  if (!force)
    return wick_fail(error, WICK_ERROR_ARGUMENT,
                     "%s: expected a new name, found an existing %s (--force replaces it)",
                     output->path, is_folder ? "folder" : "file");
  if (is_folder != output->is_folder)
    return wick_fail(error, WICK_ERROR_ARGUMENT, "%s: expected a %s, found a %s", output->path,
                     output->is_folder ? "folder" : "file", is_folder ? "folder" : "file");
  output->in_place = !is_folder && !S_ISREG(information.st_mode);
  return is_folder ? check_folder(output->path, error) : WICK_OK;
}

static wick_status begin(wick_output *output, const char *path, bool force, wick_error *error) {
  size_t n = strlen(path);
  while (n > 1 && path[n - 1] == '/') n--;
  if (n == 0 || n > WICK_PATH_BYTES - 64)
    return wick_fail(error, WICK_ERROR_ARGUMENT,
                     "%.60s: expected a path of 1 to %d bytes, found %zu", path,
                     WICK_PATH_BYTES - 64, n);
  memcpy(output->path, path, n);
  WICK_TRY(check_existing(output, force, error));
  const char *ending = output->in_place ? "" : ".partial";
  memcpy(output->partial, output->path, n);
  strcpy(output->partial + n, ending); /* there is room: see above */
  if (output->is_folder && mkdir(output->partial, 0777) != 0 && errno != EEXIST)
    return io_error(output->partial, error);
  return WICK_OK;
}

wick_status wick_output_begin(wick_output *output, const char *path, bool is_folder, bool force,
                              wick_error *error) {
  *output = (wick_output){.is_folder = is_folder};
  wick_status status = begin(output, path, force, error);
  if (status != WICK_OK) output->partial[0] = '\0'; /* nothing there is ours */
  return status;
}

wick_status wick_output_open(wick_output *output, const char *name, wick_error *error) {
  char path[WICK_PATH_BYTES];
  snprintf(path, sizeof path, "%s", output->partial);
  if (output->is_folder) {
    WICK_TRY(wick_path_join(path, output->partial, name, error));
    output->names[output->n_names++] = name;
  }
  output->failure = 0;
  output->file = fopen(path, "wb");
  return output->file ? WICK_OK : io_error(output->is_folder ? path : output->path, error);
}

wick_status wick_output_close(wick_output *output, wick_error *error) {
  errno = 0;
  bool failed = ferror(output->file) != 0;
  failed = fclose(output->file) != 0 || failed;
  output->file = NULL;
  if (!failed) return WICK_OK;
  if (!output->failure) output->failure = errno;
  return wick_fail(error, WICK_ERROR_IO, "%s: expected to write it all, found: %s", output->path,
                   output->failure ? strerror(output->failure) : "an earlier write failed");
}

static wick_status write_file(void *context, const void *bytes, size_t n, wick_error *error) {
  wick_output *output = context;
  if (fwrite(bytes, 1, n, output->file) == n) return WICK_OK;
  output->failure = errno;
  return io_error(output->path, error);
}

wick_sink wick_output_sink(wick_output *output) {
  return (wick_sink){write_file, output};
}

wick_status wick_output_commit(wick_output *output, wick_error *error) {
  if (output->in_place) return WICK_OK;
  if (!output->is_folder || !output->exists) {
    if (rename(output->partial, output->path) != 0) return io_error(output->path, error);
    return WICK_OK;
  }
  for (int i = 0; i < output->n_names; i++) {
    char from[WICK_PATH_BYTES], to[WICK_PATH_BYTES];
    WICK_TRY(wick_path_join(from, output->partial, output->names[i], error));
    WICK_TRY(wick_path_join(to, output->path, output->names[i], error));
    if (rename(from, to) != 0) return io_error(to, error);
  }
  if (rmdir(output->partial) != 0) return io_error(output->partial, error);
  return WICK_OK;
}

void wick_output_discard(wick_output *output) {
  if (output->file) fclose(output->file);
  output->file = NULL;
  wick_output_remove(output);
}

void wick_output_remove(const wick_output *output) {
  if (output->in_place || !output->partial[0]) return;
  if (!output->is_folder) {
    unlink(output->partial);
    return;
  }
  char path[WICK_PATH_BYTES];
  size_t n = strlen(output->partial);
  memcpy(path, output->partial, n);
  path[n] = '/';
  for (int i = 0; i < output->n_names; i++) {
    size_t n_name = strlen(output->names[i]);
    if (n + n_name + 2 > sizeof path) continue;
    memcpy(path + n + 1, output->names[i], n_name + 1);
    unlink(path);
  }
  rmdir(output->partial);
}
