/* Tokens are bytes, not characters: an emoji may come in four tokens. What is incomplete is held
 * back until it is whole or known to be ill-formed. See stream.h; core/utf8.h has the rule. */
#include "tokenizer/stream.h"

#include <string.h>

#include "core/utf8.h"

/* Decide about the held bytes: emit what is whole or ill-formed, keep what may still become whole.
 * At the end nothing may. */
static size_t settle(wick_utf8_stream *stream, bool at_end, char *out) {
  size_t n_out = 0;
  while (stream->n_held > 0) {
    wick_utf8_char c = wick_utf8_decode((const char *)stream->held, (size_t)stream->n_held);
    if (c.kind == WICK_UTF8_CUT && !at_end) break;
    n_out += wick_utf8_encode(c.code_point, out + n_out);
    stream->n_held -= c.n_bytes;
    memmove(stream->held, stream->held + c.n_bytes, (size_t)stream->n_held);
  }
  return n_out;
}

size_t wick_utf8_stream_push(wick_utf8_stream *stream, const char *bytes, size_t n, char *out) {
  size_t n_out = 0;
  for (size_t i = 0; i < n; i++) {
    if (stream->n_held == 0 && (uint8_t)bytes[i] < 0x80) {
      out[n_out++] = bytes[i];
      continue;
    }
    stream->held[stream->n_held++] = (uint8_t)bytes[i];
    n_out += settle(stream, false, out + n_out);
  }
  return n_out;
}

size_t wick_utf8_stream_flush(wick_utf8_stream *stream, char *out) {
  return settle(stream, true, out);
}
