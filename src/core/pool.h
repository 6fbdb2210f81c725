/* A team of threads that run one function together, with barriers inside. A forward pass is one
 * run; its fused stages are separated by wick_barrier. Joins spin for some 50 microseconds of
 * time, then sleep, so an oversubscribed machine does not burn. Without threads (n = 1) everything
 * compiles to plain calls. Natively pthreads; on wasm the host starts workers that call
 * wick_pool_worker. Chapter 7. */
#ifndef WICK_CORE_POOL_H
#define WICK_CORE_POOL_H

#include "core/memory.h"

typedef struct wick_pool wick_pool;

/* One thread's view of a run. */
typedef struct wick_team {
  wick_pool *pool;
  int thread, n_threads;
} wick_team;

typedef void wick_team_function(void *context, const wick_team *team);

/* n_threads >= 1, the caller included. When not all threads can be started the pool has fewer;
 * wick_pool_threads says how many. */
wick_status wick_pool_new(const wick_allocator *allocator, int n_threads, wick_pool **out,
                          wick_error *error);
void wick_pool_free(wick_pool *pool);
int wick_pool_threads(const wick_pool *pool);

/* Run function on every thread and return when all are done. The caller is thread 0. */
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

#ifdef __wasm__
/* The body of worker number thread (1 ..); returns when the pool is freed. */
void wick_pool_worker(wick_pool *pool, int thread);
#endif

#endif
