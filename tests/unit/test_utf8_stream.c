/* UTF-8 decoding and the streaming decoder. The truths are the Unicode Standard's: its examples of
 * U+FFFD substitution (tables 3-8 to 3-11 of version 15; the first is table 3-8 of version 6), and
 * that well-formed text comes out as it went in. */
#include <stdint.h>

#include "core/utf8.h"
#include "tap.h"
#include "tokenizer/stream.h"

#define REPLACED "\xef\xbf\xbd"

typedef struct example {
  const char *name, *bytes, *expected;
} example;

static const example examples[] = {
    {"truncated and lone bytes between letters",
     "\x61\xf1\x80\x80\xe1\x80\xc2\x62\x80\x63\x80\xbf\x64",
     "a" REPLACED REPLACED REPLACED "b" REPLACED "c" REPLACED REPLACED "d"},
    {"non-shortest forms", "\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41",
     REPLACED REPLACED REPLACED REPLACED REPLACED REPLACED REPLACED REPLACED "A"},
    {"surrogates", "\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41",
     REPLACED REPLACED REPLACED REPLACED REPLACED REPLACED REPLACED REPLACED "A"},
    {"other ill-formed bytes", "\xf4\x91\x92\x93\xff\x41\x80\xbf\x42",
     REPLACED REPLACED REPLACED REPLACED REPLACED "A" REPLACED REPLACED "B"},
    {"truncated sequences", "\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41",
     REPLACED REPLACED REPLACED REPLACED "A"},
    {"truncated at the end", "\x41\xf0\x9f\x98", "A" REPLACED},
    {"well-formed text of every length", "a\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80\x7f",
     "a\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80\x7f"},
};

/* Push the pieces that the bits of cuts separate (bit i: a cut behind byte i), then flush. */
static size_t stream_in_pieces(const char *bytes, size_t n, uint32_t cuts, char *out) {
  wick_utf8_stream stream = {0};
  size_t n_out = 0, from = 0;
  for (size_t i = 0; i < n; i++) {
    if (i + 1 < n && !(cuts >> i & 1)) continue;
    n_out += wick_utf8_stream_push(&stream, bytes + from, i + 1 - from, out + n_out);
    from = i + 1;
  }
  return n_out + wick_utf8_stream_flush(&stream, out + n_out);
}

static void check_example(tap *t, const example *e) {
  size_t n = strlen(e->bytes), n_expected = strlen(e->expected), n_wrong = 0;
  for (uint32_t cuts = 0; cuts < 1u << (n - 1); cuts++) {
    char out[128];
    size_t n_out = stream_in_pieces(e->bytes, n, cuts, out);
    n_wrong += n_out != n_expected || memcmp(out, e->expected, n_out) != 0;
  }
  CHECK(t, n_wrong == 0, e->name);
}

/* Every code point goes through encode, decode and the stream unchanged, and leaves the stream with
 * its last byte and not before. */
static void check_code_points(tap *t) {
  size_t n_wrong = 0, n_late = 0;
  for (uint32_t code_point = 0; code_point < 0x110000; code_point++) {
    if (code_point >= 0xd800 && code_point < 0xe000) continue;
    char bytes[WICK_UTF8_MAX_BYTES], out[3 * (1 + 3)];
    size_t n = wick_utf8_encode(code_point, bytes);
    size_t expected_n = code_point < 0x80      ? 1
                        : code_point < 0x800   ? 2
                        : code_point < 0x10000 ? 3
                                               : 4;
    wick_utf8_char c = wick_utf8_decode(bytes, n);
    n_wrong += n != expected_n || c.kind != WICK_UTF8_VALID || c.n_bytes != n ||
               c.code_point != code_point;
    wick_utf8_stream stream = {0};
    for (size_t i = 0; i < n; i++) {
      size_t n_out = wick_utf8_stream_push(&stream, bytes + i, 1, out);
      n_late += n_out != (i + 1 < n ? 0 : n);
    }
    n_late += memcmp(out, bytes, n) != 0 || stream.n_held != 0;
  }
  CHECK(t, n_wrong == 0, "every code point is encoded in its shortest form and decoded back");
  CHECK(t, n_late == 0, "every code point leaves the stream with its last byte");
}

/* Random bytes, biased to leads and continuations: what comes out is well-formed, the same whatever
 * the pieces, and within the promised bound. */
static void check_random(tap *t) {
  static const uint8_t likely[] = {0x41, 0x80, 0xbf, 0xc2, 0xe0, 0xa0,
                                   0xed, 0x9f, 0xf0, 0x90, 0xf4, 0x8f};
  uint64_t state = 1;
  size_t n_differ = 0, n_invalid = 0, n_long = 0;
  for (int round = 0; round < 20000; round++) {
    char bytes[24], whole[3 * (24 + 3)], pieces[3 * (24 + 3)];
    for (size_t i = 0; i < sizeof bytes; i++) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      uint32_t draw = (uint32_t)(state >> 40);
      bytes[i] = (char)(draw & 1 ? likely[draw / 2 % sizeof likely] : draw >> 8);
    }
    size_t n = stream_in_pieces(bytes, sizeof bytes, 0, whole);
    size_t n_pieces = stream_in_pieces(bytes, sizeof bytes, (uint32_t)(state >> 33), pieces);
    n_differ += n != n_pieces || memcmp(whole, pieces, n) != 0;
    n_invalid += !wick_utf8_valid(whole, n);
    n_long += n > sizeof whole;
  }
  CHECK(t, n_differ == 0, "pieces of random bytes give what the whole gives");
  CHECK(t, n_invalid == 0, "and that is well-formed");
  CHECK(t, n_long == 0, "and at most 3 (n + 3) bytes");
}

int main(void) {
  tap t = {0};
  for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) check_example(&t, &examples[i]);
  check_code_points(&t);
  check_random(&t);
  return tap_done(&t);
}
