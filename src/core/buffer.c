/* See buffer.h. */
#include "core/buffer.h"

#include <string.h>

enum { FIRST_BYTES = 256 };

bool wick_buffer_reserve(wick_buffer *buffer, size_t n_more) {
  if (n_more <= buffer->capacity - buffer->n) return true;
  if (n_more > SIZE_MAX / 4 - buffer->n) return false;
  size_t capacity = buffer->capacity ? buffer->capacity : FIRST_BYTES;
  while (capacity < buffer->n + n_more) capacity *= 2;
  char *data = wick_allocate(buffer->allocator, capacity, WICK_ALIGNMENT);
  if (!data) return false;
  if (buffer->n) memcpy(data, buffer->data, buffer->n);
  wick_release(buffer->allocator, buffer->data, buffer->capacity, WICK_ALIGNMENT);
  buffer->data = data;
  buffer->capacity = capacity;
  return true;
}

bool wick_buffer_append(wick_buffer *buffer, const void *data, size_t n) {
  if (!wick_buffer_reserve(buffer, n)) return false;
  if (n) memcpy(buffer->data + buffer->n, data, n);
  buffer->n += n;
  return true;
}

void wick_buffer_free(wick_buffer *buffer) {
  wick_release(buffer->allocator, buffer->data, buffer->capacity, WICK_ALIGNMENT);
  *buffer = (wick_buffer){.allocator = buffer->allocator};
}
