/* Added tokens: strings that are found in the text before it is cut into words. Special ones are
 * found only where the caller asked for it. Chapter 11. */
#ifndef WICK_TOKENIZER_ADDED_H
#define WICK_TOKENIZER_ADDED_H

#include "core/memory.h"

enum { WICK_MAX_ADDED_BYTES = 256 }; /* bounds the time that a match takes */

typedef struct wick_added_token {
  const char *text; /* borrowed from the tokenizer's arena */
  size_t n;
  int32_t id;
  bool special;
  bool single_word;    /* no \w may touch it */
  bool lstrip, rstrip; /* takes the white space before (behind) it along */
  bool normalized;     /* looked for after normalization, in what the others left */
} wick_added_token;

typedef struct wick_added_set {
  const wick_added_token *tokens; /* sorted by text, no two equal */
  size_t n;
  uint32_t first[257]; /* tokens[first[b]..first[b + 1]) begin with byte b */
} wick_added_set;

/* Sorts and indexes tokens in place; of equal texts the last stays. */
void wick_added_set_init(wick_added_set *set, wick_added_token *tokens, size_t n);

/* A run of the text inside which special tokens are (not) looked for. Runs follow each other. */
typedef struct wick_run {
  size_t end;
  bool parse_special;
} wick_run;

/* Walks the matches of a text from left to right, the longest at each place. A special token must
 * lie within one run that parses them. */
typedef struct wick_added_walk {
  const wick_added_set *set;
  const char *text;
  size_t n, at;
  const wick_run *runs; /* the first that ends behind at; the last ends at n; NULL: special tokens
                           nowhere */
} wick_added_walk;      /* starts with the above, at 0 */

/* The next match in [*start, *end), stripped white space included; false when there is none. */
bool wick_added_next(wick_added_walk *walk, const wick_added_token **token, size_t *start,
                     size_t *end);

#endif
