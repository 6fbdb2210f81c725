/* What this machine does: bandwidth and latency of memory, peaks of kernels. Chapters 1 and 4. */
#ifndef WICK_NATIVE_MEASURE_H
#define WICK_NATIVE_MEASURE_H

#include "core/pool.h"
#include "kernels/kernels.h"

/* The middle, least and most of n >= 1 values, which are sorted. */
typedef struct cli_spread {
  double median, least, most;
} cli_spread;
cli_spread cli_spread_of(double *values, size_t n);

/* Bytes a second at which the pool's threads together read bytes of data, each its own share. */
double cli_read_bandwidth(wick_pool *pool, const uint64_t *data, size_t bytes);

/* Seconds a load takes that depends on the one before, over a working set of bytes (at least 4096):
 * a chase through all its cache lines in random order. Negative: no memory. */
double cli_load_latency(size_t bytes);

/* Multiply-adds a second of one thread, weights and activations in the nearest caches. */
typedef struct cli_kernel_peaks {
  double matvec_q4, matvec_q8, matmul_q4, matmul_q8, matmul_f32; /* 0: not measured */
} cli_kernel_peaks;
/* False: no memory. */
bool cli_measure_kernels(const wick_kernels *kernels, cli_kernel_peaks *out);

#endif
