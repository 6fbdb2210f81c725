/* Log-probabilities of tokens: log p_i = l_i - m - log(sum of exp(l_j - m)), m the largest logit,
 * so that no exponential overflows. Chapters 8 and 15. */
#include <assert.h>
#include <math.h>

#include "core/elementary.h"
#include "sampling/sampler.h"

static float without_nan(float logit) {
  return isnan(logit) ? -INFINITY : logit;
}

/* Put entry into best [0 .. n), sorted; n_filled are there. An equal one that came before stays
 * ahead. */
static size_t insert(wick_logprob *best, size_t n, size_t n_filled, wick_logprob entry) {
  if (n_filled == n && entry.logprob <= best[n - 1].logprob) return n_filled;
  size_t at = n_filled < n ? n_filled : n - 1;
  for (; at > 0 && entry.logprob > best[at - 1].logprob; at--) best[at] = best[at - 1];
  best[at] = entry;
  return n_filled < n ? n_filled + 1 : n;
}

/* The log-probability of a logit, given the largest and log(sum of exp(l - m)). */
static float logprob(float logit, float maximum, double log_sum) {
  if (maximum == INFINITY) return logit == INFINITY ? (float)-log_sum : -INFINITY;
  return (float)((double)logit - (double)maximum - log_sum);
}

float wick_logprobs(const float *logits, size_t n_vocab, int32_t token, wick_logprob *best,
                    size_t n) {
  assert(n_vocab > 0 && n <= n_vocab && n <= 20);
  assert(token >= 0 && (size_t)token < n_vocab);
  float maximum = -INFINITY;
  size_t n_filled = 0;
  for (size_t i = 0; i < n_vocab; i++) {
    float logit = without_nan(logits[i]);
    if (logit > maximum) maximum = logit;
    if (n > 0) n_filled = insert(best, n, n_filled, (wick_logprob){(int32_t)i, logit});
  }
  if (maximum == -INFINITY) { /* as draw has it: all on the lowest id */
    if (n > 0) best[0].logprob = 0;
    return token == 0 ? 0 : -INFINITY;
  }
  double sum = 0;
  for (size_t i = 0; i < n_vocab; i++) {
    float logit = without_nan(logits[i]);
    sum += maximum == INFINITY ? logit == INFINITY : (double)wick_expf(logit - maximum);
  }
  double log_sum = wick_log(sum);
  for (size_t i = 0; i < n; i++) best[i].logprob = logprob(best[i].logprob, maximum, log_sum);
  return logprob(without_nan(logits[token]), maximum, log_sum);
}
