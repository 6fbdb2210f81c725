/* The reference: every kernel once, in plain scalar C, in the order of kernels.h's formulas. It is
 * the truth that each variant is compared to and the level of CPUs without a better one; it is
 * written to be read. Sums whose order kernels.h leaves open are made in double. Chapters 5, 8, 18.
 */
#include "kernels/kernels.h"

#include <math.h>

#include "core/elementary.h"
#include "kernels/activation.h"

enum { ROWS = 8, TILE_TOKENS = 4 };

/* A tile is [token][block], for weights of either packing. */
typedef struct activation_block {
  float scale;  /* s */
  float offset; /* t = s * sum of codes */
  int16_t codes[WICK_BLOCK];
} activation_block;

static size_t tile_bytes(wick_packing packing, size_t n_cols) {
  (void)packing;
  size_t bytes = TILE_TOKENS * (n_cols / WICK_BLOCK) * sizeof(activation_block);
  return (bytes + 63) / 64 * 64;
}

static size_t scratch_bytes(size_t n_cols) {
  (void)n_cols; /* it needs none */
  return 0;
}

static void quantize_block(activation_block *block, const float *x, int largest_code) {
  uint32_t largest = 0;
  for (int c = 0; c < WICK_BLOCK; c++)
    if (wick_magnitude_bits(x[c]) > largest) largest = wick_magnitude_bits(x[c]);
  wick_block_scale s = wick_scale_block(largest, largest_code);
  int sum = 0;
  for (int c = 0; c < WICK_BLOCK; c++) {
    int code = s.inverse > 0 ? (int)nearbyintf(x[c] * s.inverse) : 0;
    block->codes[c] = (int16_t)code;
    sum += code;
  }
  block->scale = s.scale;
  block->offset = s.scale * (float)sum;
}

static void quantize(activation_block *block, const float *x, size_t stride, size_t n_tokens,
                     size_t n_cols, int largest_code) {
  for (size_t token = 0; token < n_tokens; token++)
    for (size_t c = 0; c < n_cols; c += WICK_BLOCK)
      quantize_block(block++, x + token * stride + c, largest_code);
}

static void quantize_q4(void *tile, const float *x, size_t stride, size_t n_tokens, size_t n_cols) {
  quantize(tile, x, stride, n_tokens, n_cols, WICK_LARGEST_CODE_Q4);
}

static void quantize_q8(void *tile, const float *x, size_t stride, size_t n_tokens, size_t n_cols) {
  quantize(tile, x, stride, n_tokens, n_cols, WICK_LARGEST_CODE_Q8);
}

static float read_half(const uint8_t *bytes) {
  return wick_f16_to_f32((uint16_t)(bytes[0] | (unsigned)bytes[1] << 8));
}

/* Row r of a group times one token. */
typedef float product_function(const uint8_t *group, size_t r, size_t n_blocks,
                               const activation_block *x);

static float product_q4(const uint8_t *group, size_t r, size_t n_blocks,
                        const activation_block *x) {
  float acc = 0;
  for (size_t b = 0; b < n_blocks; b++, x++, group += 20 * ROWS) {
    const uint8_t *runs = group + 4 * ROWS;
    int sum = 0;
    for (int c = 0; c < 16; c++) {
      uint8_t byte = runs[c / 4 * 4 * ROWS + 4 * r + c % 4];
      sum += (byte & 15) * x->codes[c] + (byte >> 4) * x->codes[16 + c];
    }
    float scale = read_half(group + 2 * r), minimum = read_half(group + 2 * ROWS + 2 * r);
    acc += (float)sum * (scale * x->scale);
    acc += minimum * x->offset;
  }
  return acc;
}

static float product_q8(const uint8_t *group, size_t r, size_t n_blocks,
                        const activation_block *x) {
  float acc = 0;
  for (size_t b = 0; b < n_blocks; b++, x++, group += 34 * ROWS) {
    const uint8_t *runs = group + 2 * ROWS;
    int sum = 0;
    for (int c = 0; c < WICK_BLOCK; c++)
      sum += (int8_t)runs[c / 4 * 4 * ROWS + 4 * r + c % 4] * x->codes[c];
    acc += (float)sum * (read_half(group + 2 * r) * x->scale);
  }
  return acc;
}

static void product_rows(float *out, size_t n_rows, size_t n_blocks, const uint8_t *groups,
                         size_t group_bytes, const activation_block *x, product_function *product) {
  for (size_t row = 0; row < n_rows; row++)
    out[row] = product(groups + row / ROWS * group_bytes, row % ROWS, n_blocks, x);
}

static void matvec_q4(float *out, size_t n_rows, size_t n_cols, const void *groups,
                      const void *tile) {
  size_t n_blocks = n_cols / WICK_BLOCK;
  product_rows(out, n_rows, n_blocks, groups, n_blocks * 20 * ROWS, tile, product_q4);
}

static void matvec_q8(float *out, size_t n_rows, size_t n_cols, const void *groups,
                      const void *tile) {
  size_t n_blocks = n_cols / WICK_BLOCK;
  product_rows(out, n_rows, n_blocks, groups, n_blocks * 34 * ROWS, tile, product_q8);
}

