/* e^x for vectors: x = n ln 2 + r with |r| <= ln 2 / 2, e^r by its Taylor series to r^7 (the next
 * term is below 6e-9), then times 2^n. ln 2 is split in two so that n times its upper part is exact
 * (Cody and Waite, Software Manual for the Elementary Functions, 1980). Chapter 8. */
#ifndef WICK_KERNELS_EXPONENTIAL_H
#define WICK_KERNELS_EXPONENTIAL_H

#define EXP_LOWEST (-104.0f) /* e^x rounds to 0 below */
#define EXP_HIGHEST 89.0f    /* and to infinity above */
#define EXP_LOG2_E 0x1.715476p+0f
#define EXP_LN2_HIGH 0x1.62e4p-1f /* 15 bits: times n it is exact */
#define EXP_LN2_LOW 0x1.7f7d1cp-20f

/* Coefficients of r^7 down to r^2; those of r and 1 are 1. */
#define EXP_COEFFICIENTS                                                                           \
  {1.0f / 5040.0f, 1.0f / 720.0f, 1.0f / 120.0f, 1.0f / 24.0f, 1.0f / 6.0f, 0.5f}
enum { EXP_N_COEFFICIENTS = 6 };

#endif
