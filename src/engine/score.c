/* How well logits predict a text, and how near they are to a base's: negative log-likelihood,
 * Kullback-Leibler divergence, agreement of the top token. Chapters 18 and 19. */
#include <assert.h>
#include <math.h>

#include "core/elementary.h"
#include "wick.h"

typedef struct distribution {
  const float *logits;
  size_t top;     /* the largest logit; the lowest id on a tie */
  double log_sum; /* log p_i = logits[i] - logits[top] - log_sum */
} distribution;

static distribution normalize(const float *logits, size_t n_vocab) {
  distribution d = {.logits = logits};
  for (size_t i = 1; i < n_vocab; i++) {
    if (logits[i] > logits[d.top]) d.top = i;
  }
  double sum = 0;
  for (size_t i = 0; i < n_vocab; i++) sum += (double)wick_expf(logits[i] - logits[d.top]);
  d.log_sum = wick_log(sum);
  return d;
}

static double log_probability(const distribution *d, size_t i) {
  return ((double)d->logits[i] - (double)d->logits[d->top]) - d->log_sum;
}

/* Sum over i of p_i (log p_i - log q_i), p of the base; a p_i of 0 adds nothing. */
static double divergence(const distribution *base, const distribution *other, size_t n_vocab) {
  double sum = 0;
  for (size_t i = 0; i < n_vocab; i++) {
    double log_p = log_probability(base, i), p = (double)wick_expf((float)log_p);
    if (p > 0) sum += p * (log_p - log_probability(other, i));
  }
  return sum;
}

void wick_score_add(wick_score *score, const float *logits, const float *base_logits,
                    size_t n_vocab, int32_t target) {
  assert(n_vocab > 0 && target >= 0 && (size_t)target < n_vocab);
  distribution model = normalize(logits, n_vocab);
  score->n++;
  score->nll -= log_probability(&model, (size_t)target);
  if (!base_logits) return;
  distribution base = normalize(base_logits, n_vocab);
  double kl = divergence(&base, &model, n_vocab);
  score->kl += kl;
  score->kl_squared += kl * kl;
  score->base_nll -= log_probability(&base, (size_t)target);
  score->n_same_top += model.top == base.top;
}
