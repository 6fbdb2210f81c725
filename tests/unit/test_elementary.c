/* exp, log, sin, cos and pow against the C library's long double functions, whose error (an x87 or
 * quad unit in the last place) is far below what is asked here. The bounds are elementary.h's. */
#include <float.h>
#include <math.h>
#include <stdint.h>

#include "core/elementary.h"
#include "tap.h"

/* Quad long double is done in software, and then perhaps in an emulator: fewer values will do. */
enum { SHARE = LDBL_MANT_DIG > 64 ? 20 : 1, N_VALUES = 1000000 / SHARE, STRIDE = 1021 * SHARE };

static const long double pi = 3.14159265358979323846264338327950288L;

static float float_from_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static double double_from_bits(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* splitmix64: any well-spread sequence does. */
static uint64_t next_random(uint64_t *state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static double uniform(uint64_t *state, double low, double high) {
  return low + (double)(next_random(state) >> 11) * 0x1p-53 * (high - low);
}

/* |value - truth| in units in the last place of truth, for a format of the given digits and least
 * exponent (of a number in [0.5, 1)). */
static long double ulps(long double value, long double truth, int digits, int least_exponent) {
  if (truth != truth) return value != value ? 0 : INFINITY;
  if (value == truth) return 0; /* infinities */
  int exponent;
  frexpl(truth, &exponent);
  if (exponent < least_exponent) exponent = least_exponent;
  return fabsl(value - truth) / ldexpl(1.0L, exponent - digits);
}

static long double float_ulps(float value, long double truth) {
  if (truth > FLT_MAX && value == INFINITY) return 0;
  return ulps(value, truth, FLT_MANT_DIG, FLT_MIN_EXP);
}

static long double double_ulps(double value, long double truth) {
  if (truth > DBL_MAX && value == (double)INFINITY) return 0;
  return ulps(value, truth, DBL_MANT_DIG, DBL_MIN_EXP);
}

static void test_expf(tap *t) {
  long double worst = 0;
  float at = 0;
  uint64_t n_rounded_wrongly = 0, n = 0;
  for (uint64_t bits = 0; bits <= UINT32_MAX; bits += STRIDE) {
    float x = float_from_bits((uint32_t)bits);
    long double truth = expl(x), error = float_ulps(wick_expf(x), truth);
    if (error > worst) {
      worst = error;
      at = x;
    }
    n += x == x;
    if (error > 0.5L) n_rounded_wrongly++;
  }
  printf("# expf: worst %.4Lf ulp at %a; %llu of %llu not the nearest\n", worst, (double)at,
         (unsigned long long)n_rounded_wrongly, (unsigned long long)n);
  CHECK(t, worst <= 0.51L, "expf within 0.51 ulp over all floats in equal steps");
  int good = 1; /* every float around the ends of the range */
  for (int i = -3000; i <= 3000; i++) {
    float high = float_from_bits(0x42b17218u + (uint32_t)i);
    float low = float_from_bits(0xc2cff1b4u + (uint32_t)i);
    good &= float_ulps(wick_expf(high), expl(high)) <= 0.51L;
    good &= float_ulps(wick_expf(low), expl(low)) <= 0.51L;
  }
  CHECK(t, good, "expf where it overflows and where it underflows");
  CHECK(t, wick_expf(0.0f) == 1.0f && wick_expf(-0.0f) == 1.0f, "expf(0) = 1");
  CHECK(t, wick_expf(-INFINITY) == 0.0f && wick_expf(INFINITY) == INFINITY, "expf of infinities");
  CHECK(t, wick_expf(NAN) != wick_expf(NAN), "expf(NaN) is NaN");
}

static void test_exp(tap *t) {
  uint64_t state = 1;
  long double worst = 0;
  for (int i = 0; i < N_VALUES; i++) {
    double x = i % 4 == 0   ? uniform(&state, -1, 1)
               : i % 4 == 1 ? uniform(&state, -746, 710)
               : i % 4 == 2 ? double_from_bits(next_random(&state))
                            : uniform(&state, -745.2, -708);
    long double error = double_ulps(wick_exp(x), expl(x));
    if (error > worst) worst = error;
  }
  printf("# exp: worst %.4Lf ulp\n", worst);
  CHECK(t, worst <= 1.0L, "exp within 1 ulp on doubles of all sizes, subnormal results included");
  CHECK(t, wick_exp(-(double)INFINITY) == 0 && wick_exp((double)INFINITY) == (double)INFINITY,
        "exp of infinities");
}

static void test_log(tap *t) {
  uint64_t state = 2;
  long double worst = 0;
  for (int i = 0; i < N_VALUES; i++) {
    uint64_t random = next_random(&state);
    double near = uniform(&state, -1, 1);
    double x = i % 4 == 0   ? 1.25 + 0.75 * near
               : i % 4 == 1 ? 1 + ldexp(near, -(int)(random % 52))
               : i % 4 == 2 ? double_from_bits(random >> 1)
                            : double_from_bits(random >> 12); /* subnormal */
    long double error = double_ulps(wick_log(x), logl(x));
    if (error > worst) worst = error;
  }
  printf("# log: worst %.4Lf ulp\n", worst);
  CHECK(t, worst <= 1.0L, "log within 1 ulp on doubles of all sizes, subnormals included");
  CHECK(t, wick_log(0.0) == -(double)INFINITY && wick_log(-0.0) == -(double)INFINITY, "log(0)");
  CHECK(t, wick_log(1.0) == 0 && wick_log((double)INFINITY) == (double)INFINITY,
        "log(1), log(infinity)");
  CHECK(t, wick_log(-1.0) != wick_log(-1.0) && wick_log((double)NAN) != wick_log((double)NAN),
        "log of a negative number or NaN is NaN");
}

static void test_sin_cos(tap *t) {
  uint64_t state = 3;
  long double worst = 0;
  for (int i = 0; i < N_VALUES; i++) {
    double x = i % 3 == 0   ? uniform(&state, -1e6, 1e6)
               : i % 3 == 1 ? uniform(&state, -10, 10)
                            : (double)((long double)(i % 600000) * pi / 2); /* near the zeros */
    long double sin_error = fabsl(wick_sin(x) - sinl(x));
    long double cos_error = fabsl(wick_cos(x) - cosl(x));
    if (sin_error > worst) worst = sin_error;
    if (cos_error > worst) worst = cos_error;
  }
  printf("# sin, cos: worst absolute error %.3Lg\n", worst);
  CHECK(t, worst <= 1e-15L, "sin and cos within 1e-15 for |x| up to 1e6");
  CHECK(t, wick_sin(0.0) == 0 && wick_cos(0.0) == 1, "sin(0) = 0, cos(0) = 1");
  CHECK(t,
        wick_sin((double)INFINITY) != wick_sin((double)INFINITY) &&
            wick_cos(1e300) != wick_cos(1e300),
        "out of range gives NaN");
}

static void test_pow(tap *t) {
  uint64_t state = 4;
  long double worst = 0;
  for (int i = 0; i < N_VALUES; i++) {
    int scale = (int)(next_random(&state) % 2000) - 1000;
    double base = i % 2 ? uniform(&state, 0, 2) : ldexp(uniform(&state, 0.5, 1), scale);
    if (base <= 0) continue;
    double exponent = uniform(&state, -1, 1) * 708 / (fabs(log(base)) + 1e-3);
    long double truth = powl(base, exponent);
    if (truth < DBL_MIN || truth > DBL_MAX) continue;
    long double error = fabsl((wick_pow(base, exponent) - truth) / truth);
    if (error > worst) worst = error;
  }
  printf("# pow: worst relative error %.3Lg\n", worst);
  CHECK(t, worst <= 1e-13L, "pow within 1e-13 wherever the result is a normal number");
  worst = 0; /* what RoPE asks: theta ** (-2 i / d) */
  for (int i = 0; i < 64; i++) {
    long double truth = powl(100000.0L, -2.0L * i / 128);
    long double error = fabsl((wick_pow(100000.0, -2.0 * i / 128) - truth) / truth);
    if (error > worst) worst = error;
  }
  CHECK(t, worst <= 2.3e-16L, "pow of RoPE's frequencies within 1 ulp");
  CHECK(t, wick_pow(2, 10) == 1024 && wick_pow(2, -1074) == 0x1p-1074, "whole powers of two");
  CHECK(t, wick_pow(2, 1024) == (double)INFINITY && wick_pow(2, -1076) == 0, "pow out of range");
  CHECK(t, wick_pow(7, 0) == 1 && wick_pow(1, 1e300) == 1, "pow(x, 0) = pow(1, y) = 1");
}

/* Seeds give the same text everywhere only if these give the same bits everywhere: a hash (FNV-1a)
 * of results that gcc and clang on x86-64 and gcc on ARM agreed on. */
static void test_same_bits(tap *t) {
  uint64_t state = 5, hash = 0xcbf29ce484222325u;
  for (int i = 0; i < 100000; i++) {
    double x = uniform(&state, -700, 700), positive = uniform(&state, 0, 1000);
    double results[] = {(double)wick_expf((float)(x * 0.12)),
                        wick_exp(x),
                        wick_log(positive),
                        wick_sin(x),
                        wick_cos(x),
                        wick_pow(positive, x * 0.1)};
    for (size_t k = 0; k < sizeof results / sizeof *results; k++) {
      uint64_t bits;
      memcpy(&bits, &results[k], sizeof bits);
      hash = (hash ^ bits) * 0x100000001b3u;
    }
  }
  printf("# hash %016llx\n", (unsigned long long)hash);
  CHECK(t, hash == 0x4ef24a962149cde6u, "the same bits on every machine");
}

int main(void) {
  tap t = {0};
  test_same_bits(&t);
  if (LDBL_MANT_DIG < 64) {
    tap_skip(&t, "elementary functions", "long double is no wider than double here");
    return tap_done(&t);
  }
  test_expf(&t);
  test_exp(&t);
  test_log(&t);
  test_sin_cos(&t);
  test_pow(&t);
  return tap_done(&t);
}
