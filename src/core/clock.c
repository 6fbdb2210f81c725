/* See clock.h. */
#define _POSIX_C_SOURCE 200809L
#include "core/clock.h"

#if defined(__wasm__)
uint64_t wick_nanoseconds(void) {
  return 0;
}
#else
#include <time.h>

uint64_t wick_nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
#endif
