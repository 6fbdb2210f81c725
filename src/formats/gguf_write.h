/* GGUF v3, writing: collect metadata in a builder, write the header with the tensors' table, then
 * the tensors one by one. Byte table in gguf.c. Source: the GGUF specification. Chapter 9. */
#ifndef WICK_FORMATS_GGUF_WRITE_H
#define WICK_FORMATS_GGUF_WRITE_H

#include "core/buffer.h"
#include "formats/gguf.h"
#include "formats/sink.h"

/* Metadata values in their written form. Growing may fail: later calls then do nothing and
 * wick_gguf_write_header says so, so that a row of puts needs no checks. */
typedef struct wick_gguf_builder {
  wick_buffer bytes; /* freed by wick_gguf_builder_free */
  uint64_t n_values;
  bool failed;
} wick_gguf_builder;

void wick_gguf_builder_init(wick_gguf_builder *builder, const wick_allocator *allocator);
void wick_gguf_builder_free(wick_gguf_builder *builder);

void wick_gguf_put_u32(wick_gguf_builder *builder, const char *key, uint32_t value);
void wick_gguf_put_f32(wick_gguf_builder *builder, const char *key, float value);
void wick_gguf_put_bool(wick_gguf_builder *builder, const char *key, bool value);
void wick_gguf_put_string(wick_gguf_builder *builder, const char *key, wick_string value);
/* A value of a parsed file as it is. */
void wick_gguf_put_value(wick_gguf_builder *builder, const wick_gguf_value *value);
/* An array of n elements, which must follow by n calls of one of the adds. */
void wick_gguf_put_array(wick_gguf_builder *builder, const char *key, wick_gguf_type type,
                         uint64_t n);
void wick_gguf_add_string(wick_gguf_builder *builder, wick_string value);
void wick_gguf_add_i32(wick_gguf_builder *builder, int32_t value);

/* The header, padding included. table: names, types, dimensions and n_bytes; offsets are filled in
 * here (from the start of the file) in the entries' order. What must follow: for each entry its
 * n_bytes bytes and wick_gguf_write_padding. */
wick_status wick_gguf_write_header(const wick_sink *sink, const wick_gguf_builder *builder,
                                   wick_tensor_table *table, wick_error *error);
wick_status wick_gguf_write_padding(const wick_sink *sink, uint64_t n_bytes, wick_error *error);

#endif
