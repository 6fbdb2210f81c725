/* For engine tests: small models from tests/golden, loaded in pieces, and requests run to their
 * end. */
#ifndef WICK_TESTS_ENGINE_SUPPORT_H
#define WICK_TESTS_ENGINE_SUPPORT_H

#include "bytes.h"
#include "tap.h"
#include "wick.h"

/* A GGUF of tests/golden/generality, streamed in pieces of piece bytes; 0: mapped, and then the
 * bytes, which the caller frees after the model, are in *kept. */
static inline wick_model *test_load(const char *name, size_t piece,
                                    const wick_load_options *options, test_bytes *kept,
                                    wick_error *error) {
  char path[256];
  snprintf(path, sizeof path, "tests/golden/generality/%s.gguf", name);
  test_bytes file = test_read_file(path);
  wick_loader *loader = NULL;
  wick_model *model = NULL;
  wick_status status = wick_loader_new(options, &loader, error);
  if (status == WICK_OK && piece == 0) {
    status = wick_loader_map(loader, path, file.data, file.n, error);
  } else if (status == WICK_OK) {
    status = wick_loader_begin(loader, path, file.n, error);
    for (size_t at = 0; status == WICK_OK && at < file.n; at += piece)
      status = wick_loader_write(loader, file.data + at, file.n - at < piece ? file.n - at : piece,
                                 error);
  }
  if (status == WICK_OK) status = wick_loader_finish(loader, &model, error);
  wick_loader_free(loader);
  if (piece == 0 && kept)
    *kept = file;
  else
    free(file.data);
  return model;
}

enum { TEST_MAX_TOKENS = 256 };

/* What a request gave. */
typedef struct test_answer {
  int32_t tokens[TEST_MAX_TOKENS];
  float logprobs[TEST_MAX_TOKENS];
  int n, n_reused;
  wick_finish finish;
  char text[8192];
  size_t n_text;
  int done;
} test_answer;

static inline void test_take_event(const wick_event *event, test_answer *answer) {
  if (event->type == WICK_EVENT_TOKEN) {
    answer->tokens[answer->n] = event->token;
    answer->logprobs[answer->n++] = event->logprob;
  }
  if (event->type != WICK_EVENT_PROGRESS) {
    memcpy(answer->text + answer->n_text, event->text, event->n_bytes);
    answer->n_text += event->n_bytes;
  }
  if (event->type == WICK_EVENT_DONE) {
    answer->finish = event->finish;
    answer->n_reused = event->n_reused;
    answer->done++;
  }
}

/* Run until every request is done; answers[i] belongs to ids[i]. false on an error. */
static inline bool test_run(wick_engine *engine, const wick_request_id *ids, test_answer *answers,
                            int n, wick_error *error) {
  for (int i = 0; i < n; i++) memset(&answers[i], 0, sizeof answers[i]);
  while (!wick_engine_idle(engine)) {
    if (wick_engine_step(engine, error) != WICK_OK) return false;
    wick_event event;
    while (wick_engine_next(engine, &event))
      for (int i = 0; i < n; i++)
        if (ids[i] == event.id) test_take_event(&event, &answers[i]);
  }
  return true;
}

static inline bool test_same(const test_answer *a, const test_answer *b) {
  return a->n == b->n && memcmp(a->tokens, b->tokens, (size_t)a->n * sizeof *a->tokens) == 0 &&
         memcmp(a->logprobs, b->logprobs, (size_t)a->n * sizeof *a->logprobs) == 0;
}

/* A deterministic prompt of n ids below n_vocab. */
static inline void test_prompt(int32_t *ids, int n, int n_vocab, uint32_t seed) {
  for (int i = 0; i < n; i++) {
    seed = seed * 1664525u + 1013904223u;
    ids[i] = (int32_t)((seed >> 8) % (uint32_t)n_vocab);
  }
}

#endif