static void matmul(float *out, size_t out_stride, size_t n_rows, size_t n_cols, const void *groups,
                   const void *tiles, size_t n_tokens, wick_matvec_function *matvec) {
  for (size_t token = 0; token < n_tokens; token++) {
    const uint8_t *tile =
        (const uint8_t *)tiles + token / TILE_TOKENS * tile_bytes(WICK_PACKED_NONE, n_cols);
    size_t in_tile = token % TILE_TOKENS * (n_cols / WICK_BLOCK) * sizeof(activation_block);
    matvec(out + token * out_stride, n_rows, n_cols, groups, tile + in_tile);
  }
}

static void matmul_q4(float *out, size_t out_stride, size_t n_rows, size_t n_cols,
                      const void *groups, const void *tiles, size_t n_tokens, void *scratch) {
  (void)scratch;
  matmul(out, out_stride, n_rows, n_cols, groups, tiles, n_tokens, matvec_q4);
}

static void matmul_q8(float *out, size_t out_stride, size_t n_rows, size_t n_cols,
                      const void *groups, const void *tiles, size_t n_tokens, void *scratch) {
  (void)scratch;
  matmul(out, out_stride, n_rows, n_cols, groups, tiles, n_tokens, matvec_q8);
}

static void matmul_f32(float *out, size_t out_stride, size_t n_rows, size_t n_cols, const float *w,
                       const float *x, size_t x_stride, size_t n_tokens) {
  for (size_t token = 0; token < n_tokens; token++)
    for (size_t row = 0; row < n_rows; row++) {
      double sum = 0;
      for (size_t c = 0; c < n_cols; c++)
        sum += (double)w[row * n_cols + c] * (double)x[token * x_stride + c];
      out[token * out_stride + row] = (float)sum;
    }
}

static void f16_to_f32(float *out, const uint16_t *in, size_t n) {
  for (size_t i = 0; i < n; i++) out[i] = wick_f16_to_f32(in[i]);
}

static void bf16_to_f32(float *out, const uint16_t *in, size_t n) {
  for (size_t i = 0; i < n; i++) out[i] = wick_bf16_to_f32(in[i]);
}

static void f32_to_f16(uint16_t *out, const float *in, size_t n) {
  for (size_t i = 0; i < n; i++) out[i] = wick_f32_to_f16(in[i]);
}

static void rmsnorm(float *out, const float *x, const float *w, size_t n, float epsilon) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
  float scale = (float)(1.0 / sqrt(sum / (double)n + (double)epsilon));
  for (size_t i = 0; i < n; i++) out[i] = x[i] * scale * w[i];
}

static void silu_multiply(float *out, const float *gate, const float *up, size_t n) {
  for (size_t i = 0; i < n; i++) out[i] = gate[i] / (1.0f + wick_expf(-gate[i])) * up[i];
}

static void add(float *out, const float *x, size_t n) {
  for (size_t i = 0; i < n; i++) out[i] += x[i];
}

static void attention_scores(float *scores, size_t scores_stride, const float *q, size_t n_queries,
                             const float *k, size_t head_dim) {
  for (size_t query = 0; query < n_queries; query++)
    for (size_t position = 0; position < WICK_KV_BLOCK; position++) {
      float sum = 0;
      for (size_t d = 0; d < head_dim; d++)
        sum += q[query * head_dim + d] * k[d * WICK_KV_BLOCK + position];
      scores[query * scores_stride + position] = sum;
    }
}

static void attention_values(float *out, const float *p, size_t p_stride, size_t n_queries,
                             const float *v, size_t head_dim) {
  for (size_t query = 0; query < n_queries; query++)
    for (size_t position = 0; position < WICK_KV_BLOCK; position++)
      for (size_t d = 0; d < head_dim; d++)
        out[query * head_dim + d] += p[query * p_stride + position] * v[position * head_dim + d];
}

static float exp_sum(float *x, size_t n, float maximum) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    x[i] = wick_expf(x[i] - maximum);
    sum += (double)x[i];
  }
  return (float)sum;
}

static float maximum(const float *x, size_t n) {
  float largest = x[0];
  for (size_t i = 1; i < n; i++)
    if (x[i] > largest) largest = x[i];
  return largest;
}

void wick_kernels_reference(wick_kernels *table) {
  *table = (wick_kernels){
      .level = "reference",
      .level_bit = WICK_LEVEL_REFERENCE,
      .rows_per_group = ROWS,
      .tile_tokens = TILE_TOKENS,
      .tile_bytes = tile_bytes,
      .scratch_bytes = scratch_bytes,
      .quantize = {[WICK_PACKED_Q4] = quantize_q4, [WICK_PACKED_Q8] = quantize_q8},
      .matvec = {[WICK_PACKED_Q4] = matvec_q4, [WICK_PACKED_Q8] = matvec_q8},
      .matmul = {[WICK_PACKED_Q4] = matmul_q4, [WICK_PACKED_Q8] = matmul_q8},
      .matmul_f32 = matmul_f32,
      .f16_to_f32 = f16_to_f32,
      .bf16_to_f32 = bf16_to_f32,
      .f32_to_f16 = f32_to_f16,
      .rmsnorm = rmsnorm,
      .silu_multiply = silu_multiply,
      .add = add,
      .attention_scores = attention_scores,
      .attention_values = attention_values,
      .exp_sum = exp_sum,
      .maximum = maximum,
  };
}
