/* What loading from GGUF and from tokenizer.json share: from strings, kinds and merges to a
 * tokenizer. Chapter 11. */
#include <string.h>

#include "tokenizer/hash.h"
#include "tokenizer/internal.h"
#include "tokenizer/unicode.h"

wick_status wick_load_no_memory(const wick_load *load) {
  return wick_fail(load->error, WICK_ERROR_MEMORY, "%s: no memory for the tokenizer",
                   load->tokenizer ? load->tokenizer->name : "?");
}

wick_status wick_load_begin(wick_load *load, const char *name, const wick_allocator *allocator,
                            wick_error *error) {
  if (!allocator) allocator = wick_allocator_default();
  *load = (wick_load){.error = error};
  wick_arena_init(&load->scratch, allocator);
  wick_tokenizer *tokenizer = wick_allocate(allocator, sizeof *tokenizer, _Alignof(wick_tokenizer));
  if (!tokenizer) return wick_load_no_memory(load);
  *tokenizer = (wick_tokenizer){.allocator = allocator, .name = "?"};
  tokenizer->info.bos_id = tokenizer->info.eos_id = -1;
  tokenizer->bpe.unknown_id = -1;
  wick_arena_init(&tokenizer->arena, allocator);
  load->tokenizer = tokenizer;
  char *copy = wick_arena_copy_string(&tokenizer->arena, name, strlen(name));
  if (!copy) return wick_load_no_memory(load);
  tokenizer->name = copy;
  return WICK_OK;
}

wick_status wick_load_end(wick_load *load, wick_status status, wick_tokenizer **out) {
  wick_arena_free(&load->scratch);
  *out = load->tokenizer;
  if (status != WICK_OK) {
    wick_tokenizer_free(load->tokenizer);
    *out = NULL;
  }
  return status;
}

wick_status wick_load_tokens(wick_load *load, uint64_t n_tokens) {
  if (n_tokens == 0 || n_tokens > WICK_MAX_TOKENS)
    return wick_fail(load->error, WICK_ERROR_FORMAT, "%s: expected 1 to %d tokens, found %llu",
                     load->tokenizer->name, WICK_MAX_TOKENS, (unsigned long long)n_tokens);
  load->n_tokens = (size_t)n_tokens;
  load->texts = WICK_ARENA_ARRAY(&load->scratch, wick_string, n_tokens);
  load->kinds = WICK_ARENA_ARRAY(&load->tokenizer->arena, uint8_t, n_tokens);
  load->written_in_alphabet = WICK_ARENA_ARRAY(&load->scratch, uint8_t, n_tokens);
  return load->texts && load->kinds && load->written_in_alphabet ? WICK_OK
                                                                 : wick_load_no_memory(load);
}

static bool copy_texts(const wick_load *load, wick_arena *arena, wick_pieces *pieces) {
  uint64_t n_bytes = 0;
  for (size_t i = 0; i < load->n_tokens; i++) n_bytes += load->texts[i].n;
  if (n_bytes > UINT32_MAX) return false;
  return wick_pieces_init(pieces, arena, load->n_tokens, (size_t)n_bytes);
}

wick_status wick_load_index(wick_load *load) {
  if (!copy_texts(load, &load->scratch, &load->raw)) return wick_load_no_memory(load);
  for (size_t i = 0; i < load->n_tokens; i++)
    wick_pieces_add(&load->raw, load->texts[i].data, load->texts[i].n);
  WICK_TRY(wick_pieces_index(&load->raw, &load->scratch, load->kinds, load->tokenizer->name,
                             load->error));
  for (int byte = 0; byte < 256; byte++) {
    char character[2];
    size_t n = wick_alphabet_from_byte((uint8_t)byte, character);
    load->tokenizer->bpe.byte_ids[byte] = wick_pieces_find(&load->raw, character, n);
  }
  return WICK_OK;
}

