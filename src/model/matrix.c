/* See matrix.h. */
#include "model/matrix.h"

#include <string.h>

enum { FLOAT_ROWS = 16 }; /* rows converted to float32 at a time: they stay in the L2 cache */

bool wick_matrix_init(wick_matrix *matrix, const wick_kernels *kernels, wick_dtype dtype,
                      size_t n_rows, size_t n_cols, bool exact) {
  *matrix = (wick_matrix){.dtype = dtype, .n_rows = n_rows, .n_cols = n_cols};
  uint64_t row_bytes, bytes;
  if (!wick_dtype_row_bytes(dtype, n_cols, &row_bytes) ||
      !wick_to_size(row_bytes, &matrix->row_bytes))
    return false;
  matrix->packing = exact ? WICK_PACKED_NONE : wick_packing_for(dtype, n_cols);
  bool packed = matrix->packing != WICK_PACKED_NONE;
  matrix->rows_per_group = packed ? kernels->rows_per_group : 1;
  matrix->group_bytes =
      packed ? wick_packed_group_bytes(matrix->packing, kernels->rows_per_group, n_cols)
             : matrix->row_bytes;
  size_t total;
  return wick_multiply_u64(n_rows / matrix->rows_per_group + 1, matrix->group_bytes, &bytes) &&
         wick_to_size(bytes, &total);
}

size_t wick_matrix_bytes(const wick_matrix *matrix) {
  size_t n_groups = (matrix->n_rows + matrix->rows_per_group - 1) / matrix->rows_per_group;
  return (n_groups * matrix->group_bytes + 63) & ~(size_t)63;
}

bool wick_matrix_put(wick_matrix *matrix, size_t first, size_t n_rows, const uint8_t *rows) {
  size_t each = matrix->rows_per_group;
  uint8_t *to = matrix->owned + first / each * matrix->group_bytes;
  if (matrix->packing == WICK_PACKED_NONE) {
    memcpy(to, rows, n_rows * matrix->row_bytes);
    return true;
  }
  for (size_t r = 0; r < n_rows; r += each, to += matrix->group_bytes)
    if (!wick_pack_group(matrix->dtype, rows + r * matrix->row_bytes, matrix->row_bytes,
                         n_rows - r < each ? n_rows - r : each, each, matrix->n_cols, to))
      return false;
  return true;
}

void wick_matrix_row(const wick_matrix *matrix, size_t r, float *out) {
  const uint8_t *group = matrix->data + r / matrix->rows_per_group * matrix->group_bytes;
  if (matrix->packing == WICK_PACKED_NONE)
    wick_row_to_f32(matrix->dtype, group, matrix->n_cols, out);
  else
    wick_unpack_row(matrix->packing, group, matrix->rows_per_group, r % matrix->rows_per_group,
                    matrix->n_cols, out);
}

size_t wick_matrix_scratch_bytes(const wick_kernels *kernels, size_t max_cols) {
  size_t floats = FLOAT_ROWS * max_cols * sizeof(float);
  size_t packed = kernels->scratch_bytes((max_cols + WICK_BLOCK - 1) / WICK_BLOCK * WICK_BLOCK);
  return ((floats > packed ? floats : packed) + 63) & ~(size_t)63;
}

static void rows_to_f32(const wick_kernels *kernels, const wick_matrix *matrix, const uint8_t *rows,
                        size_t n_rows, float *out) {
  size_t n = n_rows * matrix->n_cols;
  bool aligned = (uintptr_t)rows % sizeof(uint16_t) == 0;
  if (matrix->dtype == WICK_DTYPE_F16 && aligned)
    kernels->f16_to_f32(out, (const uint16_t *)(const void *)rows, n);
  else if (matrix->dtype == WICK_DTYPE_BF16 && aligned)
    kernels->bf16_to_f32(out, (const uint16_t *)(const void *)rows, n);
  else
    wick_row_to_f32(matrix->dtype, rows, n, out);
}

void wick_matrix_multiply(const wick_matrix *matrix, const wick_kernels *kernels, size_t first,
                          size_t n_rows, const wick_activations *x, float *out, size_t out_stride,
                          void *scratch) {
  if (!n_rows) return;
  const uint8_t *data = matrix->data + first / matrix->rows_per_group * matrix->group_bytes;
  if (matrix->packing != WICK_PACKED_NONE) {
    if (x->n_tokens == 1)
      kernels->matvec[matrix->packing](out, n_rows, matrix->n_cols, data,
                                       x->tiles[matrix->packing]);
    else
      kernels->matmul[matrix->packing](out, out_stride, n_rows, matrix->n_cols, data,
                                       x->tiles[matrix->packing], x->n_tokens, scratch);
    return;
  }
  bool in_place = matrix->dtype == WICK_DTYPE_F32 && (uintptr_t)data % sizeof(float) == 0;
  for (size_t r = 0; r < n_rows; r += FLOAT_ROWS) {
    size_t n = n_rows - r < FLOAT_ROWS ? n_rows - r : FLOAT_ROWS;
    const uint8_t *rows = data + r * matrix->row_bytes;
    const float *w = (const float *)(const void *)rows;
    if (!in_place) {
      rows_to_f32(kernels, matrix, rows, n, scratch);
      w = scratch;
    }
    kernels->matmul_f32(out + r, out_stride, n, matrix->n_cols, w, x->rows, x->stride, x->n_tokens);
  }
}
