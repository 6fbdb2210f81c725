/* An engine's options, checked before anything is sized by them. */
#include "engine/engine.h"

#if defined(__wasm__)
enum { DEFAULT_CHUNK = 64 };
#else
enum { DEFAULT_CHUNK = 256 };
#endif
enum { DEFAULT_CONTEXT = 2048, DEFAULT_REQUESTS = 16, MAX_REQUESTS = 1024, MAX_CHUNK = 1 << 14 };

/* The cache must hold one whole sequence. Sets its size in tokens. */
static wick_status choose_context(wick_engine *engine, const wick_engine_options *options,
                                  int *n_cache, wick_error *error) {
  int most = engine->model->config.n_context;
  int n_context = options->n_context;
  if (n_context == 0) n_context = most < DEFAULT_CONTEXT ? most : DEFAULT_CONTEXT;
  if (n_context < 1 || n_context > most)
    return wick_fail(error, WICK_ERROR_ARGUMENT,
                     "engine: expected a context of 1 to %d tokens, found %d", most, n_context);
  *n_cache = options->n_cache_tokens ? options->n_cache_tokens : n_context;
  if (*n_cache < n_context)
    return wick_fail(error, WICK_ERROR_ARGUMENT,
                     "engine: expected a cache of at least the context's %d tokens, found %d",
                     n_context, *n_cache);
  engine->n_context = n_context;
  return WICK_OK;
}

static wick_status choose_cache_type(const wick_engine *engine, wick_cache_type asked,
                                     wick_cache_type *type, wick_error *error) {
  *type = engine->model->exact && asked == WICK_CACHE_F16 ? WICK_CACHE_F32 : asked;
  switch (asked) {
  case WICK_CACHE_F16:
  case WICK_CACHE_F32:
  case WICK_CACHE_INT8:
    return WICK_OK;
  }
  return wick_fail(error, WICK_ERROR_ARGUMENT,
                   "engine: expected a cache type of %d to %d, found %d", (int)WICK_CACHE_F16,
                   (int)WICK_CACHE_INT8, (int)asked);
}

wick_status wick_engine_choose(wick_engine *engine, const wick_engine_options *options,
                               int *n_blocks, wick_cache_type *type, wick_error *error) {
  int n_cache = 0;
  WICK_TRY(choose_context(engine, options, &n_cache, error));
  WICK_TRY(choose_cache_type(engine, options->cache_type, type, error));
  int n_chunk = options->n_chunk ? options->n_chunk : DEFAULT_CHUNK;
  int max_requests = options->max_requests ? options->max_requests : DEFAULT_REQUESTS;
  if (n_chunk < 1 || n_chunk > MAX_CHUNK)
    return wick_fail(error, WICK_ERROR_ARGUMENT, "engine: expected a chunk of 1 to %d, found %d",
                     MAX_CHUNK, n_chunk);
  if (max_requests < 1 || max_requests > MAX_REQUESTS)
    return wick_fail(error, WICK_ERROR_ARGUMENT,
                     "engine: expected 1 to %d requests at once, found %d", MAX_REQUESTS,
                     max_requests);
  if (options->n_threads < 0)
    return wick_fail(error, WICK_ERROR_ARGUMENT, "engine: expected at least 0 threads, found %d",
                     options->n_threads);
  engine->n_chunk = engine->n_prompt_step = n_chunk;
  engine->max_requests = max_requests;
  *n_blocks = wick_kv_blocks_for(n_cache);
  return WICK_OK;
}
