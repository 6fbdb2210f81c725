/* A tokenizer from GGUF's metadata:
 *
 * tokenizer.ggml.model       "gpt2": byte-level BPE
 * tokenizer.ggml.pre         the pre-tokenizer's name
 * tokenizer.ggml.tokens      [n] strings, in the byte-level alphabet
 * tokenizer.ggml.token_type  [n] 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte
 * tokenizer.ggml.merges      strings "left right", best first
 * tokenizer.ggml.bos_token_id, eos_token_id, eot_token_id, eom_token_id, add_bos_token
 * tokenizer.chat_template    Jinja
 *
 * Source: the GGUF specification (ggml-org/ggml, docs/gguf.md). Chapter 11. */
#include <string.h>

#include "tokenizer/hash.h"
#include "tokenizer/internal.h"

enum { TYPE_UNKNOWN = 2, TYPE_CONTROL = 3, TYPE_USER_DEFINED = 4, TYPE_UNUSED = 5 };

static wick_status find_array(const wick_load *load, const wick_gguf *gguf, const char *key,
                              const wick_gguf_value **out) {
  *out = wick_gguf_find(gguf, key);
  if (!*out || !(*out)->is_array || (*out)->type != WICK_GGUF_STRING)
    return wick_fail(load->error, WICK_ERROR_FORMAT,
                     "%s: expected %s, an array of strings, found %s", load->tokenizer->name, key,
                     *out ? "another type" : "none");
  return WICK_OK;
}

static wick_status read_pre(const wick_load *load, const wick_gguf *gguf) {
  wick_string model = {0}, pre = {0};
  wick_gguf_get_string(gguf, "tokenizer.ggml.model", &model);
  wick_gguf_get_string(gguf, "tokenizer.ggml.pre", &pre);
  wick_tokenizer *tokenizer = load->tokenizer;
  if (!wick_string_equal(model, "gpt2"))
    return wick_fail(load->error, WICK_ERROR_UNSUPPORTED,
                     "%s: expected tokenizer.ggml.model gpt2 (byte-level BPE), found \"%.*s\"",
                     tokenizer->name, WICK_STRING_ARGS(model));
  tokenizer->pre = wick_pre_from_name(pre);
  if (tokenizer->pre == WICK_PRE_NONE)
    return wick_fail(load->error, WICK_ERROR_UNSUPPORTED,
                     "%s: expected tokenizer.ggml.pre smollm, gpt-2, llama-bpe or qwen2, found "
                     "\"%.*s\"",
                     tokenizer->name, WICK_STRING_ARGS(pre));
  tokenizer->normalize = tokenizer->pre == WICK_PRE_QWEN2;
  return WICK_OK;
}

static int kind_of_type(int64_t type) {
  switch (type) {
  case TYPE_UNKNOWN:
  case TYPE_CONTROL:
    return WICK_TOKEN_SPECIAL;
  case TYPE_USER_DEFINED:
    return WICK_TOKEN_ADDED;
  case TYPE_UNUSED:
    return WICK_TOKEN_NONE;
  default:
    return WICK_TOKEN_NORMAL;
  }
}

static wick_status read_tokens(wick_load *load, const wick_gguf *gguf) {
  const wick_gguf_value *tokens, *types = wick_gguf_find(gguf, "tokenizer.ggml.token_type");
  WICK_TRY(find_array(load, gguf, "tokenizer.ggml.tokens", &tokens));
  WICK_TRY(wick_load_tokens(load, tokens->n));
  bool integers = types && types->is_array &&
                  (types->type == WICK_GGUF_I32 || types->type == WICK_GGUF_U32 ||
                   types->type == WICK_GGUF_I8 || types->type == WICK_GGUF_U8);
  if (types && (!integers || types->n != tokens->n))
    return wick_fail(load->error, WICK_ERROR_FORMAT,
                     "%s: expected tokenizer.ggml.token_type, an array of %llu integers, found %s "
                     "%llu",
                     load->tokenizer->name, (unsigned long long)tokens->n,
                     integers ? "one of" : "another type,", (unsigned long long)types->n);
  uint64_t at = 0;
  for (size_t i = 0; i < load->n_tokens && wick_gguf_next_string(tokens, &at, &load->texts[i]);
       i++) {
    int kind = types ? kind_of_type(wick_gguf_int_at(types, i)) : WICK_TOKEN_NORMAL;
    load->kinds[i] = (uint8_t)kind;
    if (load->texts[i].n > 0)
      load->n_added += kind == WICK_TOKEN_SPECIAL || kind == WICK_TOKEN_ADDED;
  }
  load->added = WICK_ARENA_ARRAY(&load->tokenizer->arena, wick_added_token, load->n_added);
  if (!load->added) return wick_load_no_memory(load);
  size_t n_added = 0;
  for (size_t i = 0; i < load->n_tokens; i++) {
    bool special = load->kinds[i] == WICK_TOKEN_SPECIAL;
    if (load->texts[i].n == 0 || (!special && load->kinds[i] != WICK_TOKEN_ADDED)) continue;
    load->added[n_added++] =
        (wick_added_token){.n = load->texts[i].n, .id = (int32_t)i, .special = special};
  }
  return WICK_OK;
}

