/* Data types of weights: their block layouts, and conversion of rows to and from float32. A row of
 * a quantized type is a sequence of blocks; each block holds block_size weights in block_bytes
 * bytes, little-endian. Layouts: the GGUF specification (ggml's quantized types). Chapters 2, 18,
 * 19. */
#ifndef WICK_TENSOR_DTYPE_H
#define WICK_TENSOR_DTYPE_H

#include "core/status.h"

/* Numbers are GGUF's (ggml_type). */
typedef enum wick_dtype {
  WICK_DTYPE_F32 = 0,
  WICK_DTYPE_F16 = 1,
  WICK_DTYPE_Q4_0 = 2,
  WICK_DTYPE_Q4_1 = 3,
  WICK_DTYPE_Q5_0 = 6,
  WICK_DTYPE_Q5_1 = 7,
  WICK_DTYPE_Q8_0 = 8,
  WICK_DTYPE_Q4_K = 12,
  WICK_DTYPE_Q5_K = 13,
  WICK_DTYPE_Q6_K = 14,
  WICK_DTYPE_BF16 = 30,
} wick_dtype;

typedef struct wick_dtype_info {
  const char *name; /* "Q4_1" */
  int block_size;   /* weights in a block; 1 for float types */
  int block_bytes;
} wick_dtype_info;

/* NULL for a number that wick does not read. */
const wick_dtype_info *wick_dtype_get_info(uint32_t dtype);

/* ggml's name of a type number, also of those that wick does not read; "unknown" beyond them. For
 * messages. */
const char *wick_dtype_name(uint32_t dtype);

/* Bytes of a row of n_cols weights, or false: unknown type, n_cols not a multiple of the block, or
 * too large. */
bool wick_dtype_row_bytes(wick_dtype dtype, uint64_t n_cols, uint64_t *out);

/* Conversions of one value. To f16 and bf16: round to nearest, ties to even; NaN stays NaN. */
float wick_f16_to_f32(uint16_t half);
uint16_t wick_f32_to_f16(float value);
float wick_bf16_to_f32(uint16_t half);
uint16_t wick_f32_to_bf16(float value);

/* out[i] = weight i of the row, i < n_cols; n_cols is a multiple of the block size. source may lie
 * at any address. */
void wick_row_to_f32(wick_dtype dtype, const void *source, size_t n_cols, float *out);

/* The other way, for the types that wick writes: F32, F16, BF16, Q8_0, Q4_0, Q4_1 (round to
 * nearest, as the GGUF reference quantizers do). false for other types. */
bool wick_row_from_f32(wick_dtype dtype, const float *values, size_t n_cols, void *out);

#endif
