/* One place that writes error lines. */
#include "core/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/utf8.h"

wick_status wick_fail(wick_error *error, wick_status status, const char *format, ...) {
  if (!error) return status;
  error->status = status;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(error->message, sizeof error->message, format, arguments);
  va_end(arguments);
  wick_clean_line(error->message);
  return status;
}

void wick_clean_line(char *text) {
  char *out = text;
  for (size_t n = strlen(text); n > 0;) {
    wick_utf8_char c = wick_utf8_decode(text, n);
    if (c.kind != WICK_UTF8_VALID || wick_is_control(c.code_point)) {
      *out++ = '?';
    } else {
      memmove(out, text, c.n_bytes);
      out += c.n_bytes;
    }
    text += c.n_bytes;
    n -= c.n_bytes;
  }
  *out = '\0';
}

bool wick_string_equal(wick_string a, const char *b) {
  size_t n = strlen(b);
  return a.n == n && (n == 0 || memcmp(a.data, b, n) == 0);
}

bool wick_ends_with(const char *text, const char *ending) {
  size_t n = strlen(text), n_ending = strlen(ending);
  return n >= n_ending && strcmp(text + n - n_ending, ending) == 0;
}
