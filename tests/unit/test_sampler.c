/* Drawing: frequencies against the exact probabilities (chi-square), seeds, infinities and NaN,
 * extreme parameters, refusals. What each filter computes is tested in test_sampler_reference.c. */
#include <math.h>
#include <stdlib.h>

#include "sampling/rng.h"
#include "sampling/sampler.h"
#include "tap.h"

enum { N_VOCAB = 200, N_DRAWS = 100000 };

static wick_sampling sampling_at(float temperature) {
  wick_sampling sampling = wick_sampling_default();
  sampling.temperature = temperature;
  return sampling;
}

static wick_sampler *make(const wick_sampling *sampling, size_t n_vocab) {
  wick_sampler *sampler;
  wick_error error;
  if (wick_sampler_new(wick_allocator_default(), sampling, n_vocab, &sampler, &error) != WICK_OK) {
    printf("# %s\n", error.message);
    exit(1);
  }
  return sampler;
}

static void random_logits(float *logits, size_t n, double spread) {
  wick_rng rng;
  wick_rng_seed(&rng, 99);
  for (size_t i = 0; i < n; i++) logits[i] = (float)((wick_rng_unit(&rng) - 0.5) * spread);
}

/* ---- frequencies ----------------------------------------------------------------------------- */

/* The value that a chi-square variable of that many degrees of freedom exceeds with probability
 * 1e-4 (Wilson and Hilferty 1931). */
static double chi_square_limit(int degrees) {
  double a = 2.0 / (9.0 * degrees), cube = 1 - a + 3.719 * sqrt(a);
  return degrees * cube * cube * cube;
}

/* Draws against probabilities; tokens expected fewer than 5 times are counted together. */
static void test_frequencies(tap *t, const char *name, wick_sampling sampling) {
  static float logits[N_VOCAB], copy[N_VOCAB], p[N_VOCAB];
  static int drawn[N_VOCAB];
  random_logits(logits, N_VOCAB, 12);
  sampling.seed = 2026;
  wick_sampler *sampler = make(&sampling, N_VOCAB);
  memcpy(copy, logits, sizeof copy);
  const int32_t history[] = {1, 2, 3, 150, 150, 199};
  wick_sampler_probabilities(sampler, copy, history, 6, p);
  memset(drawn, 0, sizeof drawn);
  for (int i = 0; i < N_DRAWS; i++) {
    memcpy(copy, logits, sizeof copy);
    drawn[wick_sampler_draw(sampler, copy, history, 6)]++;
  }
  wick_sampler_free(sampler);
  double statistic = 0, rare_expected = 0, total = 0;
  int n_bins = 0, rare_drawn = 0, impossible = 0;
  for (int i = 0; i < N_VOCAB; i++) {
    double expected = (double)p[i] * N_DRAWS;
    total += (double)p[i];
    if (p[i] == 0) impossible += drawn[i];
    if (expected < 5) {
      rare_expected += expected;
      rare_drawn += drawn[i];
      continue;
    }
    statistic += (drawn[i] - expected) * (drawn[i] - expected) / expected;
    n_bins++;
  }
  if (rare_expected >= 5) {
    statistic += (rare_drawn - rare_expected) * (rare_drawn - rare_expected) / rare_expected;
    n_bins++;
  }
  printf("# %s: chi-square %.1f over %d bins, limit %.1f\n", name, statistic, n_bins,
         chi_square_limit(n_bins - 1));
  CHECK(t,
        fabs(total - 1) < 1e-5 && impossible == 0 && n_bins > 1 &&
            statistic < chi_square_limit(n_bins - 1),
        name);
}

static void test_all_frequencies(tap *t) {
  wick_sampling s = sampling_at(1);
  test_frequencies(t, "draws follow the probabilities: temperature 1", s);
  s = sampling_at(3);
  test_frequencies(t, "draws follow the probabilities: temperature 3", s);
  s = sampling_at(1);
  s.top_k = 40;
  test_frequencies(t, "draws follow the probabilities: top-k", s);
  s = sampling_at(1);
  s.top_p = 0.9f;
  test_frequencies(t, "draws follow the probabilities: top-p", s);
  s = sampling_at(1.2f);
  s.typical_p = 0.8f;
  s.min_p = 0.05f;
  test_frequencies(t, "draws follow the probabilities: typical and min-p", s);
  s = sampling_at(0.9f);
  s.repetition_penalty = 1.3f;
  s.frequency_penalty = 0.5f;
  s.presence_penalty = 0.25f;
  s.top_k = 100;
  s.top_p = 0.95f;
  test_frequencies(t, "draws follow the probabilities: penalties, top-k, top-p", s);
}

/* ---- seeds ----------------------------------------------------------------------------------- */

static uint64_t hash_draws(const wick_sampling *sampling, int n_draws) {
  static float logits[N_VOCAB], copy[N_VOCAB];
  random_logits(logits, N_VOCAB, 12);
  wick_sampler *sampler = make(sampling, N_VOCAB);
  uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
  for (int i = 0; i < n_draws; i++) {
    memcpy(copy, logits, sizeof copy);
    hash = (hash ^ (uint64_t)wick_sampler_draw(sampler, copy, NULL, 0)) * 0x100000001b3u;
  }
  wick_sampler_free(sampler);
  return hash;
}

