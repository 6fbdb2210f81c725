/* GGUF v2 and v3, parsing. Source: the GGUF specification (ggml-org/ggml, docs/gguf.md). Chapter 9.
 *
 * THE FILE, all numbers little-endian:
 *
 *   OFFSET  SIZE  WHAT
 *        0     4  magic "GGUF"
 *        4     4  version: 2 or 3 (equal but for byte order; 1 had 32-bit lengths)
 *        8     8  T, number of tensors
 *       16     8  V, number of metadata values
 *       24        V values, one after another, each
 *                      8  k, length of the key
 *                      k  key: "llama.block_count"
 *                      4  type (below)
 *                         the value
 *                 T tensors, one after another, each
 *                      8  n, length of the name
 *                      n  name: "blk.0.attn_q.weight"
 *                      4  D, number of dimensions, 1 .. 4
 *                     8D  dimensions, innermost (columns of a row) first
 *                      4  data type (dtype.h)
 *                      8  offset of the data, from the start of the data section
 *                 padding up to a multiple of A = general.alignment, by default 32
 *                 data section: the tensors, each at a multiple of A
 *
 *   TYPE   VALUE                        TYPE   VALUE
 *      0   u8                              7   bool, one byte: 0 or 1
 *      1   i8                              8   string: u64 length, that many bytes
 *      2   u16                             9   array: u32 element type, u64 count, the elements
 *      3   i16                            10   u64
 *      4   u32                            11   i64
 *      5   i32                            12   f64
 *      6   f32
 *
 * Nothing of this is believed: every length is compared with what the file still has before it is
 * used, sums and products are checked, arrays of arrays are refused, counts have caps. The header
 * is walked twice: once to see that all of it is there and well-formed, then, with the counts
 * proven by bytes that exist, to fill tables of exactly that size. */
#include "formats/gguf.h"

#include <string.h>

enum {
  MAX_VALUES = 1 << 16,
  MAX_KEY_BYTES = 65535,         /* the specification's */
  MAX_STRING_BYTES = 16 << 20,   /* a chat template has some thousand */
  MAX_ARRAY_ELEMENTS = 16 << 20, /* a vocabulary has some hundred thousand */
  MAX_HEADER_BYTES = 256 << 20,
  MAX_ALIGNMENT = 1 << 20,
  DEFAULT_ALIGNMENT = 32,
  LEAST_VALUE_BYTES = 8 + 1 + 4 + 1, /* a key of one byte, a value of one */
  LEAST_TENSOR_BYTES = 8 + 1 + 4 + 8 + 4 + 8,
};

typedef struct parser {
  const char *name;
  const uint8_t *data;
  uint64_t at, n_bytes, total_bytes;
  uint64_t alignment, data_start;
  uint64_t *need;
  wick_error *error;
} parser;

typedef unsigned long long ull; /* what %llu prints */

/* The next n bytes, or why not. what: the part of the header, for the message. */
static wick_status take(parser *p, uint64_t n, const char *what, const uint8_t **out) {
  if (n > p->total_bytes - p->at)
    return wick_fail(p->error, WICK_ERROR_FORMAT,
                     "%s: %s at byte %llu: expected %llu bytes, found %llu before the file's end",
                     p->name, what, (ull)p->at, (ull)n, (ull)(p->total_bytes - p->at));
  if (n > MAX_HEADER_BYTES - p->at)
    return wick_fail(p->error, WICK_ERROR_UNSUPPORTED,
                     "%s: %s: expected a header of at most %d bytes, found a longer one", p->name,
                     what, MAX_HEADER_BYTES);
  if (n > p->n_bytes - p->at) return wick_need_more(p->at + n, p->n_bytes, p->total_bytes, p->need);
  *out = p->data + p->at;
  p->at += n;
  return WICK_OK;
}

static wick_status take_unsigned(parser *p, int n_bytes, const char *what, uint64_t *out) {
  const uint8_t *bytes;
  WICK_TRY(take(p, (uint64_t)n_bytes, what, &bytes));
  *out = 0;
  for (int i = 0; i < n_bytes; i++) *out |= (uint64_t)bytes[i] << (8 * i);
  return WICK_OK;
}

