/* See memory.h. */
#if defined(__linux__)
#define _DEFAULT_SOURCE
#include <sys/mman.h>
#endif
#include "core/memory.h"

#include <stdlib.h>
#include <string.h>

enum { HUGE_PAGE_BYTES = 2 << 20 };

/* aligned_alloc is missing on old macOS and pads on others: keep the base pointer just below. */
static void *default_allocate(void *context, size_t bytes, size_t alignment) {
  (void)context;
#if defined(MADV_HUGEPAGE)
  bool huge = bytes >= 2 * (size_t)HUGE_PAGE_BYTES;
  if (huge) alignment = HUGE_PAGE_BYTES;
#endif
  if (bytes > SIZE_MAX - alignment - sizeof(void *)) return NULL;
  char *base = malloc(bytes + alignment + sizeof(void *));
  if (!base) return NULL;
  uintptr_t start = (uintptr_t)base + sizeof(void *);
  uintptr_t aligned = (start + alignment - 1) & ~(uintptr_t)(alignment - 1);
  memcpy((void *)(aligned - sizeof(void *)), &base, sizeof base);
#if defined(MADV_HUGEPAGE)
  /* Weights are read from end to end for every token: 4 KB pages cost a third of the bandwidth. */
  if (huge) madvise((void *)aligned, bytes & ~(size_t)(HUGE_PAGE_BYTES - 1), MADV_HUGEPAGE);
#endif
  return (void *)aligned;
}

static void default_release(void *context, void *pointer, size_t bytes, size_t alignment) {
  (void)context, (void)bytes, (void)alignment;
  void *base;
  memcpy(&base, (char *)pointer - sizeof(void *), sizeof base);
  free(base);
}

const wick_allocator *wick_allocator_default(void) {
  static const wick_allocator allocator = {default_allocate, default_release, NULL};
  return &allocator;
}

void *wick_allocate(const wick_allocator *allocator, size_t bytes, size_t alignment) {
  return allocator->allocate(allocator->context, bytes, alignment);
}

void wick_release(const wick_allocator *allocator, void *pointer, size_t bytes, size_t alignment) {
  if (pointer) allocator->release(allocator->context, pointer, bytes, alignment);
}

struct wick_arena_block {
  wick_arena_block *next;
  size_t bytes, used; /* bytes of the whole block, header included */
};

enum { ARENA_BLOCK_BYTES = 64 * 1024, ARENA_HEADER_BYTES = 64 };

void wick_arena_init(wick_arena *arena, const wick_allocator *allocator) {
  *arena = (wick_arena){.allocator = allocator ? allocator : wick_allocator_default()};
}

void *wick_arena_allocate(wick_arena *arena, uint64_t bytes, size_t alignment) {
  size_t n;
  if (!wick_to_size(bytes, &n) || n > SIZE_MAX / 2 - 2 * ARENA_HEADER_BYTES) return NULL;
  wick_arena_block *block = arena->blocks;
  size_t at = block ? (block->used + alignment - 1) & ~(alignment - 1) : 0;
  if (!block || at > block->bytes || block->bytes - at < n) {
    size_t block_bytes = n + ARENA_HEADER_BYTES;
    bool own = n > ARENA_BLOCK_BYTES / 4; /* large: a block of its own, behind the current one */
    if (!own) block_bytes = ARENA_BLOCK_BYTES;
    wick_arena_block *fresh = wick_allocate(arena->allocator, block_bytes, WICK_ALIGNMENT);
    if (!fresh) return NULL;
    memset(fresh, 0, block_bytes);
    fresh->bytes = block_bytes;
    arena->total_bytes += block_bytes;
    if (own && block) {
      fresh->next = block->next;
      block->next = fresh;
    } else {
      fresh->next = block;
      arena->blocks = fresh;
    }
    block = fresh;
    at = ARENA_HEADER_BYTES;
  }
  block->used = at + n;
  return (char *)block + at;
}

void *wick_arena_allocate_array(wick_arena *arena, uint64_t count, size_t size, size_t alignment) {
  uint64_t bytes;
  return wick_multiply_u64(count, size, &bytes) ? wick_arena_allocate(arena, bytes, alignment)
                                                : NULL;
}

char *wick_arena_copy_string(wick_arena *arena, const char *data, size_t n) {
  char *copy = wick_arena_allocate(arena, (uint64_t)n + 1, 1);
  if (copy && n) memcpy(copy, data, n);
  return copy;
}

void wick_arena_free(wick_arena *arena) {
  for (wick_arena_block *block = arena->blocks, *next; block; block = next) {
    next = block->next;
    wick_release(arena->allocator, block, block->bytes, WICK_ALIGNMENT);
  }
  arena->blocks = NULL;
  arena->total_bytes = 0;
}
