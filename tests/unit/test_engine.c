/* The engine's promises to a caller: finish reasons, stop strings, cancelling, prefix reuse,
 * refusals, and that a cache never leaks blocks. */
#include "engine/engine.h"
#include "engine_support.h"

static wick_engine *make(const wick_model *model, wick_engine_options options) {
  wick_error error = {0};
  wick_engine *engine = NULL;
  if (wick_engine_new(model, &options, &engine, &error) != WICK_OK) printf("# %s\n", error.message);
  return engine;
}

static bool ask(wick_engine *engine, const int32_t *ids, int n, int max_tokens, const char *stop,
                test_answer *answer) {
  wick_error error = {0};
  wick_request request = {.ids = ids,
                          .n_ids = (size_t)n,
                          .max_tokens = max_tokens,
                          .stop = &stop,
                          .n_stop = stop ? 1 : 0,
                          .sampling = wick_sampling_default(),
                          .n_logprobs = 3,
                          .ignore_end = true};
  wick_request_id id;
  bool ran = wick_engine_submit(engine, &request, &id, &error) == WICK_OK &&
             test_run(engine, &id, answer, 1, &error);
  if (!ran) printf("# %s\n", error.message);
  return ran && answer->done == 1;
}

static void test_finish(tap *t, const wick_model *model) {
  int32_t ids[40];
  test_answer full, answer;
  test_prompt(ids, 40, wick_model_get_info(model)->n_vocab, 3);
  wick_engine *engine = make(model, (wick_engine_options){.n_context = 64});
  CHECK(t, ask(engine, ids, 40, 0, NULL, &full), "a request runs");
  CHECK(t, full.finish == WICK_FINISH_LENGTH && full.n == 24, "a full context ends it");
  CHECK(t, ask(engine, ids, 40, 5, NULL, &answer), "a request runs");
  CHECK(t, answer.finish == WICK_FINISH_LENGTH && answer.n == 5, "max_tokens ends it");
  CHECK(t, memcmp(answer.tokens, full.tokens, 5 * sizeof(int32_t)) == 0, "with the same tokens");

  /* Stop at two plain characters from the answer: what was shown is what stood before them. */
  char stop[3] = {0};
  size_t at = full.n_text / 3;
  while (at + 2 < full.n_text &&
         ((signed char)full.text[at] <= 0 || (signed char)full.text[at + 1] <= 0))
    at++;
  memcpy(stop, full.text + at, 2);
  const char *first = NULL;
  for (size_t i = 0; i + 2 <= full.n_text && !first; i++)
    if (memcmp(full.text + i, stop, 2) == 0) first = full.text + i;
  CHECK(t, ask(engine, ids, 40, 0, stop, &answer), "a request with a stop string runs");
  CHECK(t, answer.finish == WICK_FINISH_STOP, "a stop string ends it");
  CHECK(t,
        first && answer.n_text == (size_t)(first - full.text) &&
            memcmp(answer.text, full.text, answer.n_text) == 0,
        "the text is all that stood before the stop string");
  wick_engine_free(engine);
}

static void test_refusals(tap *t, const wick_model *model) {
  wick_engine *engine = make(model, (wick_engine_options){.n_context = 64, .max_requests = 1});
  int32_t ids[64] = {0};
  wick_error error = {0};
  wick_request_id id;
  wick_request request = {
      .ids = ids, .n_ids = 64, .sampling = wick_sampling_default(), .n_logprobs = -1};
  CHECK(t,
        wick_engine_submit(engine, &request, &id, &error) == WICK_ERROR_ARGUMENT &&
            strstr(error.message, "63") && strstr(error.message, "64"),
        "a prompt that can never fit is refused with the counts");
  request.n_ids = 0;
  CHECK(t, wick_engine_submit(engine, &request, &id, &error) == WICK_ERROR_ARGUMENT, "no prompt");
  request.n_ids = 3;
  ids[1] = wick_model_get_info(model)->n_vocab;
  CHECK(t, wick_engine_submit(engine, &request, &id, &error) == WICK_ERROR_ARGUMENT, "a bad id");
  ids[1] = 0;
  request.sampling.top_p = -1;
  CHECK(t,
        wick_engine_submit(engine, &request, &id, &error) == WICK_ERROR_ARGUMENT &&
            strstr(error.message, "top_p"),
        "a bad setting is refused by name");
  request.sampling.top_p = 1;
  CHECK(t, wick_engine_submit(engine, &request, &id, &error) == WICK_OK, "a good one is taken");
  CHECK(t, wick_engine_submit(engine, &request, &id, &error) == WICK_ERROR_FULL, "one too many");
  int32_t more[65] = {0};
  CHECK(t,
        wick_engine_evaluate(engine, more, 65, 0, 0, NULL, NULL, &error) == WICK_ERROR_ARGUMENT &&
            strstr(error.message, "65"),
        "so is a text for evaluate that can never fit");
  CHECK(t,
        wick_engine_evaluate(engine, more, 2, 0, 3, NULL, NULL, &error) == WICK_ERROR_ARGUMENT &&
            strstr(error.message, "first_output") && strstr(error.message, "3"),
        "and a first_output beyond the text, by its name");
  wick_engine_free(engine);
}

