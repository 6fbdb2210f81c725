/* One place that writes error lines. */
#include "core/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

wick_status wick_fail(wick_error *error, wick_status status, const char *format, ...) {
  if (!error) return status;
  error->status = status;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(error->message, sizeof error->message, format, arguments);
  va_end(arguments);
  for (char *c = error->message; *c; c++)
    if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?';
  return status;
}

bool wick_string_equal(wick_string a, const char *b) {
  size_t n = strlen(b);
  return a.n == n && (n == 0 || memcmp(a.data, b, n) == 0);
}