static wick_status take_string(parser *p, uint64_t least, uint64_t most, const char *what,
                               wick_string *out) {
  uint64_t n = 0;
  const uint8_t *bytes;
  WICK_TRY(take_unsigned(p, 8, what, &n));
  if (n < least || n > most)
    return wick_fail(p->error, WICK_ERROR_FORMAT,
                     "%s: %s at byte %llu: expected a length of %llu to %llu, found %llu", p->name,
                     what, (ull)(p->at - 8), (ull)least, (ull)most, (ull)n);
  WICK_TRY(take(p, n, what, &bytes));
  *out = (wick_string){(const char *)bytes, (size_t)n};
  return WICK_OK;
}

/* ---- metadata values ---- */

static wick_status take_type(parser *p, wick_string key, wick_gguf_type *out) {
  uint64_t type = 0;
  WICK_TRY(take_unsigned(p, 4, "type of a value", &type));
  if (type > WICK_GGUF_F64)
    return wick_fail(p->error, WICK_ERROR_FORMAT,
                     "%s: %.*s: expected a type of 0 to 12, found %llu", p->name,
                     WICK_STRING_ARGS(key), (ull)type);
  *out = (wick_gguf_type)type;
  return WICK_OK;
}

static wick_status take_elements(parser *p, wick_gguf_value *value) {
  uint64_t begin = p->at;
  const uint8_t *bytes;
  if (value->type == WICK_GGUF_STRING) {
    if (value->n > (p->total_bytes - p->at) / 8) /* before a loop of that many rounds */
      return wick_fail(p->error, WICK_ERROR_FORMAT,
                       "%s: %.*s: expected %llu strings, found %llu bytes before the file's end",
                       p->name, WICK_STRING_ARGS(value->key), (ull)value->n,
                       (ull)(p->total_bytes - p->at));
    for (uint64_t i = 0; i < value->n; i++) {
      wick_string string;
      WICK_TRY(take_string(p, 0, MAX_STRING_BYTES, "a string", &string));
    }
  } else {
    WICK_TRY(take(p, value->n * wick_gguf_type_bytes(value->type), "a value", &bytes));
    for (uint64_t i = 0; value->type == WICK_GGUF_BOOL && i < value->n; i++)
      if (bytes[i] > 1)
        return wick_fail(p->error, WICK_ERROR_FORMAT,
                         "%s: %.*s: expected a bool of 0 or 1, found %d", p->name,
                         WICK_STRING_ARGS(value->key), bytes[i]);
  }
  value->data = p->data + begin;
  value->n_bytes = p->at - begin;
  return WICK_OK;
}

static wick_status take_value(parser *p, wick_gguf_value *value) {
  *value = (wick_gguf_value){.n = 1};
  WICK_TRY(take_string(p, 1, MAX_KEY_BYTES, "a key", &value->key));
  WICK_TRY(take_type(p, value->key, &value->type));
  if (value->type == WICK_GGUF_ARRAY) {
    value->is_array = true;
    WICK_TRY(take_type(p, value->key, &value->type));
    if (value->type == WICK_GGUF_ARRAY)
      return wick_fail(
          p->error, WICK_ERROR_UNSUPPORTED,
          "%s: %.*s: expected an array of scalars or strings, found an array of arrays", p->name,
          WICK_STRING_ARGS(value->key));
    WICK_TRY(take_unsigned(p, 8, "length of an array", &value->n));
    if (value->n > MAX_ARRAY_ELEMENTS)
      return wick_fail(p->error, WICK_ERROR_FORMAT,
                       "%s: %.*s: expected an array of at most %d elements, found %llu", p->name,
                       WICK_STRING_ARGS(value->key), MAX_ARRAY_ELEMENTS, (ull)value->n);
  }
  return take_elements(p, value);
}

/* What the parser itself reads out of the metadata. */
static wick_status use_value(parser *p, const wick_gguf_value *value) {
  uint64_t number;
  if (wick_string_equal(value->key, "general.alignment")) {
    if (!wick_gguf_value_u64(value, &number) || number == 0 || (number & (number - 1)) != 0 ||
        number > MAX_ALIGNMENT)
      return wick_fail(
          p->error, WICK_ERROR_FORMAT,
          "%s: general.alignment: expected a power of two up to %d, found another value", p->name,
          MAX_ALIGNMENT);
    p->alignment = number;
  }
  return WICK_OK;
}

/* ---- tensors ---- */

static wick_status bad_tensor(const parser *p, const wick_tensor_entry *entry, const char *expected,
                              ull found) {
  return wick_fail(p->error, WICK_ERROR_FORMAT, "%s: tensor %.*s: expected %s, found %llu", p->name,
                   WICK_STRING_ARGS(entry->name), expected, found);
}

