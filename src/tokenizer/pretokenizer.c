/* The four pre-tokenizers. In each pattern below the alternatives are tried in order and each
 * matches as much as it can, so a scanner that looks at one code point decides; only white space
 * looks back. Sources: GPT-2's encoder.py; Hugging Face's tokenizer.json of Llama 3, Qwen 2 and
 * SmolLM2. Chapter 11.
 *
 * gpt2       's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 * smollm     each numeric character by itself; what is between them is cut as by gpt2
 * llama-bpe  (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|
 *            ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+     (a space before the first ?)
 * qwen2      llama-bpe with \p{N} in place of \p{N}{1,3} */
#include "tokenizer/pretokenizer.h"

#include "core/utf8.h"
#include "tokenizer/unicode.h"

enum {
  LETTER = WICK_UNICODE_LETTER,
  NUMBER = WICK_UNICODE_NUMBER,
  SPACE = WICK_UNICODE_SPACE,
  ANY = LETTER | NUMBER | SPACE,
};

static const char gpt2_pattern[] =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
static const char llama_pattern[] =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|"
    " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
static const char qwen2_pattern[] =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|"
    " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

const char *wick_pre_name(wick_pre pre) {
  static const char *const names[] = {"none", "smollm", "gpt2", "llama-bpe", "qwen2"};
  return names[pre];
}

wick_pre wick_pre_from_name(wick_string name) {
  static const struct {
    const char *name;
    wick_pre pre;
  } known[] = {
      {"smollm", WICK_PRE_SMOLLM},    {"gpt2", WICK_PRE_GPT2},
      {"gpt-2", WICK_PRE_GPT2},       {"llama-bpe", WICK_PRE_LLAMA_BPE},
      {"llama3", WICK_PRE_LLAMA_BPE}, {"llama-v3", WICK_PRE_LLAMA_BPE},
      {"qwen2", WICK_PRE_QWEN2},
  };
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
    if (wick_string_equal(name, known[i].name)) return known[i].pre;
  return WICK_PRE_NONE;
}

wick_pre wick_pre_from_pattern(wick_string pattern) {
  if (wick_string_equal(pattern, gpt2_pattern)) return WICK_PRE_GPT2;
  if (wick_string_equal(pattern, llama_pattern)) return WICK_PRE_LLAMA_BPE;
  if (wick_string_equal(pattern, qwen2_pattern)) return WICK_PRE_QWEN2;
  return WICK_PRE_NONE;
}

/* A piece being scanned: text[0..n). */
typedef struct span {
  const char *text;
  size_t n;
} span;

/* The class of the code point at, and *after it. At the end: -1. */
static int class_at(span s, size_t at, size_t *after) {
  *after = at;
  if (at >= s.n) return -1;
  wick_utf8_char c = wick_utf8_decode(s.text + at, s.n - at);
  *after = at + c.n_bytes;
  return (int)wick_unicode_class(c.code_point);
}

/* The end of the run from at on of code points whose class within mask is wanted. */
static size_t run_end(span s, size_t at, int mask, int wanted) {
  for (size_t after;; at = after) {
    int class = class_at(s, at, &after);
    if (class < 0 || (class & mask) != wanted) return at;
  }
}

/* 's 't 'm 'd 're 've 'll at at: its length, or 0. */
static size_t contraction(span s, size_t at, bool ignore_case) {
  if (s.n - at < 2 || s.text[at] != '\'') return 0;
  char fold = ignore_case ? 0x20 : 0;
  char first = (char)(s.text[at + 1] | fold);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
  if (s.n - at < 3) return 0;
  /* Without regard to case, the long s (U+017F) is an s. */
  if (ignore_case && s.text[at + 1] == '\xc5' && s.text[at + 2] == '\xbf') return 3;
  char second = (char)(s.text[at + 2] | fold);
  bool known = ((first == 'r' || first == 'v') && second == 'e') || (first == 'l' && second == 'l');
  return known ? 3 : 0;
}

/* \s+(?!\S)|\s+ with white space at at: all of it at the end, else all but the last character, so
 * that " ?" can take that one; but at least one. */
static size_t spaces_end(span s, size_t at) {
  size_t last = at;
  for (size_t next = at, after;; next = after) {
    int class = class_at(s, next, &after);
    if (class < 0) return next;
    if (!(class & SPACE)) return last > at ? last : next;
    last = next;
  }
}

static size_t gpt2_end(span s, size_t at) {
  size_t n = contraction(s, at, false);
  if (n) return at + n;
  size_t after;
  int class = class_at(s, at + (s.text[at] == ' '), &after); /* behind " ?" */
  if (class >= 0 && !(class & SPACE)) return run_end(s, after, ANY, class & ANY);
  return spaces_end(s, at);
}

/* \s*[\r\n]+ with white space at at: just behind the last line break of the run, or at. */
static size_t line_break_end(span s, size_t at) {
  size_t end = at;
  for (size_t next = at, after;; next = after) {
    int class = class_at(s, next, &after);
    if (class < 0 || !(class & SPACE)) return end;
    if (s.text[next] == '\n' || s.text[next] == '\r') end = after;
  }
}

static size_t llama_end(span s, size_t at, int max_digits) {
  size_t n = contraction(s, at, true);
  if (n) return at + n;
  size_t after, beyond;
  int class = class_at(s, at, &after);
  if (class & LETTER) return run_end(s, after, LETTER, LETTER);
  if (class & NUMBER) {
    for (int i = 1; i < max_digits; i++, after = beyond) {
      class = class_at(s, after, &beyond);
      if (class < 0 || !(class & NUMBER)) break;
    }
    return after;
  }
  bool line_break = s.text[at] == '\r' || s.text[at] == '\n';
  int next = class_at(s, after, &beyond);
  if (!line_break && next >= 0 && (next & LETTER)) return run_end(s, beyond, LETTER, LETTER);
  class = class_at(s, at + (s.text[at] == ' '), &after);
  if (class >= 0 && !(class & ANY)) {
    after = run_end(s, after, ANY, 0);
    while (after < s.n && (s.text[after] == '\r' || s.text[after] == '\n')) after++;
    return after;
  }
  size_t end = line_break_end(s, at);
  return end > at ? end : spaces_end(s, at);
}

/* Numeric characters alone, gpt2 between them. */
static size_t smollm_end(wick_words *words) {
  span rest = {words->text, words->n};
  if (words->at >= words->segment_end) {
    size_t after;
    if (class_at(rest, words->at, &after) & WICK_UNICODE_NUMERIC) return after;
    words->segment_end = run_end(rest, after, WICK_UNICODE_NUMERIC, 0);
  }
  return gpt2_end((span){words->text, words->segment_end}, words->at);
}

bool wick_words_next(wick_words *words, wick_string *out) {
  if (words->at >= words->n) return false;
  span s = {words->text, words->n};
  size_t end = words->n;
  switch (words->pre) {
  case WICK_PRE_NONE:
    break;
  case WICK_PRE_SMOLLM:
    end = smollm_end(words);
    break;
  case WICK_PRE_GPT2:
    end = gpt2_end(s, words->at);
    break;
  case WICK_PRE_LLAMA_BPE:
    end = llama_end(s, words->at, 3);
    break;
  case WICK_PRE_QWEN2:
    end = llama_end(s, words->at, 1);
    break;
  }
  *out = (wick_string){words->text + words->at, end - words->at};
  words->at = end;
  return true;
}
