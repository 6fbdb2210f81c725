/* A team of threads that run one function together, with barriers inside. A forward pass is one
 * run; its fused stages are separated by wick_barrier. A join spins for some 50 microseconds, then
 * sleeps, so an oversubscribed machine does not burn. With one thread everything is a plain call.
 * Natively the pool starts pthreads; on wasm the host starts workers, and each that calls
 * wick_pool_worker joins the team from the next run on, so a worker that never starts is never
 * waited for. Chapter 7. */
#ifndef WICK_CORE_POOL_H
#define WICK_CORE_POOL_H

#include "core/memory.h"

enum { WICK_MAX_THREADS = 64 };

typedef struct wick_pool wick_pool;

/* One thread's view of a run. */
typedef struct wick_team {
  wick_pool *pool;
  int thread, n_threads;
} wick_team;

typedef void wick_team_function(void *context, const wick_team *team);

/* n_threads in 1 .. WICK_MAX_THREADS (clamped), the caller included. */
wick_status wick_pool_new(const wick_allocator *allocator, int n_threads, wick_pool **out,
                          wick_error *error);
/* Ends the workers first. pool may be NULL. */
void wick_pool_free(wick_pool *pool);
/* The most threads that a run may have, and how many the next one will have. */
int wick_pool_max_threads(const wick_pool *pool);
int wick_pool_threads(const wick_pool *pool);

/* Run function on every thread and return when all are done. The caller is thread 0. Runs of one
 * pool do not overlap or nest. */
void wick_pool_run(wick_pool *pool, wick_team_function *function, void *context);

/* Inside a run: wait for all threads. Everything written before is visible after. */
void wick_barrier(const wick_team *team);

/* This thread's share of n items: [*begin, *end), contiguous, differing by one at most. */
static inline void wick_team_range(const wick_team *team, size_t n, size_t *begin, size_t *end) {
  size_t each = n / (size_t)team->n_threads, rest = n % (size_t)team->n_threads;
  size_t thread = (size_t)team->thread;
  *begin = thread * each + (thread < rest ? thread : rest);
  *end = *begin + each + (thread < rest ? 1 : 0);
}

/* The body of a worker that the host started; returns when the pool is freed. Workers beyond the
 * pool's most threads return at once. */
void wick_pool_worker(wick_pool *pool);

#endif
