/* Cutting text into words, within which alone BPE merges. Each kind is a regular expression of the
 * reference, here a hand-written scanner: linear time, no recursion. Chapter 11. */
#ifndef WICK_TOKENIZER_PRETOKENIZER_H
#define WICK_TOKENIZER_PRETOKENIZER_H

#include "core/status.h"

typedef enum wick_pre {
  WICK_PRE_NONE, /* not a known one */
  WICK_PRE_SMOLLM,
  WICK_PRE_GPT2,
  WICK_PRE_LLAMA_BPE,
  WICK_PRE_QWEN2,
} wick_pre;

/* "smollm", "gpt2", "llama-bpe", "qwen2". */
const char *wick_pre_name(wick_pre pre);
/* From GGUF's tokenizer.ggml.pre, which says gpt-2 and has several names for Llama 3's. */
wick_pre wick_pre_from_name(wick_string name);
/* From the pattern of tokenizer.json's Split. */
wick_pre wick_pre_from_pattern(wick_string pattern);

/* Walks one piece of well-formed UTF-8. */
typedef struct wick_words {
  wick_pre pre;
  const char *text;
  size_t n, at;
  size_t segment_end; /* smollm: of the run without digits that at is in */
} wick_words;         /* starts with pre, text, n and zeros */

/* The next word; false at the end. The words joined are the text. */
bool wick_words_next(wick_words *words, wick_string *out);

#endif
