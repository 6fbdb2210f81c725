/* Template: the float kernels of kernels.h. Lanes hold neighbouring outputs, or partial sums that a
 * fixed tree adds up at the end, so results do not depend on how a caller cuts its rows, tokens or
 * queries. Ends that do not fill a vector go through the same arithmetic. Chapters 5, 8, 12, 20.
 * The including file defines:
 *
 *   LANES               floats in a vector
 *   vector              LANES floats
 *   load(p) store(p, v) load_part(p, n) store_part(p, v, n)   n < LANES values; others are 0
 *   set(x) zero() plus(a, b) minus(a, b) times(a, b) divide(a, b) larger(a, b)
 *   fused(a, b, acc)    acc + a * b, rounded once
 *   sum_lanes(v) max_lanes(v)
 *   exponential(v)      e^v within 2e-7, all floats: infinity above, 0 below
 *   MATMUL_TOKENS       tokens of a float matrix tile (of four rows)
 *   QUERY_TILE          queries of an attention tile, a multiple of 3
 */
#include "kernels/kernels.h"
#include "kernels/template.h"

enum { MATMUL_ROWS = 4, SCORE_VECTORS = WICK_KV_BLOCK / LANES, VALUE_VECTORS = 4 };

/* ---- matrix product: four rows by a few tokens in registers ---- */

/* n_rows x n_tokens sums, both constants. Lane l adds columns l, l + LANES, ... */
WICK_INLINE void matmul_tile(size_t n_rows, size_t n_tokens, float *out, size_t out_stride,
                             size_t n_cols, const float *w, const float *x, size_t x_stride) {
  vector acc[MATMUL_ROWS][MATMUL_TOKENS];
  WICK_EACH (r, n_rows)
    WICK_EACH (t, n_tokens) acc[r][t] = zero();
  size_t c = 0;
  for (; c + LANES <= n_cols; c += LANES) {
    vector xs[MATMUL_TOKENS];
    WICK_EACH (t, n_tokens) xs[t] = load(x + t * x_stride + c);
    WICK_EACH (r, n_rows) {
      vector ws = load(w + r * n_cols + c);
      WICK_EACH (t, n_tokens) acc[r][t] = fused(ws, xs[t], acc[r][t]);
    }
  }
  if (c < n_cols) {
    WICK_EACH (r, n_rows) {
      vector ws = load_part(w + r * n_cols + c, n_cols - c);
      WICK_EACH (t, n_tokens)
        acc[r][t] = fused(ws, load_part(x + t * x_stride + c, n_cols - c), acc[r][t]);
    }
  }
  WICK_EACH (r, n_rows)
    WICK_EACH (t, n_tokens) out[t * out_stride + r] = sum_lanes(acc[r][t]);
}

static void matmul_rows_tokens(float *out, size_t out_stride, size_t n_cols, const float *w,
                               const float *x, size_t x_stride) {
  matmul_tile(MATMUL_ROWS, MATMUL_TOKENS, out, out_stride, n_cols, w, x, x_stride);
}
static void matmul_rows_token(float *out, size_t out_stride, size_t n_cols, const float *w,
                              const float *x, size_t x_stride) {
  matmul_tile(MATMUL_ROWS, 1, out, out_stride, n_cols, w, x, x_stride);
}
static void matmul_row_tokens(float *out, size_t out_stride, size_t n_cols, const float *w,
                              const float *x, size_t x_stride) {
  matmul_tile(1, MATMUL_TOKENS, out, out_stride, n_cols, w, x, x_stride);
}
static void matmul_row_token(float *out, size_t out_stride, size_t n_cols, const float *w,
                             const float *x, size_t x_stride) {
  matmul_tile(1, 1, out, out_stride, n_cols, w, x, x_stride);
}

/* Rows in pieces that stay in the second cache while all tokens pass by, each tile of tokens
 * staying in the first. */
