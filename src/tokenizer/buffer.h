/* Bytes that grow by doubling. */
#ifndef WICK_TOKENIZER_BUFFER_H
#define WICK_TOKENIZER_BUFFER_H

#include "core/memory.h"

typedef struct wick_buffer {
  const wick_allocator *allocator;
  char *data; /* owned */
  size_t n, capacity;
} wick_buffer; /* starts with the allocator and zeros */

/* Room for n_more bytes behind data[n]; false when it cannot be had. */
bool wick_buffer_reserve(wick_buffer *buffer, size_t n_more);
bool wick_buffer_append(wick_buffer *buffer, const void *data, size_t n);
void wick_buffer_free(wick_buffer *buffer);

#endif
