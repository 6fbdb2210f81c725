/* For tests: whole files into memory, and bytes appended one group at a time to forge files. */
#ifndef WICK_TESTS_BYTES_H
#define WICK_TESTS_BYTES_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct test_bytes {
  uint8_t *data; /* owned; freed by free() */
  size_t n, capacity;
} test_bytes;

static inline void test_append(test_bytes *b, const void *data, size_t n) {
  if (b->n + n > b->capacity) {
    b->capacity = 2 * (b->n + n);
    b->data = realloc(b->data, b->capacity);
    if (!b->data) abort();
  }
  if (n) memcpy(b->data + b->n, data, n);
  b->n += n;
}

static inline void test_append_number(test_bytes *b, uint64_t value, int n_bytes) {
  for (int i = 0; i < n_bytes; i++) {
    uint8_t byte = (uint8_t)(value >> (8 * i));
    test_append(b, &byte, 1);
  }
}

static inline void test_append_u32(test_bytes *b, uint32_t value) {
  test_append_number(b, value, 4);
}
static inline void test_append_u64(test_bytes *b, uint64_t value) {
  test_append_number(b, value, 8);
}

/* A GGUF string: u64 length, the bytes. */
static inline void test_append_string(test_bytes *b, const char *string) {
  test_append_u64(b, strlen(string));
  test_append(b, string, strlen(string));
}

static inline void test_append_zeros(test_bytes *b, size_t n) {
  for (size_t i = 0; i < n; i++) test_append_number(b, 0, 1);
}

/* A whole file; n is 0 when it can't be read. */
static inline test_bytes test_read_file(const char *path) {
  test_bytes b = {0};
  FILE *file = fopen(path, "rb");
  if (!file) return b;
  uint8_t buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, file)) > 0;) test_append(&b, buffer, n);
  fclose(file);
  return b;
}

#endif
