/* Normalization form C in one pass: decompose, order the marks behind each starter, compose. Qwen's
 * tokenizers want it. A run of marks of any length costs linear time (a counting sort).
 * Source: Unicode Standard Annex 15; the Unicode Standard 15, sections 3.11 and 3.12. Chapter 11.
 */
#include "tokenizer/unicode.h"

#include "core/utf8.h"

enum {
  SYLLABLE_FIRST = 0xac00, /* Hangul syllables are composed by arithmetic: section 3.12 */
  LEAD_FIRST = 0x1100,
  VOWEL_FIRST = 0x1161,
  TRAIL_FIRST = 0x11a7, /* one before the first */
  N_LEADS = 19,
  N_VOWELS = 21,
  N_TRAILS = 28,
  N_SYLLABLES = N_LEADS * N_VOWELS * N_TRAILS,
  CODE_POINT_MASK = 0x1fffff,
  MAX_DECOMPOSED = 4, /* code points that one becomes; the tables' script checks it */
  N_CLASSES = 256,
};
static const uint32_t none = UINT32_MAX; /* no code point */

/* A mark: combining class << 24 | code point. */
typedef struct normalizer {
  wick_buffer *out;
  wick_buffer marks, sorted; /* uint32_t each: behind the starter, not yet written */
  uint32_t starter;          /* or none: at the beginning */
} normalizer;

static uint32_t combining_class(uint32_t code_point) {
  if (code_point < 0x300) return 0;
  size_t low = 0, high = wick_n_combining_classes;
  while (high - low > 1) {
    size_t middle = (low + high) / 2;
    if (wick_combining_classes[middle] >> 8 <= code_point)
      low = middle;
    else
      high = middle;
  }
  return wick_combining_classes[low] & 0xff;
}

/* The decomposition's first << 21 | second, or 0 when there is none. */
static uint64_t find_decomposition(uint32_t code_point) {
  size_t low = 0, high = wick_n_decompositions;
  while (low < high) {
    size_t middle = (low + high) / 2;
    uint32_t composed = (uint32_t)(wick_decompositions[middle] >> 42);
    if (composed == code_point) return wick_decompositions[middle] & ((1ull << 42) - 1);
    if (composed < code_point)
      low = middle + 1;
    else
      high = middle;
  }
  return 0;
}

/* The code point that first and second compose to, or 0. */
static uint32_t compose(uint32_t first, uint32_t second) {
  if (first - LEAD_FIRST < N_LEADS && second - VOWEL_FIRST < N_VOWELS)
    return SYLLABLE_FIRST +
           ((first - LEAD_FIRST) * N_VOWELS + (second - VOWEL_FIRST)) * (uint32_t)N_TRAILS;
  if (first - SYLLABLE_FIRST < N_SYLLABLES && (first - SYLLABLE_FIRST) % N_TRAILS == 0 &&
      second - TRAIL_FIRST - 1 < N_TRAILS - 1)
    return first + second - TRAIL_FIRST;
  uint64_t wanted = (uint64_t)first << 21 | second;
  size_t low = 0, high = wick_n_compositions;
  while (low < high) {
    size_t middle = (low + high) / 2;
    uint64_t entry = wick_decompositions[wick_compositions[middle]];
    uint64_t pair = entry & ((1ull << 42) - 1);
    if (pair == wanted) return (uint32_t)(entry >> 42);
    if (pair < wanted)
      low = middle + 1;
    else
      high = middle;
  }
  return 0;
}

/* Full decomposition, in order; returns the count. */
static int decompose(uint32_t code_point, uint32_t out[MAX_DECOMPOSED]) {
  uint32_t syllable = code_point - SYLLABLE_FIRST;
  if (syllable < N_SYLLABLES) {
    out[0] = LEAD_FIRST + syllable / (N_VOWELS * N_TRAILS);
    out[1] = VOWEL_FIRST + syllable / N_TRAILS % N_VOWELS;
    out[2] = TRAIL_FIRST + syllable % N_TRAILS;
    return out[2] == TRAIL_FIRST ? 2 : 3;
  }
  uint32_t reversed[MAX_DECOMPOSED]; /* only the first of a pair decomposes further */
  int n = 0;
  while (code_point >= 0xc0) {
    uint64_t pair = find_decomposition(code_point);
    if (pair == 0) break;
    if ((pair & CODE_POINT_MASK) != 0 && n < MAX_DECOMPOSED - 1)
      reversed[n++] = (uint32_t)(pair & CODE_POINT_MASK);
    code_point = (uint32_t)(pair >> 21);
  }
  reversed[n++] = code_point;
  for (int i = 0; i < n; i++) out[i] = reversed[n - 1 - i];
  return n;
}

