/* See pool.h. One word starts a run: its low byte is the team's size, the rest counts runs, so a
 * worker that was late to register sees from the word alone whether a run is its own. One word is
 * the barrier's phase. Waiting on a word is spinning, then sleeping on it. */
#include "core/pool.h"

#include <stdatomic.h>
#include <string.h>

#include "core/clock.h"

#if defined(__wasm__) && !defined(WICK_WASM_THREADS)
#define POOL_THREADS 0
#else
#define POOL_THREADS 1
#endif

#if POOL_THREADS && !defined(__wasm__)
#include <pthread.h>
#endif

/* A word that threads wait on; each in a cache line of its own, since waiting is polling. */
typedef struct pool_word {
  _Alignas(64) _Atomic uint32_t value;
  _Atomic uint32_t n_sleeping;
#if POOL_THREADS && !defined(__wasm__)
  pthread_mutex_t mutex;
  pthread_cond_t changed;
#endif
} pool_word;

struct wick_pool {
  pool_word run, phase;
  _Atomic uint32_t n_inside; /* workers that are still in wick_pool_worker */
  _Alignas(64) _Atomic uint32_t n_arrived;
  _Atomic uint32_t n_workers; /* registered */
  int max_threads;
  wick_team_function *function;
  void *context;
  const wick_allocator *allocator;
#if POOL_THREADS && !defined(__wasm__)
  pthread_t threads[WICK_MAX_THREADS];
  int n_started;
#endif
};

enum { RUN_STOP = 0xff, RUN_STEP = 0x100 };
_Static_assert((int)WICK_MAX_THREADS < (int)RUN_STOP,
               "a team's size must fit beside the stop mark");

#if POOL_THREADS
static inline void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

#if defined(__wasm__)
static void word_init(pool_word *word) {
  (void)word;
}
static void word_destroy(pool_word *word) {
  (void)word;
}

/* Alone in a function that is never inlined (the build holds its name): Node 20's baseline compiler
 * loses the caller's local values across the wait. */
__attribute__((noinline)) static void word_sleep(pool_word *word, uint32_t old) {
  __builtin_wasm_memory_atomic_wait32((int *)&word->value, (int)old, -1);
}

static void word_wake(pool_word *word) {
  __builtin_wasm_memory_atomic_notify((int *)&word->value, ~0u);
}

/* No clock without a call to the host: some 50 microseconds of loads. */
static bool spin_over(uint32_t round, uint64_t *start) {
  (void)start;
  return round > 20000;
}
#else
static void word_init(pool_word *word) {
  pthread_mutex_init(&word->mutex, NULL);
  pthread_cond_init(&word->changed, NULL);
}

static void word_destroy(pool_word *word) {
  pthread_mutex_destroy(&word->mutex);
  pthread_cond_destroy(&word->changed);
}

static void word_sleep(pool_word *word, uint32_t old) {
  pthread_mutex_lock(&word->mutex);
  while (atomic_load(&word->value) == old) pthread_cond_wait(&word->changed, &word->mutex);
  pthread_mutex_unlock(&word->mutex);
}

static void word_wake(pool_word *word) {
  pthread_mutex_lock(&word->mutex);
  pthread_cond_broadcast(&word->changed);
  pthread_mutex_unlock(&word->mutex);
}

/* In time, not rounds: a pause costs 40 to 140 cycles, depending on the CPU. */
static bool spin_over(uint32_t round, uint64_t *start) {
  if (round % 64 != 0) return false;
  uint64_t now = wick_nanoseconds();
  if (!*start) *start = now;
  return now - *start > 50000;
}
#endif

/* Waits until the word is no longer old; returns what it is. */
static uint32_t word_wait(pool_word *word, uint32_t old) {
  uint32_t value;
  uint64_t start = 0;
  for (uint32_t round = 1;; round++) {
    value = atomic_load_explicit(&word->value, memory_order_acquire);
    if (value != old) return value;
    if (spin_over(round, &start)) break;
    relax();
  }
  atomic_fetch_add(&word->n_sleeping, 1);
  while ((value = atomic_load(&word->value)) == old) word_sleep(word, old);
  atomic_fetch_sub(&word->n_sleeping, 1);
  return value;
}

/* The sleeper counts itself before it looks at the value, the setter sets before it looks at the
 * count, both in one total order: a sleeper is never missed. */
