/* The thread pool: every thread runs once, barriers order what is written, shares cover everything,
 * and late or few threads don't matter. */
#include <stdatomic.h>

#include "core/pool.h"
#include "tap.h"

enum { MOST = 8, ROUNDS = 50 };

typedef struct shared {
  int slots[MOST];
  int sums[MOST];
  atomic_int n_wrong, n_ran;
} shared;

/* Each round every thread writes its slot, and after the barrier reads all of them. */
static void talk(void *context, const wick_team *team) {
  shared *state = context;
  atomic_fetch_add(&state->n_ran, 1);
  for (int round = 1; round <= ROUNDS; round++) {
    state->slots[team->thread] = round * (team->thread + 1);
    wick_barrier(team);
    int sum = 0;
    for (int i = 0; i < team->n_threads; i++) sum += state->slots[i];
    if (sum != round * team->n_threads * (team->n_threads + 1) / 2)
      atomic_fetch_add(&state->n_wrong, 1);
    wick_barrier(team);
  }
}

static void test_talk(tap *t, int n_threads) {
  wick_pool *pool = NULL;
  wick_error error;
  char what[80];
  snprintf(what, sizeof what, "%d threads agree at %d barriers", n_threads, 2 * ROUNDS);
  if (wick_pool_new(wick_allocator_default(), n_threads, &pool, &error) != WICK_OK) {
    CHECK(t, 0, what);
    return;
  }
  shared state = {0};
  int expected = 0;
  for (int run = 0; run < 20; run++) {
    /* A thread may register during a run: it joins from the next one on. */
    int before = wick_pool_threads(pool), ran = atomic_load(&state.n_ran);
    wick_pool_run(pool, talk, &state);
    expected = atomic_load(&state.n_ran) - ran;
    if (expected < before || expected > n_threads) atomic_fetch_add(&state.n_wrong, 1);
  }
  CHECK(t, atomic_load(&state.n_wrong) == 0, what);
  CHECK(t, wick_pool_max_threads(pool) == n_threads, "the pool has the size asked for");
  wick_pool_free(pool);
}

static void test_ranges(tap *t) {
  bool right = true;
  for (int n_threads = 1; n_threads <= 7; n_threads++)
    for (size_t n = 0; n < 40; n++) {
      size_t next = 0;
      for (int i = 0; i < n_threads; i++) {
        wick_team team = {NULL, i, n_threads};
        size_t begin, end;
        wick_team_range(&team, n, &begin, &end);
        right = right && begin == next && end >= begin && end - begin <= n / (size_t)n_threads + 1;
        next = end;
      }
      right = right && next == n;
    }
  CHECK(t, right, "shares are contiguous, even, and cover everything once");
}

int main(void) {
  tap t = {0};
  for (int n = 1; n <= MOST; n += n < 3 ? 1 : 5) test_talk(&t, n);
  test_ranges(&t);
  return tap_done(&t);
}
