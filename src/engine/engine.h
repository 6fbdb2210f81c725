/* The engine's own state: requests, the sequences that they run in, and those kept for their
 * prefixes. Chapters 21, 23, 24. */
#ifndef WICK_ENGINE_ENGINE_H
#define WICK_ENGINE_ENGINE_H

#include <stdatomic.h>

#include "model/forward.h"
#include "sampling/sampler.h"
#include "sampling/stop.h"
#include "tokenizer/stream.h"

enum { WICK_MAX_LOGPROBS = 20 };

typedef enum sequence_state { SEQUENCE_FREE, SEQUENCE_LIVE, SEQUENCE_RETAINED } sequence_state;

/* Token ids and the cache blocks of those that went through the model. */
typedef struct engine_sequence {
  sequence_state state;
  int32_t *ids;   /* [n_context] */
  int n_ids;      /* known */
  int n_computed; /* in the cache: the first of them */
  wick_kv_sequence kv;
  uint64_t used; /* when it was last live; the oldest retained one is evicted first */
} engine_sequence;

typedef struct engine_request {
  wick_request_id id; /* 0: this place is free */
  bool admitted;      /* has its blocks promised */
  engine_sequence *sequence;
  int n_prompt, n_reused, n_generated, max_tokens;
  int max_blocks; /* promised: what it may hold at most */
  int n_logprobs;
  bool ignore_end;
  wick_sampler *sampler;
  wick_stop *stop; /* or NULL */
  wick_utf8_stream utf8;
  int n_batch, output; /* tokens in the current batch; index of its logits, or -1 */
} engine_request;

/* An event as it waits: its text by place, and what event.alternatives points to. */
typedef struct queued_event {
  wick_event event;
  size_t text_at;
  wick_logprob alternatives[WICK_MAX_LOGPROBS];
} queued_event;

struct wick_engine {
  const wick_allocator *allocator;
  const wick_model *model;
  wick_pool *pool;
  wick_workspace *workspace;
  wick_kv_cache cache;
  wick_arena arena;
  int n_context, n_chunk, max_requests;
  int n_prompt_step; /* most tokens of prompts in one step, at most n_chunk */
  bool prefix_reuse;

  engine_request *requests; /* [max_requests] */
  /* [max_requests]: the id of each place's request while it is wanted; 0 for a free place and after
   * a cancel. All that other threads touch. */
  _Atomic wick_request_id *wanted;
  engine_sequence *sequences; /* [n_sequences]: max_requests, n_kept, and one for evaluate */
  int n_sequences, n_kept;    /* most retained ones */
  engine_sequence *private;   /* wick_engine_evaluate's */
  wick_request_id last_id;
  uint64_t clock;

  int32_t *batch_ids, *batch_positions, *batch_outputs; /* [n_chunk] */
  wick_kv_sequence **batch_sequences;                   /* [n_chunk] */
  float *logits;                                        /* [max_requests][n_vocab] */
  float *raw_logits; /* [n_vocab]: a copy for log-probabilities */

  queued_event *events; /* [2 * max_requests] */
  size_t n_events, next_event;
  char *text; /* [text_bytes]: of all waiting events */
  size_t n_text, text_bytes;
};

/* -- options.c -- */

/* Check the options and set the engine's sizes by them; the cache's blocks, and its type. */
wick_status wick_engine_choose(wick_engine *engine, const wick_engine_options *options,
                               int *n_blocks, wick_cache_type *type, wick_error *error);

/* -- engine.c -- */

/* A request's place is free from now on. */
void wick_request_withdraw(wick_engine *engine, engine_request *request);

/* -- sequences.c: which blocks belong to whom -- */

/* A free sequence, live from now on. There is one while fewer than max_requests are live. */
engine_sequence *wick_sequence_take(wick_engine *engine);
/* Give a sequence's blocks back and mark it free. */
void wick_sequence_drop(wick_engine *engine, engine_sequence *sequence);
/* Keep it for its prefix, in place of the one that was not used for longest when there are n_kept;
 * or drop it when there is nothing to reuse. */
void wick_sequence_retain(wick_engine *engine, engine_sequence *sequence);
/* Promise a request its blocks, beginning with the longest prefix that some sequence has computed;
 * false: not enough blocks yet. */
bool wick_sequence_admit(wick_engine *engine, engine_request *request);
/* Evict retained sequences, then evaluate's, but for keep, until n blocks are free beyond those
 * that are promised. */
bool wick_sequence_make_room(wick_engine *engine, int n, const engine_sequence *keep);

/* -- emit.c: from logits to events -- */

/* *out = the most bytes of text that max_requests requests can give in one step; false when that
 * is no number. */
bool wick_emit_text_bytes(const wick_tokenizer *tokenizer, int max_requests, uint64_t *out);
/* Draw the next token of a request whose logits are there, and queue its events. */
void wick_emit_token(wick_engine *engine, engine_request *request, float *logits);
void wick_emit_progress(wick_engine *engine, engine_request *request);
/* The last event; the request's place is free afterwards. */
void wick_emit_done(wick_engine *engine, engine_request *request, wick_finish finish);

#endif
