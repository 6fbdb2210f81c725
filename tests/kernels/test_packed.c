/* The kernels of packed weights: every level of this CPU against the scalar reference, over odd
 * sizes, misaligned groups and extreme values; and the promise that an output's bits depend on its
 * own row and token alone. */
#include "kernel_test.h"
#include "tolerances.h"

static const wick_dtype dtypes[] = {WICK_DTYPE_Q4_0, WICK_DTYPE_Q4_1, WICK_DTYPE_Q8_0};
enum { N_DTYPES = 3 };

static char *name_of(char *buffer, const wick_kernels *table, wick_dtype dtype, const char *what) {
  snprintf(buffer, 200, "%s %s: %s", table->level, wick_dtype_get_info((uint32_t)dtype)->name,
           what);
  return buffer;
}

/* What the errors of row r times x are relative to: the sum of everything that is added. */
static double magnitude(const source_matrix *m, size_t r, const float *x) {
  double sum = 0;
  for (size_t b = 0; b < m->n_cols / WICK_BLOCK; b++) {
    const uint8_t *block = m->rows + r * m->row_bytes + b * m->block_bytes;
    uint16_t d, low;
    memcpy(&d, block, 2);
    memcpy(&low, block + 2, 2);
    double scale = fabs((double)wick_f16_to_f32(d)), largest = scale * 128;
    if (m->dtype == WICK_DTYPE_Q4_0) largest = scale * 23;
    if (m->dtype == WICK_DTYPE_Q4_1) largest = scale * 15 + fabs((double)wick_f16_to_f32(low));
    for (size_t c = 0; c < WICK_BLOCK; c++) sum += largest * fabs((double)x[b * WICK_BLOCK + c]);
  }
  return sum;
}

/* The table's product of n_tokens tokens, held against the reference's. The worst difference in
 * units of the tolerance (at most 1 is right); infinity when a value outside was written. */
static double worst_difference(const wick_kernels *table, const source_matrix *m, const float *x,
                               size_t n_tokens, size_t misalignment) {
  wick_kernels reference;
  wick_kernels_reference(&reference);
  packed_matrix expected_w = pack_matrix(&reference, m, 0);
  packed_matrix found_w = pack_matrix(table, m, misalignment);
  size_t stride = m->n_rows + 3;
  float *expected = test_allocate(n_tokens * stride * sizeof(float));
  float *found = test_allocate(n_tokens * stride * sizeof(float));
  for (size_t i = 0; i < n_tokens * stride; i++) found[i] = -12345.0f;
  multiply(&reference, &expected_w, x, m->n_cols, n_tokens, expected, stride);
  multiply(table, &found_w, x, m->n_cols, n_tokens, found, stride);

  double worst = 0;
  for (size_t token = 0; token < n_tokens; token++)
    for (size_t r = 0; r < stride; r++) {
      double e = (double)expected[token * stride + r], f = (double)found[token * stride + r];
      if (r >= m->n_rows) {
        if (f != -12345.0) worst = INFINITY;
        continue;
      }
      double unit = TOLERANCE_PACKED * magnitude(m, r, x + token * m->n_cols);
      unit += TOLERANCE_SUBNORMAL; /* what is added may be subnormal */
      double difference = fabs(f - e);
      if (difference > 0 && !(difference / unit <= worst)) worst = difference / unit;
    }
  free(expected_w.memory);
  free(found_w.memory);
  free(expected);
  free(found);
  return worst;
}

static void check_sizes(tap *t, const wick_kernels *table, wick_dtype dtype) {
  static const size_t columns[] = {32, 64, 96, 160, 576, 1536};
  size_t group = table->rows_per_group, tile = table->tile_tokens;
  const size_t rows[] = {1, 3, group - 1, group, group + 1, 2 * group, 3 * group + 5};
  const size_t tokens[] = {1, 2, tile - 1, tile, tile + 1, 2 * tile + 1};
  test_random random = {7 + (uint32_t)dtype};
  double worst = 0;
  for (size_t c = 0; c < 6; c++)
    for (size_t r = 0; r < 7; r++) {
      source_matrix m = source_new(dtype, rows[r], columns[c]);
      source_fill(&m, &random, 0.01f, -0.08f);
      float *x = test_allocate((2 * tile + 1) * m.n_cols * sizeof(float));
      random_fill(&random, x, (2 * tile + 1) * m.n_cols, 3.0f);
      for (size_t n = 0; n < 6; n++) {
        if (m.n_cols > 160 && n % 2 == 0) continue; /* time: the long ones at half the counts */
        double w = worst_difference(table, &m, x, tokens[n], (r + n) % 4);
        if (w > worst) worst = w;
      }
      free(x);
      free(m.rows);
    }
  char name[200];
  CHECK(t, worst <= 1, name_of(name, table, dtype, "equals the reference at any size and address"));
  printf("# worst %.3f of the tolerance\n", worst);
}

