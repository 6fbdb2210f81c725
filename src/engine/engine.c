/* The engine: submit, and step = schedule -> forward -> sample -> emit. One step is bounded:
 * decoding requests bring one token each, and prompts share what is left of n_chunk. Source: Orca's
 * iteration-level scheduling (Yu et al., 2022). Chapters 21, 23. */
#include "engine/engine.h"

#include <string.h>

#if defined(__wasm__)
enum { DEFAULT_CHUNK = 64 };
#else
enum { DEFAULT_CHUNK = 256 };
#endif
enum { DEFAULT_CONTEXT = 2048, DEFAULT_REQUESTS = 16, MAX_REQUESTS = 1024, MAX_CHUNK = 1 << 14 };

static wick_status choose_sizes(wick_engine *engine, const wick_engine_options *options,
                                int *n_blocks, wick_error *error) {
  int most = engine->model->config.n_context;
  int n_context = options->n_context;
  if (n_context == 0) n_context = most < DEFAULT_CONTEXT ? most : DEFAULT_CONTEXT;
  if (n_context < 1 || n_context > most)
    return wick_fail(error, WICK_ERROR_ARGUMENT,
                     "engine: expected a context of 1 to %d tokens, found %d", most, n_context);
  int n_cache = options->n_cache_tokens ? options->n_cache_tokens : n_context;
  if (n_cache < n_context)
    return wick_fail(error, WICK_ERROR_ARGUMENT,
                     "engine: expected a cache of at least the context's %d tokens, found %d",
                     n_context, n_cache);
  int n_chunk = options->n_chunk ? options->n_chunk : DEFAULT_CHUNK;
  int max_requests = options->max_requests ? options->max_requests : DEFAULT_REQUESTS;
  if (n_chunk < 1 || n_chunk > MAX_CHUNK)
    return wick_fail(error, WICK_ERROR_ARGUMENT, "engine: expected a chunk of 1 to %d, found %d",
                     MAX_CHUNK, n_chunk);
  if (max_requests < 1 || max_requests > MAX_REQUESTS)
    return wick_fail(error, WICK_ERROR_ARGUMENT,
                     "engine: expected 1 to %d requests at once, found %d", MAX_REQUESTS,
                     max_requests);
  engine->n_context = n_context;
  engine->n_chunk = n_chunk;
  engine->max_requests = max_requests;
  *n_blocks = wick_kv_blocks_for(n_cache);
  return WICK_OK;
}

static bool take_tables(wick_engine *engine) {
  wick_arena *arena = &engine->arena;
  size_t n_vocab = (size_t)engine->model->config.n_vocab;
  uint64_t n_chunk = (uint64_t)engine->n_chunk, n_requests = (uint64_t)engine->max_requests;
  uint64_t n_context = (uint64_t)engine->n_context;
  engine->n_sequences = 2 * engine->max_requests + 1;
  engine->requests = WICK_ARENA_ARRAY(arena, engine_request, n_requests);
  engine->sequences = WICK_ARENA_ARRAY(arena, engine_sequence, (uint64_t)engine->n_sequences);
  engine->batch_ids = WICK_ARENA_ARRAY(arena, int32_t, n_chunk);
  engine->batch_positions = WICK_ARENA_ARRAY(arena, int32_t, n_chunk);
  engine->batch_outputs = WICK_ARENA_ARRAY(arena, int32_t, n_chunk);
  engine->batch_sequences = WICK_ARENA_ARRAY(arena, wick_kv_sequence *, n_chunk);
  engine->logits = WICK_ARENA_ARRAY(arena, float, n_requests *n_vocab);
  engine->raw_logits = WICK_ARENA_ARRAY(arena, float, n_vocab);
  engine->events = WICK_ARENA_ARRAY(arena, queued_event, 2 * n_requests);
  if (!engine->requests || !engine->sequences || !engine->batch_ids || !engine->batch_positions ||
      !engine->batch_outputs || !engine->batch_sequences || !engine->logits ||
      !engine->raw_logits || !engine->events)
    return false;
  for (int i = 0; i < engine->n_sequences; i++) {
    engine_sequence *each = &engine->sequences[i];
    each->ids = WICK_ARENA_ARRAY(arena, int32_t, n_context);
    each->kv.blocks =
        WICK_ARENA_ARRAY(arena, int32_t, (uint64_t)wick_kv_blocks_for(engine->n_context));
    if (!each->ids || !each->kv.blocks) return false;
  }
  engine->private = &engine->sequences[engine->n_sequences - 1];
  engine->private->state = SEQUENCE_LIVE;
  return true;
}

