/* safetensors, reading: u64 length, that many bytes of JSON, tensor data. Source: the format's
 * specification (huggingface/safetensors, README). Chapter 9. */
#ifndef WICK_FORMATS_SAFETENSORS_H
#define WICK_FORMATS_SAFETENSORS_H

#include "formats/weights.h"

/* As wick_gguf_parse. Names and entries are copied into arena; dims are reversed so that dims[0] is
 * the innermost. Types: F32, F16, BF16; others are refused by name. *header_bytes: where tensor
 * data begins. */
wick_status wick_safetensors_parse(const char *name, const uint8_t *data, uint64_t n_bytes,
                                   uint64_t total_bytes, wick_arena *arena, wick_tensor_table *out,
                                   uint64_t *header_bytes, uint64_t *need, wick_error *error);

#endif
