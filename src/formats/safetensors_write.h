/* safetensors, writing: the header with the tensors' table, then the tensors one by one. Byte table
 * in safetensors.c. Chapter 9. */
#ifndef WICK_FORMATS_SAFETENSORS_WRITE_H
#define WICK_FORMATS_SAFETENSORS_WRITE_H

#include "formats/sink.h"
#include "formats/weights.h"

/* The header. table: names (UTF-8), types F32, F16 or BF16, dimensions and n_bytes; offsets are
 * filled in here (from the start of the file) in the entries' order. What must follow: each entry's
 * n_bytes bytes, without padding. Put wider types first to keep every tensor aligned. Uses cJSON.
 */
wick_status wick_safetensors_write_header(const wick_sink *sink, wick_tensor_table *table,
                                          wick_arena *arena, wick_error *error);

#endif
