/* exp, log, sin, cos and pow from +, -, *, / and bit moves alone, in one fixed order of operations.
 * The series are Taylor's (exp, sin, cos) and that of the inverse hyperbolic tangent (log); the
 * argument reductions are those of W. Cody and W. Waite, "Software Manual for the Elementary
 * Functions" (1980); exact products are T. Dekker's (1971). Needs IEEE 754 doubles without excess
 * precision and without contraction into fma. Chapter 8. */
#include "core/elementary.h"

#include <math.h> /* INFINITY and NAN alone */
#include <stdint.h>
#include <string.h>

/* 1.5 * 2^52: adding it and taking it away rounds a double below 2^51 to the nearest integer. */
#define ROUND_SHIFT 0x1.8p52

/* ln 2 and pi / 2 cut into parts with trailing zeros, so that small integers times a part (but for
 * the last) are exact. */
#define LN2_HIGH 0x1.62e42fee00000p-1
#define LN2_LOW 0x1.a39ef35793c76p-33
#define ONE_OVER_LN2 0x1.71547652b82fep+0
#define HALF_PI_1 0x1.921fb54400000p+0
#define HALF_PI_2 0x1.0b4611a600000p-34
#define HALF_PI_3 0x1.3198a2e037073p-69
#define TWO_OVER_PI 0x1.45f306dc9c883p-1

static double from_bits(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint64_t to_bits(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* 2^k, -1022 <= k <= 1023. */
static double power_of_two(int k) {
  return from_bits((uint64_t)(k + 1023) << 52);
}

/* a + b = *sum + result, exactly. */
static double sum_error(double a, double b, double *sum) {
  double s = a + b, from_b = s - a;
  *sum = s;
  return (a - (s - from_b)) + (b - from_b);
}

/* a * b = *product + result, exactly, while nothing over- or underflows. */
static double product_error(double a, double b, double *product) {
  const double split = 0x1p27 + 1;
  double a_high = a * split - (a * split - a), a_low = a - a_high;
  double b_high = b * split - (b * split - b), b_low = b - b_high;
  *product = a * b;
  return ((a_high * b_high - *product) + a_high * b_low + a_low * b_high) + a_low * b_low;
}

float wick_expf(float x) {
  if (!(x < 89.0f)) return x + INFINITY; /* NaN stays NaN */
  if (x < -104.0f) return 0.0f;          /* below half of the least subnormal */
  double k = (double)x * ONE_OVER_LN2 + ROUND_SHIFT - ROUND_SHIFT;
  double r = (double)x - k * LN2_HIGH - k * LN2_LOW; /* |r| <= ln 2 / 2 */
  double p = 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  return (float)(p * power_of_two((int)k)); /* one rounding, subnormal results too */
}

/* exp(x + tail), |tail| small against x's last place or not: it is simply added after x. */
static double exp_with_tail(double x, double tail) {
  if (!(x < 710.0)) return x + (double)INFINITY;
  if (x < -746.0) return 0.0;
  static const double one_over_factorial[] = {
      1.0 / 2,     1.0 / 6,      1.0 / 24,      1.0 / 120,      1.0 / 720,       1.0 / 5040,
      1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};
  double k = x * ONE_OVER_LN2 + ROUND_SHIFT - ROUND_SHIFT;
  double high = x - k * LN2_HIGH, low = tail - k * LN2_LOW, r = high + low;
  double r_error = (high - r) + low;
  double p = one_over_factorial[11];
  for (int i = 10; i >= 0; i--) p = p * r + one_over_factorial[i];
  p = 1.0 + (r + (r_error + p * r * r));
  /* 2^k in two factors: k reaches -1076, and results below 2^-1022 must be rounded once. */
  int half = (int)k / 2;
  return p * power_of_two(half) * power_of_two((int)k - half);
}

double wick_exp(double x) {
  return exp_with_tail(x, 0.0);
}

/* log x = *high + result for a finite x > 0. With x = 2^k (1 + f), s = f / (2 + f):
 * log(1 + f) = 2 (s + s^3/3 + s^5/5 + ...) = f - (f^2/2 - s (f^2/2 + R)), R = 2 s^2/3 + ... */
static double log_parts(double x, double *high) {
  int k = 0;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    k = -54;
  }
  uint64_t bits = to_bits(x);
  k += (int)(bits >> 52) - 1023;
  double m = from_bits((bits & 0xfffffffffffffu) | 0x3ff0000000000000u);
  if (m > 0x1.6a09e667f3bcdp+0) { /* sqrt 2 */
    m *= 0.5;
    k++;
  }
  double f = m - 1.0, s = f / (2.0 + f), z = s * s, series = 2.0 / 23;
  for (int i = 21; i >= 3; i -= 2) series = series * z + 2.0 / i;
  double half_square = 0.5 * f * f;
  double correction = s * (half_square + series * z) + k * LN2_LOW - half_square;
  double sum, error = sum_error(k * LN2_HIGH, f, &sum);
  return sum_error(sum, error + correction, high);
}

double wick_log(double x) {
  if (!(x > 0.0)) return x == 0.0 ? -(double)INFINITY : (double)NAN;
  if (x == (double)INFINITY) return x;
  double high, low = log_parts(x, &high);
  return high + low;
}

double wick_pow(double base, double exponent) {
  if (exponent == 0.0 || base == 1.0) return 1.0;
  if (!(base > 0.0 && base < (double)INFINITY))
    return exp_with_tail(exponent * wick_log(base), 0.0);
  double high, low = log_parts(base, &high), product = exponent * high, error = 0.0;
  if (product > -746.0 && product < 710.0) error = product_error(exponent, high, &product);
  return exp_with_tail(product, error + exponent * low);
}

/* x = k pi/2 + *r, |r| <= pi/4; returns k modulo 4. |x| <= 2^30. */
static int reduce_quarter_turns(double x, double *r) {
  double k = x * TWO_OVER_PI + ROUND_SHIFT - ROUND_SHIFT;
  *r = x - k * HALF_PI_1 - k * HALF_PI_2 - k * HALF_PI_3;
  return (int)((int64_t)k & 3);
}

static double sin_series(double r) {
  double z = r * r, sum = 1.0;
  for (int i = 16; i >= 2; i -= 2) sum = 1.0 - sum * z / (i * (i + 1));
  return r * sum;
}

static double cos_series(double r) {
  double z = r * r, sum = 1.0;
  for (int i = 17; i >= 1; i -= 2) sum = 1.0 - sum * z / (i * (i + 1));
  return sum;
}

static double sin_of_quarter(int quarter, double r) {
  double value = quarter & 1 ? cos_series(r) : sin_series(r);
  return quarter & 2 ? -value : value;
}

double wick_sin(double x) {
  if (!(x >= -0x1p30 && x <= 0x1p30)) return (double)NAN;
  double r;
  int quarter = reduce_quarter_turns(x, &r);
  return sin_of_quarter(quarter, r);
}

double wick_cos(double x) {
  if (!(x >= -0x1p30 && x <= 0x1p30)) return (double)NAN;
  double r;
  int quarter = reduce_quarter_turns(x, &r);
  return sin_of_quarter(quarter + 1, r);
}
