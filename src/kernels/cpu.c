/* Which instruction sets may be executed. A CPU flag alone is not enough: the operating system must
 * also save the wide registers at a context switch, which XCR0 tells (Intel SDM volume 1, 13.3 and
 * 14.3). On Arm the kernel's hardware capabilities tell both; wasm decided when it was built.
 * Chapter 6. */
#include "kernels/cpu.h"

#if defined(__x86_64__)

#include <cpuid.h>

enum { XCR0_AVX = 0x06, XCR0_AVX512 = 0xe6 }; /* XMM and YMM; and opmask, ZMM0-15, ZMM16-31 */

static uint64_t read_xcr0(void) {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t)high << 32 | low;
}

static bool has(uint32_t word, int bit) {
  return (word >> bit & 1) != 0;
}

static uint32_t granted_levels(void) {
  uint32_t a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
  bool fma = has(c, 12), osxsave = has(c, 27), avx = has(c, 28), f16c = has(c, 29);
  if (!osxsave || !avx) return 0;
  uint64_t xcr0 = read_xcr0();

  if ((xcr0 & XCR0_AVX) != XCR0_AVX || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
  uint32_t last_subleaf = a;
  if (!has(b, 5) || !fma || !f16c) return 0;
  uint32_t levels = WICK_LEVEL_AVX2;
  bool avx512 = has(b, 16) && has(b, 17) && has(b, 30) && has(b, 31); /* F, DQ, BW, VL */
  if (avx512 && has(c, 11) && (xcr0 & XCR0_AVX512) == XCR0_AVX512) levels |= WICK_LEVEL_AVX512_VNNI;

  if (last_subleaf >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d) && has(a, 4))
    levels |= WICK_LEVEL_AVX_VNNI;
  return levels;
}

#elif defined(__aarch64__) && defined(__APPLE__)

#include <sys/sysctl.h>

static uint32_t granted_levels(void) {
  int dotprod = 0;
  size_t bytes = sizeof dotprod;
  bool known = sysctlbyname("hw.optional.arm.FEAT_DotProd", &dotprod, &bytes, NULL, 0) == 0;
  return WICK_LEVEL_NEON | (known && dotprod ? WICK_LEVEL_NEON_DOTPROD : 0);
}

#elif defined(__aarch64__) && defined(__linux__)

#include <sys/auxv.h>

enum { HAS_ASIMDDP = 1 << 20 }; /* HWCAP_ASIMDDP, which old C libraries do not name */

static uint32_t granted_levels(void) {
  bool dotprod = (getauxval(AT_HWCAP) & HAS_ASIMDDP) != 0;
  return WICK_LEVEL_NEON | (dotprod ? WICK_LEVEL_NEON_DOTPROD : 0);
}

#else

static uint32_t granted_levels(void) {
  uint32_t levels = 0;
#if defined(__aarch64__)
  levels |= WICK_LEVEL_NEON; /* part of every 64-bit Arm */
#endif
#if defined(__wasm_simd128__)
  levels |= WICK_LEVEL_SIMD128;
#endif
#if defined(__wasm_relaxed_simd__)
  levels |= WICK_LEVEL_RELAXED;
#endif
  return levels;
}

#endif

bool wick_cpu_has_level(uint32_t level_bit) {
  return ((granted_levels() | WICK_LEVEL_REFERENCE) & level_bit) != 0;
}
