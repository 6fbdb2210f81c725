/* See path.h. */
#define _POSIX_C_SOURCE 200809L
#include "path.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static wick_status too_long(const char *path, wick_error *error) {
  return wick_fail(error, WICK_ERROR_ARGUMENT,
                   "%.60s...: expected a path of at most %d bytes, found a longer one", path,
                   WICK_PATH_BYTES - 1);
}

wick_status wick_path_join(char out[WICK_PATH_BYTES], const char *folder, const char *name,
                           wick_error *error) {
  size_t n_folder = strlen(folder);
  const char *slash = n_folder == 0 || folder[n_folder - 1] == '/' ? "" : "/";
  int n = snprintf(out, WICK_PATH_BYTES, "%s%s%s", folder, slash, name);
  return n >= 0 && n < WICK_PATH_BYTES ? WICK_OK : too_long(n_folder ? folder : name, error);
}

wick_status wick_path_folder(char out[WICK_PATH_BYTES], const char *path, wick_error *error) {
  const char *slash = strrchr(path, '/');
  size_t n = slash ? (size_t)(slash - path) : 0;
  if (slash && n == 0) n = 1; /* the root */
  if (n >= WICK_PATH_BYTES) return too_long(path, error);
  memcpy(out, path, n);
  out[n] = '\0';
  return WICK_OK;
}

bool wick_path_exists(const char *path) {
  struct stat status;
  return stat(path, &status) == 0;
}
