/* Log-probabilities against a plain float64 log-softmax and a sort. */
#include <math.h>
#include <stdlib.h>

#include "sampling/rng.h"
#include "sampling/sampler.h"
#include "tap.h"

enum { N_VOCAB = 5000 };

static const float *sorted_logits;
static int by_logit(const void *a, const void *b) {
  int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  if (sorted_logits[x] != sorted_logits[y]) return sorted_logits[x] > sorted_logits[y] ? -1 : 1;
  return x - y;
}

static void test_random(tap *t, const char *name, int n_values) {
  static float logits[N_VOCAB];
  static int32_t ids[N_VOCAB];
  wick_rng rng;
  wick_rng_seed(&rng, 3);
  double sum = 0, worst = 0;
  for (int i = 0; i < N_VOCAB; i++) {
    logits[i] = n_values ? (float)(wick_rng_next(&rng) % (uint64_t)n_values)
                         : (float)((wick_rng_unit(&rng) - 0.5) * 40);
    sum += exp((double)logits[i]);
    ids[i] = i;
  }
  sorted_logits = logits;
  qsort(ids, N_VOCAB, sizeof *ids, by_logit);
  int same = 1;
  for (int i = 0; i < N_VOCAB; i += 7) {
    double truth = (double)logits[i] - log(sum);
    wick_logprob best[20];
    double found = (double)wick_logprobs(logits, N_VOCAB, i, best, (size_t)(i % 21));
    if (fabs(found - truth) > worst) worst = fabs(found - truth);
    for (int k = 0; k < i % 21; k++) {
      same &= best[k].id == ids[k];
      same &= fabs((double)best[k].logprob - ((double)logits[ids[k]] - log(sum))) < 3e-6;
    }
  }
  printf("# %s: worst difference %.2g\n", name, worst);
  CHECK(t, worst < 3e-6, name);
  CHECK(t, same, "the best come first, the lowest id first on a tie");
}

int main(void) {
  tap t = {0};
  test_random(&t, "random logits", 0);
  test_random(&t, "logits of four values", 4);
  wick_logprob best[3];
  float p = wick_logprobs((float[]){NAN, 1, -INFINITY, 1}, 4, 1, best, 3);
  CHECK(&t,
        fabsf(p + logf(2)) < 1e-6f && best[0].id == 1 && best[1].id == 3 && best[2].id == 0 &&
            best[2].logprob == -INFINITY,
        "NaN and -infinity have no probability");
  p = wick_logprobs((float[]){INFINITY, 1, INFINITY}, 3, 1, best, 2);
  CHECK(&t, p == -INFINITY && best[0].id == 0 && fabsf(best[1].logprob + logf(2)) < 1e-6f,
        "infinities share everything");
  p = wick_logprobs((float[]){NAN, -INFINITY}, 2, 0, best, 2);
  CHECK(&t, p == 0 && best[0].id == 0 && best[0].logprob == 0 && best[1].logprob == -INFINITY,
        "nothing finite: the lowest id, as in drawing");
  p = wick_logprobs((float[]){3e38f, -3e38f}, 2, 0, best, 0);
  CHECK(&t, p == 0, "the largest finite logits");
  return tap_done(&t);
}
