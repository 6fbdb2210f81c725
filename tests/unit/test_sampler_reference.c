/* The sampler's probabilities against two others: transformers' logits processors
 * (tests/fixtures/sampler.json) and a plain float64 implementation here that sorts everything. */
#include <math.h>
#include <stdlib.h>

#include <cJSON.h>

#include "sampling/rng.h"
#include "sampling/sampler.h"
#include "tap.h"

enum { MAX_VOCAB = 600 };

/* ---- the plain implementation ---------------------------------------------------------------- */

typedef struct plain {
  double key, p;
  int id;
} plain;

static int by_key(const void *a, const void *b) {
  const plain *x = a, *y = b;
  if (x->key != y->key) return x->key > y->key ? -1 : 1;
  return x->id - y->id;
}

static void renormalize(plain *list, int n) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += list[i].p;
  for (int i = 0; i < n; i++) list[i].p /= sum;
}

/* The shortest beginning with that mass, by key. */
static int beginning(plain *list, int n, double mass) {
  qsort(list, (size_t)n, sizeof *list, by_key);
  double sum = 0;
  int kept = 0;
  while (kept < n && (kept == 0 || sum < mass)) sum += list[kept++].p;
  return kept;
}

static void plain_probabilities(const wick_sampling *s, const float *logits, int n,
                                const int32_t *history, int n_history, double *out) {
  plain list[MAX_VOCAB];
  int window = s->penalty_window == 0 ? 64 : s->penalty_window;
  int first = window < 0 || window > n_history ? 0 : n_history - window;
  for (int i = 0; i < n; i++) {
    double logit = (double)logits[i];
    for (size_t k = 0; k < s->n_logit_bias; k++) {
      if (s->logit_bias[k].id == i) logit += (double)s->logit_bias[k].bias;
    }
    int count = 0;
    for (int k = first; k < n_history; k++) count += history[k] == i;
    if (count > 0) {
      double r = (double)s->repetition_penalty;
      logit = (logit > 0 ? logit / r : logit * r) - count * (double)s->frequency_penalty -
              (double)s->presence_penalty;
    }
    list[i] = (plain){.key = logit / (double)s->temperature, .id = i};
  }
  qsort(list, (size_t)n, sizeof *list, by_key);
  int kept = s->top_k > 0 && s->top_k < n ? s->top_k : n;
  double largest = list[0].key;
  for (int i = 0; i < kept; i++) list[i].p = exp(list[i].key - largest);
  renormalize(list, kept);
  if (s->typical_p < 1) {
    double entropy = 0;
    for (int i = 0; i < kept; i++) entropy -= list[i].p > 0 ? list[i].p * log(list[i].p) : 0;
    for (int i = 0; i < kept; i++) list[i].key = -fabs(-log(list[i].p) - entropy);
    kept = beginning(list, kept, (double)s->typical_p);
    renormalize(list, kept);
  }
  for (int i = 0; i < kept; i++) list[i].key = list[i].p;
  if (s->top_p < 1) {
    kept = beginning(list, kept, (double)s->top_p);
    renormalize(list, kept);
  }
  qsort(list, (size_t)kept, sizeof *list, by_key);
  double most = list[0].p;
  while (list[kept - 1].p < (double)s->min_p * most) kept--;
  renormalize(list, kept);
  for (int i = 0; i < n; i++) out[i] = 0;
  for (int i = 0; i < kept; i++) out[list[i].id] = list[i].p;
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* Probabilities by the sampler; false when it could not be made. */
static int by_sampler(const wick_sampling *sampling, const float *logits, int n,
                      const int32_t *history, int n_history, float *out) {
  float copy[MAX_VOCAB];
  memcpy(copy, logits, (size_t)n * sizeof *copy);
  wick_sampler *sampler;
  wick_error error;
  if (wick_sampler_new(wick_allocator_default(), sampling, (size_t)n, &sampler, &error)) {
    printf("# %s\n", error.message);
    return 0;
  }
  wick_sampler_probabilities(sampler, copy, history, (size_t)n_history, out);
  wick_sampler_free(sampler);
  return 1;
}

static double worst_difference(const float *a, const double *b, int n) {
  double worst = 0;
  for (int i = 0; i < n; i++) {
    double difference = fabs((double)a[i] - b[i]);
    if (!(difference <= worst)) worst = difference;
  }
  return worst;
}

static float normal(wick_rng *rng) { /* nearly: the sum of twelve uniforms */
  double sum = -6;
  for (int i = 0; i < 12; i++) sum += wick_rng_unit(rng);
  return (float)sum;
}

static float between(wick_rng *rng, double low, double high) {
  return (float)(low + wick_rng_unit(rng) * (high - low));
}

/* Each filter by itself, then all together, on random logits of random sizes. */
static void test_filter(tap *t, const char *name, unsigned mask) {
  wick_rng rng;
  wick_rng_seed(&rng, 100 + mask);
  double worst = 0;
  for (int round = 0; round < 200; round++) {
    int n = 1 + (int)(wick_rng_next(&rng) % MAX_VOCAB),
        n_history = (int)(wick_rng_next(&rng) % 150);
    float logits[MAX_VOCAB], found[MAX_VOCAB];
    double expected[MAX_VOCAB], spread = wick_rng_unit(&rng) * 8;
    int32_t history[150];
    for (int i = 0; i < n; i++) logits[i] = normal(&rng) * (float)spread;
    for (int i = 0; i < n_history; i++) history[i] = (int32_t)(wick_rng_next(&rng) % (uint64_t)n);
    wick_logit_bias bias[3];
    for (int i = 0; i < 3; i++) {
      bias[i].id = (int32_t)(wick_rng_next(&rng) % (uint64_t)n);
      bias[i].bias = normal(&rng) * 4;
    }
    wick_sampling s = wick_sampling_default();
    s.temperature = 1;
    if (mask & 1) s.temperature = between(&rng, 0.05, 4);
    if (mask & 2) s.top_k = 1 + (int)(wick_rng_next(&rng) % (uint64_t)(n + 3));
    if (mask & 4) s.typical_p = between(&rng, 0, 1);
    if (mask & 8) s.top_p = between(&rng, 0, 1);
    if (mask & 16) s.min_p = between(&rng, 0, 0.5);
    if (mask & 32) s.repetition_penalty = between(&rng, 0.5, 2);
    if (mask & 64) s.frequency_penalty = between(&rng, -1, 1);
    if (mask & 128) s.presence_penalty = between(&rng, -1, 1);
    if (mask & 256) s.penalty_window = (int)(wick_rng_next(&rng) % 100) - 1;
    if (mask & 512 && n >= 3) {
      s.logit_bias = bias;
      s.n_logit_bias = 3;
    }
    plain_probabilities(&s, logits, n, history, n_history, expected);
    if (!by_sampler(&s, logits, n, history, n_history, found)) worst = INFINITY;
    double difference = worst_difference(found, expected, n);
    if (!(difference <= worst)) worst = difference;
  }
  printf("# %s: worst difference %.2g\n", name, worst);
  CHECK(t, worst < 3e-6, name);
}

/* Ties: whole vocabularies of a few values only. */
static void test_ties(tap *t) {
  wick_rng rng;
  wick_rng_seed(&rng, 5);
  double worst = 0;
  for (int round = 0; round < 300; round++) {
    int n = 2 + (int)(wick_rng_next(&rng) % 200);
    float logits[MAX_VOCAB], found[MAX_VOCAB];
    double expected[MAX_VOCAB];
    for (int i = 0; i < n; i++) logits[i] = (float)(wick_rng_next(&rng) % 3);
    wick_sampling s = wick_sampling_default();
    s.temperature = 1;
    if (round % 3 == 0) s.top_k = 1 + (int)(wick_rng_next(&rng) % (uint64_t)n);
    if (round % 3 == 1) s.top_p = between(&rng, 0, 1);
    if (round % 3 == 2) s.typical_p = between(&rng, 0, 1);
    plain_probabilities(&s, logits, n, NULL, 0, expected);
    if (!by_sampler(&s, logits, n, NULL, 0, found)) worst = INFINITY;
    double difference = worst_difference(found, expected, n);
    if (!(difference <= worst)) worst = difference;
  }
  printf("# ties: worst difference %.2g\n", worst);
  CHECK(t, worst < 3e-6, "ties go to the lowest id in top-k, top-p and typical");
}

/* ---- transformers ---------------------------------------------------------------------------- */

static cJSON *read_fixture(void) {
  FILE *file = fopen("tests/fixtures/sampler.json", "rb");
  if (!file) return NULL;
  static char text[100000];
  size_t n = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[n] = 0;
  return cJSON_Parse(text);
}

static double number(const cJSON *object, const char *key) {
  return cJSON_GetObjectItemCaseSensitive(object, key)->valuedouble;
}

static int read_floats(const cJSON *array, float *out) {
  int n = 0;
  const cJSON *item;
  cJSON_ArrayForEach(item, array) out[n++] = (float)item->valuedouble;
  return n;
}

static void test_transformers(tap *t, const cJSON *fixture) {
  float history_floats[16];
  int n_history = read_floats(cJSON_GetObjectItem(fixture, "history"), history_floats), n_cases = 0;
  int32_t history[16];
  for (int i = 0; i < n_history; i++) history[i] = (int32_t)history_floats[i];
  double worst = 0;
  const cJSON *test_case;
  cJSON_ArrayForEach(test_case, cJSON_GetObjectItem(fixture, "cases")) {
    const cJSON *settings = cJSON_GetObjectItem(test_case, "settings");
    wick_sampling s = wick_sampling_default();
    s.temperature = (float)number(settings, "temperature");
    s.top_k = (int)number(settings, "top_k");
    s.top_p = (float)number(settings, "top_p");
    s.min_p = (float)number(settings, "min_p");
    s.typical_p = (float)number(settings, "typical_p");
    s.repetition_penalty = (float)number(settings, "repetition_penalty");
    float logits[64], expected_floats[64], found[64];
    double expected[64];
    int n = read_floats(cJSON_GetObjectItem(test_case, "logits"), logits);
    read_floats(cJSON_GetObjectItem(test_case, "probabilities"), expected_floats);
    for (int i = 0; i < n; i++) expected[i] = (double)expected_floats[i];
    double difference = by_sampler(&s, logits, n, history, n_history, found)
                            ? worst_difference(found, expected, n)
                            : (double)INFINITY;
    if (!(difference <= worst)) worst = difference;
    n_cases++;
  }
  printf("# transformers, %d cases: worst difference %.2g\n", n_cases, worst);
  CHECK(t, n_cases == 38 && worst < 1e-6, "probabilities equal transformers' processors");
}

static void test_draws(tap *t, const cJSON *fixture) {
  const cJSON *first = cJSON_GetArrayItem(cJSON_GetObjectItem(fixture, "cases"), 0), *draws;
  float logits[64], copy[64], expected[64];
  int n = read_floats(cJSON_GetObjectItem(first, "logits"), logits), n_same = 0, n_draws = 0;
  cJSON_ArrayForEach(draws, cJSON_GetObjectItem(fixture, "draws")) {
    wick_sampling s = wick_sampling_default();
    s.temperature = 1;
    s.seed = strtoull(cJSON_GetObjectItem(draws, "seed")->valuestring, NULL, 10);
    wick_sampler *sampler;
    if (wick_sampler_new(wick_allocator_default(), &s, (size_t)n, &sampler, NULL)) continue;
    int n_tokens = read_floats(cJSON_GetObjectItem(draws, "tokens"), expected);
    for (int i = 0; i < n_tokens; i++) {
      memcpy(copy, logits, sizeof copy);
      n_same += wick_sampler_draw(sampler, copy, NULL, 0) == (int32_t)expected[i];
    }
    n_draws += n_tokens;
    wick_sampler_free(sampler);
  }
  CHECK(t, n_draws == 128 && n_same == n_draws, "seeds give the tokens of a second implementation");
}

int main(void) {
  tap t = {0};
  test_filter(&t, "no filter", 0);
  test_filter(&t, "temperature", 1);
  test_filter(&t, "top-k", 2);
  test_filter(&t, "typical", 4);
  test_filter(&t, "top-p", 8);
  test_filter(&t, "min-p", 16);
  test_filter(&t, "repetition penalty", 32);
  test_filter(&t, "frequency penalty", 64);
  test_filter(&t, "presence penalty", 128);
  test_filter(&t, "penalties in a window", 32 | 64 | 128 | 256);
  test_filter(&t, "logit bias", 512);
  test_filter(&t, "everything together", 1023);
  test_ties(&t);
  cJSON *fixture = read_fixture();
  CHECK(&t, fixture, "tests/fixtures/sampler.json is JSON");
  if (fixture) {
    test_transformers(&t, fixture);
    test_draws(&t, fixture);
  }
  cJSON_Delete(fixture);
  return tap_done(&t);
}
