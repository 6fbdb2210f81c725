/* Hashing for the vocabulary and the merges. The functions are fixed, so a file could be made to
 * collide: probes are bounded and such a file is refused. */
#ifndef WICK_TOKENIZER_HASH_H
#define WICK_TOKENIZER_HASH_H

#include <stddef.h>
#include <stdint.h>

enum {
  WICK_MAX_TOKENS = 1 << 24,
  WICK_MAX_PROBES = 1024, /* real vocabularies stay below 50 */
};

/* The finalizer of splitmix64 (Steele, Lea, Flood 2014). */
static inline uint64_t wick_hash_u64(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/* FNV-1a, then mixed. */
static inline uint32_t wick_hash_bytes(const char *data, size_t n) {
  uint64_t h = 0xcbf29ce484222325u;
  for (size_t i = 0; i < n; i++) h = (h ^ (uint8_t)data[i]) * 0x100000001b3u;
  return (uint32_t)wick_hash_u64(h);
}

/* A power of two that n entries fill by at most two thirds. */
static inline uint32_t wick_hash_slots(uint32_t n) {
  uint32_t n_slots = 16;
  while (n_slots / 3 * 2 < n) n_slots *= 2;
  return n_slots;
}

#endif
