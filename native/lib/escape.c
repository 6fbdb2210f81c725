/* See escape.h. Sources: RFC 8259, section 7; Unicode 15, table 3-7 (well-formed UTF-8). */
#include "escape.h"

/* Bytes of the well-formed sequence that text starts with, n > 0, or 0. */
static size_t sequence_bytes(const unsigned char *text, size_t n) {
  unsigned char c = text[0];
  if (c < 0x80) return 1;
  size_t length = c >= 0xc2 && c <= 0xdf   ? 2
                  : c >= 0xe0 && c <= 0xef ? 3
                  : c >= 0xf0 && c <= 0xf4 ? 4
                                           : 0;
  if (length == 0 || length > n) return 0;
  unsigned char low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;  /* shorter forms are forbidden */
  unsigned char high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf; /* surrogates, above 10FFFF */
  if (text[1] < low || text[1] > high) return 0;
  for (size_t i = 2; i < length; i++)
    if ((text[i] & 0xc0) != 0x80) return 0;
  return length;
}

static void print_sequence(FILE *file, const unsigned char *text, size_t length) {
  if (length == 0) {
    fputs("\\ufffd", file);
  } else if (text[0] == '"' || text[0] == '\\') {
    fprintf(file, "\\%c", text[0]);
  } else if (text[0] == '\n') {
    fputs("\\n", file);
  } else if (text[0] < 0x20 || text[0] == 0x7f) {
    fprintf(file, "\\u%04x", text[0]);
  } else if (text[0] == 0xc2 && text[1] < 0xa0) { /* U+0080 to U+009F */
    fprintf(file, "\\u%04x", text[1]);
  } else {
    fwrite(text, 1, length, file);
  }
}

void wick_print_quoted(FILE *file, wick_string text, size_t limit) {
  const unsigned char *bytes = (const unsigned char *)text.data;
  fputc('"', file);
  size_t at = 0;
  while (at < text.n) {
    size_t length = sequence_bytes(bytes + at, text.n - at), step = length ? length : 1;
    if (at + step > limit) break;
    print_sequence(file, bytes + at, length);
    at += step;
  }
  if (at < text.n) fputs("...", file);
  fputc('"', file);
}
