/* GGUF v2 and v3, reading. See gguf.c for the byte table. Source: the GGUF specification
 * (ggml-org/ggml, docs/gguf.md). Chapter 9. */
#ifndef WICK_FORMATS_GGUF_H
#define WICK_FORMATS_GGUF_H

#include "formats/weights.h"

typedef enum wick_gguf_type {
  WICK_GGUF_U8,
  WICK_GGUF_I8,
  WICK_GGUF_U16,
  WICK_GGUF_I16,
  WICK_GGUF_U32,
  WICK_GGUF_I32,
  WICK_GGUF_F32,
  WICK_GGUF_BOOL,
  WICK_GGUF_STRING,
  WICK_GGUF_ARRAY,
  WICK_GGUF_U64,
  WICK_GGUF_I64,
  WICK_GGUF_F64,
} wick_gguf_type;

/* One metadata value: a scalar is an array of one. Borrowed from the header's bytes. */
typedef struct wick_gguf_value {
  wick_string key;
  wick_gguf_type type; /* the element's for an array */
  bool is_array;
  uint64_t n;          /* elements */
  const uint8_t *data; /* packed little-endian elements; strings: u64 length, bytes, repeated */
  uint64_t n_bytes;    /* of data */
} wick_gguf_value;

typedef struct wick_gguf {
  uint32_t version;
  wick_gguf_value *values;
  size_t n_values;
  wick_tensor_table tensors;
  uint64_t header_bytes; /* up to where tensor data begins, alignment included */
} wick_gguf;

/* Parse a header. name: the file's, for messages. data: the first n_bytes of a file of
 * total_bytes. WICK_NEED_MORE (with *need set to the least number of bytes to come back with) when
 * the header goes on past n_bytes < total_bytes. On WICK_OK *out borrows from data and from arena.
 * Nothing is allocated from an unchecked number. */
wick_status wick_gguf_parse(const char *name, const uint8_t *data, uint64_t n_bytes,
                            uint64_t total_bytes, wick_arena *arena, wick_gguf *out, uint64_t *need,
                            wick_error *error);

enum { WICK_GGUF_MAX_PARTS = 4096 };

/* A model may be split over files, as llama-gguf-split does it: the first holds the metadata, each
 * some tensors. Check that this header is part number (from 0) of its model. *n_parts is set at
 * part 0, to 1 where the model is whole, and must be the same ever after. */
wick_status wick_gguf_check_part(const char *name, const wick_gguf *gguf, uint64_t number,
                                 uint64_t *n_parts, wick_error *error);

const wick_gguf_value *wick_gguf_find(const wick_gguf *gguf, const char *key);

/* A scalar of any integer type that fits, of any float type, a bool or a string; false when the
 * key is missing or its type is another. */
bool wick_gguf_get_u64(const wick_gguf *gguf, const char *key, uint64_t *out);
bool wick_gguf_get_f64(const wick_gguf *gguf, const char *key, double *out);
bool wick_gguf_get_bool(const wick_gguf *gguf, const char *key, bool *out);
bool wick_gguf_get_string(const wick_gguf *gguf, const char *key, wick_string *out);

/* The same of a value at hand. */
bool wick_gguf_value_u64(const wick_gguf_value *value, uint64_t *out);
/* Bytes of one element; 0 for strings and arrays. */
size_t wick_gguf_type_bytes(wick_gguf_type type);

/* Walk an array of strings: *at starts at 0; false after the last. */
bool wick_gguf_next_string(const wick_gguf_value *value, uint64_t *at, wick_string *out);
/* Element i of an array of integers (floats), i < n. */
int64_t wick_gguf_int_at(const wick_gguf_value *value, uint64_t i);
double wick_gguf_float_at(const wick_gguf_value *value, uint64_t i);

#endif
