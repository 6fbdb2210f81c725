/* How far a kernel variant may lie from the truth; one table for all levels. */
#ifndef WICK_TESTS_KERNELS_TOLERANCES_H
#define WICK_TESTS_KERNELS_TOLERANCES_H

/* Packed products against the reference, relative to the sum of the magnitudes that are added:
 * integer parts are equal, so only the roundings of some 100 float additions differ. */
#define TOLERANCE_PACKED 3e-7
/* Absolute, where numbers are subnormal and relative errors mean nothing. */
#define TOLERANCE_SUBNORMAL 1e-42
/* Float products (matrices, attention) against sums in double, relative to the sum of |a||b|. */
#define TOLERANCE_PRODUCT 4e-7
/* exp against the C library's in double, relative (kernels.h), and what is made with it. */
#define TOLERANCE_EXP 3e-7
#define TOLERANCE_SILU 4e-7
#define TOLERANCE_SUM 2e-6
/* rmsnorm against double, relative. */
#define TOLERANCE_RMSNORM 5e-7

#endif
