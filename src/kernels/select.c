/* Choosing the kernel table: the best level that the build has, the CPU and the operating system
 * grant, and whose answers are right. Chapter 6. */
#include "kernels/kernels.h"

#include "kernels/cpu.h"
#include "kernels/probe.h"

typedef struct level {
  uint32_t bit;
  uint32_t base; /* the level that is filled in before; every level stands on the reference */
  void (*fill)(wick_kernels *table);
} level;

/* Best first, the reference last. */
static const level levels[] = {
#if defined(__x86_64__)
    {WICK_LEVEL_AVX512_VNNI, WICK_LEVEL_AVX2, wick_kernels_avx512_vnni},
    {WICK_LEVEL_AVX_VNNI, WICK_LEVEL_AVX2, wick_kernels_avx_vnni},
    {WICK_LEVEL_AVX2, WICK_LEVEL_REFERENCE, wick_kernels_avx2},
#elif defined(__aarch64__)
    {WICK_LEVEL_NEON_DOTPROD, WICK_LEVEL_NEON, wick_kernels_neon_dotprod},
    {WICK_LEVEL_NEON, WICK_LEVEL_REFERENCE, wick_kernels_neon},
#endif
#if defined(__wasm_relaxed_simd__)
    {WICK_LEVEL_RELAXED, WICK_LEVEL_SIMD128, wick_kernels_relaxed},
#endif
#if defined(__wasm_simd128__)
    {WICK_LEVEL_SIMD128, WICK_LEVEL_REFERENCE, wick_kernels_simd128},
#endif
    {WICK_LEVEL_REFERENCE, 0, wick_kernels_reference},
};
enum { N_LEVELS = sizeof levels / sizeof levels[0] };

/* Bases come after the levels that stand on them, so one walk back to front finds the chain. */
static void fill(wick_kernels *table, const level *wanted) {
  uint32_t chain = wanted->bit;
  for (const level *l = wanted; l < levels + N_LEVELS; l++)
    if (chain & l->bit) chain |= l->base;
  for (const level *l = levels + N_LEVELS; l-- > levels;)
    if (chain & l->bit) l->fill(table);
}

static bool fill_if_usable(wick_kernels *table, const level *l) {
  if (!wick_cpu_has_level(l->bit)) return false;
  fill(table, l);
  return l->bit == WICK_LEVEL_REFERENCE || wick_kernels_probe(table);
}

void wick_kernels_select(wick_kernels *table, uint32_t mask) {
  for (const level *l = levels; l < levels + N_LEVELS; l++)
    if ((mask == 0 || (mask & l->bit)) && fill_if_usable(table, l)) return;
  wick_kernels_reference(table);
}

uint32_t wick_kernels_available(void) {
  uint32_t available = 0;
  wick_kernels table;
  for (const level *l = levels; l < levels + N_LEVELS; l++)
    if (fill_if_usable(&table, l)) available |= l->bit;
  return available;
}

uint32_t wick_levels_available(void) {
  return wick_kernels_available();
}

const char *wick_level_name(uint32_t level_bit) {
  switch (level_bit) {
  case WICK_LEVEL_REFERENCE:
    return "reference";
  case WICK_LEVEL_AVX2:
    return "avx2";
  case WICK_LEVEL_AVX_VNNI:
    return "avx-vnni";
  case WICK_LEVEL_AVX512_VNNI:
    return "avx512-vnni";
  case WICK_LEVEL_AMX:
    return "amx";
  case WICK_LEVEL_NEON:
    return "neon";
  case WICK_LEVEL_NEON_DOTPROD:
    return "neon-dotprod";
  case WICK_LEVEL_SIMD128:
    return "simd128";
  case WICK_LEVEL_RELAXED:
    return "relaxed";
  default:
    return "unknown";
  }
}
