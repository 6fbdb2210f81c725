/* safetensors, parsing. Source: the format's specification (huggingface/safetensors, README).
 * Chapter 9.
 *
 * THE FILE:
 *
 *   OFFSET  SIZE  WHAT
 *        0     8  H, length of the header, little-endian
 *        8     H  JSON, maybe with spaces at its end:
 *                 {"__metadata__": {"format": "pt"},
 *                  "NAME": {"dtype": "BF16", "shape": [49152, 576], "data_offsets": [BEGIN, END]},
 *                  ...}
 *      8+H        the tensors' data; offsets count from here; rows first, columns last in a shape
 *
 * As in the reference reader the data must be covered by the tensors without gaps, so a file that
 * was cut off or has something appended is found out. */
#include "formats/safetensors.h"

#include <string.h>

#include "core/cursor.h"
#include "formats/json.h"

enum { PREFIX_BYTES = 8, MAX_HEADER_BYTES = 100000000 /* the reference's */ };

typedef unsigned long long ull; /* what %llu prints */

static wick_status bad_tensor(const char *file, const cJSON *item, const char *expected,
                              wick_error *error) {
  wick_string name = {item->string, strlen(item->string)};
  return wick_fail(error, WICK_ERROR_FORMAT, "%s: tensor %.*s: expected %s, found something else",
                   file, WICK_STRING_ARGS(name), expected);
}

static wick_status read_type(const char *file, const cJSON *item, wick_dtype *out,
                             wick_error *error) {
  wick_string type;
  if (!wick_json_string(item, "dtype", &type))
    return bad_tensor(file, item, "a dtype that is a string", error);
  if (wick_string_equal(type, "F32")) {
    *out = WICK_DTYPE_F32;
  } else if (wick_string_equal(type, "F16")) {
    *out = WICK_DTYPE_F16;
  } else if (wick_string_equal(type, "BF16")) {
    *out = WICK_DTYPE_BF16;
  } else {
    wick_string name = {item->string, strlen(item->string)};
    return wick_fail(error, WICK_ERROR_UNSUPPORTED,
                     "%s: tensor %.*s: expected one of F32 F16 BF16, found type %.*s", file,
                     WICK_STRING_ARGS(name), WICK_STRING_ARGS(type));
  }
  return WICK_OK;
}

/* shape lists the outermost dimension first; a scalar (no dimensions) is one row of one. */
static wick_status read_shape(const char *file, const cJSON *item, wick_tensor_entry *entry,
                              wick_error *error) {
  const cJSON *shape = cJSON_GetObjectItemCaseSensitive(item, "shape");
  uint64_t dims[WICK_MAX_DIMS];
  int n = 0;
  if (!cJSON_IsArray(shape)) return bad_tensor(file, item, "a shape that is an array", error);
  for (const cJSON *dim = shape->child; dim; dim = dim->next)
    if (n == WICK_MAX_DIMS || !wick_json_value_u64(dim, &dims[n++]) || dims[n - 1] == 0)
      return bad_tensor(file, item, "a shape of at most 4 whole numbers from 1 up", error);
  entry->n_dims = n ? n : 1;
  for (int i = 0; i < WICK_MAX_DIMS; i++) entry->dims[i] = i < n ? dims[n - 1 - i] : 1;
  return WICK_OK;
}

static wick_status read_entry(const char *file, const cJSON *item, uint64_t data_start,
                              wick_arena *arena, wick_tensor_entry *entry, wick_error *error) {
  size_t n_name = strlen(item->string);
  if (n_name < 1 || n_name > WICK_MAX_TENSOR_NAME_BYTES)
    return bad_tensor(file, item, "a name of 1 to 256 bytes", error);
  const char *name = wick_arena_copy_string(arena, item->string, n_name);
  if (!name) return wick_fail(error, WICK_ERROR_MEMORY, "%s: out of memory", file);
  entry->name = (wick_string){name, n_name};
  if (!cJSON_IsObject(item)) return bad_tensor(file, item, "an object", error);
  WICK_TRY(read_type(file, item, &entry->dtype, error));
  WICK_TRY(read_shape(file, item, entry, error));
  const cJSON *offsets = cJSON_GetObjectItemCaseSensitive(item, "data_offsets");
  const cJSON *first = cJSON_IsArray(offsets) ? offsets->child : NULL;
  uint64_t begin, end;
  if (!first || !first->next || first->next->next || !wick_json_value_u64(first, &begin) ||
      !wick_json_value_u64(first->next, &end) || end < begin)
    return bad_tensor(file, item, "data_offsets of two whole numbers, the second not less", error);
  bool fits = wick_dtype_row_bytes(entry->dtype, entry->dims[0], &entry->n_bytes);
  for (int i = 1; i < WICK_MAX_DIMS; i++)
    fits = fits && wick_multiply_u64(entry->n_bytes, entry->dims[i], &entry->n_bytes);
  if (!fits || entry->n_bytes != end - begin)
    return wick_fail(error, WICK_ERROR_FORMAT,
                     "%s: tensor %.*s: expected data_offsets as far apart as its shape takes bytes "
                     "(%llu), found %llu",
                     file, WICK_STRING_ARGS(entry->name), fits ? (ull)entry->n_bytes : 0,
                     (ull)(end - begin));
  entry->offset = data_start + begin; /* both far below 2^63 */
  return WICK_OK;
}

