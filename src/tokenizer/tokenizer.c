/* Questions to a tokenizer that is built. See tokenizer.h. Chapter 11. */
#include "tokenizer/tokenizer.h"

#include "tokenizer/internal.h"

void wick_tokenizer_free(wick_tokenizer *tokenizer) {
  if (!tokenizer) return;
  const wick_allocator *allocator = tokenizer->allocator;
  wick_arena_free(&tokenizer->arena);
  wick_release(allocator, tokenizer, sizeof *tokenizer, _Alignof(wick_tokenizer));
}

const wick_tokenizer_info *wick_tokenizer_get_info(const wick_tokenizer *tokenizer) {
  return &tokenizer->info;
}

static bool exists(const wick_tokenizer *tokenizer, int32_t id) {
  return id >= 0 && id < tokenizer->info.n_vocab;
}

wick_string wick_tokenizer_token_bytes(const wick_tokenizer *tokenizer, int32_t id) {
  return exists(tokenizer, id) ? wick_pieces_get(&tokenizer->pieces, (uint32_t)id)
                               : (wick_string){"", 0};
}

bool wick_tokenizer_is_special(const wick_tokenizer *tokenizer, int32_t id) {
  return exists(tokenizer, id) && tokenizer->kinds[id] == WICK_TOKEN_SPECIAL;
}

bool wick_tokenizer_is_end(const wick_tokenizer *tokenizer, int32_t id) {
  return exists(tokenizer, id) && tokenizer->ends[id];
}