/* Stable, by combining class. NULL when scratch cannot be had. */
static uint32_t *sort_marks(normalizer *state, size_t n) {
  uint32_t *marks = (uint32_t *)(void *)state->marks.data;
  if (n <= 16) { /* nearly always one or two */
    for (size_t i = 1; i < n; i++) {
      uint32_t mark = marks[i];
      size_t j = i;
      for (; j > 0 && marks[j - 1] >> 24 > mark >> 24; j--) marks[j] = marks[j - 1];
      marks[j] = mark;
    }
    return marks;
  }
  state->sorted.n = 0;
  if (!wick_buffer_reserve(&state->sorted, state->marks.n)) return NULL;
  uint32_t *sorted = (uint32_t *)(void *)state->sorted.data;
  size_t start[N_CLASSES + 1] = {0};
  for (size_t i = 0; i < n; i++) start[(marks[i] >> 24) + 1]++;
  for (int k = 0; k < N_CLASSES; k++) start[k + 1] += start[k];
  for (size_t i = 0; i < n; i++) sorted[start[marks[i] >> 24]++] = marks[i];
  return sorted;
}

static bool write_code_point(normalizer *state, uint32_t code_point) {
  char bytes[WICK_UTF8_MAX_BYTES];
  return wick_buffer_append(state->out, bytes, wick_utf8_encode(code_point, bytes));
}

/* A starter, or the end, follows (next: its code point, or none): compose what has gathered,
 * then either merge next into the starter or write everything out. */
static bool close_run(normalizer *state, uint32_t next) {
  size_t n = state->marks.n / sizeof(uint32_t), n_left = 0;
  uint32_t *marks = sort_marks(state, n);
  if (!marks && n > 0) return false;
  for (size_t i = 0; i < n; i++) {
    /* A mark is blocked from the starter by one of its own class that did not compose. */
    bool blocked = n_left > 0 && marks[n_left - 1] >> 24 == marks[i] >> 24;
    uint32_t composed = state->starter != none && !blocked
                            ? compose(state->starter, marks[i] & CODE_POINT_MASK)
                            : 0;
    if (composed)
      state->starter = composed;
    else
      marks[n_left++] = marks[i];
  }
  state->marks.n = 0;
  if (state->starter != none && n_left == 0 && next != none) {
    uint32_t composed = compose(state->starter, next);
    if (composed) {
      state->starter = composed;
      return true;
    }
  }
  if (state->starter != none && !write_code_point(state, state->starter)) return false;
  for (size_t i = 0; i < n_left; i++)
    if (!write_code_point(state, marks[i] & CODE_POINT_MASK)) return false;
  state->starter = next;
  return true;
}

static bool take(normalizer *state, uint32_t code_point) {
  uint32_t class = combining_class(code_point);
  if (class == 0) return close_run(state, code_point);
  uint32_t mark = class << 24 | code_point;
  return wick_buffer_append(&state->marks, &mark, sizeof mark);
}

bool wick_normalize_nfc(const char *text, size_t n, const wick_allocator *allocator,
                        wick_buffer *out) {
  normalizer state = {out, {.allocator = allocator}, {.allocator = allocator}, none};
  bool ok = wick_buffer_reserve(out, n);
  for (size_t at = 0; ok && at < n;) {
    wick_utf8_char c = wick_utf8_decode(text + at, n - at);
    uint32_t parts[MAX_DECOMPOSED];
    int n_parts = decompose(c.code_point, parts);
    for (int i = 0; ok && i < n_parts; i++) ok = take(&state, parts[i]);
    at += c.n_bytes;
  }
  ok = ok && close_run(&state, none);
  wick_buffer_free(&state.marks);
  wick_buffer_free(&state.sorted);
  return ok;
}

bool wick_is_plainly_nfc(const char *text, size_t n) {
  for (size_t i = 0; i < n; i++)
    if ((uint8_t)text[i] >= 0xcc) return false; /* U+0300 is CC 80 */
  return true;
}
