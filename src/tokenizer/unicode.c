/* Unicode classes by binary search in a list of ranges. See unicode.h. Source: the Unicode
 * Character Database as Hugging Face's tokenizers has it. Chapter 11. */
#include "tokenizer/unicode.h"

/* ASCII is most of most texts. */
static unsigned ascii_class(uint32_t c) {
  if ((c | 0x20) - 'a' < 26) return WICK_UNICODE_LETTER | WICK_UNICODE_WORD;
  if (c - '0' < 10) return WICK_UNICODE_NUMBER | WICK_UNICODE_NUMERIC | WICK_UNICODE_WORD;
  if (c == ' ' || c - '\t' < 5) return WICK_UNICODE_SPACE;
  return c == '_' ? WICK_UNICODE_WORD : 0;
}

unsigned wick_unicode_class(uint32_t code_point) {
  if (code_point < 0x80) return ascii_class(code_point);
  size_t low = 0, high = wick_n_unicode_classes;
  while (high - low > 1) { /* entry low starts at or before code_point, entry high after it */
    size_t middle = (low + high) / 2;
    if (wick_unicode_classes[middle] >> 8 <= code_point)
      low = middle;
    else
      high = middle;
  }
  return wick_unicode_classes[low] & 0xff;
}
