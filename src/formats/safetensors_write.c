/* See safetensors_write.h. */
#include "formats/safetensors_write.h"

#include <string.h>

#include "formats/json.h"

enum { PREFIX_BYTES = 8, ALIGNMENT = 8 };

/* {"dtype": ..., "shape": [...], "data_offsets": [begin, end]}, or NULL. Numbers pass through
 * doubles: exact below 2^53. */
static cJSON *describe(const wick_tensor_entry *entry, uint64_t begin) {
  cJSON *item = cJSON_CreateObject();
  const wick_dtype_info *info = wick_dtype_get_info(entry->dtype);
  cJSON *type = cJSON_AddStringToObject(item, "dtype", info ? info->name : "");
  cJSON *shape = cJSON_AddArrayToObject(item, "shape");
  cJSON *offsets = cJSON_AddArrayToObject(item, "data_offsets");
  bool ok = item && type && shape && offsets;
  for (int i = entry->n_dims - 1; ok && i >= 0; i--)
    ok = cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)entry->dims[i]));
  ok = ok && cJSON_AddItemToArray(offsets, cJSON_CreateNumber((double)begin)) &&
       cJSON_AddItemToArray(offsets, cJSON_CreateNumber((double)(begin + entry->n_bytes)));
  if (ok) return item;
  cJSON_Delete(item);
  return NULL;
}

static cJSON *describe_all(wick_tensor_table *table, wick_arena *arena) {
  cJSON *header = cJSON_CreateObject();
  cJSON *metadata = cJSON_AddObjectToObject(header, "__metadata__");
  bool ok = metadata && cJSON_AddStringToObject(metadata, "format", "pt");
  uint64_t at = 0;
  for (size_t i = 0; ok && i < table->n; i++) {
    wick_tensor_entry *entry = &table->entries[i];
    const char *name = wick_arena_copy_string(arena, entry->name.data, entry->name.n);
    cJSON *item = describe(entry, at);
    ok = name && item && cJSON_AddItemToObject(header, name, item);
    if (!ok) cJSON_Delete(item);
    entry->offset = at;
    at += entry->n_bytes;
  }
  if (ok) return header;
  cJSON_Delete(header);
  return NULL;
}

wick_status wick_safetensors_write_header(const wick_sink *sink, wick_tensor_table *table,
                                          wick_arena *arena, wick_error *error) {
  cJSON *header = describe_all(table, arena);
  char *text = header ? cJSON_PrintUnformatted(header) : NULL;
  cJSON_Delete(header);
  if (!text) return wick_fail(error, WICK_ERROR_MEMORY, "out of memory");
  size_t n = strlen(text), n_padded = (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  for (size_t i = 0; i < table->n; i++) table->entries[i].offset += PREFIX_BYTES + n_padded;
  uint8_t prefix[PREFIX_BYTES];
  for (int i = 0; i < PREFIX_BYTES; i++) prefix[i] = (uint8_t)((uint64_t)n_padded >> (8 * i));
  wick_status status = wick_sink_write(sink, prefix, sizeof prefix, error);
  if (status == WICK_OK) status = wick_sink_write(sink, text, n, error);
  if (status == WICK_OK) status = wick_sink_write(sink, "       ", n_padded - n, error);
  cJSON_free(text);
  return status;
}