static wick_status build(wick_engine *engine, const wick_engine_options *options,
                         wick_error *error) {
  const wick_config *config = &engine->model->config;
  int n_blocks = 0;
  WICK_TRY(choose_sizes(engine, options, &n_blocks, error));
  if (!take_tables(engine)) return wick_fail(error, WICK_ERROR_MEMORY, "engine: no memory");
  WICK_TRY(wick_pool_new(engine->allocator, options->n_threads, &engine->pool, error));
  wick_cache_type type = options->cache_type;
  if (engine->model->exact && type == WICK_CACHE_F16) type = WICK_CACHE_F32;
  WICK_TRY(wick_kv_cache_init(&engine->cache, engine->allocator, type, config->n_layers,
                              config->n_kv_heads, config->head_dim, n_blocks, error));
  return wick_workspace_new(engine->allocator, engine->model, (size_t)engine->n_chunk,
                            engine->n_context, wick_pool_max_threads(engine->pool),
                            &engine->workspace, error);
}

wick_status wick_engine_new(const wick_model *model, const wick_engine_options *options,
                            wick_engine **out, wick_error *error) {
  static const wick_engine_options defaults = {0};
  if (!options) options = &defaults;
  const wick_allocator *allocator =
      options->allocator ? options->allocator : wick_allocator_default();
  wick_engine *engine = wick_allocate(allocator, sizeof *engine, WICK_ALIGNMENT);
  if (!engine) return wick_fail(error, WICK_ERROR_MEMORY, "engine: no memory");
  *engine = (wick_engine){
      .allocator = allocator, .model = model, .prefix_reuse = !options->no_prefix_reuse};
  wick_arena_init(&engine->arena, allocator);
  wick_status status = build(engine, options, error);
  if (status != WICK_OK) {
    wick_engine_free(engine);
    return status;
  }
  *out = engine;
  return WICK_OK;
}

void wick_engine_free(wick_engine *engine) {
  if (!engine) return;
  for (int i = 0; engine->requests && i < engine->max_requests; i++) {
    wick_sampler_free(engine->requests[i].sampler);
    wick_stop_free(engine->requests[i].stop);
  }
  wick_pool_free(engine->pool);
  wick_workspace_free(engine->workspace);
  if (engine->cache.allocator) wick_kv_cache_destroy(&engine->cache);
  wick_buffer_free(&engine->text, engine->allocator);
  wick_arena_free(&engine->arena);
  wick_release(engine->allocator, engine, sizeof *engine, WICK_ALIGNMENT);
}

int wick_engine_threads(const wick_engine *engine) {
  return wick_pool_threads(engine->pool);
}

#if defined(__wasm__)
void wick_engine_worker(wick_engine *engine) {
  wick_pool_worker(engine->pool);
}
#endif

