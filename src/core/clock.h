/* A clock, and a thread's time by stage. */
#ifndef WICK_CORE_CLOCK_H
#define WICK_CORE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "wick.h"

/* Nanoseconds since some moment, never falling. Always 0 on wasm, which has no clock without a call
 * to its host. */
uint64_t wick_nanoseconds(void);

typedef struct wick_stopwatch {
  bool on;
  wick_stage stage;                     /* that is running, when since is not 0 */
  uint64_t since, spent[WICK_N_STAGES]; /* nanoseconds */
} wick_stopwatch;

/* What this thread does from now on. Costs a comparison when the watch is off, nothing on wasm. */
static inline void wick_stopwatch_enter(wick_stopwatch *watch, wick_stage stage) {
#if defined(__wasm__)
  (void)watch;
  (void)stage;
#else
  if (!watch->on) return;
  uint64_t now = wick_nanoseconds();
  if (watch->since) watch->spent[watch->stage] += now - watch->since;
  watch->stage = stage;
  watch->since = now;
#endif
}

/* Nothing that is measured. */
static inline void wick_stopwatch_stop(wick_stopwatch *watch) {
  wick_stopwatch_enter(watch, watch->stage);
  watch->since = 0;
}

#endif
