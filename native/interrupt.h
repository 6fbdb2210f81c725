/* Ctrl-C: stops the answer that is being written, not the program. */
#ifndef WICK_NATIVE_INTERRUPT_H
#define WICK_NATIVE_INTERRUPT_H

#include "wick.h"

typedef struct cli_interrupt cli_interrupt;

/* From here on SIGINT goes to a thread that waits for it. Call before any other thread starts, so
 * that all inherit the blocked signal. NULL: that thread could not be had, and SIGINT is as ever.
 */
cli_interrupt *cli_interrupt_new(void);
void cli_interrupt_free(cli_interrupt *interrupt);

/* Between these two SIGINT cancels the request; a third one ends the program. _end tells whether
 * there was one. Outside of them it ends the program, or is passed over after _ignore(true). */
void cli_interrupt_begin(cli_interrupt *interrupt, wick_engine *engine, wick_request_id id);
bool cli_interrupt_end(cli_interrupt *interrupt);
void cli_interrupt_ignore(cli_interrupt *interrupt, bool ignore);

#endif
