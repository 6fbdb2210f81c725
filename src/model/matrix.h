/* A weight matrix: a source type and the layout that the kernel table chose for it. Rows arrive as
 * the file's bytes, in order, and are packed as they come, so packed weights replace the raw ones.
 * Chapters 9, 19. */
#ifndef WICK_MODEL_MATRIX_H
#define WICK_MODEL_MATRIX_H

#include "core/memory.h"
#include "kernels/kernels.h"

typedef struct wick_matrix {
  wick_dtype dtype;
  wick_packing packing;
  size_t n_rows, n_cols;
  size_t row_bytes;      /* of a source row */
  size_t rows_per_group; /* 1 when not packed */
  size_t group_bytes;    /* row_bytes when not packed */
  const uint8_t *data;   /* [ceil(n_rows / rows_per_group)][group_bytes] */
  uint8_t *owned;        /* the same, or NULL when data is the file's own mapping */
} wick_matrix;

/* Sizes and layout; data stays NULL. exact: never packed. false when sizes do not fit. */
bool wick_matrix_init(wick_matrix *matrix, const wick_kernels *kernels, wick_dtype dtype,
                      size_t n_rows, size_t n_cols, bool exact);
/* Bytes that data must have, a multiple of 64. */
size_t wick_matrix_bytes(const wick_matrix *matrix);

/* Source rows first .. first + n_rows - 1 into owned; first is a multiple of rows_per_group, n_rows
 * too except at the end. false: a block's scale is not finite. */
bool wick_matrix_put(wick_matrix *matrix, size_t first, size_t n_rows, const uint8_t *rows);

/* Row r as float32. */
void wick_matrix_row(const wick_matrix *matrix, size_t r, float *out);

/* Activations ready for any packing: rows of float32, and the same quantized into tiles. */
typedef struct wick_activations {
  const float *rows;
  size_t stride;
  const void *tiles[WICK_N_PACKINGS]; /* of the packings that were asked for */
  size_t n_tokens;
} wick_activations;

/* Bytes of scratch that multiply needs per thread, for matrices of at most max_cols columns. */
size_t wick_matrix_scratch_bytes(const wick_kernels *kernels, size_t max_cols);

/* out[token * out_stride + row - first] for rows first .. first + n_rows - 1, first a multiple of
 * rows_per_group. scratch: the calling thread's. */
void wick_matrix_multiply(const wick_matrix *matrix, const wick_kernels *kernels, size_t first,
                          size_t n_rows, const wick_activations *x, float *out, size_t out_stride,
                          void *scratch);

#endif
