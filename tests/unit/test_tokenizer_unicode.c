/* The generated tables, where the Unicode Standard fixes what they must say, and normalization form
 * C by examples of Unicode Standard Annex 15 and of the standard's chapter 3. (That every code
 * point is treated as the reference does is checked where the tables are made.) */
#include "tap.h"
#include "tokenizer/unicode.h"

#include "core/utf8.h"

typedef struct form {
  const char *name, *text, *expected;
} form;

static const form forms[] = {
    {"a letter and a mark compose", "e\xcc\x81", "\xc3\xa9"},
    {"the Angstrom sign is a letter with a ring", "\xe2\x84\xab", "\xc3\x85"},
    {"the ohm sign is omega", "\xe2\x84\xa6", "\xce\xa9"},
    {"marks are ordered by class, then composed (Annex 15, figure 5)", "\xe1\xb8\x8b\xcc\xa3",
     "\xe1\xb8\x8d\xcc\x87"},
    {"d, dot above, dot below", "d\xcc\x87\xcc\xa3", "\xe1\xb8\x8d\xcc\x87"},
    {"marks of one class keep their order", "a\xcc\x81\xcc\x80", "\xc3\xa1\xcc\x80"},
    {"an excluded composition stays apart", "\xe0\xa5\x98", "\xe0\xa4\x95\xe0\xa4\xbc"},
    {"Hangul: lead and vowel", "\xe1\x84\x80\xe1\x85\xa1", "\xea\xb0\x80"},
    {"Hangul: lead, vowel, trail", "\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8", "\xea\xb0\x81"},
    {"Hangul: syllable and trail", "\xea\xb0\x80\xe1\x86\xa8", "\xea\xb0\x81"},
    {"Hangul: a syllable with a trail takes no other", "\xea\xb0\x81\xe1\x86\xa8",
     "\xea\xb0\x81\xe1\x86\xa8"},
    {"two starters compose", "\xe0\xa7\x87\xe0\xa6\xbe", "\xe0\xa7\x8b"},
    {"a mark without a letter stays", "\xcc\x81x", "\xcc\x81x"},
    {"a mark with no composition blocks its class only", "a\xcc\x95\xcc\x80", "\xc3\xa0\xcc\x95"},
    {"compatibility characters stay (form C, not KC)", "\xef\xac\x81\xc2\xb2",
     "\xef\xac\x81\xc2\xb2"},
};

static bool normalizes_to(const char *text, size_t n, const char *expected, size_t n_expected) {
  wick_buffer out = {.allocator = wick_allocator_default()};
  bool ok = wick_normalize_nfc(text, n, out.allocator, &out) && out.n == n_expected &&
            (n_expected == 0 || memcmp(out.data, expected, n_expected) == 0);
  wick_buffer_free(&out);
  return ok;
}

static void check_classes(tap *t) {
  size_t n_letters = 0, n_wrong = 0;
  for (uint32_t c = 0; c < 0x110000; c++) {
    unsigned class = wick_unicode_class(c);
    n_letters += class & WICK_UNICODE_LETTER;
    bool letter = class & WICK_UNICODE_LETTER, number = class & WICK_UNICODE_NUMBER;
    n_wrong += letter && (number || (class & WICK_UNICODE_SPACE) || !(class & WICK_UNICODE_WORD));
    n_wrong += number && !(class & WICK_UNICODE_NUMERIC);
  }
  CHECK(t, n_letters > 140000 && n_wrong == 0, "letters, numbers and spaces are apart");
  CHECK(t, wick_unicode_class(0x4e00) & WICK_UNICODE_LETTER, "an ideograph is a letter");
  CHECK(t, wick_unicode_class(0x2167) & WICK_UNICODE_NUMBER, "a Roman numeral is a number");
  CHECK(t, wick_unicode_class(0xbd) & WICK_UNICODE_NUMBER, "a half is a number");
  CHECK(t, wick_unicode_class(0x3000) == WICK_UNICODE_SPACE, "the ideographic space is one");
  CHECK(t, wick_unicode_class(0x200b) == 0, "the zero-width space is none");
  CHECK(t, wick_unicode_class(0x0301) == WICK_UNICODE_WORD, "a mark is no letter but of a word");
}

/* 200,000 marks of falling class behind one letter: sorted in linear time. */
static void check_long_run(tap *t) {
  enum { N = 100000 };
  static char text[1 + 4 * N], expected[1 + 4 * N];
  text[0] = expected[0] = 'q';
  for (int i = 0; i < N; i++) {
    memcpy(text + 1 + 4 * i, "\xcc\x81\xcc\xa3", 4); /* class 230, class 220 */
    memcpy(expected + 1 + 2 * i, "\xcc\xa3", 2);
    memcpy(expected + 1 + 2 * (N + i), "\xcc\x81", 2);
  }
  CHECK(t, normalizes_to(text, 1 + 4 * N, expected, 1 + 4 * N), "a very long run of marks");
}

int main(void) {
  tap t = {0};
  check_classes(&t);
  for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
    const form *f = &forms[i];
    CHECK(&t, normalizes_to(f->text, strlen(f->text), f->expected, strlen(f->expected)), f->name);
    CHECK(&t, normalizes_to(f->expected, strlen(f->expected), f->expected, strlen(f->expected)),
          "and once more changes nothing");
  }
  CHECK(&t, normalizes_to("a\0b", 3, "a\0b", 3), "NUL is a character");
  CHECK(&t, normalizes_to("", 0, "", 0), "nothing stays nothing");
  check_long_run(&t);
  return tap_done(&t);
}