static wick_status find_token(const wick_load *load, wick_string text, int32_t *id) {
  *id = wick_pieces_find(&load->raw, text.data, text.n);
  if (*id >= 0) return WICK_OK;
  return wick_fail(load->error, WICK_ERROR_FORMAT,
                   "%s: merge %u: expected tokens of the vocabulary, found \"%.*s\"",
                   load->tokenizer->name, load->tokenizer->bpe.n_merges, WICK_STRING_ARGS(text));
}

wick_status wick_load_merge(wick_load *load, wick_string left, wick_string right) {
  int32_t left_id, right_id, merged_id;
  WICK_TRY(find_token(load, left, &left_id));
  WICK_TRY(find_token(load, right, &right_id));
  char *joined = wick_arena_allocate(&load->scratch, (uint64_t)left.n + right.n, 1);
  if (!joined) return wick_load_no_memory(load);
  if (left.n) memcpy(joined, left.data, left.n);
  if (right.n) memcpy(joined + left.n, right.data, right.n);
  WICK_TRY(find_token(load, (wick_string){joined, left.n + right.n}, &merged_id));
  if (!wick_bpe_add_merge(&load->tokenizer->bpe, left_id, right_id, merged_id))
    return wick_fail(load->error, WICK_ERROR_FORMAT,
                     "%s: merge %u: expected pairs that hash evenly, found \"%.*s\" to collide",
                     load->tokenizer->name, load->tokenizer->bpe.n_merges, WICK_STRING_ARGS(left));
  return WICK_OK;
}

wick_status wick_load_merge_line(wick_load *load, wick_string line) {
  const char *space = line.n ? memchr(line.data, ' ', line.n) : NULL;
  size_t n_left = space ? (size_t)(space - line.data) : 0;
  if (!space || memchr(space + 1, ' ', line.n - n_left - 1))
    return wick_fail(load->error, WICK_ERROR_FORMAT,
                     "%s: merge %u: expected two tokens with a space between, found \"%.*s\"",
                     load->tokenizer->name, load->tokenizer->bpe.n_merges, WICK_STRING_ARGS(line));
  return wick_load_merge(load, (wick_string){line.data, n_left},
                         (wick_string){space + 1, line.n - n_left - 1});
}

/* The bytes that each token stands for: where it is written in the alphabet, that (or, as in the
 * reference, the text itself when a character of it is not), else the text itself. is_word: which
 * ones are words for ignore_merges. */
static wick_status decode_pieces(wick_load *load, uint8_t *is_word) {
  wick_tokenizer *tokenizer = load->tokenizer;
  if (!copy_texts(load, &tokenizer->arena, &tokenizer->pieces)) return wick_load_no_memory(load);
  for (size_t i = 0; i < load->n_tokens; i++) {
    wick_string text = load->texts[i];
    char *piece = tokenizer->pieces.bytes + tokenizer->pieces.offsets[i];
    size_t n = 0;
    bool normal = load->kinds[i] == WICK_TOKEN_NORMAL;
    bool decoded = (normal || load->written_in_alphabet[i]) && text.n > 0 &&
                   wick_bytes_from_alphabet(text, piece, &n);
    is_word[i] = normal && decoded;
    if (decoded)
      tokenizer->pieces.offsets[++tokenizer->pieces.n] = tokenizer->pieces.offsets[i] + (uint32_t)n;
    else
      wick_pieces_add(&tokenizer->pieces, text.data, text.n);
  }
  return WICK_OK;
}

/* Ends of answers that files do not always name: end of turn, of text, of a tool call. */
static bool is_known_end(wick_string text) {
  static const char *const known[] = {"<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|eom_id|>",
                                      "<|end_of_text|>"};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
    if (wick_string_equal(text, known[i])) return true;
  return false;
}

