/* Byte-level BPE writes its vocabulary in an alphabet of 256 printable characters, one per byte:
 * the printable ones of Latin-1 stand for themselves, the other 68 bytes, in order, for U+0100 and
 * on (so a space is U+0120). Source: GPT-2's encoder.py, bytes_to_unicode. Chapter 11. */
#include "core/utf8.h"
#include "tokenizer/internal.h"

static bool stands_for_itself(uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) ||
         (byte >= 0xae && byte <= 0xff);
}

size_t wick_alphabet_from_byte(uint8_t byte, char out[2]) {
  if (stands_for_itself(byte)) return wick_utf8_encode(byte, out);
  uint32_t order = 0;
  for (uint32_t other = 0; other < byte; other++) order += !stands_for_itself(other);
  return wick_utf8_encode(0x100 + order, out);
}

bool wick_bytes_from_alphabet(wick_string text, char *out, size_t *n_out) {
  *n_out = 0;
  for (size_t at = 0; at < text.n;) {
    wick_utf8_char c = wick_utf8_decode(text.data + at, text.n - at);
    at += c.n_bytes;
    uint32_t byte = c.code_point;
    if (c.kind != WICK_UTF8_VALID) return false;
    if (byte >= 0x100) {
      /* 0x00-0x20, 0x7f-0xa0 and 0xad in order */
      uint32_t order = byte - 0x100;
      if (order > 67) return false;
      byte = order <= 0x20 ? order : order <= 0x42 ? order - 0x21 + 0x7f : 0xad;
    } else if (!stands_for_itself(byte)) {
      return false;
    }
    out[(*n_out)++] = (char)byte;
  }
  return true;
}