static wick_status check_request(const wick_engine *engine, const wick_request *asked,
                                 wick_error *error) {
  int n_vocab = engine->model->config.n_vocab;
  if (asked->n_ids < 1)
    return wick_fail(error, WICK_ERROR_ARGUMENT, "prompt: expected at least 1 token, found 0");
  if (asked->n_ids >= (size_t)engine->n_context)
    return wick_fail(error, WICK_ERROR_FULL,
                     "prompt: expected at most %d tokens in a context of %d, found %zu",
                     engine->n_context - 1, engine->n_context, asked->n_ids);
  for (size_t i = 0; i < asked->n_ids; i++)
    if (asked->ids[i] < 0 || asked->ids[i] >= n_vocab)
      return wick_fail(error, WICK_ERROR_ARGUMENT,
                       "prompt: expected token ids from 0 to %d, found %d", n_vocab - 1,
                       asked->ids[i]);
  if (asked->max_tokens < 0)
    return wick_fail(error, WICK_ERROR_ARGUMENT, "max_tokens: expected at least 0, found %d",
                     asked->max_tokens);
  if (asked->n_logprobs < -1 || asked->n_logprobs > WICK_MAX_LOGPROBS)
    return wick_fail(error, WICK_ERROR_ARGUMENT, "n_logprobs: expected -1 to %d, found %d",
                     WICK_MAX_LOGPROBS, asked->n_logprobs);
  return WICK_OK;
}

wick_status wick_engine_submit(wick_engine *engine, const wick_request *asked, wick_request_id *id,
                               wick_error *error) {
  WICK_TRY(check_request(engine, asked, error));
  engine_request *place = NULL;
  for (int i = 0; i < engine->max_requests && !place; i++)
    if (!engine->requests[i].id) place = &engine->requests[i];
  if (!place)
    return wick_fail(error, WICK_ERROR_FULL,
                     "engine: expected at most %d requests at once, found more",
                     engine->max_requests);
  wick_sampler *sampler;
  wick_stop *stop = NULL;
  WICK_TRY(wick_sampler_new(engine->allocator, &asked->sampling,
                            (size_t)engine->model->config.n_vocab, &sampler, error));
  if (asked->n_stop) {
    wick_status status = wick_stop_new(engine->allocator, asked->stop, asked->n_stop, &stop, error);
    if (status != WICK_OK) {
      wick_sampler_free(sampler);
      return status;
    }
  }
  engine_sequence *mine = wick_sequence_take(engine);
  memcpy(mine->ids, asked->ids, asked->n_ids * sizeof *mine->ids);
  mine->n_ids = (int)asked->n_ids;
  int n_most = engine->n_context;
  if (asked->max_tokens && asked->max_tokens < n_most - mine->n_ids)
    n_most = mine->n_ids + asked->max_tokens;
  if (++engine->last_id == 0) engine->last_id = 1;
  *place = (engine_request){
      .sequence = mine,
      .n_prompt = mine->n_ids,
      .max_tokens = asked->max_tokens,
      .max_blocks = wick_kv_blocks_for(n_most),
      .n_logprobs = asked->n_logprobs,
      .ignore_end = asked->ignore_end,
      .sampler = sampler,
      .stop = stop,
      .output = -1,
  };
  atomic_store(&place->id, engine->last_id);
  *id = engine->last_id;
  return WICK_OK;
}

void wick_engine_cancel(wick_engine *engine, wick_request_id id) {
  for (int i = 0; id && i < engine->max_requests; i++)
    if (atomic_load(&engine->requests[i].id) == id)
      atomic_store(&engine->requests[i].cancelled, id);
}

static bool is_cancelled(const engine_request *each) {
  return each->id && atomic_load(&each->cancelled) == each->id;
}

bool wick_engine_idle(const wick_engine *engine) {
  if (engine->next_event < engine->n_events) return false;
  for (int i = 0; i < engine->max_requests; i++)
    if (engine->requests[i].id) return false;
  return true;
}

/* A pass is given up only when nobody in it waits for its result. */
static bool all_cancelled(void *context) {
  const wick_engine *engine = context;
  for (int i = 0; i < engine->max_requests; i++) {
    const engine_request *each = &engine->requests[i];
    if (each->id && each->n_batch && !is_cancelled(each)) return false;
  }
  return true;
}

