/* The sampler chain, from logits to a token. One list of candidates is narrowed filter by filter;
 * wick_sampler_draw and wick_sampler_probabilities end the same chain. Sources: repetition penalty,
 * Keskar et al. 2019 (CTRL); top-k, Fan et al. 2018; typical, Meister et al. 2022; top-p, Holtzman
 * et al. 2019; min-p, Nguyen et al. 2024. Chapter 15. */
#include "sampling/sampler.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "core/elementary.h"
#include "sampling/candidates.h"
#include "sampling/rng.h"

enum { DEFAULT_PENALTY_WINDOW = 64 };

struct wick_sampler {
  wick_arena arena;
  wick_sampling sampling; /* logit_bias lies in the arena */
  size_t n_vocab;
  wick_rng rng;
  uint32_t *counts;           /* [n_vocab], all zeros between draws; NULL without penalties */
  wick_candidate *candidates; /* [n_vocab] */
  size_t n_candidates;
};

wick_sampling wick_sampling_default(void) {
  return (wick_sampling){.top_p = 1, .typical_p = 1, .repetition_penalty = 1};
}

static wick_status check_range(const char *field, float value, float least, float most,
                               wick_error *error) {
  if (value >= least && value <= most) return WICK_OK;
  return wick_fail(error, WICK_ERROR_ARGUMENT, "%s: expected a number from %g to %g, found %g",
                   field, (double)least, (double)most, (double)value);
}

static wick_status check_logit_bias(const wick_sampling *sampling, size_t n_vocab,
                                    wick_error *error) {
  if (sampling->n_logit_bias > n_vocab || (sampling->n_logit_bias && !sampling->logit_bias)) {
    return wick_fail(error, WICK_ERROR_ARGUMENT,
                     "logit_bias: expected at most %zu entries, found %zu%s", n_vocab,
                     sampling->n_logit_bias, sampling->logit_bias ? "" : " at NULL");
  }
  for (size_t i = 0; i < sampling->n_logit_bias; i++) {
    wick_logit_bias entry = sampling->logit_bias[i];
    if (entry.id < 0 || (size_t)entry.id >= n_vocab) {
      return wick_fail(error, WICK_ERROR_ARGUMENT,
                       "logit_bias: expected ids from 0 to %zu, found %d", n_vocab - 1,
                       (int)entry.id);
    }
    if (!isfinite(entry.bias)) {
      return wick_fail(error, WICK_ERROR_ARGUMENT,
                       "logit_bias: expected a finite bias for id %d, found %g", (int)entry.id,
                       (double)entry.bias);
    }
  }
  return WICK_OK;
}

static wick_status check_sampling(const wick_sampling *sampling, size_t n_vocab,
                                  wick_error *error) {
  if (n_vocab == 0 || n_vocab > INT32_MAX) {
    return wick_fail(error, WICK_ERROR_ARGUMENT, "n_vocab: expected 1 to %d, found %zu",
                     (int)INT32_MAX, n_vocab);
  }
  WICK_TRY(check_range("temperature", sampling->temperature, 0, 1e30f, error));
  WICK_TRY(check_range("top_p", sampling->top_p, 0, 1, error));
  WICK_TRY(check_range("min_p", sampling->min_p, 0, 1, error));
  WICK_TRY(check_range("typical_p", sampling->typical_p, 0, 1, error));
  WICK_TRY(check_range("repetition_penalty", sampling->repetition_penalty, 1e-3f, 1e3f, error));
  WICK_TRY(check_range("frequency_penalty", sampling->frequency_penalty, -1e3f, 1e3f, error));
  WICK_TRY(check_range("presence_penalty", sampling->presence_penalty, -1e3f, 1e3f, error));
  if (sampling->top_k < 0) {
    return wick_fail(error, WICK_ERROR_ARGUMENT, "top_k: expected 0 (off) or more, found %d",
                     sampling->top_k);
  }
  if (sampling->penalty_window < -1) {
    return wick_fail(error, WICK_ERROR_ARGUMENT,
                     "penalty_window: expected -1 (all), 0 (the last %d tokens) or more, found %d",
                     (int)DEFAULT_PENALTY_WINDOW, sampling->penalty_window);
  }
  return check_logit_bias(sampling, n_vocab, error);
}

static bool has_penalties(const wick_sampling *sampling) {
  return sampling->repetition_penalty != 1 || sampling->frequency_penalty != 0 ||
         sampling->presence_penalty != 0;
}

