/* Bytes of generated tokens -> whole UTF-8 sequences, as early as possible; ill-formed bytes become
 * U+FFFD by the Unicode maximal-subpart rule (Unicode 15, section 3.9). Chapter 11. */
#ifndef WICK_TOKENIZER_STREAM_H
#define WICK_TOKENIZER_STREAM_H

#include "core/status.h"

typedef struct wick_utf8_stream {
  uint8_t held[4];
  int n_held;
} wick_utf8_stream; /* starts as zeros */

/* Append what is complete after n more bytes to out; returns the bytes written, at most 3 * (n + 3)
 * (capacity that the caller must have). */
size_t wick_utf8_stream_push(wick_utf8_stream *stream, const char *bytes, size_t n, char *out);
/* The end: what is held becomes U+FFFD; at most 9 bytes. */
size_t wick_utf8_stream_flush(wick_utf8_stream *stream, char *out);

#endif
