/* See added.h. The behaviour is that of AddedVocabulary in Hugging Face's tokenizers, but for one
 * thing: where special tokens are plain text, it skips over what would have been one, while here
 * the text inside is searched as well. */
#include "tokenizer/added.h"

#include <stdlib.h>
#include <string.h>

#include "core/utf8.h"
#include "tokenizer/unicode.h"

static int compare(const void *a, const void *b) {
  const wick_added_token *x = a, *y = b;
  int order = memcmp(x->text, y->text, x->n < y->n ? x->n : y->n);
  if (order != 0) return order;
  if (x->n != y->n) return x->n < y->n ? -1 : 1;
  return x->id < y->id ? -1 : x->id > y->id;
}

void wick_added_set_init(wick_added_set *set, wick_added_token *tokens, size_t n) {
  if (n) qsort(tokens, n, sizeof *tokens, compare);
  size_t n_kept = 0;
  for (size_t i = 0; i < n; i++) {
    bool again = n_kept > 0 && tokens[n_kept - 1].n == tokens[i].n &&
                 memcmp(tokens[n_kept - 1].text, tokens[i].text, tokens[i].n) == 0;
    if (!again) n_kept++;
    tokens[n_kept - 1] = tokens[i];
  }
  *set = (wick_added_set){.tokens = tokens, .n = n_kept};
  for (size_t i = 0; i < n_kept; i++) set->first[(uint8_t)tokens[i].text[0] + 1]++;
  for (int b = 0; b < 256; b++) set->first[b + 1] += set->first[b];
}

/* The first of tokens[low..high), which agree in their first depth bytes, whose next byte is at
 * least byte (257: none is). Tokens that end there come first. */
static uint32_t lower_bound(const wick_added_set *set, uint32_t low, uint32_t high, size_t depth,
                            unsigned byte) {
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    const wick_added_token *token = &set->tokens[middle];
    if (token->n <= depth || (uint8_t)token->text[depth] < byte)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* The code point that ends just before text[at], and where it starts. */
static uint32_t code_point_before(const char *text, size_t at, size_t *start) {
  size_t from = at - 1;
  while (from > 0 && ((uint8_t)text[from] & 0xc0) == 0x80) from--;
  *start = from;
  return wick_utf8_decode(text + from, at - from).code_point;
}

static bool touches_word(const wick_added_walk *walk, size_t start, size_t end) {
  size_t before;
  if (start > 0 &&
      (wick_unicode_class(code_point_before(walk->text, start, &before)) & WICK_UNICODE_WORD))
    return true;
  return end < walk->n &&
         (wick_unicode_class(wick_utf8_decode(walk->text + end, walk->n - end).code_point) &
          WICK_UNICODE_WORD);
}

/* The longest token that may stand at start, or NULL. */
static const wick_added_token *longest(const wick_added_walk *walk, size_t start) {
  const wick_added_set *set = walk->set;
  const wick_added_token *found = NULL;
  uint8_t byte = (uint8_t)walk->text[start];
  uint32_t low = set->first[byte], high = set->first[byte + 1];
  for (size_t depth = 1; low < high; depth++) {
    const wick_added_token *token = &set->tokens[low];
    if (token->n == depth) {
      bool allowed = !token->special ||
                     (walk->runs && walk->runs->parse_special && start + depth <= walk->runs->end);
      if (allowed) found = token;
      low++;
    }
    if (start + depth >= walk->n) break;
    byte = (uint8_t)walk->text[start + depth];
    low = lower_bound(set, low, high, depth, byte);
    high = lower_bound(set, low, high, depth, byte + 1u);
  }
  return found;
}

bool wick_added_next(wick_added_walk *walk, const wick_added_token **token, size_t *start,
                     size_t *end) {
  size_t floor = walk->at; /* white space before it belongs to the last match */
  for (size_t at = walk->at; walk->set->n > 0 && at < walk->n; at++) {
    while (walk->runs && at >= walk->runs->end) walk->runs++;
    const wick_added_token *found = longest(walk, at);
    if (!found) continue;
    *start = at;
    *end = at + found->n;
    if (found->single_word && touches_word(walk, *start, *end)) {
      at = *end - 1;
      continue;
    }
    for (size_t before; found->lstrip && *start > floor; *start = before)
      if (!(wick_unicode_class(code_point_before(walk->text, *start, &before)) &
            WICK_UNICODE_SPACE))
        break;
    while (found->rstrip && *end < walk->n) {
      wick_utf8_char c = wick_utf8_decode(walk->text + *end, walk->n - *end);
      if (!(wick_unicode_class(c.code_point) & WICK_UNICODE_SPACE)) break;
      *end += c.n_bytes;
    }
    walk->at = *end;
    *token = found;
    return true;
  }
  walk->at = walk->n;
  return false;
}
