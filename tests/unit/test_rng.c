/* The generator against the published first numbers of its two algorithms. */
#include "sampling/rng.h"
#include "tap.h"

int main(void) {
  tap t = {0};
  wick_rng rng;
  wick_rng_seed(&rng, 1234567); /* splitmix64's sequence for this seed */
  CHECK(&t,
        rng.state[0] == 6457827717110365317u && rng.state[1] == 3203168211198807973u &&
            rng.state[2] == 9817491932198370423u && rng.state[3] == 4593380528125082431u,
        "splitmix64 fills the state");
  rng =
      (wick_rng){{1, 2, 3, 4}}; /* xoshiro256** from this state, as rand_xoshiro's tests have it */
  static const uint64_t expected[] = {11520u,
                                      0u,
                                      1509978240u,
                                      1215971899390074240u,
                                      1216172134540287360u,
                                      607988272756665600u,
                                      16172922978634559625u,
                                      8476171486693032832u,
                                      10595114339597558777u,
                                      2904607092377533576u};
  int same = 1;
  for (int i = 0; i < 10; i++) same &= wick_rng_next(&rng) == expected[i];
  CHECK(&t, same, "xoshiro256**'s first ten numbers");

  wick_rng_seed(&rng, 7);
  double sum = 0, least = 1, most = 0;
  for (int i = 0; i < 100000; i++) {
    double u = wick_rng_unit(&rng);
    sum += u;
    if (u < least) least = u;
    if (u > most) most = u;
  }
  CHECK(&t, least >= 0 && least < 1e-3 && most < 1 && most > 0.999, "units fill [0, 1)");
  /* The mean's standard deviation is 1 / sqrt(12 n) = 0.0009. */
  CHECK(&t, sum / 100000 > 0.495 && sum / 100000 < 0.505, "their mean is a half");
  return tap_done(&t);
}
