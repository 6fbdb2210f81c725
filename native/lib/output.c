/* See output.h. POSIX rename replaces a file at once. */
#define _POSIX_C_SOURCE 200809L
#include "output.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool wick_path_join(char out[WICK_PATH_BYTES], const char *folder, const char *name) {
  int n = snprintf(out, WICK_PATH_BYTES, "%s/%s", folder, name);
  return n > 0 && n < WICK_PATH_BYTES;
}

bool wick_path_ends(const char *path, const char *suffix) {
  size_t n = strlen(path), n_suffix = strlen(suffix);
  return n >= n_suffix && strcmp(path + n - n_suffix, suffix) == 0;
}

static wick_status io_error(const char *path, wick_error *error) {
  return wick_fail(error, WICK_ERROR_IO, "%s: %s", path, strerror(errno));
}

/* A loader takes every *.safetensors of a folder: none may be left over from an earlier model. */
static wick_status refuse_other_weights(const char *path, wick_error *error) {
  DIR *folder = opendir(path);
  if (!folder) return io_error(path, error);
  wick_status status = WICK_OK;
  for (struct dirent *entry; status == WICK_OK && (entry = readdir(folder));)
    if (wick_path_ends(entry->d_name, ".safetensors") &&
        strcmp(entry->d_name, "model.safetensors") != 0)
      status =
          wick_fail(error, WICK_ERROR_ARGUMENT,
                    "%s: expected a folder without other weights, found %s", path, entry->d_name);
  closedir(folder);
  return status;
}

wick_status wick_output_begin(wick_output *output, const char *path, bool is_folder, bool force,
                              wick_error *error) {
  *output = (wick_output){.is_folder = is_folder};
  size_t n = strlen(path);
  while (n > 1 && path[n - 1] == '/') n--;
  if (n == 0 || n > WICK_PATH_BYTES - 64)
    return wick_fail(error, WICK_ERROR_ARGUMENT, "%s: expected a shorter path", path);
  memcpy(output->path, path, n);
  snprintf(output->partial, sizeof output->partial, "%.*s.partial", (int)n, path);
  struct stat information;
  output->exists = stat(output->path, &information) == 0;
  if (output->exists) {
    if (!force)
      return wick_fail(error, WICK_ERROR_ARGUMENT,
                       "%s: expected a new name, found an existing %s (--force replaces it)",
                       output->path, S_ISDIR(information.st_mode) ? "folder" : "file");
    if (!S_ISDIR(information.st_mode) != !is_folder)
      return wick_fail(error, WICK_ERROR_ARGUMENT, "%s: expected a %s, found a %s", output->path,
                       is_folder ? "folder" : "file", is_folder ? "file" : "folder");
    if (is_folder) WICK_TRY(refuse_other_weights(output->path, error));
  }
  if (is_folder && mkdir(output->partial, 0777) != 0 && errno != EEXIST)
    return io_error(output->partial, error);
  return WICK_OK;
}

wick_status wick_output_open(wick_output *output, const char *name, wick_error *error) {
  char path[WICK_PATH_BYTES];
  snprintf(path, sizeof path, "%s", output->partial);
  if (output->is_folder) {
    if (output->n_names == WICK_OUTPUT_FILES || !wick_path_join(path, output->partial, name))
      return wick_fail(error, WICK_ERROR_ARGUMENT, "%s: expected a shorter path", output->path);
    output->names[output->n_names++] = name;
  }
  output->file = fopen(path, "wb");
  return output->file ? WICK_OK : io_error(path, error);
}

wick_status wick_output_close(wick_output *output, wick_error *error) {
  bool failed = ferror(output->file) != 0;
  failed = fclose(output->file) != 0 || failed;
  output->file = NULL;
  if (!failed) return WICK_OK;
  return wick_fail(error, WICK_ERROR_IO, "%s: expected room to write, found none left",
                   output->partial);
}

static wick_status write_file(void *context, const void *bytes, size_t n, wick_error *error) {
  wick_output *output = context;
  if (fwrite(bytes, 1, n, output->file) == n) return WICK_OK;
  return io_error(output->partial, error);
}

wick_sink wick_output_sink(wick_output *output) {
  return (wick_sink){write_file, output};
}

wick_status wick_output_commit(wick_output *output, wick_error *error) {
  if (!output->is_folder || !output->exists) {
    if (rename(output->partial, output->path) != 0) return io_error(output->path, error);
    return WICK_OK;
  }
  for (int i = 0; i < output->n_names; i++) {
    char from[WICK_PATH_BYTES], to[WICK_PATH_BYTES];
    if (!wick_path_join(from, output->partial, output->names[i]) ||
        !wick_path_join(to, output->path, output->names[i]))
      return wick_fail(error, WICK_ERROR_ARGUMENT, "%s: expected a shorter path", output->path);
    if (rename(from, to) != 0) return io_error(to, error);
  }
  if (rmdir(output->partial) != 0) return io_error(output->partial, error);
  return WICK_OK;
}

void wick_output_discard(wick_output *output) {
  if (output->file) fclose(output->file);
  output->file = NULL;
  char path[WICK_PATH_BYTES];
  for (int i = 0; i < output->n_names; i++)
    if (wick_path_join(path, output->partial, output->names[i])) unlink(path);
  if (output->is_folder) {
    rmdir(output->partial);
  } else if (output->partial[0]) {
    unlink(output->partial);
  }
}