static wick_status take_dims(parser *p, wick_tensor_entry *entry, uint64_t *n_rows) {
  uint64_t n_dims = 0;
  WICK_TRY(take_unsigned(p, 4, "dimensions of a tensor", &n_dims));
  if (n_dims < 1 || n_dims > WICK_MAX_DIMS)
    return bad_tensor(p, entry, "1 to 4 dimensions", (ull)n_dims);
  entry->n_dims = (int)n_dims;
  *n_rows = 1;
  for (uint64_t i = 0; i < WICK_MAX_DIMS; i++) {
    entry->dims[i] = 1;
    if (i >= n_dims) continue;
    WICK_TRY(take_unsigned(p, 8, "dimensions of a tensor", &entry->dims[i]));
    if (entry->dims[i] == 0) return bad_tensor(p, entry, "dimensions of at least 1", 0);
    if (i > 0 && !wick_multiply_u64(*n_rows, entry->dims[i], n_rows))
      return bad_tensor(p, entry, "a size that fits 64 bits, with one dimension",
                        (ull)entry->dims[i]);
  }
  return WICK_OK;
}

/* In the first walk the data section's start isn't known yet: offsets stay relative. */
static wick_status take_tensor(parser *p, wick_tensor_entry *entry) {
  uint64_t n_rows = 1, type = 0, row_bytes = 0;
  WICK_TRY(take_string(p, 1, WICK_MAX_TENSOR_NAME_BYTES, "name of a tensor", &entry->name));
  WICK_TRY(take_dims(p, entry, &n_rows));
  WICK_TRY(take_unsigned(p, 4, "type of a tensor", &type));
  WICK_TRY(take_unsigned(p, 8, "offset of a tensor", &entry->offset));
  const wick_dtype_info *info = wick_dtype_get_info((uint32_t)type);
  if (!info)
    return wick_fail(p->error, WICK_ERROR_UNSUPPORTED,
                     "%s: tensor %.*s: expected one of F32 F16 BF16 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q4_K "
                     "Q5_K Q6_K, found type %s (%llu)",
                     p->name, WICK_STRING_ARGS(entry->name), wick_dtype_name((uint32_t)type),
                     (ull)type);
  entry->dtype = (wick_dtype)type;
  if (entry->dims[0] % (uint64_t)info->block_size != 0)
    return wick_fail(
        p->error, WICK_ERROR_FORMAT,
        "%s: tensor %.*s: expected rows of a multiple of %d weights for %s, found %llu", p->name,
        WICK_STRING_ARGS(entry->name), info->block_size, info->name, (ull)entry->dims[0]);
  if (!wick_dtype_row_bytes(entry->dtype, entry->dims[0], &row_bytes) ||
      !wick_multiply_u64(row_bytes, n_rows, &entry->n_bytes))
    return bad_tensor(p, entry, "a size that fits 64 bits, with rows of", (ull)entry->dims[0]);
  if (entry->offset % p->alignment != 0)
    return bad_tensor(p, entry, "an offset at a multiple of the alignment", (ull)entry->offset);
  if (!wick_add_u64(entry->offset, p->data_start, &entry->offset))
    return bad_tensor(p, entry, "an offset within the file", (ull)entry->offset);
  return WICK_OK;
}

/* ---- the whole header ---- */

/* A count is believed only when the file still has the least bytes that so many take. */
static wick_status check_count(const parser *p, const char *what, uint64_t n, int most,
                               int least_bytes) {
  uint64_t left = p->total_bytes - p->at;
  if (n > (uint64_t)most)
    return wick_fail(p->error, WICK_ERROR_FORMAT, "%s: expected at most %d %s, found %llu", p->name,
                     most, what, (ull)n);
  if (n > left / (uint64_t)least_bytes)
    return wick_fail(p->error, WICK_ERROR_FORMAT,
                     "%s: expected %llu %s of at least %d bytes each, found %llu bytes before the "
                     "file's end",
                     p->name, (ull)n, what, least_bytes, (ull)left);
  return WICK_OK;
}