static void test_seeds(tap *t) {
  wick_sampling s = sampling_at(0.8f);
  s.seed = 42;
  uint64_t first = hash_draws(&s, 100);
  CHECK(t, first == hash_draws(&s, 100), "a seed gives its tokens again");
  s.seed = 43;
  CHECK(t, first != hash_draws(&s, 100), "another seed gives others");
  s.top_k = 50;
  s.typical_p = 0.9f;
  s.top_p = 0.9f;
  s.min_p = 0.01f;
  /* What gcc and clang on x86-64 and gcc on ARM agreed on. */
  printf("# hash %016llx\n", (unsigned long long)hash_draws(&s, 1000));
  CHECK(t, hash_draws(&s, 1000) == 0x5490365db776e11au, "a seed gives one text on every machine");
}

/* ---- extremes -------------------------------------------------------------------------------- */

static int draw_once(const wick_sampling *sampling, const float *logits, size_t n) {
  float copy[8];
  memcpy(copy, logits, n * sizeof *copy);
  wick_sampler *sampler = make(sampling, n);
  int32_t token = wick_sampler_draw(sampler, copy, NULL, 0);
  wick_sampler_free(sampler);
  return token;
}

static void probabilities(const wick_sampling *sampling, const float *logits, size_t n,
                          float *out) {
  float copy[8];
  memcpy(copy, logits, n * sizeof *copy);
  wick_sampler *sampler = make(sampling, n);
  wick_sampler_probabilities(sampler, copy, NULL, 0, out);
  wick_sampler_free(sampler);
}

static void test_odd_logits(tap *t) {
  const float nan = NAN, inf = INFINITY;
  wick_sampling greedy = wick_sampling_default(), warm = sampling_at(1);
  CHECK(t, draw_once(&greedy, (float[]){1, 3, 3, 2}, 4) == 1, "greedy: the lowest id on a tie");
  CHECK(t, draw_once(&greedy, (float[]){nan, -5, nan}, 3) == 1, "greedy passes over NaN");
  CHECK(t, draw_once(&greedy, (float[]){0, 1, inf, inf}, 4) == 2, "greedy: the first infinity");
  CHECK(t, draw_once(&greedy, (float[]){-inf, -inf, -3.4e38f}, 3) == 2, "greedy: the only finite");
  for (int i = 0; i < 2; i++) {
    const wick_sampling *s = i ? &warm : &greedy;
    CHECK(t, draw_once(s, (float[]){nan, nan}, 2) == 0, "nothing left: the lowest id");
    CHECK(t, draw_once(s, (float[]){-inf, nan, -inf}, 3) == 0, "no finite logit: the lowest id");
    CHECK(t, draw_once(s, (float[]){7}, 1) == 0, "a vocabulary of one");
  }
  float p[4];
  probabilities(&warm, (float[]){1, inf, nan, inf}, 4, p);
  CHECK(t, p[0] == 0 && p[1] == 0.5f && p[2] == 0 && p[3] == 0.5f, "infinities share everything");
  probabilities(&warm, (float[]){3e38f, -3e38f, 3e38f, 0}, 4, p);
  CHECK(t, p[0] == 0.5f && p[1] == 0 && p[2] == 0.5f && p[3] == 0, "the largest finite logits");
  wick_logit_bias ban = {2, -3e38f}, push = {2, 3e38f};
  greedy.logit_bias = &ban;
  greedy.n_logit_bias = 1;
  CHECK(t, draw_once(&greedy, (float[]){1, 2, 9}, 3) == 1, "a bias bans");
  greedy.logit_bias = &push;
  CHECK(t, draw_once(&greedy, (float[]){1, 2, -9}, 3) == 2, "a bias forces");
}

