/* A known-answer test of a kernel table. */
#ifndef WICK_KERNELS_PROBE_H
#define WICK_KERNELS_PROBE_H

#include "kernels/kernels.h"

/* Whether the table's kernels give the reference's answers here, in well under a millisecond. */
bool wick_kernels_probe(const wick_kernels *table);

#endif
