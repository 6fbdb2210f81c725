/* See utf8.h. */
#include "core/utf8.h"

wick_utf8_char wick_utf8_decode(const char *data, size_t n) {
  uint8_t lead = (uint8_t)data[0];
  if (lead < 0x80) return (wick_utf8_char){lead, 1, WICK_UTF8_VALID};
  if (lead < 0xc2 || lead > 0xf4)
    return (wick_utf8_char){WICK_REPLACEMENT, 1, WICK_UTF8_ILL_FORMED};
  uint8_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  /* Table 3-7: only the second byte's range depends on the lead (no overlong forms, surrogates or
   * values above 0x10ffff). */
  uint8_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  uint8_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  uint32_t code_point = lead & (0xffu >> (length + 1));
  for (uint8_t i = 1; i < length; i++) {
    if (i == n) return (wick_utf8_char){WICK_REPLACEMENT, i, WICK_UTF8_CUT};
    uint8_t byte = (uint8_t)data[i];
    if (byte < low || byte > high)
      return (wick_utf8_char){WICK_REPLACEMENT, i, WICK_UTF8_ILL_FORMED};
    code_point = code_point << 6 | (byte & 0x3f);
    low = 0x80;
    high = 0xbf;
  }
  return (wick_utf8_char){code_point, length, WICK_UTF8_VALID};
}

size_t wick_utf8_encode(uint32_t code_point, char *out) {
  if (code_point < 0x80) {
    out[0] = (char)code_point;
    return 1;
  }
  size_t n = code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
  for (size_t i = n - 1; i > 0; i--) {
    out[i] = (char)(0x80 | (code_point & 0x3f));
    code_point >>= 6;
  }
  out[0] = (char)((0xf00u >> n & 0xf0) | code_point);
  return n;
}

bool wick_utf8_valid(const char *data, size_t n) {
  for (size_t at = 0; at < n;) {
    wick_utf8_char c = wick_utf8_decode(data + at, n - at);
    if (c.kind != WICK_UTF8_VALID) return false;
    at += c.n_bytes;
  }
  return true;
}
