/* The engine: submit, and step = schedule -> forward -> sample -> emit. One step is bounded:
 * decoding requests bring one token each, and prompts share what is left of n_chunk. Source: Orca's
 * iteration-level scheduling (Yu et al., 2022). Chapters 21, 23. */
#include "engine/engine.h"

#include <assert.h>
#include <string.h>

#include "model/workspace.h"

/* Conversations that may take turns on an engine of one request, each with its prefix kept. */
enum { KEPT_AT_LEAST = 16 };

static bool take_tables(wick_engine *engine) {
  wick_arena *arena = &engine->arena;
  uint64_t n_vocab = (uint64_t)engine->model->config.n_vocab;
  uint64_t n_chunk = (uint64_t)engine->n_chunk, n_requests = (uint64_t)engine->max_requests;
  uint64_t n_context = (uint64_t)engine->n_context, n_logits, text_bytes;
  if (!wick_multiply_u64(n_requests, n_vocab, &n_logits) ||
      !wick_emit_text_bytes(engine->model->tokenizer, engine->max_requests, &text_bytes) ||
      !wick_to_size(text_bytes, &engine->text_bytes))
    return false;
  engine->n_kept = engine->max_requests < KEPT_AT_LEAST ? KEPT_AT_LEAST : engine->max_requests;
  engine->n_sequences = engine->max_requests + engine->n_kept + 1;
  engine->requests = WICK_ARENA_ARRAY(arena, engine_request, n_requests);
  engine->sequences = WICK_ARENA_ARRAY(arena, engine_sequence, (uint64_t)engine->n_sequences);
  engine->batch_ids = WICK_ARENA_ARRAY(arena, int32_t, n_chunk);
  engine->batch_positions = WICK_ARENA_ARRAY(arena, int32_t, n_chunk);
  engine->batch_outputs = WICK_ARENA_ARRAY(arena, int32_t, n_chunk);
  engine->batch_sequences = WICK_ARENA_ARRAY(arena, wick_kv_sequence *, n_chunk);
  engine->wanted = WICK_ARENA_ARRAY(arena, _Atomic wick_request_id, n_requests);
  engine->logits = WICK_ARENA_ARRAY(arena, float, n_logits);
  engine->raw_logits = WICK_ARENA_ARRAY(arena, float, n_vocab);
  engine->events = WICK_ARENA_ARRAY(arena, queued_event, 2 * n_requests);
  engine->text = wick_arena_allocate(arena, text_bytes, 1);
  if (!engine->requests || !engine->sequences || !engine->batch_ids || !engine->batch_positions ||
      !engine->batch_outputs || !engine->batch_sequences || !engine->logits ||
      !engine->raw_logits || !engine->events || !engine->wanted || !engine->text)
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
  wick_cache_type type;
  WICK_TRY(wick_engine_choose(engine, options, &n_blocks, &type, error));
  if (!take_tables(engine)) return wick_fail(error, WICK_ERROR_MEMORY, "engine: no memory");
  WICK_TRY(wick_pool_new(engine->allocator, options->n_threads, &engine->pool, error));
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
    return wick_fail(error, WICK_ERROR_ARGUMENT,
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
      .id = engine->last_id,
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
  atomic_store(&engine->wanted[place - engine->requests], engine->last_id);
  *id = engine->last_id;
  return WICK_OK;
}

void wick_engine_cancel(wick_engine *engine, wick_request_id id) {
  for (int i = 0; id && i < engine->max_requests; i++) {
    wick_request_id expected = id; /* the place may be another's in the same moment */
    atomic_compare_exchange_strong(&engine->wanted[i], &expected, 0);
  }
}

static bool is_cancelled(const wick_engine *engine, const engine_request *each) {
  return each->id && atomic_load(&engine->wanted[each - engine->requests]) != each->id;
}

void wick_request_withdraw(wick_engine *engine, engine_request *request) {
  atomic_store(&engine->wanted[request - engine->requests], 0);
  request->id = 0;
}

int wick_engine_limit_prompts(wick_engine *engine, int n_tokens) {
  if (n_tokens > engine->n_chunk) n_tokens = engine->n_chunk;
  engine->n_prompt_step = n_tokens < 1 ? 1 : n_tokens;
  return engine->n_prompt_step;
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
    if (each->id && each->n_batch && !is_cancelled(engine, each)) return false;
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
  bool reserved = wick_kv_reserve(&engine->cache, &mine->kv, mine->n_computed + n);
  assert(reserved && mine->kv.n_blocks <= each->max_blocks);
  (void)reserved;
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
  for (int decoding = 1; decoding >= 0; decoding--) {
    if (!decoding && room - n > (size_t)engine->n_prompt_step)
      room = n + (size_t)engine->n_prompt_step;
    for (engine_request *each = next_request(engine, 0); each && n < room;
         each = next_request(engine, each->id)) {
      size_t left = (size_t)(each->sequence->n_ids - each->sequence->n_computed);
      if (!each->admitted || each->n_batch || (left == 1) != decoding) continue;
      n = add_to_batch(engine, each, n, (int)(left < room - n ? left : room - n), n_outputs);
    }
  }
  return n;
}

static void finish_cancelled(wick_engine *engine) {
  for (int i = 0; i < engine->max_requests; i++)
    if (is_cancelled(engine, &engine->requests[i]))
      wick_emit_done(engine, &engine->requests[i], WICK_FINISH_CANCELLED);
}

wick_status wick_engine_step(wick_engine *engine, wick_error *error) {
  (void)error;
  if (engine->next_event < engine->n_events) return WICK_OK;
  engine->next_event = engine->n_events = engine->n_text = 0;
  finish_cancelled(engine);
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
      WICK_OK) {
    finish_cancelled(engine);
    return WICK_OK;
  }
  size_t n_vocab = (size_t)engine->model->config.n_vocab;
  wick_stopwatch *stopwatch = &engine->workspace->threads[0].stopwatch;
  wick_stopwatch_enter(stopwatch, WICK_STAGE_SAMPLING);
  for (int i = 0; i < engine->max_requests; i++) {
    engine_request *each = &engine->requests[i];
    if (!each->id || !each->n_batch) continue;
    each->sequence->n_computed += each->n_batch;
    if (each->output >= 0)
      wick_emit_token(engine, each, engine->logits + (size_t)each->output * n_vocab);
    else
      wick_emit_progress(engine, each);
  }
  wick_stopwatch_stop(stopwatch);
  return WICK_OK;
}