wick_status wick_sampler_new(const wick_allocator *allocator, const wick_sampling *sampling,
                             size_t n_vocab, wick_sampler **out, wick_error *error) {
  WICK_TRY(check_sampling(sampling, n_vocab, error));
  wick_arena arena;
  wick_arena_init(&arena, allocator);
  wick_sampler *sampler = WICK_ARENA_ARRAY(&arena, wick_sampler, 1);
  wick_candidate *candidates = WICK_ARENA_ARRAY(&arena, wick_candidate, n_vocab);
  bool counting = has_penalties(sampling);
  uint32_t *counts = counting ? WICK_ARENA_ARRAY(&arena, uint32_t, n_vocab) : NULL;
  wick_logit_bias *bias = WICK_ARENA_ARRAY(&arena, wick_logit_bias, sampling->n_logit_bias);
  if (!sampler || !candidates || (counting && !counts) || !bias) {
    wick_arena_free(&arena);
    return wick_fail(error, WICK_ERROR_MEMORY, "sampler: no memory for %zu candidates", n_vocab);
  }
  if (sampling->n_logit_bias) {
    memcpy(bias, sampling->logit_bias, sampling->n_logit_bias * sizeof *bias);
  }
  *sampler = (wick_sampler){.arena = arena,
                            .sampling = *sampling,
                            .n_vocab = n_vocab,
                            .counts = counts,
                            .candidates = candidates};
  sampler->sampling.logit_bias = bias;
  wick_rng_seed(&sampler->rng, sampling->seed);
  *out = sampler;
  return WICK_OK;
}

void wick_sampler_free(wick_sampler *sampler) {
  if (!sampler) return;
  wick_arena arena = sampler->arena; /* it holds the sampler itself */
  wick_arena_free(&arena);
}

/* ---- the chain ------------------------------------------------------------------------------- */

static bool in_vocabulary(const wick_sampler *sampler, int32_t id) {
  return id >= 0 && (size_t)id < sampler->n_vocab;
}

/* A token seen count times in the window: l / r (l > 0) or l * r, then l - count * f - p. */
static void penalize(wick_sampler *sampler, float *logits, const int32_t *history,
                     size_t n_history) {
  const wick_sampling *sampling = &sampler->sampling;
  int window = sampling->penalty_window == 0 ? DEFAULT_PENALTY_WINDOW : sampling->penalty_window;
  size_t first = window >= 0 && n_history > (size_t)window ? n_history - (size_t)window : 0;
  for (size_t i = first; i < n_history; i++) {
    if (in_vocabulary(sampler, history[i])) sampler->counts[history[i]]++;
  }
  for (size_t i = first; i < n_history; i++) {
    int32_t id = history[i];
    if (!in_vocabulary(sampler, id) || sampler->counts[id] == 0) continue;
    float logit = logits[id], repetition = sampling->repetition_penalty;
    logit = logit > 0 ? logit / repetition : logit * repetition;
    logit -= (float)sampler->counts[id] * sampling->frequency_penalty;
    logits[id] = logit - sampling->presence_penalty;
    sampler->counts[id] = 0;
  }
}

static int32_t largest(const float *logits, size_t n_vocab) {
  size_t best = 0;
  for (size_t i = 1; i < n_vocab; i++) {
    if (logits[i] > logits[best]) best = i;
  }
  return (int32_t)best;
}

static double sum_weights(const wick_sampler *sampler) {
  double sum = 0;
  for (size_t i = 0; i < sampler->n_candidates; i++) sum += (double)sampler->candidates[i].weight;
  return sum;
}

/* The candidates that top-k leaves, each with key (l - maximum) / temperature and weight exp(key).
 * Taking the maximum away first keeps a tiny temperature from overflowing. */
static void weigh(wick_sampler *sampler, const float *logits, float maximum) {
  size_t k = (size_t)sampler->sampling.top_k, n = 0;
  if (k == 0 || k > sampler->n_vocab) k = sampler->n_vocab;
  wick_candidates_top(logits, sampler->n_vocab, k, sampler->candidates);
  for (size_t i = 0; i < k; i++) {
    wick_candidate candidate = sampler->candidates[i];
    if (maximum == INFINITY) { /* infinite logits share everything */
      candidate.key = candidate.key == INFINITY ? 0 : -INFINITY;
    } else {
      candidate.key = (candidate.key - maximum) / sampler->sampling.temperature;
    }
    candidate.weight = wick_expf(candidate.key);
    if (candidate.weight > 0) sampler->candidates[n++] = candidate;
  }
  sampler->n_candidates = n;
}

/* Typical: keep the tokens whose information -log p is nearest to the entropy H, until their mass
 * is typical_p. With p = exp(key) / Z: -log p = log Z - key and H = log Z - (mean of key), so the
 * distance is |key - mean|. */