/* The whole data section, and nothing else, belongs to tensors. */
static wick_status check_cover(const char *file, const wick_tensor_table *table, uint64_t at,
                               uint64_t total_bytes, wick_error *error) {
  for (size_t i = 0; i < table->n; i++) {
    const wick_tensor_entry *entry = &table->entries[i];
    if (entry->offset != at)
      return wick_fail(
          error, WICK_ERROR_FORMAT,
          "%s: tensor %.*s: expected to begin at byte %llu, where the one before ends, "
          "found %llu",
          file, WICK_STRING_ARGS(entry->name), (ull)at, (ull)entry->offset);
    at += entry->n_bytes;
  }
  if (at != total_bytes)
    return wick_fail(error, WICK_ERROR_FORMAT,
                     "%s: expected the file to end with its last tensor at byte %llu, found %llu "
                     "bytes",
                     file, (ull)at, (ull)total_bytes);
  return WICK_OK;
}

static bool is_metadata(const cJSON *item) {
  return strcmp(item->string, "__metadata__") == 0;
}

static wick_status read_entries(const char *file, const cJSON *header, uint64_t data_start,
                                uint64_t total_bytes, wick_arena *arena, wick_tensor_table *out,
                                wick_error *error) {
  if (!cJSON_IsObject(header))
    return wick_fail(error, WICK_ERROR_FORMAT, "%s: expected the header to be a JSON object", file);
  size_t n = 0, n_metadata = 0;
  for (const cJSON *item = header->child; item; item = item->next) {
    if (is_metadata(item)) {
      n_metadata++;
    } else {
      n++;
    }
  }
  if (n > WICK_MAX_TENSORS || n_metadata > 1)
    return wick_fail(error, WICK_ERROR_FORMAT,
                     "%s: expected at most %d tensors and one __metadata__, found %zu and %zu",
                     file, WICK_MAX_TENSORS, n, n_metadata);
  out->entries = WICK_ARENA_ARRAY(arena, wick_tensor_entry, n);
  if (!out->entries) return wick_fail(error, WICK_ERROR_MEMORY, "%s: out of memory", file);
  for (const cJSON *item = header->child; item; item = item->next)
    if (!is_metadata(item))
      WICK_TRY(read_entry(file, item, data_start, arena, &out->entries[out->n++], error));
  WICK_TRY(wick_tensor_table_check(file, out, total_bytes, arena, error));
  return check_cover(file, out, data_start, total_bytes, error);
}

wick_status wick_safetensors_parse(const char *name, const uint8_t *data, uint64_t n_bytes,
                                   uint64_t total_bytes, wick_arena *arena, wick_tensor_table *out,
                                   uint64_t *header_bytes, uint64_t *need, wick_error *error) {
  *out = (wick_tensor_table){0};
  if (total_bytes < PREFIX_BYTES)
    return wick_fail(error, WICK_ERROR_FORMAT, "%s: expected at least %d bytes, found %llu", name,
                     PREFIX_BYTES, (ull)total_bytes);
  if (n_bytes > total_bytes) n_bytes = total_bytes;
  if (n_bytes < PREFIX_BYTES) return wick_need_more(PREFIX_BYTES, n_bytes, total_bytes, need);
  wick_cursor cursor = {.data = data, .n = n_bytes};
  uint64_t n_json = wick_cursor_u64(&cursor), left = total_bytes - PREFIX_BYTES;
  if (n_json > left || n_json > MAX_HEADER_BYTES)
    return wick_fail(error, WICK_ERROR_FORMAT,
                     "%s: expected a header of at most %llu bytes, found a length of %llu", name,
                     left < MAX_HEADER_BYTES ? (ull)left : MAX_HEADER_BYTES, (ull)n_json);
  const uint8_t *json = wick_cursor_take(&cursor, n_json);
  if (!json) return wick_need_more(PREFIX_BYTES + n_json, n_bytes, total_bytes, need);
  cJSON *header;
  WICK_TRY(wick_json_parse(name, (const char *)json, (size_t)n_json, &header, error));
  *header_bytes = PREFIX_BYTES + n_json;
  wick_status status = read_entries(name, header, *header_bytes, total_bytes, arena, out, error);
  cJSON_Delete(header);
  return status;
}