/* Inputs whose sums are exact in any order: integers, scales that are powers of two. extreme: each
 * block of weights is one extreme code throughout, each block of activations one extreme value. */
static void check_exact(tap *t, const wick_kernels *table, wick_dtype dtype, bool extreme) {
  test_random random = {11};
  size_t n_tokens = table->tile_tokens + 1, n_cols = 128;
  source_matrix m = source_new(dtype, 2 * table->rows_per_group + 1, n_cols);
  source_fill(&m, &random, 0, 0);
  for (size_t b = 0; b < m.n_rows * 4; b++) {
    uint8_t *block = m.rows + b * m.block_bytes;
    memcpy(block, "\x00\x38", 2);                                   /* 0.5 */
    if (dtype == WICK_DTYPE_Q4_1) memcpy(block + 2, "\x00\xc2", 2); /* -3 */
    static const uint8_t fills[2][4] = {{0x00, 0xff, 0xf0, 0x0f}, {0x80, 0x7f, 0x81, 0xff}};
    size_t header = dtype == WICK_DTYPE_Q4_1 ? 4 : 2;
    if (extreme)
      memset(block + header, fills[dtype == WICK_DTYPE_Q8_0][random_bits(&random) % 4],
             m.block_bytes - header);
  }
  /* a block's largest value is its largest code, so its scale is 1 */
  float largest = dtype == WICK_DTYPE_Q8_0 ? 32767.0f : 127.0f, sign = 1;
  float *x = test_allocate(n_tokens * n_cols * sizeof(float));
  for (size_t i = 0; i < n_tokens * n_cols; i++) {
    bool first = i % WICK_BLOCK == 0;
    if (first || !extreme) sign = random_bits(&random) & 64 ? 1 : -1;
    x[i] = sign * (first || extreme ? largest : (float)(random_bits(&random) % 128));
  }
  wick_kernels reference;
  wick_kernels_reference(&reference);
  packed_matrix expected_w = pack_matrix(&reference, &m, 0), found_w = pack_matrix(table, &m, 1);
  float *expected = test_allocate(n_tokens * m.n_rows * sizeof(float));
  float *found = test_allocate(n_tokens * m.n_rows * sizeof(float));
  multiply(&reference, &expected_w, x, n_cols, n_tokens, expected, m.n_rows);
  multiply(table, &found_w, x, n_cols, n_tokens, found, m.n_rows);
  bool right = same_bits(expected, found, n_tokens * m.n_rows);

  /* the truth from outside: weights as the file says them, in double */
  float *weights = test_allocate(n_cols * sizeof(float));
  for (size_t r = 0; r < m.n_rows; r++) {
    wick_row_to_f32(dtype, m.rows + r * m.row_bytes, n_cols, weights);
    for (size_t token = 0; token < n_tokens; token++) {
      double sum = 0;
      for (size_t c = 0; c < n_cols; c++) sum += (double)weights[c] * (double)x[token * n_cols + c];
      if ((float)sum != found[token * m.n_rows + r]) right = false;
    }
  }
  char name[200];
  CHECK(t, right,
        name_of(name, table, dtype,
                extreme ? "extreme integer sums are exact" : "integer sums are exact"));
  free(weights);
  free(expected);
  free(found);
  free(expected_w.memory);
  free(found_w.memory);
  free(x);
  free(m.rows);
}

/* One token alone by the vector kernel, the same token among others, the same row in another
 * matrix: always the same bits. */
static void check_invariance(tap *t, const wick_kernels *table, wick_dtype dtype) {
  test_random random = {13};
  size_t n_cols = 288, most = 2 * table->tile_tokens + 1, n_rows = 5 * table->rows_per_group + 3;
  source_matrix m = source_new(dtype, n_rows, n_cols);
  source_fill(&m, &random, 0.02f, -0.1f);
  packed_matrix w = pack_matrix(table, &m, 3);
  float *x = test_allocate(most * n_cols * sizeof(float));
  random_fill(&random, x, most * n_cols, 2.0f);
  float *alone = test_allocate(most * n_rows * sizeof(float));
  float *together = test_allocate(most * n_rows * sizeof(float));
  for (size_t token = 0; token < most; token++)
    multiply_vector(table, &w, x + token * n_cols, alone + token * n_rows);

  bool tokens_agree = true, rows_agree = true;
  for (size_t n = 1; n <= most; n++) {
    multiply(table, &w, x, n_cols, n, together, n_rows);
    if (!same_bits(alone, together, n * n_rows)) tokens_agree = false;
  }
  for (size_t skip = 0; skip < 5; skip++)
    for (size_t n = 1; n <= most; n += table->tile_tokens) {
      packed_matrix part = w;
      part.data += skip * w.group_bytes;
      part.n_rows -= skip * table->rows_per_group;
      multiply(table, &part, x, n_cols, n, together, part.n_rows);
      for (size_t token = 0; token < n; token++)
        if (!same_bits(alone + token * n_rows + n_rows - part.n_rows,
                       together + token * part.n_rows, part.n_rows))
          rows_agree = false;
    }
  char name[200];
  CHECK(t, tokens_agree, name_of(name, table, dtype, "vector and tile agree bit for bit"));
  CHECK(t, rows_agree, name_of(name, table, dtype, "a row's bits do not depend on the others"));
  free(alone);
  free(together);
  free(x);
  free(w.memory);
  free(m.rows);
}