static void word_set(pool_word *word, uint32_t value) {
  atomic_store(&word->value, value);
  if (atomic_load(&word->n_sleeping)) word_wake(word);
}

void wick_barrier(const wick_team *team) {
  if (team->n_threads == 1) return;
  wick_pool *pool = team->pool;
  uint32_t phase = atomic_load_explicit(&pool->phase.value, memory_order_relaxed);
  if (atomic_fetch_add(&pool->n_arrived, 1) + 1 == (uint32_t)team->n_threads) {
    atomic_store_explicit(&pool->n_arrived, 0, memory_order_relaxed);
    word_set(&pool->phase, phase + 1);
  } else {
    word_wait(&pool->phase, phase);
  }
}

void wick_pool_worker(wick_pool *pool) {
  /* The run word is read before registering: no run that counts this worker can be missed. */
  uint32_t run = atomic_load(&pool->run.value);
  atomic_fetch_add(&pool->n_inside, 1);
  uint32_t thread = atomic_fetch_add(&pool->n_workers, 1) + 1;
  while (thread < (uint32_t)pool->max_threads && (run & 0xff) != RUN_STOP) {
    run = word_wait(&pool->run, run);
    uint32_t n_threads = run & 0xff;
    if (n_threads == RUN_STOP || thread >= n_threads) continue;
    wick_team team = {pool, (int)thread, (int)n_threads};
    pool->function(pool->context, &team);
    wick_barrier(&team);
  }
  atomic_fetch_sub(&pool->n_inside, 1);
}

#if !defined(__wasm__)
static void *thread_main(void *pool) {
  wick_pool_worker(pool);
  return NULL;
}
#endif
#else
void wick_barrier(const wick_team *team) {
  (void)team;
}
void wick_pool_worker(wick_pool *pool) {
  (void)pool;
}
#endif

wick_status wick_pool_new(const wick_allocator *allocator, int n_threads, wick_pool **out,
                          wick_error *error) {
  if (n_threads < 1 || !POOL_THREADS) n_threads = 1;
  if (n_threads > WICK_MAX_THREADS) n_threads = WICK_MAX_THREADS;
  wick_pool *pool = wick_allocate(allocator, sizeof *pool, WICK_ALIGNMENT);
  if (!pool)
    return wick_fail(error, WICK_ERROR_MEMORY, "threads: no memory for a pool of %d", n_threads);
  memset(pool, 0, sizeof *pool);
  pool->allocator = allocator;
  pool->max_threads = n_threads;
#if POOL_THREADS
  word_init(&pool->run);
  word_init(&pool->phase);
#if !defined(__wasm__)
  /* A thread that the system refuses is done without. */
  while (pool->n_started < n_threads - 1 &&
         pthread_create(&pool->threads[pool->n_started], NULL, thread_main, pool) == 0)
    pool->n_started++;
#endif
#endif
  *out = pool;
  return WICK_OK;
}

void wick_pool_free(wick_pool *pool) {
  if (!pool) return;
#if POOL_THREADS
  word_set(&pool->run, (atomic_load(&pool->run.value) & ~0xffu) + RUN_STEP + RUN_STOP);
#if !defined(__wasm__)
  for (int i = 0; i < pool->n_started; i++) pthread_join(pool->threads[i], NULL);
#else
  while (atomic_load(&pool->n_inside)) relax();
#endif
  word_destroy(&pool->run);
  word_destroy(&pool->phase);
#endif
  wick_release(pool->allocator, pool, sizeof *pool, WICK_ALIGNMENT);
}

int wick_pool_max_threads(const wick_pool *pool) {
  return pool->max_threads;
}

int wick_pool_threads(const wick_pool *pool) {
  int n = 1 + (int)atomic_load(&((wick_pool *)pool)->n_workers);
  return n < pool->max_threads ? n : pool->max_threads;
}

void wick_pool_run(wick_pool *pool, wick_team_function *function, void *context) {
  wick_team team = {pool, 0, wick_pool_threads(pool)};
#if POOL_THREADS
  if (team.n_threads > 1) {
    pool->function = function;
    pool->context = context;
    uint32_t run = atomic_load(&pool->run.value);
    word_set(&pool->run, (run & ~0xffu) + RUN_STEP + (uint32_t)team.n_threads);
  }
#endif
  function(context, &team);
  wick_barrier(&team);
}
