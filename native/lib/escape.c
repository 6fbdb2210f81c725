/* See escape.h. Source: RFC 8259, section 7. */
#include "escape.h"

#include "core/utf8.h"

static void print_char(FILE *file, const char *text, wick_utf8_char c) {
  if (c.kind != WICK_UTF8_VALID) {
    fputs("\\ufffd", file);
  } else if (c.code_point == '"' || c.code_point == '\\') {
    fprintf(file, "\\%c", *text);
  } else if (c.code_point == '\n') {
    fputs("\\n", file);
  } else if (wick_is_control(c.code_point)) {
    fprintf(file, "\\u%04x", (unsigned)c.code_point);
  } else {
    fwrite(text, 1, c.n_bytes, file);
  }
}

void wick_print_quoted(FILE *file, wick_string text, size_t limit) {
  fputc('"', file);
  size_t at = 0;
  while (at < text.n) {
    wick_utf8_char c = wick_utf8_decode(text.data + at, text.n - at);
    if (at + c.n_bytes > limit) break;
    print_char(file, text.data + at, c);
    at += c.n_bytes;
  }
  if (at < text.n) fputs("...", file);
  fputc('"', file);
}