static wick_status read_merges(wick_load *load, const wick_gguf *gguf) {
  const wick_gguf_value *merges;
  WICK_TRY(find_array(load, gguf, "tokenizer.ggml.merges", &merges));
  if (merges->n > WICK_MAX_TOKENS)
    return wick_fail(load->error, WICK_ERROR_FORMAT, "%s: expected at most %d merges, found %llu",
                     load->tokenizer->name, WICK_MAX_TOKENS, (unsigned long long)merges->n);
  if (!wick_bpe_init(&load->tokenizer->bpe, &load->tokenizer->arena, (size_t)merges->n))
    return wick_load_no_memory(load);
  uint64_t at = 0;
  for (wick_string line; wick_gguf_next_string(merges, &at, &line);)
    WICK_TRY(wick_load_merge_line(load, line));
  return WICK_OK;
}

/* A token's id under key, or -1 when the key is missing. */
static wick_status read_id(const wick_load *load, const wick_gguf *gguf, const char *key,
                           int32_t *id) {
  *id = -1;
  uint64_t value;
  if (!wick_gguf_get_u64(gguf, key, &value)) return WICK_OK;
  if (value >= load->n_tokens)
    return wick_fail(load->error, WICK_ERROR_FORMAT, "%s: expected %s below %zu, found %llu",
                     load->tokenizer->name, key, load->n_tokens, (unsigned long long)value);
  *id = (int32_t)value;
  return WICK_OK;
}

static wick_status read_all(wick_load *load, const wick_gguf *gguf) {
  wick_tokenizer *tokenizer = load->tokenizer;
  WICK_TRY(read_pre(load, gguf));
  WICK_TRY(read_tokens(load, gguf));
  WICK_TRY(wick_load_index(load));
  WICK_TRY(read_merges(load, gguf));
  WICK_TRY(read_id(load, gguf, "tokenizer.ggml.bos_token_id", &tokenizer->info.bos_id));
  WICK_TRY(read_id(load, gguf, "tokenizer.ggml.eos_token_id", &tokenizer->info.eos_id));
  int32_t eot_id, eom_id;
  WICK_TRY(read_id(load, gguf, "tokenizer.ggml.eot_token_id", &eot_id));
  WICK_TRY(read_id(load, gguf, "tokenizer.ggml.eom_token_id", &eom_id));
  /* Files of Llama 3's kind from before the key existed expect a BOS; and its vocabulary is made
   * for looking up whole words first. */
  bool llama = tokenizer->pre == WICK_PRE_LLAMA_BPE;
  if (!wick_gguf_get_bool(gguf, "tokenizer.ggml.add_bos_token", &tokenizer->info.add_bos))
    tokenizer->info.add_bos = llama;
  if (llama) tokenizer->bpe.whole_words = &tokenizer->pieces;
  wick_string chat_template;
  if (wick_gguf_get_string(gguf, "tokenizer.chat_template", &chat_template)) {
    tokenizer->info.chat_template =
        wick_arena_copy_string(&tokenizer->arena, chat_template.data, chat_template.n);
    if (!tokenizer->info.chat_template) return wick_load_no_memory(load);
  }
  WICK_TRY(wick_load_finish(load));
  if (eot_id >= 0) tokenizer->ends[eot_id] = 1;
  if (eom_id >= 0) tokenizer->ends[eom_id] = 1;
  return WICK_OK;
}

wick_status wick_tokenizer_from_gguf(const char *name, const wick_gguf *gguf,
                                     const wick_allocator *allocator, wick_tokenizer **out,
                                     wick_error *error) {
  *out = NULL;
  wick_load load;
  wick_status status = wick_load_begin(&load, name, allocator, error);
  if (status == WICK_OK) status = read_all(&load, gguf);
  return wick_load_end(&load, status, out);
}
