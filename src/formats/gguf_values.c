/* Reading GGUF metadata that has been parsed. See gguf.h. */
#include <string.h>

#include "core/cursor.h"
#include "formats/gguf.h"

size_t wick_gguf_type_bytes(wick_gguf_type type) {
  static const uint8_t bytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return bytes[type];
}

const wick_gguf_value *wick_gguf_find(const wick_gguf *gguf, const char *key) {
  for (size_t i = 0; i < gguf->n_values; i++)
    if (wick_string_equal(gguf->values[i].key, key)) return &gguf->values[i];
  return NULL;
}

int64_t wick_gguf_int_at(const wick_gguf_value *value, uint64_t i) {
  size_t n = wick_gguf_type_bytes(value->type);
  wick_cursor cursor = {.data = value->data, .n = value->n_bytes};
  if (i >= value->n || !wick_cursor_take(&cursor, i * n)) return 0;
  uint64_t bits = wick_cursor_unsigned(&cursor, (int)n);
  switch (value->type) {
  case WICK_GGUF_I8:
    return (int8_t)bits;
  case WICK_GGUF_I16:
    return (int16_t)bits;
  case WICK_GGUF_I32:
    return (int32_t)bits;
  default:
    return (int64_t)bits;
  }
}

double wick_gguf_float_at(const wick_gguf_value *value, uint64_t i) {
  size_t n = wick_gguf_type_bytes(value->type);
  wick_cursor cursor = {.data = value->data, .n = value->n_bytes};
  const uint8_t *bytes = NULL;
  if (i < value->n && wick_cursor_take(&cursor, i * n)) bytes = wick_cursor_take(&cursor, n);
  float single = 0;
  double number = 0;
  if (!bytes) return 0;
  if (value->type == WICK_GGUF_F32) {
    memcpy(&single, bytes, sizeof single);
    return single;
  }
  if (value->type == WICK_GGUF_F64) memcpy(&number, bytes, sizeof number);
  return number;
}

static bool is_integer(wick_gguf_type type) {
  return type <= WICK_GGUF_I32 || type == WICK_GGUF_U64 || type == WICK_GGUF_I64;
}

bool wick_gguf_value_u64(const wick_gguf_value *value, uint64_t *out) {
  if (value->is_array || !is_integer(value->type)) return false;
  int64_t number = wick_gguf_int_at(value, 0);
  if (number < 0 && value->type != WICK_GGUF_U64) return false;
  *out = (uint64_t)number;
  return true;
}

bool wick_gguf_get_u64(const wick_gguf *gguf, const char *key, uint64_t *out) {
  const wick_gguf_value *value = wick_gguf_find(gguf, key);
  return value && wick_gguf_value_u64(value, out);
}

bool wick_gguf_get_f64(const wick_gguf *gguf, const char *key, double *out) {
  const wick_gguf_value *value = wick_gguf_find(gguf, key);
  if (!value || value->is_array) return false;
  if (value->type != WICK_GGUF_F32 && value->type != WICK_GGUF_F64) return false;
  *out = wick_gguf_float_at(value, 0);
  return true;
}

bool wick_gguf_get_bool(const wick_gguf *gguf, const char *key, bool *out) {
  const wick_gguf_value *value = wick_gguf_find(gguf, key);
  if (!value || value->is_array || value->type != WICK_GGUF_BOOL) return false;
  *out = value->data[0] != 0;
  return true;
}

bool wick_gguf_next_string(const wick_gguf_value *value, uint64_t *at, wick_string *out) {
  if (value->type != WICK_GGUF_STRING || *at >= value->n_bytes) return false;
  wick_cursor cursor = {.data = value->data, .n = value->n_bytes, .at = *at};
  uint64_t n = wick_cursor_u64(&cursor);
  const uint8_t *bytes = wick_cursor_take(&cursor, n);
  if (!bytes) return false;
  *out = (wick_string){(const char *)bytes, (size_t)n};
  *at = cursor.at;
  return true;
}

bool wick_gguf_get_string(const wick_gguf *gguf, const char *key, wick_string *out) {
  const wick_gguf_value *value = wick_gguf_find(gguf, key);
  uint64_t at = 0;
  return value && !value->is_array && wick_gguf_next_string(value, &at, out);
}

wick_status wick_gguf_check_part(const char *name, const wick_gguf *gguf, uint64_t number,
                                 uint64_t *n_parts, wick_error *error) {
  uint64_t found = 0, count = 1;
  if (wick_gguf_find(gguf, "split.count") &&
      (!wick_gguf_get_u64(gguf, "split.count", &count) || count < 1 || count > WICK_GGUF_MAX_PARTS))
    return wick_fail(error, WICK_ERROR_FORMAT,
                     "%s: split.count: expected a number from 1 to %d, found another value", name,
                     WICK_GGUF_MAX_PARTS);
  if (count > 1 && (!wick_gguf_get_u64(gguf, "split.no", &found) || found >= count))
    return wick_fail(error, WICK_ERROR_FORMAT,
                     "%s: split.no: expected a number below %llu, found another value", name,
                     (unsigned long long)count);
  if (number == 0) *n_parts = count;
  if (found != number || count != *n_parts)
    return wick_fail(error, WICK_ERROR_FORMAT,
                     "%s: expected part %llu of %llu, found part %llu of %llu", name,
                     (unsigned long long)number + 1, (unsigned long long)*n_parts,
                     (unsigned long long)found + 1, (unsigned long long)count);
  return WICK_OK;
}
