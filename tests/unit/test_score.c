/* Perplexity and divergence sums against a plain float64 computation. */
#include <math.h>

#include "sampling/rng.h"
#include "tap.h"
#include "wick.h"

enum { N_VOCAB = 700, N_POSITIONS = 50 };

static double log_softmax(const float *logits, int i) {
  double sum = 0, largest = (double)logits[0];
  for (int k = 0; k < N_VOCAB; k++) {
    if ((double)logits[k] > largest) largest = (double)logits[k];
  }
  for (int k = 0; k < N_VOCAB; k++) sum += exp((double)logits[k] - largest);
  return (double)logits[i] - largest - log(sum);
}

static int top(const float *logits) {
  int best = 0;
  for (int i = 1; i < N_VOCAB; i++) {
    if (logits[i] > logits[best]) best = i;
  }
  return best;
}

int main(void) {
  tap t = {0};
  static float logits[N_VOCAB], base[N_VOCAB];
  wick_rng rng;
  wick_rng_seed(&rng, 11);
  wick_score score = {0}, alone = {0}, itself = {0}, truth = {0};
  for (int position = 0; position < N_POSITIONS; position++) {
    int32_t target = (int32_t)(wick_rng_next(&rng) % N_VOCAB);
    for (int i = 0; i < N_VOCAB; i++) {
      base[i] = (float)(wick_rng_unit(&rng) * 20);
      logits[i] = base[i] + (float)(wick_rng_unit(&rng) - 0.5);
    }
    wick_score_add(&score, logits, base, N_VOCAB, target);
    wick_score_add(&alone, logits, NULL, N_VOCAB, target);
    wick_score_add(&itself, base, base, N_VOCAB, target);
    double kl = 0;
    for (int i = 0; i < N_VOCAB; i++) {
      double log_p = log_softmax(base, i);
      kl += exp(log_p) * (log_p - log_softmax(logits, i));
    }
    truth.nll -= log_softmax(logits, target);
    truth.base_nll -= log_softmax(base, target);
    truth.kl += kl;
    truth.kl_squared += kl * kl;
    truth.n_same_top += top(base) == top(logits);
  }
  CHECK(&t, score.n == N_POSITIONS, "positions are counted");
  CHECK(&t, fabs(score.nll - truth.nll) < 1e-6 * truth.nll, "negative log-likelihood");
  CHECK(&t, fabs(score.base_nll - truth.base_nll) < 1e-6 * truth.base_nll, "that of the base");
  CHECK(&t, fabs(score.kl - truth.kl) < 1e-5 * truth.kl, "KL divergence");
  CHECK(&t, fabs(score.kl_squared - truth.kl_squared) < 1e-5 * truth.kl_squared, "its square");
  CHECK(&t,
        score.n_same_top == truth.n_same_top && truth.n_same_top > 0 &&
            truth.n_same_top < N_POSITIONS,
        "the same top token");
  CHECK(&t, alone.nll == score.nll && alone.kl == 0 && alone.base_nll == 0 && alone.n_same_top == 0,
        "without a base only the likelihood");
  CHECK(&t, itself.kl == 0 && itself.n_same_top == N_POSITIONS && itself.nll == itself.base_nll,
        "no divergence from itself");
  wick_score certain = {0};
  static float banned[N_VOCAB];
  for (int i = 0; i < N_VOCAB; i++) banned[i] = i == 5 ? 1 : -INFINITY;
  wick_score_add(&certain, banned, banned, N_VOCAB, 5);
  CHECK(&t, certain.nll == 0 && certain.kl == 0, "tokens without probability add nothing");
  return tap_done(&t);
}