static void matmul_f32(float *out, size_t out_stride, size_t n_rows, size_t n_cols, const float *w,
                       const float *x, size_t x_stride, size_t n_tokens) {
  for (size_t first = 0; first < n_rows; first += 8 * MATMUL_ROWS) {
    size_t end = n_rows - first < 8 * MATMUL_ROWS ? n_rows : first + 8 * MATMUL_ROWS;
    for (size_t token = 0; token < n_tokens;) {
      bool tokens = token + MATMUL_TOKENS <= n_tokens;
      for (size_t row = first; row < end;) {
        bool rows = row + MATMUL_ROWS <= end;
        void (*tile)(float *, size_t, size_t, const float *, const float *, size_t) =
            rows ? (tokens ? matmul_rows_tokens : matmul_rows_token)
                 : (tokens ? matmul_row_tokens : matmul_row_token);
        tile(out + token * out_stride + row, out_stride, n_cols, w + row * n_cols,
             x + token * x_stride, x_stride);
        row += rows ? MATMUL_ROWS : 1;
      }
      token += tokens ? MATMUL_TOKENS : 1;
    }
  }
}

/* ---- element by element ---- */

static void rmsnorm(float *out, const float *x, const float *w, size_t n, float epsilon) {
  vector squares = zero();
  size_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    vector v = load(x + i);
    squares = fused(v, v, squares);
  }
  if (i < n) {
    vector v = load_part(x + i, n - i);
    squares = fused(v, v, squares);
  }
  vector scale = set(1.0f / sqrtf(sum_lanes(squares) / (float)n + epsilon));
  for (i = 0; i + LANES <= n; i += LANES)
    store(out + i, times(times(load(x + i), scale), load(w + i)));
  if (i < n)
    store_part(out + i, times(times(load_part(x + i, n - i), scale), load_part(w + i, n - i)),
               n - i);
}

WICK_INLINE vector silu(vector gate, vector up) {
  vector divisor = plus(set(1.0f), exponential(minus(zero(), gate)));
  return times(divide(gate, divisor), up);
}

static void silu_multiply(float *out, const float *gate, const float *up, size_t n) {
  size_t i = 0;
  for (; i + LANES <= n; i += LANES) store(out + i, silu(load(gate + i), load(up + i)));
  if (i < n) store_part(out + i, silu(load_part(gate + i, n - i), load_part(up + i, n - i)), n - i);
}

static void add(float *out, const float *x, size_t n) {
  size_t i = 0;
  for (; i + LANES <= n; i += LANES) store(out + i, plus(load(out + i), load(x + i)));
  if (i < n) store_part(out + i, plus(load_part(out + i, n - i), load_part(x + i, n - i)), n - i);
}

static float exp_sum(float *x, size_t n, float maximum) {
  vector sum = zero(), most = set(maximum);
  for (size_t i = 0; i < n; i += LANES) {
    vector e = exponential(minus(load(x + i), most));
    store(x + i, e);
    sum = plus(sum, e);
  }
  return sum_lanes(sum);
}

static float maximum(const float *x, size_t n) {
  vector largest = set(x[0]);
  size_t i = 0;
  for (; i + LANES <= n; i += LANES) largest = larger(largest, load(x + i));
  float most = max_lanes(largest);
  for (; i < n; i++)
    if (x[i] > most) most = x[i];
  return most;
}

/* ---- attention over one KV block; n queries, a constant, share what is loaded ---- */

WICK_INLINE void scores_tile(size_t n, float *scores, size_t stride, const float *q, const float *k,
                             size_t head_dim) {
  vector acc[QUERY_TILE][SCORE_VECTORS];
  WICK_EACH (i, n)
    WICK_EACH (v, SCORE_VECTORS) acc[i][v] = zero();
  for (size_t d = 0; d < head_dim; d++) {
    vector query[QUERY_TILE];
    WICK_EACH (i, n) query[i] = set(q[i * head_dim + d]);
    WICK_EACH (v, SCORE_VECTORS) {
      vector key = load(k + d * WICK_KV_BLOCK + v * LANES);
      WICK_EACH (i, n) acc[i][v] = fused(query[i], key, acc[i][v]);
    }
  }
  WICK_EACH (i, n)
    WICK_EACH (v, SCORE_VECTORS) store(scores + i * stride + v * LANES, acc[i][v]);
}

