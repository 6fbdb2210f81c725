/* The float kernels: every level of this CPU against sums in double and the C library's exp, over
 * odd sizes and extreme values; conversions over every bit pattern. */
#include "kernel_test.h"
#include "tolerances.h"

static char *name_of(char *buffer, const wick_kernels *table, const char *what) {
  snprintf(buffer, 200, "%s: %s", table->level, what);
  return buffer;
}

static void worse(double *worst, double found, double expected, double unit) {
  double difference = fabs(found - expected);
  if (difference > 0 && !(difference / unit <= *worst)) *worst = difference / unit;
  if (isnan(found)) *worst = INFINITY;
}

static void report(tap *t, const wick_kernels *table, const char *what, double worst) {
  char name[200];
  CHECK(t, worst <= 1, name_of(name, table, what));
  printf("# worst %.3f of the tolerance\n", worst);
}

static void check_matmul(tap *t, const wick_kernels *table) {
  static const size_t columns[] = {1, 2, 7, 8, 15, 16, 17, 31, 33, 64, 100, 576};
  enum { MOST_ROWS = 11, MOST_TOKENS = 15, OUT = MOST_ROWS + 2 };
  test_random random = {23};
  double worst = 0;
  bool invariant = true, contained = true;
  for (size_t i = 0; i < 12; i++) {
    size_t n_cols = columns[i], stride = n_cols + 5;
    float *w = test_allocate(MOST_ROWS * n_cols * sizeof(float));
    float *x = test_allocate((MOST_TOKENS * stride - 5) * sizeof(float));
    random_fill(&random, w, MOST_ROWS * n_cols, 0.1f);
    random_fill(&random, x, MOST_TOKENS * stride - 5, 2.0f);
    float all[MOST_TOKENS * OUT], some[MOST_TOKENS * OUT];
    table->matmul_f32(all, OUT, MOST_ROWS, n_cols, w, x, stride, MOST_TOKENS);
    for (size_t token = 0; token < MOST_TOKENS; token++)
      for (size_t r = 0; r < MOST_ROWS; r++) {
        double sum = 0, size = 0;
        for (size_t c = 0; c < n_cols; c++) {
          double product = (double)w[r * n_cols + c] * (double)x[token * stride + c];
          sum += product;
          size += fabs(product);
        }
        worse(&worst, (double)all[token * OUT + r], sum, TOLERANCE_PRODUCT * size);
      }
    for (size_t n_rows = 1; n_rows <= MOST_ROWS; n_rows++)
      for (size_t n = 1; n <= MOST_TOKENS; n++) {
        for (size_t k = 0; k < MOST_TOKENS * OUT; k++) some[k] = -5;
        size_t row = MOST_ROWS - n_rows, token = MOST_TOKENS - n; /* the last of both */
        table->matmul_f32(some, OUT, n_rows, n_cols, w + row * n_cols, x + token * stride, stride,
                          n);
        for (size_t k = 0; k < n; k++) {
          if (!same_bits(some + k * OUT, all + (token + k) * OUT + row, n_rows)) invariant = false;
          for (size_t r = n_rows; r < OUT; r++)
            if (some[k * OUT + r] != -5) contained = false;
        }
      }
    free(w);
    free(x);
  }
  char name[200];
  report(t, table, "float matrix product", worst);
  CHECK(t, invariant, name_of(name, table, "float products do not depend on their neighbours"));
  CHECK(t, contained, name_of(name, table, "float products write their own places only"));
}

static bool same_number(float a, float b) {
  return a == b ? signbit(a) == signbit(b) : isnan(a) && isnan(b);
}

