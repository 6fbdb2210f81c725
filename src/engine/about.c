/* What an engine says of itself: its memory, and where the time of steps goes. Chapter 4. */
#include "engine/engine.h"
#include "model/workspace.h"

wick_engine_info wick_engine_get_info(const wick_engine *engine) {
  const wick_kv_cache *cache = &engine->cache;
  return (wick_engine_info){
      .cache_type = cache->type,
      .n_context = engine->n_context,
      .cache_bytes = (uint64_t)cache->n_blocks * cache->block_bytes,
      .cache_bytes_per_token = cache->block_bytes / WICK_KV_BLOCK,
      .work_bytes = (uint64_t)engine->arena.total_bytes + engine->workspace->arena.total_bytes,
  };
}

const char *wick_stage_name(wick_stage stage) {
  static const char *const names[WICK_N_STAGES] = {
      "embedding",
      "norms and quantizing",
      "query, key, value",
      "attention",
      "attention output",
      "gate and up",
      "down",
      "head",
      "sampling",
      "waiting",
  };
  return names[stage];
}

void wick_engine_profile(wick_engine *engine, bool on) {
  for (int i = 0; i < engine->workspace->max_threads; i++)
    engine->workspace->threads[i].stopwatch = (wick_stopwatch){.on = on};
}

double wick_engine_stage_seconds(const wick_engine *engine, wick_stage stage) {
  uint64_t sum = 0;
  for (int i = 0; i < engine->workspace->max_threads; i++)
    sum += engine->workspace->threads[i].stopwatch.spent[stage];
  return (double)sum * 1e-9;
}
