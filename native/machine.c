/* How many cores there are to use, what time it is, what memory it took. More threads than cores
 * cost more than they bring: two hardware threads of one core share its arithmetic units. */
#if defined(__linux__)
#define _GNU_SOURCE /* sched_getaffinity */
#include <sched.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#else
#define _POSIX_C_SOURCE 200809L
#endif
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli.h"
#include "core/clock.h"

double cli_now(void) {
  return (double)wick_nanoseconds() * 1e-9;
}

uint64_t cli_peak_bytes(void) {
  struct rusage usage = {0};
  getrusage(RUSAGE_SELF, &usage);
#if defined(__APPLE__)
  return (uint64_t)usage.ru_maxrss;
#else
  return (uint64_t)usage.ru_maxrss * 1024;
#endif
}

#if defined(__linux__)

/* The lowest CPU number of a core's hardware threads, which names the core; cpu itself if unknown.
 */
static int core_of(int cpu) {
  char path[100];
  int first = cpu;
  snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
  FILE *file = fopen(path, "r");
  if (!file) return cpu;
  if (fscanf(file, "%d", &first) != 1 || first < 0 || first >= CPU_SETSIZE) first = cpu;
  fclose(file);
  return first;
}

/* CPUs that a container's quota amounts to (cgroup v2), rounded up; 0: no quota. */
static int quota(void) {
  long allowed, period;
  FILE *file = fopen("/sys/fs/cgroup/cpu.max", "r");
  if (!file) return 0;
  int n = fscanf(file, "%ld %ld", &allowed, &period); /* "max 100000" without a quota */
  fclose(file);
  return n == 2 && allowed > 0 && period > 0 ? (int)((allowed + period - 1) / period) : 0;
}

static int count_physical(void) {
  cpu_set_t allowed, cores;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 0;
  CPU_ZERO(&cores);
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (CPU_ISSET(cpu, &allowed)) CPU_SET(core_of(cpu), &cores);
  }
  int n = CPU_COUNT(&cores), most = quota();
  return most > 0 && most < n ? most : n;
}

#elif defined(__APPLE__)

static int count_physical(void) {
  int n = 0;
  size_t bytes = sizeof n; /* the fast cores first: slow ones hold every barrier up */
  if (sysctlbyname("hw.perflevel0.physicalcpu", &n, &bytes, NULL, 0) == 0 && n > 0) return n;
  bytes = sizeof n;
  return sysctlbyname("hw.physicalcpu", &n, &bytes, NULL, 0) == 0 ? n : 0;
}

#else

static int count_physical(void) {
  return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

#endif

int cli_count_cores(void) {
  int n = count_physical();
  return n < 1 ? 1 : n > WICK_MAX_THREADS ? WICK_MAX_THREADS : n;
}
