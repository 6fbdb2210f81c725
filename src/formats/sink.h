/* Where the writers put bytes: a file, a buffer, a socket; the caller's affair. */
#ifndef WICK_FORMATS_SINK_H
#define WICK_FORMATS_SINK_H

#include "core/status.h"

typedef struct wick_sink {
  wick_status (*write)(void *context, const void *bytes, size_t n_bytes, wick_error *error);
  void *context;
} wick_sink;

static inline wick_status wick_sink_write(const wick_sink *sink, const void *bytes, size_t n_bytes,
                                          wick_error *error) {
  return n_bytes ? sink->write(sink->context, bytes, n_bytes, error) : WICK_OK;
}

#endif
