/* What every weight file is reduced to: a table of named tensors that lie somewhere in a file, with
 * every number checked against the file's size. Parsers (gguf.h, safetensors.h) fill it; the model
 * binds names to it; the bytes themselves are never copied here. */
#ifndef WICK_FORMATS_WEIGHTS_H
#define WICK_FORMATS_WEIGHTS_H

#include "core/memory.h"
#include "tensor/dtype.h"

enum { WICK_MAX_DIMS = 4 };

typedef struct wick_tensor_entry {
  wick_string name; /* as in the file; borrowed from the parsed header or its arena */
  wick_dtype dtype;
  int n_dims;
  uint64_t dims[WICK_MAX_DIMS]; /* dims[0] is the innermost (columns of a row), as in GGUF;
                                   unused ones are 1 */
  uint64_t offset;              /* of the first byte, from the start of the file */
  uint64_t n_bytes;             /* offset + n_bytes <= the file's size */
} wick_tensor_entry;

typedef struct wick_tensor_table {
  wick_tensor_entry *entries; /* in order of offset, not overlapping */
  size_t n;
} wick_tensor_table;

/* The entry called name, or NULL. Linear. */
const wick_tensor_entry *wick_tensor_table_find(const wick_tensor_table *table, const char *name);

/* ---- for the parsers ---- */

enum { WICK_MAX_TENSORS = 1 << 16, WICK_MAX_TENSOR_NAME_BYTES = 256 };

/* What every table must satisfy: each tensor within the file, no name twice, no bytes shared. Sorts
 * the entries by offset. n log n, whatever a file says. */
wick_status wick_tensor_table_check(const char *file, wick_tensor_table *table,
                                    uint64_t total_bytes, wick_arena *arena, wick_error *error);

/* Sorts strings; one that stands there twice, or NULL. Sorting, not hashing: no file can choose
 * strings that make it quadratic. */
const wick_string *wick_find_duplicate(wick_string *strings, size_t n);

/* *need = how many bytes to come back with when `least` are needed and n_bytes were there: at least
 * twice as many, so that parsing again from the start costs linear time altogether; never more than
 * the file has. Returns WICK_NEED_MORE. */
wick_status wick_need_more(uint64_t least, uint64_t n_bytes, uint64_t total_bytes, uint64_t *need);

#endif
