/* design.md's promise: results do not depend on batch, chunks, cache reuse, threads, or on the
 * pieces in which a file came, bit for bit. */
#include <stdlib.h>

#include "engine_support.h"

enum { N_PROMPT = 150 };

static float *logits_of(const wick_model *model, const wick_engine_options *options,
                        const int32_t *ids, int n, wick_error *error) {
  wick_engine *engine = NULL;
  size_t n_vocab = (size_t)wick_model_get_info(model)->n_vocab;
  float *logits = calloc((size_t)n * n_vocab, sizeof *logits);
  if (wick_engine_new(model, options, &engine, error) != WICK_OK ||
      wick_engine_evaluate(engine, ids, (size_t)n, 0, 0, logits, NULL, error) != WICK_OK) {
    printf("# %s\n", error->message);
    free(logits);
    logits = NULL;
  }
  wick_engine_free(engine);
  return logits;
}

static bool equal_logits(const wick_model *a, const wick_engine_options *a_options,
                         const wick_model *b, const wick_engine_options *b_options) {
  wick_error error = {0};
  int n_vocab = wick_model_get_info(a)->n_vocab;
  int32_t ids[N_PROMPT];
  test_prompt(ids, N_PROMPT, n_vocab, 7);
  float *x = logits_of(a, a_options, ids, N_PROMPT, &error);
  float *y = logits_of(b, b_options, ids, N_PROMPT, &error);
  bool equal = x && y && memcmp(x, y, (size_t)N_PROMPT * (size_t)n_vocab * sizeof *x) == 0;
  free(x);
  free(y);
  return equal;
}

static void test_engine_options(tap *t, const char *name, const wick_model *model,
                                wick_cache_type cache) {
  static const int chunks[] = {1, 7, 64};
  char what[160];
  wick_engine_options base = {.cache_type = cache, .n_context = 200, .n_threads = 1};
  for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
    wick_engine_options other = base;
    other.n_chunk = chunks[i];
    snprintf(what, sizeof what, "%s, cache type %d: chunks of %d", name, (int)cache, chunks[i]);
    CHECK(t, equal_logits(model, &base, model, &other), what);
  }
  for (int threads = 2; threads <= 5; threads += 3) {
    wick_engine_options other = base;
    other.n_threads = threads;
    snprintf(what, sizeof what, "%s, cache type %d: %d threads", name, (int)cache, threads);
    CHECK(t, equal_logits(model, &base, model, &other), what);
    other.n_chunk = 1;
    snprintf(what, sizeof what, "%s, cache type %d: %d threads, chunks of 1", name, (int)cache,
             threads);
    CHECK(t, equal_logits(model, &base, model, &other), what);
  }
}

static void test_pieces(tap *t, const char *name, bool exact) {
  static const size_t pieces[] = {1, 7, 4096, 1 << 20};
  wick_error error = {0};
  wick_load_options options = {.exact = exact};
  test_bytes kept = {0};
  wick_engine_options engine = {.n_context = 200};
  wick_model *mapped = test_load(name, 0, &options, &kept, &error);
  for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
    char what[160];
    options.n_threads = 1 + (int)i;
    wick_model *streamed = test_load(name, pieces[i], &options, NULL, &error);
    snprintf(what, sizeof what, "%s%s: streamed in pieces of %zu as mapped", name,
             exact ? ", exact" : "", pieces[i]);
    CHECK(t, mapped && streamed && equal_logits(mapped, &engine, streamed, &engine), what);
    wick_model_free(streamed);
  }
  wick_model_free(mapped);
  free(kept.data);
}

/* Requests alone, then together with others, then after others on a warm cache. */
static void test_batch(tap *t, const char *name, const wick_model *model) {
  enum { N = 5, LENGTH = 24 };
  static const int lengths[N] = {3, 70, 33, 1, 64};
  wick_error error = {0};
  int n_vocab = wick_model_get_info(model)->n_vocab;
  int32_t prompts[N][80];
  wick_request requests[N];
  static test_answer alone[N], together[N], again[N];
  wick_request_id ids[N];
  wick_engine_options options = {.n_context = 200,
                                 .n_cache_tokens = 1024,
                                 .n_chunk = 40,
                                 .n_threads = 2,
                                 .no_prefix_reuse = true};
  for (int i = 0; i < N; i++) {
    test_prompt(prompts[i], lengths[i], n_vocab, (uint32_t)i + 1);
    requests[i] = (wick_request){.ids = prompts[i],
                                 .n_ids = (size_t)lengths[i],
                                 .max_tokens = LENGTH,
                                 .sampling = wick_sampling_default(),
                                 .n_logprobs = 0,
                                 .ignore_end = true};
    if (i % 2) requests[i].sampling.temperature = 0.8f;
    requests[i].sampling.seed = (uint64_t)i;
  }
  bool ran = true;
  wick_engine *engine = NULL;
  for (int i = 0; i < N; i++) {
    ran = ran && wick_engine_new(model, &options, &engine, &error) == WICK_OK &&
          wick_engine_submit(engine, &requests[i], &ids[i], &error) == WICK_OK &&
          test_run(engine, &ids[i], &alone[i], 1, &error);
    wick_engine_free(engine);
  }
  options.no_prefix_reuse = false;
  ran = ran && wick_engine_new(model, &options, &engine, &error) == WICK_OK;
  for (int round = 0; ran && round < 2; round++) {
    for (int i = 0; i < N; i++)
      ran = ran && wick_engine_submit(engine, &requests[i], &ids[i], &error) == WICK_OK;
    ran = ran && test_run(engine, ids, round ? again : together, N, &error);
  }
  wick_engine_free(engine);
  CHECK(t, ran, "requests run");
  if (!ran) printf("# %s\n", error.message);
  for (int i = 0; i < N; i++) {
    char what[160];
    snprintf(what, sizeof what, "%s: request %d gives %d tokens", name, i, LENGTH);
    CHECK(t, alone[i].n == LENGTH && alone[i].finish == WICK_FINISH_LENGTH, what);
    snprintf(what, sizeof what, "%s: request %d alone as in a batch", name, i);
    CHECK(t, test_same(&alone[i], &together[i]), what);
    snprintf(what, sizeof what, "%s: request %d alone as from the cache", name, i);
    CHECK(t, test_same(&alone[i], &again[i]), what);
    if (lengths[i] > 1) CHECK(t, again[i].n_reused == lengths[i] - 1, "its prompt was reused");
  }
}

int main(void) {
  static const char *const names[] = {"type_q4_1",        "type_q4_0", "qwen3_q8_0",
                                      "llama3_f16_gguf",  "type_q4_k", "odd_heads_f16_gguf",
                                      "qwen2_untied_q4_1"};
  tap t = {0};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    wick_error error = {0};
    wick_model *model = test_load(names[i], 4096, NULL, NULL, &error);
    CHECK(&t, model != NULL, names[i]);
    if (!model) {
      printf("# %s\n", error.message);
      continue;
    }
    test_engine_options(&t, names[i], model, WICK_CACHE_F16);
    if (i == 0) {
      test_engine_options(&t, names[i], model, WICK_CACHE_F32);
      test_engine_options(&t, names[i], model, WICK_CACHE_INT8);
    }
    test_pieces(&t, names[i], false);
    test_batch(&t, names[i], model);
    wick_model_free(model);
  }
  test_pieces(&t, "type_q4_1", true);
  return tap_done(&t);
}
