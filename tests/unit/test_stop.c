/* Stop strings: the joined pieces against a plain search of the whole text, for every way to cut
 * the text in two and three pieces, byte by byte, and for random texts of few letters, where
 * overlaps are many. Nothing may be held that is not the beginning of a stop string. */
#include "sampling/rng.h"
#include "sampling/stop.h"
#include "tap.h"

enum { MAX_TEXT = 256 };

/* The plain rule: of all matches the one that ends first, of those the longest. Returns the length
 * of the text before it, or -1. */
static int plain_search(const char *text, const char *const *strings, size_t n_strings) {
  size_t n = strlen(text);
  for (size_t end = 1; end <= n; end++) {
    size_t longest = 0;
    for (size_t i = 0; i < n_strings; i++) {
      size_t length = strlen(strings[i]);
      if (length <= end && length > longest &&
          memcmp(text + end - length, strings[i], length) == 0) {
        longest = length;
      }
    }
    if (longest > 0) return (int)(end - longest);
  }
  return -1;
}

/* The longest end of text[0 .. n) that is a proper beginning of a stop string. */
static size_t plain_held(const char *text, size_t n, const char *const *strings, size_t n_strings) {
  for (size_t held = n; held > 0; held--) {
    for (size_t i = 0; i < n_strings; i++) {
      if (held < strlen(strings[i]) && memcmp(text + n - held, strings[i], held) == 0) return held;
    }
  }
  return 0;
}

/* Push text in pieces that end at cuts[0 .. n_cuts) and at its end; true when all is as it should
 * be: joined, what was held after each piece, and the end. */
static int runs_right(const char *text, const size_t *cuts, size_t n_cuts,
                      const char *const *strings, size_t n_strings) {
  int before = plain_search(text, strings, n_strings), right = 1, matched = 0;
  size_t n = strlen(text), at = 0, n_joined = 0, n_out;
  char joined[2 * MAX_TEXT];
  const char *out;
  wick_stop *stop;
  if (wick_stop_new(wick_allocator_default(), strings, n_strings, &stop, NULL) != WICK_OK) return 0;
  for (size_t piece = 0; piece <= n_cuts && !matched; piece++) {
    size_t end = piece < n_cuts ? cuts[piece] : n;
    matched = wick_stop_push(stop, text + at, end - at, &out, &n_out);
    memcpy(joined + n_joined, out, n_out);
    n_joined += n_out;
    if (!matched) right &= end - n_joined == plain_held(text, end, strings, n_strings);
    at = end;
  }
  if (matched) right &= wick_stop_push(stop, "more", 4, &out, &n_out) && n_out == 0;
  wick_stop_flush(stop, &out, &n_out);
  memcpy(joined + n_joined, out, n_out);
  n_joined += n_out;
  right &= matched == (before >= 0) && n_joined == (before >= 0 ? (size_t)before : n) &&
           memcmp(joined, text, n_joined) == 0;
  wick_stop_flush(stop, &out, &n_out);
  right &= n_out == 0;
  wick_stop_free(stop);
  return right;
}

static int right_in_all_splits(const char *text, const char *const *strings, size_t n_strings) {
  size_t n = strlen(text), each[MAX_TEXT];
  int right = 1;
  for (size_t a = 0; a <= n; a++) {
    for (size_t b = a; b <= n; b++)
      right &= runs_right(text, (size_t[]){a, b}, 2, strings, n_strings);
  }
  for (size_t i = 0; i < n; i++) each[i] = i;
  return right & runs_right(text, each, n, strings, n_strings);
}

#define RIGHT(t, text, name, ...)                                                                  \
  do {                                                                                             \
    const char *const strings_[] = {__VA_ARGS__};                                                  \
    CHECK(t, right_in_all_splits(text, strings_, sizeof strings_ / sizeof *strings_), name);       \
  } while (0)

static void test_texts(tap *t) {
  RIGHT(t, "a line\nUser: hello", "a stop string in the middle", "\nUser:");
  RIGHT(t, "no such thing here, User", "a beginning at the end is flushed", "User:");
  RIGHT(t, "stop", "the whole text", "stop");
  RIGHT(t, "", "an empty text", "stop");
  RIGHT(t, "aaaaab", "a failed match that overlaps the next", "aaab");
  RIGHT(t, "abababac and more", "falling back more than once", "ababac");
  RIGHT(t, "xabcabdabcabc", "falling back into the middle", "abcabc");
  RIGHT(t, "xabcdx", "the one that ends first wins", "abcd", "bc");
  RIGHT(t, "xabcdx", "the longest of those that end together", "d", "cd", "bcd");
  RIGHT(t, "xabcx", "a longer one that does not come true", "abcd", "bc");
  RIGHT(t, "one###two", "one string is the beginning of another", "###", "####", "#");
  RIGHT(t, "caf\xc3\xa9 au lait", "two-byte characters", "\xc3\xa9 au");
  RIGHT(t, "caf\xc3\xa8 au lait", "a character that differs in its last byte", "\xc3\xa9");
  RIGHT(t, "\xf0\x9f\x99\x82\xf0\x9f\x99\x83 end", "four-byte characters", "\xf0\x9f\x99\x83");
  RIGHT(t, "<|im_end|", "the longest beginning", "<|im_end|>");
  wick_stop *stop;
  const char *out;
  size_t n_out;
  CHECK(t, wick_stop_new(wick_allocator_default(), NULL, 0, &stop, NULL) == WICK_OK,
        "no stop strings at all");
  CHECK(t,
        !wick_stop_push(stop, "all of it", 9, &out, &n_out) && n_out == 9 &&
            memcmp(out, "all of it", 9) == 0,
        "then everything passes at once");
  wick_stop_free(stop);
}