/* Requests in the order in which they came: the next id after after, or NULL. */
static engine_request *next_request(wick_engine *engine, wick_request_id after) {
  engine_request *found = NULL;
  for (int i = 0; i < engine->max_requests; i++) {
    engine_request *each = &engine->requests[i];
    if (each->id > after && (!found || each->id < found->id)) found = each;
  }
  return found;
}

/* In order, and nobody overtakes: a large request is not starved by small ones. */
static void admit_waiting(wick_engine *engine) {
  for (engine_request *each = next_request(engine, 0); each; each = next_request(engine, each->id))
    if (!each->admitted && !wick_sequence_admit(engine, each)) return;
}

/* Add n tokens of a request to the batch; its blocks are promised. */
static size_t add_to_batch(wick_engine *engine, engine_request *each, size_t at, int n,
                           int *n_outputs) {
  engine_sequence *mine = each->sequence;
  wick_kv_reserve(&engine->cache, &mine->kv, mine->n_computed + n);
  for (int i = 0; i < n; i++, at++) {
    engine->batch_ids[at] = mine->ids[mine->n_computed + i];
    engine->batch_positions[at] = mine->n_computed + i;
    engine->batch_sequences[at] = &mine->kv;
  }
  each->n_batch = n;
  each->output = -1;
  if (mine->n_computed + n == mine->n_ids) {
    engine->batch_outputs[*n_outputs] = (int32_t)at - 1;
    each->output = (*n_outputs)++;
  }
  return at;
}

static size_t schedule(wick_engine *engine, int *n_outputs) {
  size_t n = 0, room = (size_t)engine->n_chunk;
  *n_outputs = 0;
  for (int i = 0; i < engine->max_requests; i++) engine->requests[i].n_batch = 0;
  /* Decoding requests first: each waits for one token only. */
  for (int decoding = 1; decoding >= 0; decoding--)
    for (engine_request *each = next_request(engine, 0); each && n < room;
         each = next_request(engine, each->id)) {
      size_t left = (size_t)(each->sequence->n_ids - each->sequence->n_computed);
      if (!each->admitted || each->n_batch || (left == 1) != decoding) continue;
      n = add_to_batch(engine, each, n, (int)(left < room - n ? left : room - n), n_outputs);
    }
  return n;
}

static wick_status finish_cancelled(wick_engine *engine, wick_error *error) {
  for (int i = 0; i < engine->max_requests; i++)
    if (is_cancelled(&engine->requests[i]))
      WICK_TRY(wick_emit_done(engine, &engine->requests[i], WICK_FINISH_CANCELLED, error));
  return WICK_OK;
}

wick_status wick_engine_step(wick_engine *engine, wick_error *error) {
  if (engine->next_event < engine->n_events) return WICK_OK;
  engine->next_event = engine->n_events = engine->text.n = 0;
  WICK_TRY(finish_cancelled(engine, error));
  if (engine->n_events) return WICK_OK;
  admit_waiting(engine);
  int n_outputs;
  wick_batch batch = {
      .n_tokens = schedule(engine, &n_outputs),
      .ids = engine->batch_ids,
      .positions = engine->batch_positions,
      .sequences = engine->batch_sequences,
      .outputs = engine->batch_outputs,
      .logits = engine->logits,
      .cancelled = all_cancelled,
      .context = engine,
  };
  if (!batch.n_tokens) return WICK_OK;
  batch.n_outputs = (size_t)n_outputs;
  if (wick_forward(engine->model, engine->workspace, &engine->cache, engine->pool, &batch) !=
      WICK_OK)
    return finish_cancelled(engine, error);
  size_t n_vocab = (size_t)engine->model->config.n_vocab;
  for (int i = 0; i < engine->max_requests; i++) {
    engine_request *each = &engine->requests[i];
    if (!each->id || !each->n_batch) continue;
    each->sequence->n_computed += each->n_batch;
    if (each->output >= 0)
      WICK_TRY(
          wick_emit_token(engine, each, engine->logits + (size_t)each->output * n_vocab, error));
    else
      wick_emit_progress(engine, each);
  }
  return WICK_OK;
}
