/* Unfinished files go when SIGINT, SIGTERM or SIGHUP ends the program. */
#ifndef WICK_NATIVE_CLEANUP_H
#define WICK_NATIVE_CLEANUP_H

#include "lib/output.h"

/* From here on a signal removes what outputs[0 .. n) have written, and then ends the program as it
 * would have done. n = 0: no longer. outputs is borrowed until then. */
void cli_guard_outputs(const wick_output *outputs, int n);

#endif
