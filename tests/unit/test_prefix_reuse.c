/* Conversations that take turns: each turn reuses all that its conversation has computed, however
 * few requests may be live, and its answer is a fresh engine's. */
#include "engine_support.h"

enum { N_CONTEXT = 256, TURN = 7, ANSWER = 5 };

/* All that was said so far. */
typedef struct conversation {
  int32_t ids[N_CONTEXT];
  int n;
} conversation;

static wick_engine *make(const wick_model *model, int max_requests, bool reuse) {
  const wick_engine_options options = {.n_context = N_CONTEXT,
                                       .n_cache_tokens = 64 * N_CONTEXT,
                                       .max_requests = max_requests,
                                       .no_prefix_reuse = !reuse};
  wick_error error = {0};
  wick_engine *engine = NULL;
  if (wick_engine_new(model, &options, &engine, &error) != WICK_OK) printf("# %s\n", error.message);
  return engine;
}

static bool ask(wick_engine *engine, const int32_t *ids, int n, test_answer *answer) {
  wick_error error = {0};
  wick_request_id id;
  wick_request request = {.ids = ids,
                          .n_ids = (size_t)n,
                          .max_tokens = ANSWER,
                          .ignore_end = true,
                          .sampling = wick_sampling_default(),
                          .n_logprobs = 0};
  return wick_engine_submit(engine, &request, &id, &error) == WICK_OK &&
         test_run(engine, &id, answer, 1, &error) && answer->n == ANSWER;
}

/* n_conversations in turn, four rounds. The last token of an answer was never computed. */
static void test_turns(tap *t, const wick_model *model, int max_requests, int n_conversations) {
  static conversation all[16];
  int n_vocab = wick_model_get_info(model)->n_vocab;
  wick_engine *engine = make(model, max_requests, true), *fresh = make(model, max_requests, false);
  bool reused = true, same = true;
  for (int round = 0; round < 4; round++)
    for (int i = 0; i < n_conversations; i++) {
      conversation *each = &all[i];
      if (round == 0) each->n = 0;
      int computed = round ? each->n - 1 : 0;
      int n_new = round ? TURN : 30 + i;
      test_prompt(each->ids + each->n, n_new, n_vocab, (uint32_t)(100 * i + round));
      if (round == 0) each->ids[0] = i; /* no two have a beginning in common */
      each->n += n_new;
      test_answer answer, expected;
      same = same && ask(engine, each->ids, each->n, &answer) &&
             ask(fresh, each->ids, each->n, &expected) && test_same(&answer, &expected);
      if (answer.n_reused != computed) {
        reused = false;
        printf("# round %d, conversation %d: expected %d reused, found %d\n", round, i, computed,
               answer.n_reused);
      }
      memcpy(each->ids + each->n, answer.tokens, sizeof(int32_t) * ANSWER);
      each->n += ANSWER;
    }
  char what[160];
  snprintf(what, sizeof what, "%d conversations, %d at once: each turn reuses the one before",
           n_conversations, max_requests);
  CHECK(t, reused, what);
  CHECK(t, same, "and answers as a fresh engine");
  wick_engine_free(engine);
  wick_engine_free(fresh);
}

/* A prompt that many others branch from is kept, whole, while they come and go. */
static void test_branches(tap *t, const wick_model *model) {
  enum { N = 90, COMMON = 40, N_BRANCHES = 40 };
  int n_vocab = wick_model_get_info(model)->n_vocab;
  wick_engine *engine = make(model, 1, true);
  int32_t trunk[N], branch[N];
  test_answer answer;
  test_prompt(trunk, N, n_vocab, 11);
  bool ran = ask(engine, trunk, N, &answer), reused = true;
  for (int i = 0; i < N_BRANCHES; i++) {
    memcpy(branch, trunk, sizeof trunk);
    branch[COMMON] = (trunk[COMMON] + 1 + i) % n_vocab;
    ran = ran && ask(engine, branch, COMMON + 5, &answer);
    reused = reused && answer.n_reused == COMMON;
  }
  CHECK(t, ran && reused, "forty branches reuse what they have in common with the first prompt");
  CHECK(t, ask(engine, trunk, N, &answer) && answer.n_reused == N - 1, "which is all there still");
  wick_engine_free(engine);
}

int main(void) {
  tap t = {0};
  wick_error error = {0};
  wick_model *model = test_load("type_q4_1", 1 << 16, NULL, NULL, &error);
  CHECK(&t, model != NULL, "the model loads");
  if (model) {
    test_turns(&t, model, 1, 2);
    test_turns(&t, model, 1, 5);
    test_turns(&t, model, 3, 12);
    test_branches(&t, model);
  }
  wick_model_free(model);
  return tap_done(&t);
}
