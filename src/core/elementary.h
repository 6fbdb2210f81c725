/* exp, log, sin and cos of our own, so that a seed gives the same text whatever the C library.
 * Built from +, -, *, / and bit moves in a fixed order (no fma), so results are equal bit for bit
 * on every IEEE 754 machine. Chapter 8. */
#ifndef WICK_CORE_ELEMENTARY_H
#define WICK_CORE_ELEMENTARY_H

/* Within 1 unit in the last place of the true value over the whole range, infinities, NaN and
 * subnormals included. */
float wick_expf(float x);
double wick_exp(double x);
double wick_log(double x);
/* |x| up to 1e6 (positions times frequencies), absolute error at most 1e-15. */
double wick_sin(double x);
double wick_cos(double x);
/* base ** exponent, base > 0: exp(exponent * log(base)) in double; relative error at most 1e-13. */
double wick_pow(double base, double exponent);

#endif
