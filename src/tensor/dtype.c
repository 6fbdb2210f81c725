/* The table of data types, and conversion of rows through it. Source: the GGUF specification
 * (ggml_type). Chapters 2, 18, 19. */
#include "tensor/dtype.h"

#include <assert.h>
#include <string.h>

#include "core/memory.h"
#include "tensor/blocks.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "float rows are copied as they lie in the file: a little-endian machine is needed"
#endif

typedef struct dtype_row {
  wick_dtype_info info;
  block_to_f32_function *to_f32;     /* NULL for float types */
  block_from_f32_function *from_f32; /* NULL for types that wick does not write */
} dtype_row;

enum { N_DTYPES = WICK_DTYPE_BF16 + 1 };

static const dtype_row *find(uint32_t dtype) {
  static const dtype_row rows[N_DTYPES] = {
      [WICK_DTYPE_F32] = {{"F32", 1, 4}, NULL, NULL},
      [WICK_DTYPE_F16] = {{"F16", 1, 2}, NULL, NULL},
      [WICK_DTYPE_BF16] = {{"BF16", 1, 2}, NULL, NULL},
      [WICK_DTYPE_Q4_0] = {{"Q4_0", 32, 18}, wick_block_q4_0_to_f32, wick_block_q4_0_from_f32},
      [WICK_DTYPE_Q4_1] = {{"Q4_1", 32, 20}, wick_block_q4_1_to_f32, wick_block_q4_1_from_f32},
      [WICK_DTYPE_Q5_0] = {{"Q5_0", 32, 22}, wick_block_q5_0_to_f32, NULL},
      [WICK_DTYPE_Q5_1] = {{"Q5_1", 32, 24}, wick_block_q5_1_to_f32, NULL},
      [WICK_DTYPE_Q8_0] = {{"Q8_0", 32, 34}, wick_block_q8_0_to_f32, wick_block_q8_0_from_f32},
      [WICK_DTYPE_Q4_K] = {{"Q4_K", K_BLOCK, 144}, wick_block_q4_k_to_f32, NULL},
      [WICK_DTYPE_Q5_K] = {{"Q5_K", K_BLOCK, 176}, wick_block_q5_k_to_f32, NULL},
      [WICK_DTYPE_Q6_K] = {{"Q6_K", K_BLOCK, 210}, wick_block_q6_k_to_f32, NULL},
  };
  return dtype < N_DTYPES && rows[dtype].info.name ? &rows[dtype] : NULL;
}

const wick_dtype_info *wick_dtype_get_info(uint32_t dtype) {
  const dtype_row *row = find(dtype);
  return row ? &row->info : NULL;
}

const char *wick_dtype_name(uint32_t dtype) {
  static const char *const names[] = {
      "F32",     "F16",   "Q4_0",   "Q4_1",  NULL,    NULL,     "Q5_0", "Q5_1",    "Q8_0",
      "Q8_1",    "Q2_K",  "Q3_K",   "Q4_K",  "Q5_K",  "Q6_K",   "Q8_K", "IQ2_XXS", "IQ2_XS",
      "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS", "I8",   "I16",     "I32",
      "I64",     "F64",   "IQ1_M",  "BF16",  NULL,    NULL,     NULL,   "TQ1_0",   "TQ2_0",
      NULL,      NULL,    NULL,     "MXFP4", "NVFP4", "Q1_0"};
  return dtype < sizeof names / sizeof *names && names[dtype] ? names[dtype] : "unknown";
}

bool wick_dtype_row_bytes(wick_dtype dtype, uint64_t n_cols, uint64_t *out) {
  const dtype_row *row = find(dtype);
  if (!row || n_cols % (uint64_t)row->info.block_size != 0) return false;
  return wick_multiply_u64(n_cols / (uint64_t)row->info.block_size, (uint64_t)row->info.block_bytes,
                           out);
}

void wick_row_to_f32(wick_dtype dtype, const void *source, size_t n_cols, float *out) {
  const dtype_row *row = find(dtype);
  const uint8_t *bytes = source;
  assert(row);
  if (dtype == WICK_DTYPE_F32) {
    memcpy(out, source, n_cols * sizeof *out);
  } else if (dtype == WICK_DTYPE_F16) {
    for (size_t i = 0; i < n_cols; i++) out[i] = read_half(bytes + 2 * i);
  } else if (dtype == WICK_DTYPE_BF16) {
    for (size_t i = 0; i < n_cols; i++) out[i] = wick_bf16_to_f32(read_u16(bytes + 2 * i));
  } else {
    size_t block_size = (size_t)row->info.block_size, n_blocks = n_cols / block_size;
    for (size_t i = 0; i < n_blocks; i++)
      row->to_f32(bytes + i * (size_t)row->info.block_bytes, out + i * block_size);
  }
}

bool wick_row_from_f32(wick_dtype dtype, const float *values, size_t n_cols, void *out) {
  const dtype_row *row = find(dtype);
  uint8_t *bytes = out;
  if (dtype == WICK_DTYPE_F32) {
    memcpy(out, values, n_cols * sizeof *values);
  } else if (dtype == WICK_DTYPE_F16) {
    for (size_t i = 0; i < n_cols; i++) write_u16(bytes + 2 * i, wick_f32_to_f16(values[i]));
  } else if (dtype == WICK_DTYPE_BF16) {
    for (size_t i = 0; i < n_cols; i++) write_u16(bytes + 2 * i, wick_f32_to_bf16(values[i]));
  } else if (row && row->from_f32 && n_cols % (size_t)row->info.block_size == 0) {
    size_t block_size = (size_t)row->info.block_size, n_blocks = n_cols / block_size;
    for (size_t i = 0; i < n_blocks; i++)
      row->from_f32(values + i * block_size, bytes + i * (size_t)row->info.block_bytes);
  } else {
    return false;
  }
  return true;
}
