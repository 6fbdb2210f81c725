/* The vocabulary: token id -> bytes, and back by hash. Chapter 11. */
#ifndef WICK_TOKENIZER_PIECES_H
#define WICK_TOKENIZER_PIECES_H

#include "core/memory.h"

typedef struct wick_pieces {
  char *bytes;       /* of all tokens, one after the other */
  uint32_t *offsets; /* [n + 1] into bytes */
  uint32_t n;
  uint32_t *slots; /* open addressing: id + 1, 0 is empty; NULL until indexed */
  uint32_t slot_mask;
} wick_pieces; /* starts as zeros; memory from an arena */

/* Room for n pieces of n_bytes bytes together. */
bool wick_pieces_init(wick_pieces *pieces, wick_arena *arena, size_t n, size_t n_bytes);
/* The next piece; within what init was told. */
void wick_pieces_add(wick_pieces *pieces, const char *data, size_t n);
wick_string wick_pieces_get(const wick_pieces *pieces, uint32_t id);

/* Make pieces findable. Only those with eligible[id] (NULL: all); of equal ones the last of the
 * highest eligible[id]. WICK_ERROR_FORMAT for a file made to collide. */
wick_status wick_pieces_index(wick_pieces *pieces, wick_arena *arena, const uint8_t *eligible,
                              const char *name, wick_error *error);
/* The id, or -1. */
int32_t wick_pieces_find(const wick_pieces *pieces, const char *data, size_t n);

#endif