/* Characters that come whole are let out whole, however near they are to a stop string. */
static void test_whole_characters(tap *t) {
  const char *const strings[] = {"\xe2\x82\xac!", "\xc3\xa9\xc3\xa9"};
  const char *const pieces[] = {"\xe2\x82\xac", "\xe2\x82\xad", "\xc3\xa9", "\xe2\x82\xac",
                                "\xc3\xa8",     "a\xc3\xa9",    "!",        "\xe2\x82\xac"};
  wick_stop *stop;
  int right = wick_stop_new(wick_allocator_default(), strings, 2, &stop, NULL) == WICK_OK;
  for (size_t i = 0; right && i < sizeof pieces / sizeof *pieces; i++) {
    const char *out;
    size_t n_out;
    right &= !wick_stop_push(stop, pieces[i], strlen(pieces[i]), &out, &n_out);
    right &= n_out == 0 || ((unsigned char)out[0] & 0xc0) != 0x80; /* begins with a character */
    right &= n_out == 0 || (unsigned char)out[n_out - 1] < 0xc0;   /* and does not end in a lead */
  }
  if (right) wick_stop_free(stop);
  CHECK(t, right, "characters that come whole stay whole");
}

static void test_random(tap *t) {
  wick_rng rng;
  wick_rng_seed(&rng, 21);
  int right = 1, n_matches = 0;
  for (int round = 0; round < 20000; round++) {
    char text[60], strings[4][8];
    const char *pointers[4];
    size_t n = wick_rng_next(&rng) % 59, n_strings = 1 + wick_rng_next(&rng) % 4, cuts[8];
    for (size_t i = 0; i < n; i++) text[i] = (char)('a' + wick_rng_next(&rng) % 2);
    text[n] = 0;
    for (size_t s = 0; s < n_strings; s++) {
      size_t length = 1 + wick_rng_next(&rng) % 7;
      for (size_t i = 0; i < length; i++) strings[s][i] = (char)('a' + wick_rng_next(&rng) % 2);
      strings[s][length] = 0;
      pointers[s] = strings[s];
    }
    for (size_t i = 0, at = 0; i < 8; i++) {
      at += wick_rng_next(&rng) % 8;
      cuts[i] = at < n ? at : n;
    }
    n_matches += plain_search(text, pointers, n_strings) >= 0;
    right &= runs_right(text, cuts, 8, pointers, n_strings);
  }
  CHECK(t, right && n_matches > 1000 && n_matches < 20000,
        "20000 random texts of two letters equal the plain search");
}

static void test_limits(tap *t) {
  static char longest[4098], text[4096];
  memset(longest, 'a', 4097);
  memset(text, 'a', sizeof text);
  const char *const too_long[] = {longest}, *const empty[] = {"x", ""};
  const char *const middle[] = {"\xa9 rest"};
  const char *many[65];
  for (int i = 0; i < 65; i++) many[i] = "x";
  wick_error error = {0};
  wick_stop *stop = NULL;
  const wick_allocator *allocator = wick_allocator_default();
  CHECK(t, wick_stop_new(allocator, too_long, 1, &stop, &error) == WICK_ERROR_ARGUMENT,
        "4097 bytes are refused");
  CHECK(t,
        wick_stop_new(allocator, empty, 2, &stop, &error) == WICK_ERROR_ARGUMENT &&
            strncmp(error.message, "stop[1]: expected 1 to 4096 bytes, found 0", 42) == 0,
        "an empty one is refused by its number");
  CHECK(t, wick_stop_new(allocator, middle, 1, &stop, &error) == WICK_ERROR_ARGUMENT,
        "one that begins inside a character is refused");
  CHECK(t, wick_stop_new(allocator, many, 65, &stop, &error) == WICK_ERROR_ARGUMENT,
        "65 are refused");
  longest[4096] = 0;
  const char *out;
  size_t n_out;
  int right = wick_stop_new(allocator, too_long, 1, &stop, NULL) == WICK_OK;
  right &= !wick_stop_push(stop, text, 4095, &out, &n_out) && n_out == 0;
  right &= !wick_stop_push(stop, "b", 1, &out, &n_out) && n_out == 4096;
  right &= wick_stop_push(stop, text, 4096, &out, &n_out) && n_out == 0;
  CHECK(t, right, "4096 bytes are held and found");
  wick_stop_free(stop);
}

int main(void) {
  tap t = {0};
  test_texts(&t);
  test_whole_characters(&t);
  test_random(&t);
  test_limits(&t);
  return tap_done(&t);
}
