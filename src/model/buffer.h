/* Bytes that arrive in pieces: a buffer that grows by doubling, so that nothing is allocated for
 * bytes that a file only claims to have. */
#ifndef WICK_MODEL_BUFFER_H
#define WICK_MODEL_BUFFER_H

#include <string.h>

#include "core/memory.h"

typedef struct wick_buffer {
  uint8_t *data;
  size_t n, capacity;
} wick_buffer;

static inline bool wick_buffer_append(wick_buffer *buffer, const wick_allocator *allocator,
                                      const uint8_t *bytes, size_t n) {
  if (n > buffer->capacity - buffer->n) {
    size_t capacity = buffer->capacity ? buffer->capacity : 4096;
    while (capacity - buffer->n < n) {
      if (capacity > SIZE_MAX / 2) return false;
      capacity *= 2;
    }
    uint8_t *data = wick_allocate(allocator, capacity, WICK_ALIGNMENT);
    if (!data) return false;
    if (buffer->n) memcpy(data, buffer->data, buffer->n);
    wick_release(allocator, buffer->data, buffer->capacity, WICK_ALIGNMENT);
    buffer->data = data;
    buffer->capacity = capacity;
  }
  if (n) memcpy(buffer->data + buffer->n, bytes, n);
  buffer->n += n;
  return true;
}

static inline void wick_buffer_free(wick_buffer *buffer, const wick_allocator *allocator) {
  wick_release(allocator, buffer->data, buffer->capacity, WICK_ALIGNMENT);
  *buffer = (wick_buffer){0};
}

#endif
