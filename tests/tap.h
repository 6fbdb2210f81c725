/* The least that a C test needs: CHECK prints a TAP line, tap_done the plan. One program tests one
 * thing; run from the project's root. */
#ifndef WICK_TESTS_TAP_H
#define WICK_TESTS_TAP_H

#include <stdio.h>
#include <string.h>

typedef struct tap {
  int n, n_failed;
} tap;

static inline void tap_check(tap *t, int ok, const char *file, int line, const char *what) {
  t->n++;
  if (!ok) t->n_failed++;
  printf("%s %d - %s\n", ok ? "ok" : "not ok", t->n, what);
  if (!ok) printf("# at %s:%d\n", file, line);
}

static inline void tap_skip(tap *t, const char *what, const char *why) {
  printf("ok %d - %s # SKIP %s\n", ++t->n, what, why);
}

static inline int tap_done(const tap *t) {
  printf("1..%d\n", t->n);
  return t->n_failed ? 1 : 0;
}

/* A named truth; the name is what fails. */
#define CHECK(t, condition, name) tap_check(t, (condition) ? 1 : 0, __FILE__, __LINE__, name)

#endif
