/* Bytes that grow by doubling, so that nothing is allocated for bytes that a file only claims to
 * have. */
#ifndef WICK_CORE_BUFFER_H
#define WICK_CORE_BUFFER_H

#include "core/memory.h"

typedef struct wick_buffer {
  const wick_allocator *allocator;
  char *data; /* owned */
  size_t n, capacity;
} wick_buffer; /* starts with the allocator and zeros */

/* Room for n_more bytes behind data[n]; false when it cannot be had. */
bool wick_buffer_reserve(wick_buffer *buffer, size_t n_more);
/* n bytes of data behind data[n]; false, and nothing appended, when there is no memory. */
bool wick_buffer_append(wick_buffer *buffer, const void *data, size_t n);
/* Empty again, as it started. */
void wick_buffer_free(wick_buffer *buffer);

#endif