/* An event is what it was when it was queued, whatever is submitted before it is taken. */
static void test_queued_events(tap *t, const wick_model *model) {
  wick_engine *engine = make(model, (wick_engine_options){.n_context = 64, .max_requests = 1});
  const int32_t ids[3] = {1, 2, 3};
  wick_request request = {.ids = ids,
                          .n_ids = 3,
                          .max_tokens = 1,
                          .ignore_end = true,
                          .sampling = wick_sampling_default(),
                          .n_logprobs = 2};
  wick_error error = {0};
  wick_request_id first, second;
  wick_event event = {0};
  bool ran = wick_engine_submit(engine, &request, &first, &error) == WICK_OK &&
             wick_engine_step(engine, &error) == WICK_OK &&
             wick_engine_submit(engine, &request, &second, &error) == WICK_OK &&
             wick_engine_next(engine, &event);
  CHECK(t, ran && event.type == WICK_EVENT_TOKEN && event.id == first, "a token waits");
  CHECK(t,
        ran && event.n_alternatives == 2 && event.alternatives[0].id == event.token &&
            event.alternatives[0].logprob == event.logprob,
        "with its alternatives, the greedy choice first, beside the next request");
  wick_engine_free(engine);
}

/* Blocks that nobody holds, and those that retained sequences hold, are all of them. */
static bool all_blocks_accounted(wick_engine *engine) {
  int n_held = 0, n_referenced = 0;
  for (int i = 0; i < engine->n_sequences; i++)
    if (engine->sequences[i].state == SEQUENCE_RETAINED) n_held += engine->sequences[i].kv.n_blocks;
  for (int i = 0; i < engine->cache.n_blocks; i++) n_referenced += engine->cache.references[i];
  int n_used = 0;
  for (int i = 0; i < engine->cache.n_blocks; i++) n_used += engine->cache.references[i] > 0;
  return n_held == n_referenced && n_used + engine->cache.n_free == engine->cache.n_blocks;
}

static void test_cancel(tap *t, const wick_model *model) {
  int32_t ids[100];
  wick_error error = {0};
  test_answer answers[2], alone;
  wick_request_id request_ids[2];
  test_prompt(ids, 100, wick_model_get_info(model)->n_vocab, 5);
  wick_engine_options options = {.n_context = 128, .n_cache_tokens = 512, .n_chunk = 8};
  wick_engine *engine = make(model, options);
  wick_request request = {.ids = ids,
                          .n_ids = 100,
                          .max_tokens = 6,
                          .ignore_end = true,
                          .sampling = wick_sampling_default(),
                          .n_logprobs = 0};
  CHECK(t, ask(engine, ids, 100, 6, NULL, &alone), "the request alone");
  wick_engine_free(engine);

  engine = make(model, options);
  wick_engine_submit(engine, &request, &request_ids[0], &error);
  for (int i = 0; i < 3; i++) { /* three chunks of the prefill, then stop it */
    wick_event event;
    wick_engine_step(engine, &error);
    while (wick_engine_next(engine, &event)) continue;
  }
  wick_engine_cancel(engine, request_ids[0]);
  wick_engine_submit(engine, &request, &request_ids[1], &error);
  CHECK(t, test_run(engine, request_ids, answers, 2, &error), "runs");
  CHECK(t, answers[0].finish == WICK_FINISH_CANCELLED && answers[0].n == 0, "one is cancelled");
  CHECK(t, answers[1].finish == WICK_FINISH_LENGTH && test_same(&answers[1], &alone),
        "the other is as if nothing had happened");
  CHECK(t, answers[1].n_reused == 24, "what the cancelled one computed is reused");
  CHECK(t, all_blocks_accounted(engine), "no block is lost");
  wick_engine_cancel(engine, 12345);
  CHECK(t, wick_engine_idle(engine), "cancelling nobody does nothing");
  wick_engine_free(engine);
}

/* Tokens of a long prompt that one step computes beside a request that decodes; -1 when the
 * decoding one did not get its token. */
