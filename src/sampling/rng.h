/* The generator behind every draw: xoshiro256** 1.0 (D. Blackman and S. Vigna, "Scrambled linear
 * pseudorandom number generators", 2021), its state filled by splitmix64 from one 64-bit seed, as
 * its authors recommend. Integer arithmetic only, so a seed gives one sequence everywhere. Not for
 * secrets. Chapter 15. */
#ifndef WICK_SAMPLING_RNG_H
#define WICK_SAMPLING_RNG_H

#include <stdint.h>

typedef struct wick_rng {
  uint64_t state[4];
} wick_rng;

/* Any seed will do, 0 too. */
void wick_rng_seed(wick_rng *rng, uint64_t seed);
uint64_t wick_rng_next(wick_rng *rng);
/* One of the 2^53 multiples of 2^-53 in [0, 1), each as likely. Takes one number of the sequence.
 */
double wick_rng_unit(wick_rng *rng);

#endif
