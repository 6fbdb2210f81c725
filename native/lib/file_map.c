/* See file_map.h. POSIX mmap. */
#define _DEFAULT_SOURCE /* madvise */
#include "file_map.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static wick_status map_descriptor(int descriptor, const char *path, wick_file_map *out,
                                  wick_error *error) {
  struct stat information;
  if (fstat(descriptor, &information) != 0)
    return wick_fail(error, WICK_ERROR_IO, "%s: %s", path, strerror(errno));
  if (!S_ISREG(information.st_mode))
    return wick_fail(error, WICK_ERROR_IO, "%s: expected a file, found a %s", path,
                     S_ISDIR(information.st_mode) ? "folder" : "device or pipe");
  uint64_t n = (uint64_t)information.st_size;
  *out = (wick_file_map){(const uint8_t *)"", n};
  if (n == 0) return WICK_OK; /* mmap refuses 0 bytes */
  if (n > SIZE_MAX / 2)
    return wick_fail(error, WICK_ERROR_IO, "%s: expected a file that fits the address space", path);
  void *data = mmap(NULL, (size_t)n, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (data == MAP_FAILED) return wick_fail(error, WICK_ERROR_IO, "%s: %s", path, strerror(errno));
  out->data = data;
  return WICK_OK;
}

wick_status wick_file_map_open(const char *path, wick_file_map *out, wick_error *error) {
  *out = (wick_file_map){0};
  int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not block here */
  if (descriptor < 0) return wick_fail(error, WICK_ERROR_IO, "%s: %s", path, strerror(errno));
  wick_status status = map_descriptor(descriptor, path, out, error);
  close(descriptor); /* the mapping stays */
  if (status != WICK_OK) *out = (wick_file_map){0};
  return status;
}

void wick_file_map_forget(const void *bytes, size_t n_bytes) {
  /* A mapping is of whole pages: rounding outwards only forgets what can be read again. */
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)bytes & ~(page - 1);
  madvise((void *)begin, n_bytes + ((uintptr_t)bytes - begin), MADV_DONTNEED);
}

void wick_file_map_close(wick_file_map *map) {
  if (map->data && map->n_bytes) munmap((void *)(uintptr_t)map->data, (size_t)map->n_bytes);
  *map = (wick_file_map){0};
}
