/* Raw evaluation: logits and hidden states of given tokens, in a sequence of its own. */
#include "engine/engine.h"

#include <string.h>

static wick_status check(const wick_engine *engine, const int32_t *ids, size_t n_ids, size_t n_past,
                         size_t first_output, wick_error *error) {
  size_t n_context = (size_t)engine->n_context;
  if (n_past > n_context || n_ids > n_context - n_past)
    return wick_fail(error, WICK_ERROR_ARGUMENT, "ids: expected at most %d tokens, found %zu",
                     engine->n_context, n_past + n_ids);
  if (n_past != 0 && n_past != (size_t)engine->private->n_computed)
    return wick_fail(error, WICK_ERROR_ARGUMENT, "n_past: expected 0 or %d, found %zu",
                     engine->private->n_computed, n_past);
  if (n_ids == 0)
    return wick_fail(error, WICK_ERROR_ARGUMENT, "ids: expected at least 1 token, found 0");
  if (first_output > n_ids)
    return wick_fail(error, WICK_ERROR_ARGUMENT, "first_output: expected 0 to %zu, found %zu",
                     n_ids, first_output);
  for (size_t i = 0; i < n_ids; i++)
    if (ids[i] < 0 || ids[i] >= engine->model->config.n_vocab)
      return wick_fail(error, WICK_ERROR_ARGUMENT, "ids: expected ids from 0 to %d, found %d",
                       engine->model->config.n_vocab - 1, ids[i]);
  return WICK_OK;
}

/* One chunk: tokens at .. at + n - 1 of ids. */
static void run_chunk(wick_engine *engine, const int32_t *ids, size_t n_ids, size_t at, size_t n,
                      size_t first_output, float *logits, float *hidden) {
  engine_sequence *mine = engine->private;
  const wick_config *config = &engine->model->config;
  size_t n_outputs = 0, skipped = at > first_output ? at - first_output : 0;
  for (size_t i = 0; i < n; i++) {
    engine->batch_ids[i] = ids[at + i];
    engine->batch_positions[i] = mine->n_computed + (int32_t)i;
    engine->batch_sequences[i] = &mine->kv;
    if (logits && at + i >= first_output) engine->batch_outputs[n_outputs++] = (int32_t)i;
  }
  wick_batch batch = {
      .n_tokens = n,
      .ids = engine->batch_ids,
      .positions = engine->batch_positions,
      .sequences = engine->batch_sequences,
      .n_outputs = n_outputs,
      .outputs = engine->batch_outputs,
      .logits = n_outputs ? logits + skipped * (size_t)config->n_vocab : NULL,
      .hidden = hidden ? hidden + at * (size_t)config->n_embd : NULL,
      .hidden_stride = n_ids,
  };
  wick_forward(engine->model, engine->workspace, &engine->cache, engine->pool, &batch);
  memcpy(mine->ids + mine->n_computed, ids + at, n * sizeof *ids);
  mine->n_computed += (int)n;
  mine->n_ids = mine->n_computed;
}

wick_status wick_engine_evaluate(wick_engine *engine, const int32_t *ids, size_t n_ids,
                                 size_t n_past, size_t first_output, float *logits, float *hidden,
                                 wick_error *error) {
  WICK_TRY(check(engine, ids, n_ids, n_past, first_output, error));
  engine_sequence *mine = engine->private;
  wick_kv_truncate(&engine->cache, &mine->kv, (int)n_past);
  mine->n_computed = (int)n_past;
  int n_positions = (int)(n_past + n_ids);
  if (!wick_sequence_make_room(engine, wick_kv_blocks_for(n_positions) - mine->kv.n_blocks, mine) ||
      !wick_kv_reserve(&engine->cache, &mine->kv, n_positions))
    return wick_fail(error, WICK_ERROR_FULL, "cache: expected room for %d tokens, found too few",
                     n_positions);
  for (size_t at = 0, n; at < n_ids; at += n) {
    n = n_ids - at < (size_t)engine->n_chunk ? n_ids - at : (size_t)engine->n_chunk;
    run_chunk(engine, ids, n_ids, at, n, first_output, logits, hidden);
  }
  return WICK_OK;
}
