/* Llama 3's scaled rotary frequencies: config.json holds four numbers, GGUF their effect, one
 * factor for each frequency (rope_freqs.weight; the frequency is divided by it). Source:
 * Llama 3.1's published reference code.
 *
 * With turns t = context * frequency / 2 pi that a pair makes within the original context:
 *   t < low: 1 / factor of the frequency; t > high: all of it; between them
 *   smooth = (t - low) / (high - low), blended as (1 - smooth) / factor + smooth. */
#include <math.h>

#include "convert_parts.h"

enum { MAX_PAIRS = 1024 / 2 }; /* wick_config: head_dim is at most 1024 */

static const double TWO_PI = 6.283185307179586;

static void plain_frequencies(const wick_config *config, float *frequencies) {
  wick_config plain = *config;
  plain.rope_scaling = WICK_ROPE_SCALING_NONE;
  wick_rope_frequencies(&plain, NULL, frequencies);
}

void convert_rope_factors(const wick_config *config, float *factors) {
  float frequencies[MAX_PAIRS];
  plain_frequencies(config, frequencies);
  for (int i = 0; i < config->head_dim / 2; i++) {
    double turns = config->rope_original_context * (double)frequencies[i] / TWO_PI;
    double smooth = (turns - config->rope_low) / (config->rope_high - config->rope_low);
    smooth = smooth < 0 ? 0 : smooth > 1 ? 1 : smooth;
    factors[i] = (float)(1 / ((1 - smooth) / config->rope_factor + smooth));
  }
}

static bool reproduces(const wick_config *config, const float *factors) {
  float found[MAX_PAIRS];
  convert_rope_factors(config, found);
  for (int i = 0; i < config->head_dim / 2; i++)
    if (!(fabsf(found[i] - factors[i]) <= 1e-4f * fabsf(factors[i]))) return false;
  return true;
}

/* The first pair in the blended range, its frequency over 2 pi and its smooth; false: there is
 * none. */
static bool find_blended(const float *factors, const wick_config *config, double *x, double *y) {
  float frequencies[MAX_PAIRS];
  plain_frequencies(config, frequencies);
  double scale = 1 / config->rope_factor;
  for (int i = 0; i < config->head_dim / 2; i++) {
    *x = (double)frequencies[i] / TWO_PI;
    *y = (1 / (double)factors[i] - scale) / (1 - scale);
    if (*y > 0.001 && *y < 0.999) return true;
  }
  return false;
}

/* Only ratios of the numbers show in the factors, so low = 1. Every published model has a power of
 * two as high (Llama 3: 4); the context then follows from one blended pair, and being a whole
 * number it tells a right guess from a wrong one. */
bool convert_fit_rope_factors(const float *factors, wick_config *config) {
  config->rope_scaling = WICK_ROPE_SCALING_LLAMA3;
  config->rope_factor = 1;
  for (int i = 0; i < config->head_dim / 2; i++)
    if ((double)factors[i] > config->rope_factor) config->rope_factor = (double)factors[i];
  config->rope_low = 1;
  config->rope_high = 4;
  config->rope_original_context = 8192;
  double x, y;
  if (reproduces(config, factors)) return true; /* Llama 3's own */
  if (config->rope_factor == 1 || !find_blended(factors, config, &x, &y)) return false;
  for (config->rope_high = 2; config->rope_high <= 64; config->rope_high *= 2) {
    double context = (1 + y * (config->rope_high - 1)) / x;
    if (!(context >= 1 && context < 1 << 24)) continue;
    config->rope_original_context = (int)round(context);
    if (reproduces(config, factors)) return true;
  }
  return false;
}