static void keep_typical(wick_sampler *sampler) {
  double sum = sum_weights(sampler), mean = 0;
  for (size_t i = 0; i < sampler->n_candidates; i++) {
    const wick_candidate *candidate = &sampler->candidates[i];
    mean += (double)candidate->weight / sum * (double)candidate->key;
  }
  for (size_t i = 0; i < sampler->n_candidates; i++) {
    wick_candidate *candidate = &sampler->candidates[i];
    double distance = (double)candidate->key - mean;
    candidate->key = (float)(distance < 0 ? distance : -distance);
  }
  sampler->n_candidates = wick_candidates_nucleus(sampler->candidates, sampler->n_candidates,
                                                  sum * (double)sampler->sampling.typical_p);
}

static void drop_below(wick_sampler *sampler, double weight) {
  size_t n = 0;
  for (size_t i = 0; i < sampler->n_candidates; i++) {
    wick_candidate candidate = sampler->candidates[i];
    if ((double)candidate.weight >= weight) sampler->candidates[n++] = candidate;
  }
  sampler->n_candidates = n;
}

/* Top-p: the smallest set of the most probable tokens with mass top_p. The tokens below
 * (1 - p) / n of the sum have less than 1 - p together, so the set lies within the others: most of
 * a vocabulary goes in one pass (half that threshold, to be safe from rounding). */
static void keep_nucleus(wick_sampler *sampler) {
  double sum = sum_weights(sampler), p = (double)sampler->sampling.top_p;
  drop_below(sampler, 0.5 * (1 - p) * sum / (double)sampler->n_candidates);
  for (size_t i = 0; i < sampler->n_candidates; i++) {
    sampler->candidates[i].key = sampler->candidates[i].weight;
  }
  sampler->n_candidates =
      wick_candidates_nucleus(sampler->candidates, sampler->n_candidates, p * sum);
}

static void keep_above_min_p(wick_sampler *sampler) {
  float most = 0;
  for (size_t i = 0; i < sampler->n_candidates; i++) {
    if (sampler->candidates[i].weight > most) most = sampler->candidates[i].weight;
  }
  drop_below(sampler, (double)sampler->sampling.min_p * (double)most);
}

/* Leaves at least one candidate, all of weight > 0, in an order that depends on the arguments only;
 * returns the sum of their weights in that order. */
static double run_chain(wick_sampler *sampler, float *logits, const int32_t *history,
                        size_t n_history) {
  const wick_sampling *sampling = &sampler->sampling;
  for (size_t i = 0; i < sampler->n_vocab; i++) {
    if (isnan(logits[i])) logits[i] = -INFINITY;
  }
  for (size_t i = 0; i < sampling->n_logit_bias; i++) {
    logits[sampling->logit_bias[i].id] += sampling->logit_bias[i].bias;
  }
  if (sampler->counts) penalize(sampler, logits, history, n_history);
  int32_t best = largest(logits, sampler->n_vocab);
  if (sampling->temperature == 0 || logits[best] == -INFINITY) {
    sampler->candidates[0] = (wick_candidate){.weight = 1, .id = best};
    sampler->n_candidates = 1;
    return 1;
  }
  weigh(sampler, logits, logits[best]);
  if (sampling->typical_p < 1) keep_typical(sampler);
  if (sampling->top_p < 1) keep_nucleus(sampler);
  if (sampling->min_p > 0) keep_above_min_p(sampler);
  return sum_weights(sampler);
}

int32_t wick_sampler_draw(wick_sampler *sampler, float *logits, const int32_t *history,
                          size_t n_history) {
  double sum = run_chain(sampler, logits, history, n_history);
  if (sampler->sampling.temperature == 0) return sampler->candidates[0].id;
  double at = wick_rng_unit(&sampler->rng) * sum, passed = 0;
  size_t last = sampler->n_candidates - 1;
  for (size_t i = 0; i < last; i++) {
    passed += (double)sampler->candidates[i].weight;
    if (at < passed) return sampler->candidates[i].id;
  }
  return sampler->candidates[last].id;
}

void wick_sampler_probabilities(wick_sampler *sampler, float *logits, const int32_t *history,
                                size_t n_history, float *out) {
  assert(out != logits);
  double sum = run_chain(sampler, logits, history, n_history);
  for (size_t i = 0; i < sampler->n_vocab; i++) out[i] = 0;
  for (size_t i = 0; i < sampler->n_candidates; i++) {
    out[sampler->candidates[i].id] = (float)((double)sampler->candidates[i].weight / sum);
  }
}
