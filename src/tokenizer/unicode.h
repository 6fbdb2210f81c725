/* What the tokenizer asks of Unicode: the classes that pre-tokenizers cut at, and normalization
 * form C. The answers are those of Hugging Face's tokenizers (see unicode_tables.c). Chapter 11. */
#ifndef WICK_TOKENIZER_UNICODE_H
#define WICK_TOKENIZER_UNICODE_H

#include "core/buffer.h"

/* Bits of a code point's class. */
enum {
  WICK_UNICODE_LETTER = 1,  /* \p{L} */
  WICK_UNICODE_NUMBER = 2,  /* \p{N} */
  WICK_UNICODE_NUMERIC = 4, /* Rust's char::is_numeric: a newer Unicode's Nd, Nl, No */
  WICK_UNICODE_SPACE = 8,   /* \s */
  WICK_UNICODE_WORD = 16,   /* \w: what a single_word token must not touch */
};

unsigned wick_unicode_class(uint32_t code_point);

/* Normalization form C of well-formed UTF-8, appended to out. Linear in n. False when out cannot
 * grow or scratch cannot be had. Source: Unicode Standard Annex 15. */
bool wick_normalize_nfc(const char *text, size_t n, const wick_allocator *allocator,
                        wick_buffer *out);

/* True when text is certainly in form C already: nothing at or above U+0300 (Annex 15, section 9).
 */
bool wick_is_plainly_nfc(const char *text, size_t n);

/* Generated tables. classes, combining: first code point << 8 | value, ascending; the value holds
 * until the next entry. decompositions: composed << 42 | first << 21 | second (0: a singleton),
 * ascending. compositions: indexes of those pairs that compose, by (first, second). */
extern const uint32_t wick_unicode_classes[], wick_combining_classes[];
extern const uint64_t wick_decompositions[];
extern const uint16_t wick_compositions[];
extern const uint16_t wick_n_unicode_classes, wick_n_combining_classes, wick_n_decompositions,
    wick_n_compositions;

#endif