static void check_conversions(tap *t, const wick_kernels *table) {
  enum { ALL = 65536 };
  uint16_t *in = test_allocate(ALL * sizeof(uint16_t)),
           *back = test_allocate(ALL * sizeof(uint16_t));
  float *out = test_allocate(ALL * sizeof(float));
  for (int i = 0; i < ALL; i++) in[i] = (uint16_t)i;
  bool right = true, odd_right = true;
  table->f16_to_f32(out, in, ALL);
  for (int i = 0; i < ALL; i++)
    if (!same_number(out[i], wick_f16_to_f32((uint16_t)i))) right = false;
  char name[200];
  CHECK(t, right, name_of(name, table, "f16 to f32, every pattern"));

  right = true;
  table->f32_to_f16(back, out, ALL);
  for (int i = 0; i < ALL; i++)
    if (isnan(out[i]) ? (back[i] & 0x7fff) <= 0x7c00 : back[i] != i) right = false;
  CHECK(t, right, name_of(name, table, "f32 to f16 and back, every pattern"));

  right = true;
  for (int i = 0; i < 0x7c00; i++) { /* between two neighbours, and a hair beside that */
    float low = wick_f16_to_f32((uint16_t)i);
    float high = i == 0x7bff ? 65536.0f : wick_f16_to_f32((uint16_t)(i + 1));
    float middle = low + (high - low) / 2;
    float values[6] = {middle,  nextafterf(middle, 0),  nextafterf(middle, INFINITY),
                       -middle, -nextafterf(middle, 0), -nextafterf(middle, INFINITY)};
    uint16_t sign = 0x8000, even = (uint16_t)(i & 1 ? i + 1 : i);
    uint16_t expected[6] = {even,        (uint16_t)i,        (uint16_t)(i + 1),
                            even | sign, (uint16_t)i | sign, (uint16_t)(i + 1) | sign};
    table->f32_to_f16(back, values, 6);
    if (memcmp(back, expected, sizeof expected) != 0) right = false;
  }
  CHECK(t, right, name_of(name, table, "f32 to f16 rounds to nearest even"));

  right = true;
  table->bf16_to_f32(out, in, ALL);
  for (int i = 0; i < ALL; i++)
    if (!same_number(out[i], wick_bf16_to_f32((uint16_t)i))) right = false;
  CHECK(t, right, name_of(name, table, "bf16 to f32, every pattern"));

  for (size_t n = 0; n < 40; n++) { /* n values and no more, from any address */
    for (int i = 0; i < 48; i++) out[i] = -5;
    memset(back, 0x55, 48 * sizeof *back);
    table->f16_to_f32(out, in + 0x3c01, n);
    if (n && out[n - 1] != wick_f16_to_f32((uint16_t)(0x3c00 + n))) odd_right = false;
    if (out[n] != -5) odd_right = false;
    table->f32_to_f16(back, out, n);
    if ((n && back[n - 1] != 0x3c00 + n) || back[n] != 0x5555) odd_right = false;
    table->bf16_to_f32(out, in + 0x3f81, n);
    if ((n && out[n - 1] != wick_bf16_to_f32((uint16_t)(0x3f80 + n))) || out[n] != -5)
      odd_right = false;
  }
  CHECK(t, odd_right, name_of(name, table, "conversions of any length"));
  free(in);
  free(back);
  free(out);
}

static void check_elements(tap *t, const wick_kernels *table) {
  enum { MOST = 100 };
  test_random random = {29};
  float x[MOST], w[MOST], out[MOST + 1], whole[MOST];
  double worst_norm = 0, worst_silu = 0, worst_add = 0;
  bool contained = true, same_in_pieces = true;
  for (size_t n = 1; n <= MOST; n++) {
    random_fill(&random, x, n, n % 3 ? 3.0f : 40.0f);
    random_fill(&random, w, n, 2.0f);
    out[n] = -5;
    table->rmsnorm(out, x, w, n, 1e-5f);
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
    for (size_t i = 0; i < n; i++) {
      double e = (double)x[i] / sqrt(sum / (double)n + 1e-5f) * (double)w[i];
      worse(&worst_norm, (double)out[i], e, TOLERANCE_RMSNORM * fabs(e));
    }
    memcpy(whole, out, n * sizeof *out);
    memcpy(out, x, n * sizeof *out);
    table->rmsnorm(out, out, w, n, 1e-5f);
    if (!same_bits(out, whole, n)) same_in_pieces = false;

    table->silu_multiply(whole, x, w, n);
    for (size_t i = 0; i < n; i++) {
      double e = (double)x[i] / (1 + exp(-(double)x[i])) * (double)w[i];
      worse(&worst_silu, (double)whole[i], e, TOLERANCE_SILU * fabs(e) + TOLERANCE_SUBNORMAL);
    }
    memcpy(out, x, n * sizeof *out);
    for (size_t at = 0; at < n; at += 1 + at) { /* threads cut it anywhere */
      size_t piece = 1 + at < n - at ? 1 + at : n - at;
      table->silu_multiply(out + at, out + at, w + at, piece);
    }
    if (!same_bits(out, whole, n)) same_in_pieces = false;

    memcpy(out, x, n * sizeof *out);
    table->add(out, w, n);
    for (size_t i = 0; i < n; i++) worse(&worst_add, (double)out[i], (double)(x[i] + w[i]), 1e-30);
    if (out[n] != -5) contained = false;

    float largest = x[0];
    for (size_t i = 1; i < n; i++) largest = x[i] > largest ? x[i] : largest;
    if (table->maximum(x, n) != largest) worst_add = INFINITY;
  }
  float extreme[4] = {-1000, -104, 1000, 0}, ones[4] = {1, 1, 1, 1};
  table->silu_multiply(extreme, extreme, ones, 4);
  bool bounded = fabsf(extreme[0]) < 1e-30f && fabsf(extreme[1]) < 1e-30f && extreme[2] == 1000 &&
                 extreme[3] == 0;
  char name[200];
  report(t, table, "rmsnorm", worst_norm);
  report(t, table, "silu", worst_silu);
  report(t, table, "sum and maximum", worst_add);
  CHECK(t, bounded, name_of(name, table, "silu of large numbers"));
  CHECK(t, same_in_pieces, name_of(name, table, "in place and in pieces gives the same bits"));
  CHECK(t, contained, name_of(name, table, "n elements and no more"));
}

