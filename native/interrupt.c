/* SIGINT by a thread in sigwait: nothing runs in a signal handler, and nothing is global. */
#define _POSIX_C_SOURCE 200809L
#include "interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

enum { IMPATIENT = 3 }; /* so many for one answer end the program */

struct cli_interrupt {
  pthread_t thread;
  pthread_mutex_t mutex; /* of all that follows */
  wick_engine *engine;   /* NULL: no answer is being written */
  wick_request_id id;
  int n_signals; /* during this answer */
  bool ignoring, ending;
};

static void set_of_interrupts(sigset_t *set) {
  sigemptyset(set);
  sigaddset(set, SIGINT);
}

static void die_of_interrupt(const sigset_t *set) {
  signal(SIGINT, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, set, NULL);
  raise(SIGINT);
}

static void *watch(void *context) {
  cli_interrupt *interrupt = context;
  sigset_t set;
  set_of_interrupts(&set);
  bool ending = false;
  while (!ending) {
    int number;
    if (sigwait(&set, &number) != 0) continue;
    pthread_mutex_lock(&interrupt->mutex);
    ending = interrupt->ending;
    bool answering = interrupt->engine != NULL, patient = ++interrupt->n_signals < IMPATIENT;
    if (answering) wick_engine_cancel(interrupt->engine, interrupt->id);
    bool die = !ending && (answering ? !patient : !interrupt->ignoring);
    pthread_mutex_unlock(&interrupt->mutex);
    if (die) die_of_interrupt(&set);
  }
  return NULL;
}

cli_interrupt *cli_interrupt_new(void) {
  cli_interrupt *interrupt = calloc(1, sizeof *interrupt);
  if (!interrupt) return NULL;
  sigset_t set;
  set_of_interrupts(&set);
  pthread_mutex_init(&interrupt->mutex, NULL);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  if (pthread_create(&interrupt->thread, NULL, watch, interrupt) == 0) return interrupt;
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  pthread_mutex_destroy(&interrupt->mutex);
  free(interrupt);
  return NULL;
}

void cli_interrupt_free(cli_interrupt *interrupt) {
  if (!interrupt) return;
  pthread_mutex_lock(&interrupt->mutex);
  interrupt->ending = true;
  pthread_mutex_unlock(&interrupt->mutex);
  pthread_kill(interrupt->thread, SIGINT);
  pthread_join(interrupt->thread, NULL);
  pthread_mutex_destroy(&interrupt->mutex);
  free(interrupt);
}

void cli_interrupt_begin(cli_interrupt *interrupt, wick_engine *engine, wick_request_id id) {
  if (!interrupt) return;
  pthread_mutex_lock(&interrupt->mutex);
  interrupt->engine = engine;
  interrupt->id = id;
  interrupt->n_signals = 0;
  pthread_mutex_unlock(&interrupt->mutex);
}

bool cli_interrupt_end(cli_interrupt *interrupt) {
  if (!interrupt) return false;
  pthread_mutex_lock(&interrupt->mutex);
  interrupt->engine = NULL;
  bool signalled = interrupt->n_signals > 0;
  pthread_mutex_unlock(&interrupt->mutex);
  return signalled;
}

void cli_interrupt_ignore(cli_interrupt *interrupt, bool ignore) {
  if (!interrupt) return;
  pthread_mutex_lock(&interrupt->mutex);
  interrupt->ignoring = ignore;
  pthread_mutex_unlock(&interrupt->mutex);
}
