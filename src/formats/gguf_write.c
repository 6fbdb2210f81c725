/* See gguf_write.h; the byte table is in gguf.c. */
#include "formats/gguf_write.h"

#include <string.h>

enum { ALIGNMENT = 32 };

void wick_gguf_builder_init(wick_gguf_builder *builder, const wick_allocator *allocator) {
  *builder =
      (wick_gguf_builder){.bytes.allocator = allocator ? allocator : wick_allocator_default()};
}

void wick_gguf_builder_free(wick_gguf_builder *builder) {
  wick_buffer_free(&builder->bytes);
}

static void put_bytes(wick_gguf_builder *b, const void *bytes, size_t n) {
  b->failed = b->failed || !wick_buffer_append(&b->bytes, bytes, n);
}

static void put_unsigned(wick_gguf_builder *b, uint64_t value, int n_bytes) {
  uint8_t bytes[8];
  for (int i = 0; i < n_bytes; i++) bytes[i] = (uint8_t)(value >> (8 * i));
  put_bytes(b, bytes, (size_t)n_bytes);
}

static void put_text(wick_gguf_builder *b, wick_string text) {
  put_unsigned(b, text.n, 8);
  put_bytes(b, text.data, text.n);
}

static void put_key(wick_gguf_builder *b, wick_string key, wick_gguf_type type) {
  put_text(b, key);
  put_unsigned(b, type, 4);
  b->n_values++;
}

static wick_string string_of(const char *text) {
  return (wick_string){text, strlen(text)};
}

void wick_gguf_put_u32(wick_gguf_builder *builder, const char *key, uint32_t value) {
  put_key(builder, string_of(key), WICK_GGUF_U32);
  put_unsigned(builder, value, 4);
}

void wick_gguf_put_f32(wick_gguf_builder *builder, const char *key, float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  put_key(builder, string_of(key), WICK_GGUF_F32);
  put_unsigned(builder, bits, 4);
}

void wick_gguf_put_bool(wick_gguf_builder *builder, const char *key, bool value) {
  put_key(builder, string_of(key), WICK_GGUF_BOOL);
  put_unsigned(builder, value, 1);
}

void wick_gguf_put_string(wick_gguf_builder *builder, const char *key, wick_string value) {
  put_key(builder, string_of(key), WICK_GGUF_STRING);
  put_text(builder, value);
}

void wick_gguf_put_value(wick_gguf_builder *builder, const wick_gguf_value *value) {
  put_key(builder, value->key, value->is_array ? WICK_GGUF_ARRAY : value->type);
  if (value->is_array) {
    put_unsigned(builder, value->type, 4);
    put_unsigned(builder, value->n, 8);
  }
  put_bytes(builder, value->data, (size_t)value->n_bytes);
}

void wick_gguf_put_array(wick_gguf_builder *builder, const char *key, wick_gguf_type type,
                         uint64_t n) {
  put_key(builder, string_of(key), WICK_GGUF_ARRAY);
  put_unsigned(builder, type, 4);
  put_unsigned(builder, n, 8);
}

void wick_gguf_add_string(wick_gguf_builder *builder, wick_string value) {
  put_text(builder, value);
}

void wick_gguf_add_i32(wick_gguf_builder *builder, int32_t value) {
  put_unsigned(builder, (uint32_t)value, 4);
}

static void put_tensor(wick_gguf_builder *b, const wick_tensor_entry *entry, uint64_t offset) {
  put_text(b, entry->name);
  put_unsigned(b, (uint64_t)entry->n_dims, 4);
  for (int i = 0; i < entry->n_dims; i++) put_unsigned(b, entry->dims[i], 8);
  put_unsigned(b, entry->dtype, 4);
  put_unsigned(b, offset, 8);
}

static uint64_t aligned(uint64_t n) {
  return (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Preamble, values and tensor infos are collected apart, because the data section's start is known
 * only when all of them are there. */
static wick_status write_parts(const wick_sink *sink, const wick_gguf_builder *values,
                               wick_gguf_builder *preamble, wick_gguf_builder *infos,
                               wick_tensor_table *table, wick_error *error) {
  put_bytes(preamble, "GGUF", 4);
  put_unsigned(preamble, 3, 4);
  put_unsigned(preamble, table->n, 8);
  put_unsigned(preamble, values->n_values, 8);
  uint64_t at = 0;
  for (size_t i = 0; i < table->n; i++) {
    table->entries[i].offset = at;
    put_tensor(infos, &table->entries[i], at);
    at += aligned(table->entries[i].n_bytes);
  }
  if (preamble->failed || infos->failed || values->failed)
    return wick_fail(error, WICK_ERROR_MEMORY, "out of memory");
  uint64_t header = (uint64_t)preamble->bytes.n + values->bytes.n + infos->bytes.n;
  for (size_t i = 0; i < table->n; i++) table->entries[i].offset += aligned(header);
  WICK_TRY(wick_sink_write(sink, preamble->bytes.data, preamble->bytes.n, error));
  WICK_TRY(wick_sink_write(sink, values->bytes.data, values->bytes.n, error));
  WICK_TRY(wick_sink_write(sink, infos->bytes.data, infos->bytes.n, error));
  return wick_gguf_write_padding(sink, header, error);
}

wick_status wick_gguf_write_header(const wick_sink *sink, const wick_gguf_builder *builder,
                                   wick_tensor_table *table, wick_error *error) {
  wick_gguf_builder preamble, infos;
  wick_gguf_builder_init(&preamble, builder->bytes.allocator);
  wick_gguf_builder_init(&infos, builder->bytes.allocator);
  wick_status status = write_parts(sink, builder, &preamble, &infos, table, error);
  wick_gguf_builder_free(&preamble);
  wick_gguf_builder_free(&infos);
  return status;
}

wick_status wick_gguf_write_padding(const wick_sink *sink, uint64_t n_bytes, wick_error *error) {
  static const uint8_t zeros[ALIGNMENT];
  return wick_sink_write(sink, zeros, (size_t)(aligned(n_bytes) - n_bytes), error);
}
