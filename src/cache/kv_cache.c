/* See kv_cache.h. */
#include "cache/kv_cache.h"

#include <math.h>
#include <string.h>

static size_t head_share_bytes(wick_cache_type type, int head_dim) {
  size_t n = 2 * (size_t)WICK_KV_BLOCK * (size_t)head_dim;
  switch (type) {
  case WICK_CACHE_F32:
    return n * sizeof(float);
  case WICK_CACHE_F16:
    return n * sizeof(uint16_t);
  case WICK_CACHE_INT8:
    return n + 2 * WICK_KV_BLOCK * sizeof(float);
  }
  return 0;
}

wick_status wick_kv_cache_init(wick_kv_cache *cache, const wick_allocator *allocator,
                               wick_cache_type type, int n_layers, int n_kv_heads, int head_dim,
                               int n_blocks, wick_error *error) {
  *cache = (wick_kv_cache){.allocator = allocator,
                           .type = type,
                           .n_layers = n_layers,
                           .n_kv_heads = n_kv_heads,
                           .head_dim = head_dim,
                           .n_blocks = n_blocks,
                           .n_free = n_blocks,
                           .head_bytes = head_share_bytes(type, head_dim)};
  uint64_t bytes = cache->head_bytes;
  size_t data_bytes, table_bytes = (size_t)n_blocks * sizeof(int32_t);
  if (!wick_multiply_u64(bytes, (uint64_t)n_layers * (uint64_t)n_kv_heads, &bytes) ||
      !wick_to_size(bytes, &cache->block_bytes) ||
      !wick_multiply_u64(bytes, (uint64_t)n_blocks, &bytes) || !wick_to_size(bytes, &data_bytes))
    return wick_fail(error, WICK_ERROR_MEMORY, "KV cache: %d blocks do not fit in memory",
                     n_blocks);
  cache->data = wick_allocate(allocator, data_bytes, WICK_ALIGNMENT);
  cache->free = wick_allocate(allocator, table_bytes, WICK_ALIGNMENT);
  cache->references = wick_allocate(allocator, table_bytes, WICK_ALIGNMENT);
  if (!cache->data || !cache->free || !cache->references) {
    wick_kv_cache_destroy(cache);
    return wick_fail(error, WICK_ERROR_MEMORY, "KV cache: no memory for %zu bytes", data_bytes);
  }
  memset(cache->references, 0, table_bytes);
  for (int i = 0; i < n_blocks; i++) cache->free[i] = n_blocks - 1 - i;
  return WICK_OK;
}

void wick_kv_cache_destroy(wick_kv_cache *cache) {
  size_t table_bytes = (size_t)cache->n_blocks * sizeof(int32_t);
  wick_release(cache->allocator, cache->data, cache->block_bytes * (size_t)cache->n_blocks,
               WICK_ALIGNMENT);
  wick_release(cache->allocator, cache->free, table_bytes, WICK_ALIGNMENT);
  wick_release(cache->allocator, cache->references, table_bytes, WICK_ALIGNMENT);
  *cache = (wick_kv_cache){0};
}

static uint8_t *block_data(const wick_kv_cache *cache, int32_t block) {
  return cache->data + (size_t)block * cache->block_bytes;
}

/* A fresh block is zeroed: what a former sequence left must not reach a sum, not even times zero
 * (it could be infinite). */
static bool take_block(wick_kv_cache *cache, wick_kv_sequence *sequence) {
  if (!cache->n_free) return false;
  int32_t block = cache->free[--cache->n_free];
  memset(block_data(cache, block), 0, cache->block_bytes);
  cache->references[block] = 1;
  sequence->blocks[sequence->n_blocks++] = block;
  return true;
}

bool wick_kv_reserve(wick_kv_cache *cache, wick_kv_sequence *sequence, int n_positions) {
  while (sequence->n_blocks < wick_kv_blocks_for(n_positions))
    if (!take_block(cache, sequence)) return false;
  return true;
}

void wick_kv_truncate(wick_kv_cache *cache, wick_kv_sequence *sequence, int n_positions) {
  int keep = wick_kv_blocks_for(n_positions);
  while (sequence->n_blocks > keep) {
    int32_t block = sequence->blocks[--sequence->n_blocks];
    if (--cache->references[block] == 0) cache->free[cache->n_free++] = block;
  }
}

bool wick_kv_fork(wick_kv_cache *cache, wick_kv_sequence *to, const wick_kv_sequence *from,
                  int n_positions, int *n_shared) {
  int whole = n_positions / WICK_KV_BLOCK;
  for (int i = 0; i < whole; i++) {
    to->blocks[to->n_blocks++] = from->blocks[i];
    cache->references[from->blocks[i]]++;
  }
  *n_shared = whole * WICK_KV_BLOCK;
  if (n_positions == *n_shared) return true;
  if (!take_block(cache, to)) return false;
  memcpy(block_data(cache, to->blocks[whole]), block_data(cache, from->blocks[whole]),
         cache->block_bytes);
  *n_shared = n_positions;
  return true;
}

