/* Memory: one allocator interface, checked sizes, and a growing arena for what lives and dies
 * together. */
#ifndef WICK_CORE_MEMORY_H
#define WICK_CORE_MEMORY_H

#include "core/status.h"

#define WICK_ALIGNMENT 64 /* of every tensor and arena block: a cache line, an AVX-512 register */

/* malloc and free. */
const wick_allocator *wick_allocator_default(void);

/* bytes > 0. NULL on failure. allocator must not be NULL. */
void *wick_allocate(const wick_allocator *allocator, size_t bytes, size_t alignment);
/* pointer may be NULL. */
void wick_release(const wick_allocator *allocator, void *pointer, size_t bytes, size_t alignment);

/* *out = a * b (a + b) and true, or false when it does not fit. */
static inline bool wick_multiply_u64(uint64_t a, uint64_t b, uint64_t *out) {
  if (b != 0 && a > UINT64_MAX / b) return false;
  *out = a * b;
  return true;
}

static inline bool wick_add_u64(uint64_t a, uint64_t b, uint64_t *out) {
  if (a > UINT64_MAX - b) return false;
  *out = a + b;
  return true;
}

/* A file's number as a size of this machine (32 bits on wasm), or false. */
static inline bool wick_to_size(uint64_t a, size_t *out) {
  if (a > SIZE_MAX / 2) return false;
  *out = (size_t)a;
  return true;
}

/* Rounds up to a multiple of alignment, a power of two. Checked: false when it does not fit. */
static inline bool wick_align_u64(uint64_t a, uint64_t alignment, uint64_t *out) {
  if (!wick_add_u64(a, alignment - 1, out)) return false;
  *out &= ~(alignment - 1);
  return true;
}

/* An arena: blocks from an allocator, freed together. */
typedef struct wick_arena_block wick_arena_block;
typedef struct wick_arena {
  const wick_allocator *allocator;
  wick_arena_block *blocks;
  size_t total_bytes; /* taken from the allocator */
} wick_arena;

void wick_arena_init(wick_arena *arena, const wick_allocator *allocator);
/* Zeroed memory at a multiple of alignment (at most WICK_ALIGNMENT), or NULL. bytes may be 0. */
void *wick_arena_allocate(wick_arena *arena, uint64_t bytes, size_t alignment);
/* A terminated copy of n bytes, or NULL. */
char *wick_arena_copy_string(wick_arena *arena, const char *data, size_t n);
void wick_arena_free(wick_arena *arena);

#define WICK_ARENA_ARRAY(arena, type, count)                                                       \
  ((type *)wick_arena_allocate_array(arena, count, sizeof(type), _Alignof(type)))
void *wick_arena_allocate_array(wick_arena *arena, uint64_t count, size_t size, size_t alignment);

#endif
