/* Byte-level BPE: text -> token ids -> bytes, exactly as Hugging Face's tokenizers. From a GGUF
 * file's metadata or from tokenizer.json. Everything is copied: the header may go away afterwards.
 * Chapter 11. */
#ifndef WICK_TOKENIZER_TOKENIZER_H
#define WICK_TOKENIZER_TOKENIZER_H

#include "core/memory.h"
#include "formats/gguf.h"
#include "formats/json.h"

typedef struct wick_tokenizer wick_tokenizer;

/* name: the file's, for messages. allocator is borrowed until the tokenizer is freed. */
wick_status wick_tokenizer_from_gguf(const char *name, const wick_gguf *gguf,
                                     const wick_allocator *allocator, wick_tokenizer **out,
                                     wick_error *error);
/* tokenizer.json, and tokenizer_config.json or NULL (chat_template, bos, eos, add_bos_token), and
 * the text of chat_template.jinja or an empty string. */
wick_status wick_tokenizer_from_json(const char *name, const char *json, size_t n_json,
                                     const cJSON *tokenizer_config, wick_string chat_template,
                                     const wick_allocator *allocator, wick_tokenizer **out,
                                     wick_error *error);
void wick_tokenizer_free(wick_tokenizer *tokenizer);

typedef struct wick_tokenizer_info {
  int n_vocab;
  int32_t bos_id, eos_id;    /* -1: none */
  bool add_bos;              /* the file asks for a BOS before every text */
  const char *pre;           /* "smollm", "gpt2", "llama-bpe", "qwen2" */
  const char *chat_format;   /* NULL: the file's template is missing or not a known one */
  const char *chat_template; /* as in the file, or NULL */
} wick_tokenizer_info;

const wick_tokenizer_info *wick_tokenizer_get_info(const wick_tokenizer *tokenizer);

/* As wick_tokenize in wick.h. No BOS is added. Linear in n_bytes but for a logarithm of the longest
 * word; scratch memory, some 32 bytes for each byte of that word, belongs to the call, so threads
 * may share a tokenizer. A byte that the vocabulary lacks (SmolLM2's lacks 21: 04, 06, 13, 14,
 * 16, 1D, C0, C1, F1, F2 and F5-FF) becomes unk_token where tokenizer.json names one, else that
 * byte vanishes, as in the reference. Added tokens that are not special are found whatever
 * parse_special says. */
wick_status wick_tokenizer_encode(const wick_tokenizer *tokenizer, const char *text, size_t n_bytes,
                                  bool parse_special, int32_t *ids, size_t capacity, size_t *n_ids,
                                  wick_error *error);

/* A text in spans, each with its own rule for special tokens: one is found only where it lies
 * within spans that follow each other and all parse them. All else runs across the seams, as the
 * reference does on the joined text. */
typedef struct wick_text_span {
  const char *text;
  size_t n_bytes;
  bool parse_special;
} wick_text_span;

wick_status wick_tokenizer_encode_spans(const wick_tokenizer *tokenizer,
                                        const wick_text_span *spans, size_t n_spans, int32_t *ids,
                                        size_t capacity, size_t *n_ids, wick_error *error);

/* As wick_chat_tokenize in wick.h. */
wick_status wick_tokenizer_encode_chat(const wick_tokenizer *tokenizer,
                                       const wick_message *messages, size_t n_messages,
                                       int32_t *ids, size_t capacity, size_t *n_ids,
                                       wick_error *error);

/* As wick_token_bytes, wick_token_is_special, wick_token_is_end in wick.h. */
wick_string wick_tokenizer_token_bytes(const wick_tokenizer *tokenizer, int32_t id);
bool wick_tokenizer_is_special(const wick_tokenizer *tokenizer, int32_t id);
bool wick_tokenizer_is_end(const wick_tokenizer *tokenizer, int32_t id);

#endif
