/* A whole file, mapped read-only. Chapter 9. */
#ifndef WICK_NATIVE_FILE_MAP_H
#define WICK_NATIVE_FILE_MAP_H

#include "core/status.h"

typedef struct wick_file_map {
  const uint8_t *data; /* borrowed until close; not NULL even for an empty file */
  uint64_t n_bytes;
} wick_file_map;

/* path must name a regular file. The file must not shrink while it is mapped: the operating system
 * ends a process that touches what is gone. */
wick_status wick_file_map_open(const char *path, wick_file_map *out, wick_error *error);
/* Let the system take the pages of these bytes of a map back; they are read again when needed. */
void wick_file_map_forget(const void *bytes, size_t n_bytes);
void wick_file_map_close(wick_file_map *map); /* closing twice is harmless */

#endif