static int prompt_step(tap *t, const wick_model *model, int limit) {
  wick_engine *engine =
      make(model, (wick_engine_options){.n_context = 128, .n_cache_tokens = 256, .n_chunk = 32});
  int32_t ids[100];
  test_prompt(ids, 100, wick_model_get_info(model)->n_vocab, 9);
  wick_request request = {
      .ids = ids, .n_ids = 1, .ignore_end = true, .sampling = wick_sampling_default()};
  wick_request_id decoding, prefilling;
  wick_error error = {0};
  wick_event event;
  bool ran = wick_engine_submit(engine, &request, &decoding, &error) == WICK_OK;
  request.n_ids = 100;
  ran = ran && wick_engine_submit(engine, &request, &prefilling, &error) == WICK_OK;
  wick_engine_limit_prompts(engine, limit);
  int n_done = 0, n_before = 0;
  bool decoded = false;
  for (int step = 0; ran && step < 2; step++) {
    n_before = n_done;
    decoded = false;
    ran = wick_engine_step(engine, &error) == WICK_OK;
    while (wick_engine_next(engine, &event)) {
      if (event.id == prefilling) n_done = event.n_prompt_done;
      if (event.id == decoding && event.type == WICK_EVENT_TOKEN) decoded = true;
    }
  }
  CHECK(t, ran, "a prompt runs beside a request that decodes");
  wick_engine_free(engine);
  return decoded ? n_done - n_before : -1;
}

static void test_limit(tap *t, const wick_model *model) {
  CHECK(t, prompt_step(t, model, 8) == 8, "a step computes as much of a prompt as is allowed");
  CHECK(t, prompt_step(t, model, 0) == 1, "and at least one token of it");
  CHECK(t, prompt_step(t, model, 1000) == 31, "and never more than the chunk, others included");
}

/* Many requests of a few families through a cache that holds only some of them. */
static void test_pressure(tap *t, const wick_model *model) {
  enum { N = 60 };
  int n_vocab = wick_model_get_info(model)->n_vocab;
  wick_engine_options tight = {
      .n_context = 128, .n_cache_tokens = 256, .n_chunk = 32, .max_requests = 4};
  wick_engine_options roomy = {.n_context = 128, .no_prefix_reuse = true};
  wick_engine *small = make(model, tight);
  bool same = true, accounted = true;
  int n_reused = 0;
  for (int i = 0; i < N; i++) {
    int32_t ids[100];
    int n = 10 + (i * 37) % 80;
    test_prompt(ids, n, n_vocab, (uint32_t)(i % 3)); /* prompts of a family share prefixes */
    ids[n - 1] = i % n_vocab;
    test_answer a, b;
    wick_engine *fresh = make(model, roomy);
    same = same && ask(small, ids, n, 8, NULL, &a) && ask(fresh, ids, n, 8, NULL, &b) &&
           test_same(&a, &b);
    wick_engine_free(fresh);
    n_reused += a.n_reused;
    accounted = accounted && all_blocks_accounted(small);
  }
  CHECK(t, same, "sixty requests through a tight cache give what fresh engines give");
  CHECK(t, n_reused > 0, "prefixes were reused");
  CHECK(t, accounted, "no block is ever lost");
  wick_engine_free(small);
}

/* What evaluate left in the cache does not keep a request out that needs all of it. */
static void test_room_after_evaluate(tap *t, const wick_model *model) {
  wick_engine *engine = make(model, (wick_engine_options){.n_context = 64});
  wick_error error = {0};
  int32_t ids[40];
  test_prompt(ids, 40, wick_model_get_info(model)->n_vocab, 7);
  CHECK(t, wick_engine_evaluate(engine, ids, 40, 0, 40, NULL, NULL, &error) == WICK_OK,
        "evaluate fills most of the cache");
  wick_request request = {.ids = ids, .n_ids = 3, .sampling = wick_sampling_default()};
  wick_request_id id;
  wick_event event;
  CHECK(t, wick_engine_submit(engine, &request, &id, &error) == WICK_OK, "a request is taken");
  CHECK(t, wick_engine_step(engine, &error) == WICK_OK && wick_engine_next(engine, &event),
        "and runs in the next step");
  CHECK(t, wick_engine_evaluate(engine, ids, 1, 40, 0, NULL, NULL, &error) != WICK_OK,
        "evaluate cannot go on from what was evicted");
  wick_engine_free(engine);
}

int main(void) {
  tap t = {0};
  wick_error error = {0};
  wick_model *model = test_load("type_q4_1", 1 << 16, NULL, NULL, &error);
  CHECK(&t, model != NULL, "the model loads");
  if (!model) {
    printf("# %s\n", error.message);
    return tap_done(&t);
  }
  test_finish(&t, model);
  test_refusals(&t, model);
  test_queued_events(&t, model);
  test_cancel(&t, model);
  test_limit(&t, model);
  test_pressure(&t, model);
  test_room_after_evaluate(&t, model);
  wick_model_free(model);
  return tap_done(&t);
}
