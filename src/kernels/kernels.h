/* The contract of every kernel: one table of function pointers, filled level by level. The
 * reference fills all of it; each instruction-set file then overwrites what it does faster (the
 * manner of dav1d's DSP tables). Chapters 5, 6, 18, 19.
 *
 * Two rules hold for every variant:
 * 1. Within one level an output's bits depend only on its own row and its own token's activations:
 *    never on how many tokens or rows share the call, on alignment or on threads. A vector (one
 *    token) and a tile (many) give the same bits.
 * 2. Against the reference: integer parts are equal exactly, float sums within the tolerances of
 *    tests/kernels/tolerances.h.
 *
 * Packed weights. A matrix of n_rows x n_cols is cut into groups of rows_per_group = R rows (the
 * last group padded with zero rows), a group into blocks of 32 columns. All of a group's blocks lie
 * one after another. Per block (h = IEEE half, little-endian):
 *
 *   WICK_PACKED_Q4   R x h d | R x h m | 4 runs j = 0..3 of 4R bytes: byte 4r+i of run j holds
 *     20R bytes      column 4j+i of row r in its low nibble and column 16+4j+i in its high one.
 *                    weight = d * nibble + m. From Q4_1 as is, from Q4_0 with m = -8 d (exact).
 *   WICK_PACKED_Q8   R x h d | 8 runs j = 0..7 of 4R bytes: byte 4r+i of run j is column 4j+i of
 *     34R bytes      row r, an int8. weight = d * code. From Q8_0.
 *   WICK_PACKED_NONE rows as in the file, one after another; any wick_dtype. Used for float types,
 *                    for types without a packing, and for everything in exact mode.
 *
 * So a lane is a row: no sum ever crosses lanes, and every instruction set adds in one order.
 *
 * Activations for packed weights: each token's row is cut into blocks of 32; a block has a scale
 * s = max|x| / Q and codes q = round-to-nearest-even(x * (Q / max|x|)). For Q4 weights Q = 127: one
 * byte a code, and t = s * (float)(sum of q) besides. For Q8 weights, whose own codes are that fine
 * already and most of which are a model's head, Q = 32767: two bytes a code, so that rounding the
 * activations loses nothing that shows. A block whose max|x| / Q is no normal number counts as
 * zeros (s = 0, all q = 0); one with an infinity or NaN gives NaN (s = NaN, all q = 0). The product
 * of a row and a token, block after block, the integer sums exact:
 *
 *   Q4:  acc = fma((float)sum(nibble * q), d * s, acc); acc = fma(m, t, acc)
 *   Q8:  acc = fma((float)sum(code * q), d * s, acc)
 *
 * from acc = 0 (levels without fma: multiply, then add). How codes lie in memory is the level's own
 * affair: a tile of up to tile_tokens tokens is written by quantize and read by the same level. */
#ifndef WICK_KERNELS_KERNELS_H
#define WICK_KERNELS_KERNELS_H

#include "core/memory.h"
#include "tensor/dtype.h"

typedef enum wick_packing {
  WICK_PACKED_NONE,
  WICK_PACKED_Q4,
  WICK_PACKED_Q8,
  WICK_N_PACKINGS
} wick_packing;

enum { WICK_BLOCK = 32 };          /* columns of a packed block and of an activation block */
enum { WICK_KV_BLOCK = 32 };       /* positions of a KV cache block */
enum { WICK_MAX_GROUP_ROWS = 32 }; /* R is at most this */

/* Activations for weights of one packing: n_tokens <= tile_tokens rows x[token * stride + column]
 * into one tile (64-byte aligned). A tile of one token may be laid out differently from a larger
 * one; matvec reads only the former, matmul with n_tokens == 1 calls matvec. */
typedef void wick_quantize_function(void *tile, const float *x, size_t stride, size_t n_tokens,
                                    size_t n_cols);

/* Products of packed weights with quantized activations, for one token.
 * out:     float32 [n_rows], n_rows = rows of these groups, the last one maybe partial: only n_rows
 *          values are written
 * groups:  ceil(n_rows / R) packed groups of n_cols columns (a multiple of 32), any alignment
 * tile:    activations of one token, from this packing's quantize */
typedef void wick_matvec_function(float *out, size_t n_rows, size_t n_cols, const void *groups,
                                  const void *tile);

/* The same for n_tokens >= 1 tokens: out[token * out_stride + row]. tiles: ceil(n_tokens /
 * tile_tokens) tiles, each of tile_bytes(n_cols) bytes, the last maybe of fewer tokens. scratch:
 * scratch_bytes(n_cols) bytes of the calling thread, 64-byte aligned. */
typedef void wick_matmul_function(float *out, size_t out_stride, size_t n_rows, size_t n_cols,
                                  const void *groups, const void *tiles, size_t n_tokens,
                                  void *scratch);

