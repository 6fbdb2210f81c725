/* A cursor over untrusted little-endian bytes. Every read is checked; after the first that does not
 * fit the cursor stays failed and reads give zeros, so a parser checks once at the end of a group.
 */
#ifndef WICK_CORE_CURSOR_H
#define WICK_CORE_CURSOR_H

#include <string.h>

#include "core/status.h"

typedef struct wick_cursor {
  const uint8_t *data;
  uint64_t n, at;
  bool failed;
} wick_cursor;

/* n bytes, or NULL (and failed) when fewer are left. */
static inline const uint8_t *wick_cursor_take(wick_cursor *cursor, uint64_t n) {
  if (cursor->failed || n > cursor->n - cursor->at) {
    cursor->failed = true;
    return NULL;
  }
  const uint8_t *bytes = cursor->data + cursor->at;
  cursor->at += n;
  return bytes;
}

static inline uint64_t wick_cursor_unsigned(wick_cursor *cursor, int n_bytes) {
  const uint8_t *bytes = wick_cursor_take(cursor, (uint64_t)n_bytes);
  uint64_t value = 0;
  for (int i = 0; bytes && i < n_bytes; i++) value |= (uint64_t)bytes[i] << (8 * i);
  return value;
}

static inline uint8_t wick_cursor_u8(wick_cursor *c) {
  return (uint8_t)wick_cursor_unsigned(c, 1);
}
static inline uint16_t wick_cursor_u16(wick_cursor *c) {
  return (uint16_t)wick_cursor_unsigned(c, 2);
}
static inline uint32_t wick_cursor_u32(wick_cursor *c) {
  return (uint32_t)wick_cursor_unsigned(c, 4);
}
static inline uint64_t wick_cursor_u64(wick_cursor *c) {
  return wick_cursor_unsigned(c, 8);
}

#endif