static wick_status mark_ends(wick_load *load) {
  wick_tokenizer *tokenizer = load->tokenizer;
  tokenizer->ends = WICK_ARENA_ARRAY(&tokenizer->arena, uint8_t, load->n_tokens);
  if (!tokenizer->ends) return wick_load_no_memory(load);
  if (tokenizer->info.eos_id >= 0) tokenizer->ends[tokenizer->info.eos_id] = 1;
  for (size_t i = 0; i < load->n_tokens; i++)
    if (load->kinds[i] == WICK_TOKEN_SPECIAL && is_known_end(load->texts[i]))
      tokenizer->ends[i] = 1;
  return WICK_OK;
}

/* Two sets: tokens found in the text as it is, and those found in the normalized rest. A special
 * one is always of the first, so that a run decides about it. */
static wick_status build_added_sets(wick_load *load) {
  wick_tokenizer *tokenizer = load->tokenizer;
  size_t n_first = 0;
  for (size_t i = 0; i < load->n_added; i++) {
    wick_added_token *token = &load->added[i];
    if (token->n > WICK_MAX_ADDED_BYTES)
      return wick_fail(load->error, WICK_ERROR_UNSUPPORTED,
                       "%s: token %d: expected an added token of at most %d bytes, found %zu",
                       tokenizer->name, (int)token->id, WICK_MAX_ADDED_BYTES, token->n);
    if (token->normalized && !token->special) {
      if (tokenizer->normalize && !wick_is_plainly_nfc(token->text, token->n)) {
        wick_buffer form_c = {.allocator = load->scratch.allocator};
        bool ok = wick_normalize_nfc(token->text, token->n, form_c.allocator, &form_c);
        token->text = ok ? wick_arena_copy_string(&tokenizer->arena, form_c.data, form_c.n) : NULL;
        token->n = form_c.n;
        wick_buffer_free(&form_c);
        if (!token->text) return wick_load_no_memory(load);
      }
      continue;
    }
    wick_added_token swap = *token;
    *token = load->added[n_first];
    load->added[n_first++] = swap;
  }
  wick_added_set_init(&tokenizer->added, load->added, n_first);
  wick_added_set_init(&tokenizer->added_after_normalizing, load->added + n_first,
                      load->n_added - n_first);
  return WICK_OK;
}

wick_status wick_load_finish(wick_load *load) {
  wick_tokenizer *tokenizer = load->tokenizer;
  wick_tokenizer_info *info = &tokenizer->info;
  uint8_t *is_word = WICK_ARENA_ARRAY(&load->scratch, uint8_t, load->n_tokens);
  if (!is_word) return wick_load_no_memory(load);
  WICK_TRY(decode_pieces(load, is_word));
  if (tokenizer->bpe.whole_words)
    WICK_TRY(wick_pieces_index(&tokenizer->pieces, &tokenizer->arena, is_word, tokenizer->name,
                               load->error));
  for (size_t i = 0; i < load->n_added; i++) {
    wick_string text = load->texts[load->added[i].id];
    load->added[i].text = wick_arena_copy_string(&tokenizer->arena, text.data, text.n);
    if (!load->added[i].text) return wick_load_no_memory(load);
  }
  WICK_TRY(build_added_sets(load));
  tokenizer->kinds = load->kinds;
  WICK_TRY(mark_ends(load));
  info->n_vocab = (int)load->n_tokens;
  info->pre = wick_pre_name(tokenizer->pre);
  info->add_bos = info->add_bos && info->bos_id >= 0;
  if (info->chat_template) {
    wick_string text = {info->chat_template, strlen(info->chat_template)};
    if (!wick_chat_recognize(text, &tokenizer->arena, &tokenizer->chat, &tokenizer->default_system))
      return wick_load_no_memory(load);
  }
  if (tokenizer->chat && tokenizer->chat->begin_with_bos && info->bos_id < 0)
    tokenizer->chat = NULL;
  if (tokenizer->chat) info->chat_format = tokenizer->chat->name;
  return WICK_OK;
}