static wick_status take_preamble(parser *p, wick_gguf *out, uint64_t *n_tensors,
                                 uint64_t *n_values) {
  const uint8_t *magic;
  uint64_t version = 0;
  WICK_TRY(take(p, 4, "magic", &magic));
  if (memcmp(magic, "GGUF", 4) != 0)
    return wick_fail(p->error, WICK_ERROR_FORMAT, "%s: expected the magic \"GGUF\", found \"%.4s\"",
                     p->name, (const char *)magic);
  WICK_TRY(take_unsigned(p, 4, "version", &version));
  if ((version & 0xffff) == 0 && version != 0)
    return wick_fail(p->error, WICK_ERROR_UNSUPPORTED,
                     "%s: expected a little-endian file, found a big-endian one", p->name);
  if (version != 2 && version != 3)
    return wick_fail(p->error, WICK_ERROR_UNSUPPORTED,
                     "%s: expected GGUF version 2 or 3, found %llu", p->name, (ull)version);
  out->version = (uint32_t)version;
  WICK_TRY(take_unsigned(p, 8, "number of tensors", n_tensors));
  WICK_TRY(take_unsigned(p, 8, "number of values", n_values));
  WICK_TRY(check_count(p, "tensors", *n_tensors, WICK_MAX_TENSORS, LEAST_TENSOR_BYTES));
  return check_count(p, "values", *n_values, MAX_VALUES, LEAST_VALUE_BYTES);
}

/* One walk. values and tensors are NULL in the first one, which only checks. */
static wick_status walk(parser *p, wick_gguf_value *values, uint64_t n_values,
                        wick_tensor_entry *tensors, uint64_t n_tensors) {
  for (uint64_t i = 0; i < n_values; i++) {
    wick_gguf_value value;
    WICK_TRY(take_value(p, &value));
    WICK_TRY(use_value(p, &value));
    if (values) values[i] = value;
  }
  for (uint64_t i = 0; i < n_tensors; i++) {
    wick_tensor_entry entry;
    WICK_TRY(take_tensor(p, &entry));
    if (tensors) tensors[i] = entry;
  }
  return WICK_OK;
}

static wick_status check_keys(const parser *p, const wick_gguf *gguf, wick_arena *arena) {
  wick_string *keys = WICK_ARENA_ARRAY(arena, wick_string, gguf->n_values);
  if (!keys) return wick_fail(p->error, WICK_ERROR_MEMORY, "%s: out of memory", p->name);
  for (size_t i = 0; i < gguf->n_values; i++) keys[i] = gguf->values[i].key;
  const wick_string *twice = wick_find_duplicate(keys, gguf->n_values);
  if (twice)
    return wick_fail(p->error, WICK_ERROR_FORMAT, "%s: expected every key once, found %.*s twice",
                     p->name, WICK_STRING_ARGS(*twice));
  return WICK_OK;
}

wick_status wick_gguf_parse(const char *name, const uint8_t *data, uint64_t n_bytes,
                            uint64_t total_bytes, wick_arena *arena, wick_gguf *out, uint64_t *need,
                            wick_error *error) {
  parser p = {.name = name,
              .data = data,
              .n_bytes = n_bytes < total_bytes ? n_bytes : total_bytes,
              .total_bytes = total_bytes,
              .alignment = DEFAULT_ALIGNMENT,
              .need = need,
              .error = error};
  uint64_t n_tensors = 0, n_values = 0;
  *out = (wick_gguf){0};
  WICK_TRY(take_preamble(&p, out, &n_tensors, &n_values));
  uint64_t begin = p.at;
  WICK_TRY(walk(&p, NULL, n_values, NULL, n_tensors));
  const uint8_t *padding;
  uint64_t aligned; /* p.at is at most MAX_HEADER_BYTES: this cannot overflow */
  if (!wick_align_u64(p.at, p.alignment, &aligned)) aligned = p.at;
  if (n_tensors == 0 && aligned > total_bytes) aligned = total_bytes; /* a vocabulary alone */
  WICK_TRY(take(&p, aligned - p.at, "padding before the data", &padding));
  p.data_start = out->header_bytes = aligned;

  out->n_values = (size_t)n_values;
  out->tensors.n = (size_t)n_tensors;
  out->values = WICK_ARENA_ARRAY(arena, wick_gguf_value, n_values);
  out->tensors.entries = WICK_ARENA_ARRAY(arena, wick_tensor_entry, n_tensors);
  if (!out->values || !out->tensors.entries)
    return wick_fail(error, WICK_ERROR_MEMORY, "%s: out of memory", name);
  p.at = begin;
  WICK_TRY(walk(&p, out->values, n_values, out->tensors.entries, n_tensors));
  WICK_TRY(check_keys(&p, out, arena));
  return wick_tensor_table_check(name, &out->tensors, total_bytes, arena, error);
}