static void attention_scores(float *scores, size_t stride, const float *q, size_t n_queries,
                             const float *k, size_t head_dim) {
  size_t i = 0;
  for (; i + QUERY_TILE <= n_queries; i += QUERY_TILE)
    scores_tile(QUERY_TILE, scores + i * stride, stride, q + i * head_dim, k, head_dim);
  if (QUERY_TILE > 3)
    for (; i + 3 <= n_queries; i += 3)
      scores_tile(3, scores + i * stride, stride, q + i * head_dim, k, head_dim);
  for (; i < n_queries; i++)
    scores_tile(1, scores + i * stride, stride, q + i * head_dim, k, head_dim);
}

/* n_vectors, a constant, whole vectors of the head from column d on; or, when part > 0, the last
 * part < LANES columns. */
WICK_INLINE void values_tile(size_t n, size_t n_vectors, size_t part, float *out, const float *p,
                             size_t p_stride, const float *v, size_t head_dim) {
  vector acc[QUERY_TILE][VALUE_VECTORS];
  WICK_EACH (i, n)
    WICK_EACH (j, n_vectors)
      acc[i][j] = part ? load_part(out + i * head_dim, part) : load(out + i * head_dim + j * LANES);
  for (size_t position = 0; position < WICK_KV_BLOCK; position++) {
    vector weight[QUERY_TILE];
    WICK_EACH (i, n) weight[i] = set(p[i * p_stride + position]);
    WICK_EACH (j, n_vectors) {
      vector value = part ? load_part(v + position * head_dim, part)
                          : load(v + position * head_dim + j * LANES);
      WICK_EACH (i, n) acc[i][j] = fused(weight[i], value, acc[i][j]);
    }
  }
  WICK_EACH (i, n)
    WICK_EACH (j, n_vectors) {
      if (part)
        store_part(out + i * head_dim, acc[i][j], part);
      else
        store(out + i * head_dim + j * LANES, acc[i][j]);
    }
}

WICK_INLINE void values_queries(size_t n, float *out, const float *p, size_t p_stride,
                                const float *v, size_t head_dim) {
  size_t d = 0;
  for (; d + VALUE_VECTORS * LANES <= head_dim; d += VALUE_VECTORS * LANES)
    values_tile(n, VALUE_VECTORS, 0, out + d, p, p_stride, v + d, head_dim);
  for (; d + LANES <= head_dim; d += LANES)
    values_tile(n, 1, 0, out + d, p, p_stride, v + d, head_dim);
  if (d < head_dim) values_tile(n, 1, head_dim - d, out + d, p, p_stride, v + d, head_dim);
}

static void attention_values(float *out, const float *p, size_t p_stride, size_t n_queries,
                             const float *v, size_t head_dim) {
  size_t i = 0;
  for (; i + QUERY_TILE <= n_queries; i += QUERY_TILE)
    values_queries(QUERY_TILE, out + i * head_dim, p + i * p_stride, p_stride, v, head_dim);
  if (QUERY_TILE > 3)
    for (; i + 3 <= n_queries; i += 3)
      values_queries(3, out + i * head_dim, p + i * p_stride, p_stride, v, head_dim);
  for (; i < n_queries; i++)
    values_queries(1, out + i * head_dim, p + i * p_stride, p_stride, v, head_dim);
}

static void fill_float(wick_kernels *table) {
  table->matmul_f32 = matmul_f32;
  table->rmsnorm = rmsnorm;
  table->silu_multiply = silu_multiply;
  table->add = add;
  table->attention_scores = attention_scores;
  table->attention_values = attention_values;
  table->exp_sum = exp_sum;
  table->maximum = maximum;
}
