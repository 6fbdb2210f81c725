/* The kernels that both wasm levels share. */
#ifndef WICK_KERNELS_WASM_SIMD128_ELEMENTWISE_H
#define WICK_KERNELS_WASM_SIMD128_ELEMENTWISE_H

#include "kernels/kernels.h"

/* Fills conversions, rmsnorm, silu_multiply, add, exp_sum and maximum. */
void wick_wasm_elementwise(wick_kernels *table);

#endif
