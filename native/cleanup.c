/* See cleanup.h. A handler, not a thread that waits: while it runs, the thread that writes does not
 * open another file. */
#define _POSIX_C_SOURCE 200809L
#include "cleanup.h"

#include <signal.h>

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
enum { N_NUMBERS = sizeof numbers / sizeof *numbers };

/* What a handler can see: there is one program, and one set of files under way. */
static const wick_output *volatile guarded;
static volatile sig_atomic_t n_guarded;

static void remove_and_end(int number) {
  for (int i = 0; i < n_guarded; i++) wick_output_remove(&guarded[i]);
  raise(number); /* its default action: the handler was for once */
}

void cli_guard_outputs(const wick_output *outputs, int n) {
  n_guarded = 0;
  guarded = outputs;
  n_guarded = n;
  for (int i = 0; i < N_NUMBERS; i++) {
    struct sigaction action = {.sa_handler = n ? remove_and_end : SIG_DFL,
                               .sa_flags = (int)SA_RESETHAND};
    struct sigaction before;
    sigemptyset(&action.sa_mask);
    if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN) {
      sigaction(numbers[i], &action, NULL);
    }
  }
}
