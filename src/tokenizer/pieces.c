/* See pieces.h. */
#include "tokenizer/pieces.h"

#include <string.h>

#include "tokenizer/hash.h"

bool wick_pieces_init(wick_pieces *pieces, wick_arena *arena, size_t n, size_t n_bytes) {
  *pieces = (wick_pieces){0};
  if (n > WICK_MAX_TOKENS || n_bytes > UINT32_MAX) return false;
  pieces->bytes = wick_arena_allocate(arena, n_bytes, 1);
  pieces->offsets = WICK_ARENA_ARRAY(arena, uint32_t, n + 1);
  return pieces->bytes && pieces->offsets;
}

void wick_pieces_add(wick_pieces *pieces, const char *data, size_t n) {
  uint32_t at = pieces->offsets[pieces->n];
  if (n) memcpy(pieces->bytes + at, data, n);
  pieces->offsets[++pieces->n] = at + (uint32_t)n;
}

wick_string wick_pieces_get(const wick_pieces *pieces, uint32_t id) {
  uint32_t at = pieces->offsets[id];
  return (wick_string){pieces->bytes + at, pieces->offsets[id + 1] - at};
}

/* The slot that holds the string or is free for it; UINT32_MAX after too many others. */
static uint32_t find_slot(const wick_pieces *pieces, const char *data, size_t n) {
  uint32_t slot = wick_hash_bytes(data, n) & pieces->slot_mask;
  for (int i = 0; i < WICK_MAX_PROBES; i++) {
    if (pieces->slots[slot] == 0) return slot;
    wick_string other = wick_pieces_get(pieces, pieces->slots[slot] - 1);
    if (other.n == n && memcmp(other.data, data, n) == 0) return slot;
    slot = (slot + 1) & pieces->slot_mask;
  }
  return UINT32_MAX;
}

wick_status wick_pieces_index(wick_pieces *pieces, wick_arena *arena, const uint8_t *eligible,
                              const char *name, wick_error *error) {
  uint32_t n_slots = wick_hash_slots(pieces->n);
  pieces->slots = WICK_ARENA_ARRAY(arena, uint32_t, n_slots);
  if (!pieces->slots)
    return wick_fail(error, WICK_ERROR_MEMORY, "%s: no memory for a vocabulary of %u tokens", name,
                     pieces->n);
  pieces->slot_mask = n_slots - 1;
  for (uint32_t id = 0; id < pieces->n; id++) {
    if (eligible && !eligible[id]) continue;
    wick_string piece = wick_pieces_get(pieces, id);
    uint32_t slot = find_slot(pieces, piece.data, piece.n);
    if (slot == UINT32_MAX)
      return wick_fail(error, WICK_ERROR_FORMAT,
                       "%s: expected tokens that hash evenly, found \"%.*s\" to collide with %d",
                       name, WICK_STRING_ARGS(piece), WICK_MAX_PROBES);
    uint32_t held = pieces->slots[slot];
    if (!held || !eligible || eligible[id] >= eligible[held - 1]) pieces->slots[slot] = id + 1;
  }
  return WICK_OK;
}

int32_t wick_pieces_find(const wick_pieces *pieces, const char *data, size_t n) {
  uint32_t slot = find_slot(pieces, data, n);
  return slot == UINT32_MAX ? -1 : (int32_t)pieces->slots[slot] - 1;
}
