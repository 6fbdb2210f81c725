/* Emitting: logits -> token -> text -> events. Text leaves only as whole UTF-8 sequences that can
 * no longer be the start of a stop string. Nothing here can fail: the engine took room for the
 * longest text of a step when it was made. */
#include "engine/engine.h"

#include <assert.h>
#include <string.h>

bool wick_emit_text_bytes(const wick_tokenizer *tokenizer, int max_requests, uint64_t *out) {
  size_t longest = 0;
  int n_tokens = wick_tokenizer_get_info(tokenizer)->n_vocab;
  for (int id = 0; id < n_tokens; id++) {
    size_t n = wick_tokenizer_token_bytes(tokenizer, id).n;
    if (n > longest) longest = n;
  }
  /* Each byte becomes U+FFFD at worst, those that the UTF-8 stream held (at most 3) too; and what
   * was held for a stop string may be let go. */
  return wick_add_u64(longest, 3, out) && wick_multiply_u64(*out, 3, out) &&
         wick_add_u64(*out, WICK_STOP_MAX_BYTES, out) &&
         wick_multiply_u64(*out, (uint64_t)max_requests, out);
}

static void append_text(wick_engine *engine, const char *text, size_t n) {
  assert(n <= engine->text_bytes - engine->n_text);
  memcpy(engine->text + engine->n_text, text, n);
  engine->n_text += n;
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
      .text_at = engine->n_text,
  };
  return queued;
}

/* Well-formed text through the stop strings to the engine's text; *stopped when one was found. */
static void show(wick_engine *engine, engine_request *request, const char *text, size_t n,
                 bool *stopped) {
  enum { PIECE = 4096 };
  while (n && !*stopped) {
    size_t piece = n < PIECE ? n : PIECE, n_out = piece;
    const char *out = text;
    if (request->stop) *stopped = wick_stop_push(request->stop, text, piece, &out, &n_out);
    append_text(engine, out, n_out);
    text += piece;
    n -= piece;
  }
}

/* A token's bytes through the UTF-8 stream and the stop strings. */
static void show_token(wick_engine *engine, engine_request *request, int32_t token, bool *stopped) {
  enum { BYTES = 256 };
  char text[3 * (BYTES + 3)];
  const wick_tokenizer *tokenizer = engine->model->tokenizer;
  if (wick_tokenizer_is_special(tokenizer, token)) return;
  wick_string bytes = wick_tokenizer_token_bytes(tokenizer, token);
  for (size_t at = 0; at < bytes.n && !*stopped; at += BYTES) {
    size_t n = bytes.n - at < BYTES ? bytes.n - at : BYTES;
    size_t n_text = wick_utf8_stream_push(&request->utf8, bytes.data + at, n, text);
    show(engine, request, text, n_text, stopped);
  }
}

void wick_emit_progress(wick_engine *engine, engine_request *request) {
  push_event(engine, request, WICK_EVENT_PROGRESS);
}

void wick_emit_done(wick_engine *engine, engine_request *request, wick_finish finish) {
  queued_event *queued = push_event(engine, request, WICK_EVENT_DONE);
  queued->event.finish = finish;
  char text[16];
  bool stopped = false;
  show(engine, request, text, wick_utf8_stream_flush(&request->utf8, text), &stopped);
  if (request->stop && !stopped) {
    const char *held;
    size_t n;
    wick_stop_flush(request->stop, &held, &n);
    append_text(engine, held, n);
  }
  queued->event.n_bytes = engine->n_text - queued->text_at;
  wick_sequence_retain(engine, request->sequence);
  wick_sampler_free(request->sampler);
  wick_stop_free(request->stop);
  request->sequence = NULL;
  request->sampler = NULL;
  request->stop = NULL;
  wick_request_withdraw(engine, request);
}

void wick_emit_token(wick_engine *engine, engine_request *request, float *logits) {
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
    queued->event.logprob = wick_logprobs(raw, n_vocab, token, queued->alternatives, n_best);
    queued->event.alternatives = queued->alternatives;
    queued->event.n_alternatives = n_best;
  }
  sequence->ids[sequence->n_ids++] = token;
  queued->event.token = token;
  queued->event.n_generated = ++request->n_generated;

  bool ended = !request->ignore_end && wick_tokenizer_is_end(engine->model->tokenizer, token);
  bool stopped = false;
  if (!ended) show_token(engine, request, token, &stopped);
  queued->event.n_bytes = engine->n_text - queued->text_at;
  if (stopped) { /* what is held belongs to the stop string */
    wick_stop_free(request->stop);
    request->stop = NULL;
    request->utf8 = (wick_utf8_stream){0};
  }
  bool full = (request->max_tokens && request->n_generated >= request->max_tokens) ||
              sequence->n_ids >= engine->n_context;
  if (ended || stopped)
    wick_emit_done(engine, request, WICK_FINISH_STOP);
  else if (full)
    wick_emit_done(engine, request, WICK_FINISH_LENGTH);
}

bool wick_engine_next(wick_engine *engine, wick_event *out) {
  if (engine->next_event == engine->n_events) return false;
  const queued_event *queued = &engine->events[engine->next_event++];
  *out = queued->event;
  out->text = engine->text + queued->text_at;
  return true;
}