static uint8_t *head_data(const wick_kv_cache *cache, const wick_kv_sequence *sequence, int layer,
                          int head, int index) {
  size_t at = (size_t)layer * (size_t)cache->n_kv_heads + (size_t)head;
  return block_data(cache, sequence->blocks[index]) + at * cache->head_bytes;
}

/* codes[i * stride] = round(x[i] / scale), scale = max|x| / 127, which is returned. */
static float store_int8(int8_t *codes, size_t stride, const float *x, size_t n) {
  float largest = 0;
  for (size_t i = 0; i < n; i++) largest = fabsf(x[i]) > largest ? fabsf(x[i]) : largest;
  float scale = largest / 127.0f, inverse = largest > 0 ? 127.0f / largest : 0;
  for (size_t i = 0; i < n; i++) {
    float code = rintf(x[i] * inverse);
    code = code > 127.0f ? 127.0f : code > -127.0f ? code : -127.0f; /* a NaN too */
    codes[i * stride] = (int8_t)code;
  }
  return scale;
}

void wick_kv_store_key(wick_kv_cache *cache, const wick_kv_sequence *sequence, int layer, int head,
                       int position, const float *k) {
  size_t n = (size_t)cache->head_dim, at = (size_t)(position % WICK_KV_BLOCK);
  uint8_t *data = head_data(cache, sequence, layer, head, position / WICK_KV_BLOCK);
  switch (cache->type) {
  case WICK_CACHE_F32:
    for (size_t i = 0; i < n; i++) ((float *)data)[i * WICK_KV_BLOCK + at] = k[i];
    break;
  case WICK_CACHE_F16:
    for (size_t i = 0; i < n; i++)
      ((uint16_t *)data)[i * WICK_KV_BLOCK + at] = wick_f32_to_f16(k[i]);
    break;
  case WICK_CACHE_INT8: {
    float *scales = (float *)(data + 2 * WICK_KV_BLOCK * n);
    scales[at] = store_int8((int8_t *)data + at, WICK_KV_BLOCK, k, n);
    break;
  }
  }
}

void wick_kv_store_value(wick_kv_cache *cache, const wick_kernels *kernels,
                         const wick_kv_sequence *sequence, int layer, int head, int position,
                         const float *v) {
  size_t n = (size_t)cache->head_dim, at = (size_t)(position % WICK_KV_BLOCK);
  uint8_t *data = head_data(cache, sequence, layer, head, position / WICK_KV_BLOCK);
  size_t first = WICK_KV_BLOCK * n + at * n;
  switch (cache->type) {
  case WICK_CACHE_F32:
    memcpy((float *)data + first, v, n * sizeof *v);
    break;
  case WICK_CACHE_F16:
    kernels->f32_to_f16((uint16_t *)data + first, v, n);
    break;
  case WICK_CACHE_INT8: {
    float *scales = (float *)(data + 2 * WICK_KV_BLOCK * n);
    scales[WICK_KV_BLOCK + at] = store_int8((int8_t *)data + first, 1, v, n);
    break;
  }
  }
}

const float *wick_kv_load_keys(const wick_kv_cache *cache, const wick_kernels *kernels,
                               const wick_kv_sequence *sequence, int layer, int head, int index,
                               float *scratch) {
  size_t dim = (size_t)cache->head_dim, n = WICK_KV_BLOCK * dim;
  const uint8_t *data = head_data(cache, sequence, layer, head, index);
  if (cache->type == WICK_CACHE_F32) return (const float *)data;
  if (cache->type == WICK_CACHE_F16) {
    kernels->f16_to_f32(scratch, (const uint16_t *)data, n);
    return scratch;
  }
  const int8_t *codes = (const int8_t *)data;
  const float *scales = (const float *)(data + 2 * n);
  for (size_t i = 0; i < n; i++) scratch[i] = (float)codes[i] * scales[i % WICK_KV_BLOCK];
  return scratch;
}

const float *wick_kv_load_values(const wick_kv_cache *cache, const wick_kernels *kernels,
                                 const wick_kv_sequence *sequence, int layer, int head, int index,
                                 float *scratch) {
  size_t dim = (size_t)cache->head_dim, n = WICK_KV_BLOCK * dim;
  const uint8_t *data = head_data(cache, sequence, layer, head, index);
  if (cache->type == WICK_CACHE_F32) return (const float *)data + n;
  if (cache->type == WICK_CACHE_F16) {
    kernels->f16_to_f32(scratch, (const uint16_t *)data + n, n);
    return scratch;
  }
  const int8_t *codes = (const int8_t *)data + n;
  const float *scales = (const float *)(data + 2 * n) + WICK_KV_BLOCK;
  for (size_t p = 0; p < WICK_KV_BLOCK; p++)
    for (size_t i = 0; i < dim; i++) scratch[p * dim + i] = (float)codes[p * dim + i] * scales[p];
  return scratch;
}
