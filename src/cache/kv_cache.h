/* The KV cache: blocks of 32 positions with reference counts, and sequences that are tables of
 * blocks. Prefix reuse, forks and eviction are table edits. One block holds all layers. Chapters
 * 14, 24.
 *
 * Per layer and KV head a block has K transposed, [head_dim][32], and V, [32][head_dim], so that
 * attention needs no sum across lanes; as float32, as half floats, or as int8 with one float32
 * scale per position (K's 32, then V's 32, after the codes). */
#ifndef WICK_CACHE_KV_CACHE_H
#define WICK_CACHE_KV_CACHE_H

#include "core/memory.h"
#include "kernels/kernels.h"

typedef struct wick_kv_cache {
  const wick_allocator *allocator;
  wick_cache_type type;
  int n_layers, n_kv_heads, head_dim;
  int n_blocks, n_free;
  size_t head_bytes;   /* one layer's and head's share of a block */
  size_t block_bytes;  /* n_layers * n_kv_heads * head_bytes */
  uint8_t *data;       /* [n_blocks][n_layers][n_kv_heads][head_bytes] */
  int32_t *free;       /* stack of free block numbers */
  int32_t *references; /* [n_blocks] */
} wick_kv_cache;

/* Positions 0 .. n_positions - 1 of a sequence lie in blocks[position / 32]. */
typedef struct wick_kv_sequence {
  int32_t *blocks; /* [capacity / 32], owned by whoever made the sequence */
  int n_blocks;    /* held */
} wick_kv_sequence;

wick_status wick_kv_cache_init(wick_kv_cache *cache, const wick_allocator *allocator,
                               wick_cache_type type, int n_layers, int n_kv_heads, int head_dim,
                               int n_blocks, wick_error *error);
void wick_kv_cache_destroy(wick_kv_cache *cache);

static inline int wick_kv_blocks_for(int n_positions) {
  return n_positions / WICK_KV_BLOCK + (n_positions % WICK_KV_BLOCK != 0);
}

/* Grow a sequence to hold n_positions; false when blocks run out (what was taken is kept). */
bool wick_kv_reserve(wick_kv_cache *cache, wick_kv_sequence *sequence, int n_positions);
/* Give all blocks beyond the first n_positions back. */
void wick_kv_truncate(wick_kv_cache *cache, wick_kv_sequence *sequence, int n_positions);
/* Make the empty sequence to begin with n_positions of from: whole blocks shared, a partial one
 * copied. false when no block is free for the copy; the whole ones are then still shared and
 * *n_shared says how far. */
bool wick_kv_fork(wick_kv_cache *cache, wick_kv_sequence *to, const wick_kv_sequence *from,
                  int n_positions, int *n_shared);

/* Write one position's k (v), [head_dim], of a layer and head. */
void wick_kv_store_key(wick_kv_cache *cache, const wick_kv_sequence *sequence, int layer, int head,
                       int position, const float *k);
void wick_kv_store_value(wick_kv_cache *cache, const wick_kernels *kernels,
                         const wick_kv_sequence *sequence, int layer, int head, int position,
                         const float *v);

/* The keys [head_dim][32] (values [32][head_dim]) of block number index of a sequence as float32,
 * in scratch (32 * head_dim floats) or in the cache itself. */
const float *wick_kv_load_keys(const wick_kv_cache *cache, const wick_kernels *kernels,
                               const wick_kv_sequence *sequence, int layer, int head, int index,
                               float *scratch);
const float *wick_kv_load_values(const wick_kv_cache *cache, const wick_kernels *kernels,
                                 const wick_kv_sequence *sequence, int layer, int head, int index,
                                 float *scratch);

#endif