typedef struct wick_kernels {
  const char *level;     /* "reference", "avx2", "avx-vnni", "avx512-vnni", "neon", ... */
  uint32_t level_bit;    /* WICK_LEVEL_* */
  size_t rows_per_group; /* R: 8 or 16 or 32 */
  size_t tile_tokens;    /* tokens of an activation tile */

  /* -- packed weights; [WICK_PACKED_NONE] is NULL -- */
  size_t (*tile_bytes)(wick_packing packing, size_t n_cols); /* of one tile, a multiple of 64 */
  size_t (*scratch_bytes)(size_t n_cols);                    /* for matmul, a multiple of 64 */
  wick_quantize_function *quantize[WICK_N_PACKINGS];
  wick_matvec_function *matvec[WICK_N_PACKINGS];
  wick_matmul_function *matmul[WICK_N_PACKINGS];

  /* -- float weights (WICK_PACKED_NONE) -- */
  /* out[token * out_stride + row] = sum over columns of w[row * n_cols + c] * x[token * x_stride +
   * c], float32; n_rows and n_tokens are any. The order of a sum is fixed per level. */
  void (*matmul_f32)(float *out, size_t out_stride, size_t n_rows, size_t n_cols, const float *w,
                     const float *x, size_t x_stride, size_t n_tokens);
  void (*f16_to_f32)(float *out, const uint16_t *in, size_t n);  /* exact */
  void (*bf16_to_f32)(float *out, const uint16_t *in, size_t n); /* exact */
  void (*f32_to_f16)(uint16_t *out, const float *in, size_t n);  /* nearest even */

  /* -- element by element -- */
  /* out[i] = x[i] / sqrt(mean(x^2) + epsilon) * w[i]; out may be x */
  void (*rmsnorm)(float *out, const float *x, const float *w, size_t n, float epsilon);
  /* out[i] = gate[i] / (1 + exp(-gate[i])) * up[i]; out may be gate or up */
  void (*silu_multiply)(float *out, const float *gate, const float *up, size_t n);
  void (*add)(float *out, const float *x, size_t n); /* out[i] += x[i] */

  /* -- attention over one KV block of 32 positions; head_dim is a multiple of 8 -- */
  /* scores[query * scores_stride + position] = sum over d of q[query * head_dim + d] * k[d * 32 +
   * position], d in ascending order. k is transposed: [head_dim][32]. */
  void (*attention_scores)(float *scores, size_t scores_stride, const float *q, size_t n_queries,
                           const float *k, size_t head_dim);
  /* out[query * head_dim + d] += sum over position < 32 of p[query * p_stride + position] *
   * v[position * head_dim + d], position in ascending order (p is 0 beyond the last one). */
  void (*attention_values)(float *out, const float *p, size_t p_stride, size_t n_queries,
                           const float *v, size_t head_dim);
  /* x[i] = exp(x[i] - maximum), returns their sum; x[i] <= maximum, -infinity gives exactly 0; n is
   * a multiple of 32. Relative error of an exp at most 3e-7. */
  float (*exp_sum)(float *x, size_t n, float maximum);
  float (*maximum)(const float *x, size_t n); /* n >= 1 */
} wick_kernels;

/* Fill table with the best level in mask (0: any) that this CPU and OS grant and whose known-answer
 * probe passes; the reference when none does. */
void wick_kernels_select(wick_kernels *table, uint32_t mask);
/* Levels that select could choose here, WICK_LEVEL_REFERENCE among them. */
uint32_t wick_kernels_available(void);

/* Packing, the same for every level but for R. Which packing a source type gets (NONE when it has
 * none or n_cols is not a multiple of 32): */
wick_packing wick_packing_for(wick_dtype dtype, size_t n_cols);
/* Bytes of a group of R rows (packing is not NONE). */
size_t wick_packed_group_bytes(wick_packing packing, size_t rows_per_group, size_t n_cols);
/* Pack n_rows <= R source rows, row_bytes apart, into one group; missing rows become zeros. false
 * when a block's scale or minimum is not finite. */
bool wick_pack_group(wick_dtype dtype, const void *rows, size_t row_bytes, size_t n_rows,
                     size_t rows_per_group, size_t n_cols, void *group);
/* Row r < R of a packed group as float32 (embeddings look rows up this way). */
void wick_unpack_row(wick_packing packing, const void *group, size_t rows_per_group, size_t r,
                     size_t n_cols, float *out);

/* Fillers, one per instruction-set file; each overwrites what it has. Only select and tests call
 * them, after checking that the CPU has the level. */
void wick_kernels_reference(wick_kernels *table);
void wick_kernels_avx2(wick_kernels *table);
void wick_kernels_avx_vnni(wick_kernels *table);
void wick_kernels_avx512_vnni(wick_kernels *table);
void wick_kernels_neon(wick_kernels *table);
void wick_kernels_neon_dotprod(wick_kernels *table);
void wick_kernels_simd128(wick_kernels *table);
void wick_kernels_relaxed(wick_kernels *table);

#endif
