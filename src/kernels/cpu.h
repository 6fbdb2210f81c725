/* What this CPU and its operating system grant. */
#ifndef WICK_KERNELS_CPU_H
#define WICK_KERNELS_CPU_H

#include "core/status.h"

/* Whether the instructions of one WICK_LEVEL_* bit may be executed here. */
bool wick_cpu_has_level(uint32_t level_bit);

#endif
