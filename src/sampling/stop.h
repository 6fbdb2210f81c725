/* Stop strings over a stream of text: a piece that may be the start of one is held back until it is
 * or is not; the pieces let through, joined, are the text before the first stop string, however the
 * text was cut. The first is the one whose last byte comes first, and of several that end there the
 * longest. Chapter 15. */
#ifndef WICK_SAMPLING_STOP_H
#define WICK_SAMPLING_STOP_H

#include "core/memory.h"

enum { WICK_STOP_MAX_BYTES = 4096 }; /* of one string */

typedef struct wick_stop wick_stop;

/* Copies the strings. Refused (WICK_ERROR_ARGUMENT): empty ones, more than 64, more than 4096
 * bytes, a first byte from the middle of a UTF-8 sequence. */
wick_status wick_stop_new(const wick_allocator *allocator, const char *const *strings, size_t n,
                          wick_stop **out, wick_error *error);
void wick_stop_free(wick_stop *stop);

/* Take n_bytes of new text. *out, *n_out: what may be shown now, borrowed until the next call.
 * Returns true when a stop string is complete: *out is what stood before it, and the stream has
 * ended (later calls return true and give nothing). Never splits a UTF-8 sequence that came whole.
 * WICK_ERROR_MEMORY cannot happen: at most the longest stop string is held. n_bytes <= 4096. */
bool wick_stop_push(wick_stop *stop, const char *text, size_t n_bytes, const char **out,
                    size_t *n_out);
/* The end: what is still held. */
void wick_stop_flush(wick_stop *stop, const char **out, size_t *n_out);

#endif