static void check_exp(tap *t, const wick_kernels *table) {
  enum { N = 4096 };
  float *x = test_allocate(N * sizeof(float)), *out = test_allocate(N * sizeof(float));
  double worst = 0, worst_sum = 0;
  bool ends = true;
  for (int round = 0; round < 8; round++) {
    float most = (float)(round % 4) * 11.0f - 5.0f, width = 87.0f / (float)(1 << round);
    for (int i = 0; i < N; i++) x[i] = most - width * (float)(i * 769 % N) / N;
    memcpy(out, x, N * sizeof(float));
    double sum = 0, found = (double)table->exp_sum(out, N, most);
    for (int i = 0; i < N; i++) {
      double e = exp((double)(x[i] - most));
      sum += e;
      worse(&worst, (double)out[i], e, TOLERANCE_EXP * e);
    }
    worse(&worst_sum, found, sum, TOLERANCE_SUM * sum);
  }
  for (int i = 0; i < 32; i++) out[i] = i % 2 ? -INFINITY : -1e30f;
  out[5] = 2;
  if (table->exp_sum(out, 32, 2) != 1) ends = false;
  for (int i = 0; i < 32; i++)
    if (out[i] != (i == 5 ? 1.0f : 0.0f)) ends = false;
  char name[200];
  report(t, table, "exp", worst);
  report(t, table, "sum of exps", worst_sum);
  CHECK(t, ends, name_of(name, table, "exp of -infinity is 0, of 0 is 1"));
  free(x);
  free(out);
}

static void check_attention(tap *t, const wick_kernels *table) {
  static const size_t heads[] = {8, 16, 24, 40, 64, 80, 128};
  enum { QUERIES = 13, HEAD = 128, STRIDE = 96 };
  float *q = test_allocate(QUERIES * HEAD * sizeof(float));
  float *kv = test_allocate(HEAD * WICK_KV_BLOCK * sizeof(float));
  float *scores = test_allocate(QUERIES * STRIDE * sizeof(float));
  float *some = test_allocate(QUERIES * HEAD * sizeof(float));
  float *values = test_allocate(QUERIES * HEAD * sizeof(float));
  test_random random = {31};
  double worst_scores = 0, worst_values = 0;
  bool invariant = true;
  for (size_t h = 0; h < 7; h++) {
    size_t head = heads[h];
    random_fill(&random, q, QUERIES * head, 2.0f);
    random_fill(&random, kv, head * WICK_KV_BLOCK, 1.0f);
    table->attention_scores(scores, STRIDE, q, QUERIES, kv, head);
    for (size_t i = 0; i < QUERIES; i++)
      for (size_t position = 0; position < WICK_KV_BLOCK; position++) {
        double sum = 0, size = 0;
        for (size_t d = 0; d < head; d++) {
          double product = (double)q[i * head + d] * (double)kv[d * WICK_KV_BLOCK + position];
          sum += product;
          size += fabs(product);
        }
        worse(&worst_scores, (double)scores[i * STRIDE + position], sum, TOLERANCE_PRODUCT * size);
      }
    memset(values, 0, QUERIES * HEAD * sizeof(float));
    table->attention_values(values, scores, STRIDE, QUERIES, kv, head);
    table->attention_values(values, scores, STRIDE, QUERIES, kv, head); /* it adds */
    for (size_t i = 0; i < QUERIES; i++)
      for (size_t d = 0; d < head; d++) {
        double sum = 0, size = 0;
        for (size_t position = 0; position < WICK_KV_BLOCK; position++) {
          double product = (double)scores[i * STRIDE + position] * (double)kv[position * head + d];
          sum += 2 * product;
          size += 2 * fabs(product);
        }
        worse(&worst_values, (double)values[i * head + d], sum, TOLERANCE_PRODUCT * size);
      }
    for (size_t n = 1; n < QUERIES; n++) {
      size_t first = QUERIES - n;
      table->attention_scores(some, STRIDE, q + first * head, n, kv, head);
      for (size_t i = 0; i < n; i++)
        if (!same_bits(some + i * STRIDE, scores + (first + i) * STRIDE, WICK_KV_BLOCK))
          invariant = false;
      memset(some, 0, n * head * sizeof(float));
      for (int twice = 0; twice < 2; twice++)
        table->attention_values(some, scores + first * STRIDE, STRIDE, n, kv, head);
      if (!same_bits(some, values + first * head, n * head)) invariant = false;
    }
  }
  char name[200];
  report(t, table, "attention scores", worst_scores);
  report(t, table, "attention values", worst_values);
  CHECK(t, invariant, name_of(name, table, "a query's bits do not depend on the others"));
  free(q);
  free(kv);
  free(scores);
  free(some);
  free(values);
}

static void check_level(tap *t, const wick_kernels *table) {
  check_matmul(t, table);
  check_conversions(t, table);
  check_elements(t, table);
  check_exp(t, table);
  check_attention(t, table);
}

int main(void) {
  tap t = {0};
  for_each_level(&t, check_level);
  return tap_done(&t);
}
