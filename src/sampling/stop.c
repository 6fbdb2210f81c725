/* Stop strings by one Knuth-Morris-Pratt automaton each (1977): its state is the length of its
 * string's longest beginning that the text so far ends with. The largest state over all strings is
 * what must be held back; a state that reaches its string's length is a match. Chapter 15. */
#include "sampling/stop.h"

#include <assert.h>
#include <string.h>

enum { MAX_STRINGS = 64, MAX_PIECE_BYTES = 4096 };

typedef struct pattern {
  const char *text;
  size_t n;
  uint16_t *failure; /* [n]: the longest proper beginning of text[0 .. i] that it ends with */
  size_t state;
} pattern;

struct wick_stop {
  wick_arena arena;
  pattern *patterns;
  size_t n_patterns;
  char *text;             /* held text, then the new piece */
  size_t n_held, n_shown; /* text[0 .. n_shown) went out with the last call; n_held bytes follow */
  bool ended;
};

static size_t advance(const pattern *p, size_t state, char byte) {
  while (state > 0 && (state == p->n || p->text[state] != byte)) state = p->failure[state - 1];
  return p->text[state] == byte ? state + 1 : 0;
}

static bool pattern_init(pattern *p, wick_arena *arena, const char *text) {
  p->n = strlen(text);
  p->text = wick_arena_copy_string(arena, text, p->n);
  p->failure = WICK_ARENA_ARRAY(arena, uint16_t, p->n);
  if (!p->text || !p->failure) return false;
  for (size_t i = 1; i < p->n; i++) {
    p->failure[i] = (uint16_t)advance(p, p->failure[i - 1], p->text[i]);
  }
  return true;
}

static wick_status check_strings(const char *const *strings, size_t n, wick_error *error) {
  if (n > MAX_STRINGS) {
    return wick_fail(error, WICK_ERROR_ARGUMENT, "stop: expected at most %d strings, found %zu",
                     (int)MAX_STRINGS, n);
  }
  for (size_t i = 0; i < n; i++) {
    size_t length = strlen(strings[i]);
    if (length == 0 || length > WICK_STOP_MAX_BYTES) {
      return wick_fail(error, WICK_ERROR_ARGUMENT, "stop[%zu]: expected 1 to %d bytes, found %zu",
                       i, (int)WICK_STOP_MAX_BYTES, length);
    }
    /* So a match, and what is held, begins where a character does. */
    if (((unsigned char)strings[i][0] & 0xc0) == 0x80) {
      return wick_fail(error, WICK_ERROR_ARGUMENT,
                       "stop[%zu]: expected UTF-8, found the middle of a character first", i);
    }
  }
  return WICK_OK;
}

wick_status wick_stop_new(const wick_allocator *allocator, const char *const *strings, size_t n,
                          wick_stop **out, wick_error *error) {
  WICK_TRY(check_strings(strings, n, error));
  wick_arena arena;
  wick_arena_init(&arena, allocator);
  wick_stop *stop = WICK_ARENA_ARRAY(&arena, wick_stop, 1);
  pattern *patterns = WICK_ARENA_ARRAY(&arena, pattern, n);
  bool good = stop && patterns;
  size_t longest = 0;
  for (size_t i = 0; good && i < n; i++) {
    good = pattern_init(&patterns[i], &arena, strings[i]);
    if (patterns[i].n > longest) longest = patterns[i].n;
  }
  char *text = good ? wick_arena_allocate(&arena, longest + MAX_PIECE_BYTES, 1) : NULL;
  if (!text) {
    wick_arena_free(&arena);
    return wick_fail(error, WICK_ERROR_MEMORY, "stop: no memory for %zu strings", n);
  }
  *stop = (wick_stop){.arena = arena, .patterns = patterns, .n_patterns = n, .text = text};
  *out = stop;
  return WICK_OK;
}

void wick_stop_free(wick_stop *stop) {
  if (!stop) return;
  wick_arena arena = stop->arena; /* it holds the object itself */
  wick_arena_free(&arena);
}

/* One byte into every automaton. *longest: the longest state; true when a string is complete, then
 * *longest is the length of the longest complete one. */
static bool advance_all(wick_stop *stop, char byte, size_t *longest) {
  size_t held = 0, complete = 0;
  for (size_t i = 0; i < stop->n_patterns; i++) {
    pattern *p = &stop->patterns[i];
    p->state = advance(p, p->state, byte);
    if (p->state > held) held = p->state;
    if (p->state == p->n && p->n > complete) complete = p->n;
  }
  *longest = complete > 0 ? complete : held;
  return complete > 0;
}

/* Let text[0 .. n_shown) out, which the next call drops, and keep n_held bytes after it. */
static void show(wick_stop *stop, size_t n_shown, size_t n_held, const char **out, size_t *n_out) {
  stop->n_shown = n_shown;
  stop->n_held = n_held;
  *out = stop->text;
  *n_out = n_shown;
}

bool wick_stop_push(wick_stop *stop, const char *text, size_t n_bytes, const char **out,
                    size_t *n_out) {
  assert(n_bytes <= MAX_PIECE_BYTES);
  memmove(stop->text, stop->text + stop->n_shown, stop->n_held);
  if (stop->ended) n_bytes = 0;
  size_t n = stop->n_held, held = stop->n_held;
  for (size_t i = 0; i < n_bytes; i++) {
    stop->text[n++] = text[i];
    if (advance_all(stop, text[i], &held)) {
      stop->ended = true;
      show(stop, n - held, 0, out, n_out);
      return true;
    }
  }
  show(stop, n - held, held, out, n_out);
  return stop->ended;
}

void wick_stop_flush(wick_stop *stop, const char **out, size_t *n_out) {
  memmove(stop->text, stop->text + stop->n_shown, stop->n_held);
  stop->ended = true;
  show(stop, stop->n_held, 0, out, n_out);
}
