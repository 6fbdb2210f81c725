/* The tokenizer's inside: what loading builds, encoding reads and nobody changes afterwards. */
#ifndef WICK_TOKENIZER_INTERNAL_H
#define WICK_TOKENIZER_INTERNAL_H

#include "tokenizer/added.h"
#include "tokenizer/bpe.h"
#include "tokenizer/pretokenizer.h"
#include "tokenizer/tokenizer.h"

/* In the order of whom a string belongs to when several tokens have it. */
enum {
  WICK_TOKEN_NONE,    /* an id that the file does not name */
  WICK_TOKEN_SPECIAL, /* found in text only where special tokens are parsed */
  WICK_TOKEN_ADDED,   /* found in every text before it is cut into words */
  WICK_TOKEN_NORMAL,
};

/* How a conversation becomes text: see chat.c. */
typedef struct wick_chat_format {
  const char *name;
  bool begin_with_bos, trim_content;
  const char *before_role, *after_role, *after_content;
} wick_chat_format;

struct wick_tokenizer {
  const wick_allocator *allocator;
  wick_arena arena; /* of everything below */
  const char *name; /* the file's */
  wick_tokenizer_info info;
  wick_pieces pieces; /* the bytes that each token stands for */
  uint8_t *kinds;     /* [n_vocab] WICK_TOKEN_* */
  uint8_t *ends;      /* [n_vocab] 1: ends an answer */
  wick_pre pre;
  bool normalize; /* to form C, before words are cut */
  wick_added_set added, added_after_normalizing;
  wick_bpe bpe;
  const wick_chat_format *chat; /* NULL: not known */
  wick_string default_system;   /* the system prompt that the template inserts; empty: none */
};

/* ---- loading ---- */

/* A tokenizer being built, with what is needed until it is. */
typedef struct wick_load {
  wick_tokenizer *tokenizer;
  wick_arena scratch;
  wick_string *texts; /* [n_tokens] as in the file; set by the reader, as are the next five */
  uint8_t *kinds;     /* [n_tokens] */
  uint8_t *written_in_alphabet; /* [n_tokens] 1: even where it is an added token */
  size_t n_tokens;
  wick_added_token *added; /* from the tokenizer's arena */
  size_t n_added;
  wick_pieces raw; /* texts, findable */
  wick_error *error;
} wick_load;

wick_status wick_load_begin(wick_load *load, const char *name, const wick_allocator *allocator,
                            wick_error *error);
/* Memory for n_tokens, which must be 1 .. WICK_MAX_TOKENS. */
wick_status wick_load_tokens(wick_load *load, uint64_t n_tokens);
/* Make texts findable in raw. */
wick_status wick_load_index(wick_load *load);
/* The next merge, of tokens that must exist. */
wick_status wick_load_merge(wick_load *load, wick_string left, wick_string right);
/* "left right". */
wick_status wick_load_merge_line(wick_load *load, wick_string line);
/* Everything that follows from the above and the tokenizer's other fields. */
wick_status wick_load_finish(wick_load *load);
/* Free what was only needed for loading, and on a bad status the tokenizer as well. */
wick_status wick_load_end(wick_load *load, wick_status status, wick_tokenizer **out);
wick_status wick_load_no_memory(const wick_load *load);

/* tokenizer.json's normalizer and pre_tokenizer; and, once the tokens are read, whether its
 * post_processor adds a BOS. See pipeline.c. */
wick_status wick_load_pipeline(wick_load *load, const cJSON *root);
wick_status wick_load_template_bos(wick_load *load, const cJSON *post_processor);

/* The byte-level alphabet: see bytes.c. Writes at most text.n bytes to out and returns how many;
 * false when a character stands for no byte. */
bool wick_bytes_from_alphabet(wick_string text, char *out, size_t *n_out);
/* The character that stands for a byte, in UTF-8; returns its length, 1 or 2. */
size_t wick_alphabet_from_byte(uint8_t byte, char out[2]);

/* Recognise a template: *format (or NULL) and the default system prompt, from arena. False when
 * memory fails. */
bool wick_chat_recognize(wick_string chat_template, wick_arena *arena,
                         const wick_chat_format **format, wick_string *default_system);

#endif
