/* What the kernel templates share. A template (packed_template.h, float_template.h) is a set of
 * loops written once; an instruction-set file defines the vector types and operations that the
 * template names, then includes it, and so gets its own static copy (the manner of dav1d's
 * *_tmpl.c). Chapter 6. */
#ifndef WICK_KERNELS_TEMPLATE_H
#define WICK_KERNELS_TEMPLATE_H

/* Template loops get their counts as arguments that are constants at each call. Inlined, their
 * arrays of accumulators become registers; that needs both of these, whatever the compiler. */
#define WICK_INLINE static inline __attribute__((__always_inline__))
#if defined(__clang__)
#define WICK_UNROLL _Pragma("unroll 16")
#elif defined(__GNUC__)
#define WICK_UNROLL _Pragma("GCC unroll 16")
#else
#define WICK_UNROLL
#endif
#define WICK_EACH(i, n) WICK_UNROLL for (size_t i = 0; i < (n); i++)

#endif