static void test_odd_settings(tap *t) {
  const float logits[] = {1, 2, 4, 3};
  float p[4];
  wick_sampling s = sampling_at(1e-30f);
  probabilities(&s, logits, 4, p);
  CHECK(t, p[2] == 1, "the least temperature is greedy");
  s = sampling_at(1e30f);
  probabilities(&s, logits, 4, p);
  CHECK(t, p[0] == 0.25f && p[2] == 0.25f, "the largest temperature is uniform");
  s = sampling_at(1);
  s.top_p = 0;
  probabilities(&s, logits, 4, p);
  CHECK(t, p[2] == 1, "top-p 0 keeps one");
  s = sampling_at(1);
  s.typical_p = 0;
  probabilities(&s, logits, 4, p);
  CHECK(t, p[0] + p[1] + p[2] + p[3] == 1 && (p[0] == 1 || p[1] == 1 || p[2] == 1 || p[3] == 1),
        "typical 0 keeps one");
  s = sampling_at(1);
  s.min_p = 1;
  probabilities(&s, logits, 4, p);
  CHECK(t, p[2] == 1, "min-p 1 keeps the best");
  s = sampling_at(1);
  s.top_k = 1 << 30;
  probabilities(&s, logits, 4, p);
  CHECK(t, p[0] > 0 && p[1] > 0 && p[2] > 0 && p[3] > 0, "top-k beyond the vocabulary keeps all");

  s = wick_sampling_default();
  s.repetition_penalty = 1000;
  s.penalty_window = -1;
  wick_sampler *sampler = make(&s, 4);
  const int32_t history[] = {-1, 4, 2147483647, 2, 2, -2147483647 - 1};
  float copy[] = {1, 2, 4, 3};
  CHECK(t, wick_sampler_draw(sampler, copy, history, 6) == 3,
        "ids outside of the vocabulary in the history are passed over");
  wick_sampler_free(sampler);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void refuses(tap *t, const wick_sampling *sampling, const char *field) {
  wick_error error = {0};
  wick_sampler *sampler = NULL;
  wick_status status = wick_sampler_new(wick_allocator_default(), sampling, 10, &sampler, &error);
  printf("# %s\n", error.message);
  CHECK(t,
        status == WICK_ERROR_ARGUMENT && !sampler &&
            strncmp(error.message, field, strlen(field)) == 0 &&
            error.message[strlen(field)] == ':',
        field);
}

static void test_refusals(tap *t) {
  const float wrong[] = {NAN, INFINITY, -INFINITY, -0.5f};
  for (int i = 0; i < 4; i++) {
    wick_sampling s = sampling_at(wrong[i]);
    refuses(t, &s, "temperature");
    s = sampling_at(1);
    s.top_p = wrong[i];
    refuses(t, &s, "top_p");
    s = sampling_at(1);
    s.min_p = wrong[i];
    refuses(t, &s, "min_p");
    s = sampling_at(1);
    s.typical_p = wrong[i];
    refuses(t, &s, "typical_p");
    s = sampling_at(1);
    s.repetition_penalty = wrong[i];
    refuses(t, &s, "repetition_penalty");
    if (i == 3) continue; /* negative frequency and presence penalties are meant */
    s = sampling_at(1);
    s.frequency_penalty = wrong[i];
    refuses(t, &s, "frequency_penalty");
    s = sampling_at(1);
    s.presence_penalty = wrong[i];
    refuses(t, &s, "presence_penalty");
    wick_logit_bias bias = {3, wrong[i]};
    s = sampling_at(1);
    s.logit_bias = &bias;
    s.n_logit_bias = 1;
    refuses(t, &s, "logit_bias");
  }
  wick_sampling s = sampling_at(1);
  s.top_p = 1.5f;
  refuses(t, &s, "top_p");
  s = sampling_at(1);
  s.top_k = -1;
  refuses(t, &s, "top_k");
  s = sampling_at(1);
  s.repetition_penalty = 0;
  refuses(t, &s, "repetition_penalty");
  s = sampling_at(1);
  s.penalty_window = -2;
  refuses(t, &s, "penalty_window");
  wick_logit_bias outside[] = {{10, 1}, {-1, 1}};
  for (int i = 0; i < 2; i++) {
    s = sampling_at(1);
    s.logit_bias = &outside[i];
    s.n_logit_bias = 1;
    refuses(t, &s, "logit_bias");
  }
  s.logit_bias = NULL;
  refuses(t, &s, "logit_bias");
}

/* ---- memory ---------------------------------------------------------------------------------- */

typedef struct failing {
  int n_left, n_live;
} failing;

static void *failing_allocate(void *context, size_t bytes, size_t alignment) {
  failing *f = context;
  if (f->n_left-- <= 0) return NULL;
  f->n_live++;
  return wick_allocate(wick_allocator_default(), bytes, alignment);
}

static void failing_release(void *context, void *pointer, size_t bytes, size_t alignment) {
  ((failing *)context)->n_live--;
  wick_release(wick_allocator_default(), pointer, bytes, alignment);
}

static void test_memory(tap *t) {
  wick_sampling s = sampling_at(1);
  s.presence_penalty = 1;
  int good = 1, n_failures = 0;
  for (int n = 0;; n++) {
    failing f = {n, 0};
    wick_allocator allocator = {failing_allocate, failing_release, &f};
    wick_sampler *sampler = NULL;
    wick_status status = wick_sampler_new(&allocator, &s, 50000, &sampler, NULL);
    if (status == WICK_OK) wick_sampler_free(sampler);
    good &= f.n_live == 0 && (status == WICK_OK || status == WICK_ERROR_MEMORY);
    if (status == WICK_OK) break;
    n_failures++;
  }
  CHECK(t, good && n_failures > 0, "an allocation that fails gives a status and leaks nothing");
}

int main(void) {
  tap t = {0};
  test_all_frequencies(&t);
  test_seeds(&t);
  test_odd_logits(&t);
  test_odd_settings(&t);
  test_refusals(&t);
  test_memory(&t);
  return tap_done(&t);
}
