/* What the parsers of weight files share. See weights.h. */
#include "formats/weights.h"

#include <stdlib.h>
#include <string.h>

const wick_tensor_entry *wick_tensor_table_find(const wick_tensor_table *table, const char *name) {
  for (size_t i = 0; i < table->n; i++)
    if (wick_string_equal(table->entries[i].name, name)) return &table->entries[i];
  return NULL;
}

static int compare_strings(const void *a, const void *b) {
  const wick_string *x = a, *y = b;
  size_t n = x->n < y->n ? x->n : y->n;
  int order = n ? memcmp(x->data, y->data, n) : 0;
  return order ? order : (x->n > y->n) - (x->n < y->n);
}

const wick_string *wick_find_duplicate(wick_string *strings, size_t n) {
  if (n) qsort(strings, n, sizeof *strings, compare_strings);
  for (size_t i = 1; i < n; i++)
    if (compare_strings(&strings[i - 1], &strings[i]) == 0) return &strings[i];
  return NULL;
}

static int compare_offsets(const void *a, const void *b) {
  const wick_tensor_entry *x = a, *y = b;
  return (x->offset > y->offset) - (x->offset < y->offset);
}

wick_status wick_tensor_table_check(const char *file, wick_tensor_table *table,
                                    uint64_t total_bytes, wick_arena *arena, wick_error *error) {
  wick_string *names = WICK_ARENA_ARRAY(arena, wick_string, table->n);
  if (!names) return wick_fail(error, WICK_ERROR_MEMORY, "%s: out of memory", file);
  for (size_t i = 0; i < table->n; i++) {
    const wick_tensor_entry *entry = &table->entries[i];
    uint64_t end;
    if (!wick_add_u64(entry->offset, entry->n_bytes, &end) || end > total_bytes)
      return wick_fail(error, WICK_ERROR_FORMAT,
                       "%s: tensor %.*s: expected %llu bytes at offset %llu, found a file of %llu "
                       "bytes",
                       file, WICK_STRING_ARGS(entry->name), (unsigned long long)entry->n_bytes,
                       (unsigned long long)entry->offset, (unsigned long long)total_bytes);
    names[i] = entry->name;
  }
  const wick_string *twice = wick_find_duplicate(names, table->n);
  if (twice)
    return wick_fail(error, WICK_ERROR_FORMAT,
                     "%s: expected every tensor name once, found %.*s twice", file,
                     WICK_STRING_ARGS(*twice));
  if (table->n) qsort(table->entries, table->n, sizeof *table->entries, compare_offsets);
  for (size_t i = 1; i < table->n; i++) {
    const wick_tensor_entry *before = &table->entries[i - 1], *entry = &table->entries[i];
    if (before->offset + before->n_bytes > entry->offset)
      return wick_fail(error, WICK_ERROR_FORMAT,
                       "%s: tensor %.*s: expected to begin at or after byte %llu, where %.*s ends, "
                       "found %llu",
                       file, WICK_STRING_ARGS(entry->name),
                       (unsigned long long)(before->offset + before->n_bytes),
                       WICK_STRING_ARGS(before->name), (unsigned long long)entry->offset);
  }
  return WICK_OK;
}

wick_status wick_need_more(uint64_t least, uint64_t n_bytes, uint64_t total_bytes, uint64_t *need) {
  enum { FIRST_READ_BYTES = 64 * 1024 };
  uint64_t wanted = n_bytes > UINT64_MAX / 2 ? total_bytes : 2 * n_bytes;
  if (wanted < FIRST_READ_BYTES) wanted = FIRST_READ_BYTES;
  if (wanted < least) wanted = least;
  *need = wanted < total_bytes ? wanted : total_bytes;
  return WICK_NEED_MORE;
}
