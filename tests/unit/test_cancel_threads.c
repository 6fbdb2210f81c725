/* wick_engine_cancel from another thread while requests come and go (the thread sanitizer watches):
 * a cancel reaches the request that it names and no other. */
#include <pthread.h>
#include <stdatomic.h>

#include "engine_support.h"

typedef struct canceller {
  wick_engine *engine;
  _Atomic wick_request_id target; /* cancelled again and again; 0: nobody */
  atomic_bool stop;
} canceller;

static void *cancel_repeatedly(void *context) {
  canceller *state = context;
  while (!atomic_load(&state->stop)) wick_engine_cancel(state->engine, atomic_load(&state->target));
  return NULL;
}

/* Waves of four requests: one is cancelled as soon as its id is known, before or while it runs. The
 * former wave's victim stays the target while the next wave takes its place. */
static void test_waves(tap *t, canceller *state, int n_vocab) {
  enum { N_WAVES = 40, N = 4 };
  static test_answer answers[N];
  bool ran = true, others_whole = true, cancelled = true;
  wick_error error = {0};
  for (int wave = 0; wave < N_WAVES && ran; wave++) {
    int32_t prompt[6];
    wick_request_id ids[N];
    test_prompt(prompt, 6, n_vocab, (uint32_t)wave);
    wick_request request = {.ids = prompt,
                            .n_ids = 6,
                            .max_tokens = 3,
                            .ignore_end = true,
                            .sampling = wick_sampling_default(),
                            .n_logprobs = -1};
    for (int i = 0; i < N; i++)
      ran = ran && wick_engine_submit(state->engine, &request, &ids[i], &error) == WICK_OK;
    int victim = wave % N;
    atomic_store(&state->target, ids[victim]);
    if (wave % 2) wick_engine_cancel(state->engine, ids[victim]);
    ran = ran && test_run(state->engine, ids, answers, N, &error);
    for (int i = 0; i < N; i++)
      if (i != victim)
        others_whole = others_whole && answers[i].finish == WICK_FINISH_LENGTH && answers[i].n == 3;
    if (wave % 2) cancelled = cancelled && answers[victim].finish == WICK_FINISH_CANCELLED;
  }
  CHECK(t, ran, "forty waves of requests run beside a thread that cancels");
  CHECK(t, cancelled, "a cancel before the first step always takes effect");
  CHECK(t, others_whole, "and nobody else is cancelled");
}

int main(void) {
  tap t = {0};
  wick_error error = {0};
  wick_model *model = test_load("type_q4_1", 1 << 16, NULL, NULL, &error);
  canceller state = {0};
  const wick_engine_options options = {.n_context = 64, .n_cache_tokens = 256, .max_requests = 4};
  bool made = model && wick_engine_new(model, &options, &state.engine, &error) == WICK_OK;
  CHECK(&t, made, "an engine");
  pthread_t thread;
  if (made && pthread_create(&thread, NULL, cancel_repeatedly, &state) == 0) {
    test_waves(&t, &state, wick_model_get_info(model)->n_vocab);
    atomic_store(&state.stop, true);
    pthread_join(thread, NULL);
  }
  wick_engine_free(state.engine);
  wick_model_free(model);
  return tap_done(&t);
}
