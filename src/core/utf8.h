/* UTF-8, one code point at a time. Ill-formed bytes are cut into maximal subparts, each of which
 * reads as U+FFFD. Source: the Unicode Standard 15, section 3.9, tables 3-7 and 3-8, and the
 * "substitution of maximal subparts" of the same section. Chapter 11. */
#ifndef WICK_CORE_UTF8_H
#define WICK_CORE_UTF8_H

#include "core/status.h"

enum { WICK_REPLACEMENT = 0xfffd, WICK_UTF8_MAX_BYTES = 4 };

typedef enum wick_utf8_kind {
  WICK_UTF8_VALID,
  WICK_UTF8_ILL_FORMED, /* n_bytes are a maximal subpart that no further byte can mend */
  WICK_UTF8_CUT,        /* the data ends inside a sequence that is well-formed so far */
} wick_utf8_kind;

typedef struct wick_utf8_char {
  uint32_t code_point; /* WICK_REPLACEMENT unless valid */
  uint8_t n_bytes;     /* 1..4 */
  uint8_t kind;        /* wick_utf8_kind */
} wick_utf8_char;

/* The code point at data[0]; n >= 1 bytes may be read. */
wick_utf8_char wick_utf8_decode(const char *data, size_t n);

/* code_point: a scalar value (below 0x110000, no surrogate). Writes 1..4 bytes, returns how many.
 */
size_t wick_utf8_encode(uint32_t code_point, char *out);

/* C0, DEL and C1: what steers a terminal instead of standing on it. */
static inline bool wick_is_control(uint32_t code_point) {
  return code_point < 0x20 || (code_point >= 0x7f && code_point < 0xa0);
}

/* True when all n bytes are well-formed. */
bool wick_utf8_valid(const char *data, size_t n);

#endif
