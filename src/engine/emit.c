/* Emitting: logits -> token -> text -> events. Text leaves only as whole UTF-8 sequences that can
 * no longer be the start of a stop string. */
#include "engine/engine.h"

#include <string.h>

static wick_status no_memory(wick_error *error) {
  return wick_fail(error, WICK_ERROR_MEMORY, "engine: no memory for a token's text");
}

static queued_event *push_event(wick_engine *engine, engine_request *request,
                                wick_event_type type) {
  queued_event *queued = &engine->events[engine->n_events++];
  *queued = (queued_event){
      .event = {.type = type,
                .id = request->id,
                .token = -1,
                .n_prompt = request->n_prompt,
                .n_prompt_done = request->sequence->n_computed < request->n_prompt
                                     ? request->sequence->n_computed
                                     : request->n_prompt,
                .n_reused = request->n_reused,
                .n_generated = request->n_generated},
      .text_at = engine->text.n,
  };
  return queued;
}

/* Well-formed text through the stop strings to the engine's text; *stopped when one was found. */
static wick_status show(wick_engine *engine, engine_request *request, const char *text, size_t n,
                        bool *stopped, wick_error *error) {
  enum { PIECE = 4096 };
  while (n && !*stopped) {
    size_t piece = n < PIECE ? n : PIECE, n_out = piece;
    const char *out = text;
    if (request->stop) *stopped = wick_stop_push(request->stop, text, piece, &out, &n_out);
    if (!wick_buffer_append(&engine->text, engine->allocator, (const uint8_t *)out, n_out))
      return no_memory(error);
    text += piece;
    n -= piece;
  }
  return WICK_OK;
}

/* A token's bytes through the UTF-8 stream and the stop strings. */
static wick_status show_token(wick_engine *engine, engine_request *request, int32_t token,
                              bool *stopped, wick_error *error) {
  enum { BYTES = 256 };
  char text[3 * (BYTES + 3)];
  const wick_tokenizer *tokenizer = engine->model->tokenizer;
  if (wick_tokenizer_is_special(tokenizer, token)) return WICK_OK;
  wick_string bytes = wick_tokenizer_token_bytes(tokenizer, token);
  for (size_t at = 0; at < bytes.n && !*stopped; at += BYTES) {
    size_t n = bytes.n - at < BYTES ? bytes.n - at : BYTES;
    size_t n_text = wick_utf8_stream_push(&request->utf8, bytes.data + at, n, text);
    WICK_TRY(show(engine, request, text, n_text, stopped, error));
  }
  return WICK_OK;
}

void wick_emit_progress(wick_engine *engine, engine_request *request) {
  push_event(engine, request, WICK_EVENT_PROGRESS);
}

wick_status wick_emit_done(wick_engine *engine, engine_request *request, wick_finish finish,
                           wick_error *error) {
  queued_event *queued = push_event(engine, request, WICK_EVENT_DONE);
  queued->event.finish = finish;
  char text[16];
  bool stopped = false;
  wick_status status =
      show(engine, request, text, wick_utf8_stream_flush(&request->utf8, text), &stopped, error);
  if (status == WICK_OK && request->stop && !stopped) {
    const char *held;
    size_t n;
    wick_stop_flush(request->stop, &held, &n);
    if (!wick_buffer_append(&engine->text, engine->allocator, (const uint8_t *)held, n))
      status = no_memory(error);
  }
  queued->event.n_bytes = engine->text.n - queued->text_at;
  wick_sequence_retain(engine, request->sequence);
  wick_sampler_free(request->sampler);
  wick_stop_free(request->stop);
  request->sequence = NULL;
  request->sampler = NULL;
  request->stop = NULL;
  atomic_store(&request->id, 0);
  return status;
}

wick_status wick_emit_token(wick_engine *engine, engine_request *request, float *logits,
                            wick_error *error) {
  engine_sequence *sequence = request->sequence;
  size_t n_vocab = (size_t)engine->model->config.n_vocab;
  queued_event *queued = push_event(engine, request, WICK_EVENT_TOKEN);
  size_t n_best = request->n_logprobs > 0 ? (size_t)request->n_logprobs : 0;
  if (n_best > n_vocab) n_best = n_vocab;
  float *raw = request->n_logprobs >= 0 ? engine->raw_logits : NULL;
  if (raw) memcpy(raw, logits, n_vocab * sizeof *raw);
  int32_t token =
      wick_sampler_draw(request->sampler, logits, sequence->ids, (size_t)sequence->n_ids);
  if (raw) {
    queued->event.logprob = wick_logprobs(raw, n_vocab, token, request->alternatives, n_best);
    queued->event.alternatives = request->alternatives;
    queued->event.n_alternatives = n_best;
  }
  sequence->ids[sequence->n_ids++] = token;
  queued->event.token = token;
  queued->event.n_generated = ++request->n_generated;

  bool ended = !request->ignore_end && wick_tokenizer_is_end(engine->model->tokenizer, token);
  bool stopped = false;
  if (!ended) WICK_TRY(show_token(engine, request, token, &stopped, error));
  queued->event.n_bytes = engine->text.n - queued->text_at;
  if (stopped) { /* what is held belongs to the stop string */
    wick_stop_free(request->stop);
    request->stop = NULL;
    request->utf8 = (wick_utf8_stream){0};
  }
  if (ended || stopped) return wick_emit_done(engine, request, WICK_FINISH_STOP, error);
  if (request->n_generated == request->max_tokens || sequence->n_ids == engine->n_context)
    return wick_emit_done(engine, request, WICK_FINISH_LENGTH, error);
  return WICK_OK;
}

bool wick_engine_next(wick_engine *engine, wick_event *out) {
  if (engine->next_event == engine->n_events) return false;
  const queued_event *queued = &engine->events[engine->next_event++];
  *out = queued->event;
  out->text = engine->text.data ? (const char *)engine->text.data + queued->text_at : "";
  return true;
}
