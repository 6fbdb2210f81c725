/* xoshiro256** seeded by splitmix64: Blackman and Vigna (2021); Steele, Lea and Flood, "Fast
 * splittable pseudorandom number generators" (2014). Chapter 15. */
#include "sampling/rng.h"

static uint64_t rotate_left(uint64_t x, int n) {
  return (x << n) | (x >> (64 - n));
}

void wick_rng_seed(wick_rng *rng, uint64_t seed) {
  for (int i = 0; i < 4; i++) {
    uint64_t z = seed += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    rng->state[i] = z ^ (z >> 31);
  }
}

uint64_t wick_rng_next(wick_rng *rng) {
  uint64_t *s = rng->state, result = rotate_left(s[1] * 5, 7) * 9, shifted = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= shifted;
  s[3] = rotate_left(s[3], 45);
  return result;
}

double wick_rng_unit(wick_rng *rng) {
  return (double)(wick_rng_next(rng) >> 11) * 0x1p-53;
}