/* Scales and activations at the ends of their ranges. */
static void check_extremes(tap *t, const wick_kernels *table, wick_dtype dtype) {
  static const uint16_t halves[] = {0x0000, 0x8000, 0x0001, 0x83ff, 0x0400, 0x6c00, 0x8401, 0x3c00};
  static const float sizes[] = {0, 1e-42f, 3e-37f, 2e-36f, 1e-20f, 1, 1e25f, -1e25f};
  test_random random = {17};
  size_t n_cols = 64;
  double worst = 0;
  for (size_t h = 0; h < 8; h++) {
    source_matrix m = source_new(dtype, table->rows_per_group + 1, n_cols);
    source_fill(&m, &random, 0, 0);
    for (size_t b = 0; b < m.n_rows * 2; b++) {
      memcpy(m.rows + b * m.block_bytes, &halves[(h + b) % 8], 2);
      if (dtype == WICK_DTYPE_Q4_1)
        memcpy(m.rows + b * m.block_bytes + 2, &halves[(h + 3 * b + 1) % 8], 2);
    }
    float *x = test_allocate(8 * n_cols * sizeof(float));
    for (size_t i = 0; i < 8 * n_cols; i++) x[i] = random_float(&random) * sizes[i / n_cols];
    for (size_t n = 1; n <= 8; n += 7) {
      double w = worst_difference(table, &m, x + (8 - n) * n_cols, n, 1);
      if (w > worst) worst = w;
    }
    for (size_t i = 0; i < n_cols; i++) x[i] = random_float(&random) * 1e-45f * (float)(i % 200);
    packed_matrix packed = pack_matrix(table, &m, 0);
    float *out = test_allocate(m.n_rows * sizeof(float));
    multiply_vector(table, &packed, x, out);
    for (size_t r = 0; r < m.n_rows; r++)
      if (out[r] != 0) worst = INFINITY; /* subnormal activations count as zeros */
    free(out);
    free(packed.memory);
    free(x);
    free(m.rows);
  }
  char name[200];
  CHECK(t, worst <= 1, name_of(name, table, dtype, "scales and activations of any size"));
  printf("# worst %.3f of the tolerance\n", worst);
}

/* A token with a NaN or infinity gives NaN, and leaves its neighbours alone. */
static void check_not_finite(tap *t, const wick_kernels *table, wick_dtype dtype) {
  test_random random = {19};
  size_t n_cols = 96, n_tokens = 3, n_rows = table->rows_per_group + 2;
  source_matrix m = source_new(dtype, n_rows, n_cols);
  source_fill(&m, &random, 0.01f, -0.08f);
  packed_matrix w = pack_matrix(table, &m, 0);
  float *x = test_allocate(n_tokens * n_cols * sizeof(float));
  float *clean = test_allocate(n_tokens * n_rows * sizeof(float));
  float *found = test_allocate(n_tokens * n_rows * sizeof(float));
  random_fill(&random, x, n_tokens * n_cols, 1.0f);
  multiply(table, &w, x, n_cols, n_tokens, clean, n_rows);
  static const float bad[] = {NAN, INFINITY, -INFINITY};
  bool right = true;
  for (int i = 0; i < 3; i++) {
    x[n_cols + 37] = bad[i];
    multiply(table, &w, x, n_cols, n_tokens, found, n_rows);
    for (size_t r = 0; r < n_rows; r++)
      if (!isnan(found[n_rows + r])) right = false;
    if (!same_bits(clean, found, n_rows) ||
        !same_bits(clean + 2 * n_rows, found + 2 * n_rows, n_rows))
      right = false;
  }
  char name[200];
  CHECK(t, right, name_of(name, table, dtype, "NaN and infinity stay in their token"));
  free(clean);
  free(found);
  free(x);
  free(w.memory);
  free(m.rows);
}

static void check_level(tap *t, const wick_kernels *table) {
  for (int i = 0; i < N_DTYPES; i++) {
    check_sizes(t, table, dtypes[i]);
    check_exact(t, table, dtypes[i], false);
    check_exact(t, table, dtypes[i], true);
    check_invariance(t, table, dtypes[i]);
    check_extremes(t, table, dtypes[i]);
    check_not_finite(t, table, dtypes[i]);
  }
}

int main(void) {
  tap t = {0};
  for_each_level(&t, check_level);
  return tap_done(&t);
}
