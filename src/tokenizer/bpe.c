/* A word is a linked list of symbols; a heap holds the pairs that could merge, by (rank, position).
 * Entries that a merge has made stale are recognised when they come up. See bpe.h. */
#include "tokenizer/bpe.h"

#include <string.h>

#include "tokenizer/hash.h"

enum { FIRST_SYMBOLS = 64 };
static const uint32_t nowhere = UINT32_MAX;

typedef struct symbol {
  int32_t id;
  uint32_t previous, next; /* symbol indexes, or nowhere */
  uint32_t rank;           /* of merging with next; WICK_NO_RANK: it does not, or is merged away */
} symbol;

typedef struct heap {
  uint64_t *keys; /* rank << 32 | position; keys[0] is the least */
  size_t n;
} heap;

bool wick_bpe_init(wick_bpe *bpe, wick_arena *arena, size_t n_merges) {
  if (n_merges > WICK_MAX_TOKENS) return false;
  uint32_t n_slots = wick_hash_slots((uint32_t)n_merges);
  bpe->slots = WICK_ARENA_ARRAY(arena, wick_merge, n_slots);
  bpe->merged_of_rank = WICK_ARENA_ARRAY(arena, int32_t, n_merges);
  if (!bpe->slots || !bpe->merged_of_rank) return false;
  for (uint32_t i = 0; i < n_slots; i++) bpe->slots[i].rank = WICK_NO_RANK;
  bpe->slot_mask = n_slots - 1;
  bpe->n_merges = 0;
  bpe->n_merges_max = (uint32_t)n_merges;
  return true;
}

static uint32_t first_slot(const wick_bpe *bpe, int32_t left, int32_t right) {
  return (uint32_t)wick_hash_u64((uint64_t)(uint32_t)left << 32 | (uint32_t)right) & bpe->slot_mask;
}

bool wick_bpe_add_merge(wick_bpe *bpe, int32_t left, int32_t right, int32_t merged) {
  uint32_t slot = first_slot(bpe, left, right);
  for (int i = 0; i < WICK_MAX_PROBES; i++) {
    wick_merge *entry = &bpe->slots[slot];
    if (entry->rank == WICK_NO_RANK || (entry->left == left && entry->right == right)) {
      bpe->merged_of_rank[bpe->n_merges] = merged;
      *entry = (wick_merge){left, right, bpe->n_merges++, merged};
      return true;
    }
    slot = (slot + 1) & bpe->slot_mask;
  }
  return false;
}

static uint32_t pair_rank(const wick_bpe *bpe, int32_t left, int32_t right) {
  uint32_t slot = first_slot(bpe, left, right);
  for (int i = 0; i < WICK_MAX_PROBES; i++) {
    const wick_merge *entry = &bpe->slots[slot];
    if (entry->rank == WICK_NO_RANK || (entry->left == left && entry->right == right))
      return entry->rank;
    slot = (slot + 1) & bpe->slot_mask;
  }
  return WICK_NO_RANK; /* no pair is further from its first slot: see wick_bpe_add_merge */
}

void wick_id_sink_put(wick_id_sink *sink, int32_t id) {
  if (sink->n < sink->capacity) sink->ids[sink->n] = id;
  sink->n++;
}

static void sift_down(heap *h, size_t at) {
  uint64_t key = h->keys[at];
  for (size_t child; (child = 2 * at + 1) < h->n; at = child) {
    if (child + 1 < h->n && h->keys[child + 1] < h->keys[child]) child++;
    if (h->keys[child] >= key) break;
    h->keys[at] = h->keys[child];
  }
  h->keys[at] = key;
}

static void heap_push(heap *h, uint64_t key) {
  size_t at = h->n++;
  for (size_t parent; at > 0 && h->keys[parent = (at - 1) / 2] > key; at = parent)
    h->keys[at] = h->keys[parent];
  h->keys[at] = key;
}

static uint64_t heap_pop(heap *h) {
  uint64_t least = h->keys[0];
  h->keys[0] = h->keys[--h->n];
  if (h->n > 1) sift_down(h, 0);
  return least;
}

/* A heap of 2 n keys is enough: n - 1 pairs at first, and each of at most n - 1 merges takes one
 * key out and puts at most two in. */
static bool reserve(wick_bpe_scratch *scratch, size_t n, symbol **symbols, heap *h) {
  if (n > scratch->n_symbols) {
    size_t n_symbols = scratch->n_symbols ? scratch->n_symbols : FIRST_SYMBOLS;
    while (n_symbols < n) n_symbols *= 2;
    uint64_t bytes;
    size_t size;
    if (!wick_multiply_u64(n_symbols, sizeof(symbol) + 2 * sizeof(uint64_t), &bytes) ||
        !wick_to_size(bytes, &size))
      return false;
    wick_bpe_scratch_free(scratch);
    scratch->memory = wick_allocate(scratch->allocator, size, WICK_ALIGNMENT);
    if (!scratch->memory) return false;
    scratch->n_symbols = n_symbols;
    scratch->bytes = size;
  }
  h->keys = scratch->memory;
  *symbols = (symbol *)(void *)(h->keys + 2 * scratch->n_symbols);
  h->n = 0;
  return true;
}

void wick_bpe_scratch_free(wick_bpe_scratch *scratch) {
  wick_release(scratch->allocator, scratch->memory, scratch->bytes, WICK_ALIGNMENT);
  *scratch = (wick_bpe_scratch){.allocator = scratch->allocator};
}

/* The word's bytes as symbols, linked in order; returns their count. */
static size_t split_bytes(const wick_bpe *bpe, const char *word, size_t n, symbol *symbols) {
  size_t n_symbols = 0;
  bool after_unknown = false;
  for (size_t i = 0; i < n; i++) {
    int32_t id = bpe->byte_ids[(uint8_t)word[i]];
    bool unknown = id < 0;
    if (unknown) id = bpe->unknown_id;
    bool fused = unknown && after_unknown && bpe->fuse_unknown;
    after_unknown = unknown;
    if (id < 0 || fused) continue;
    uint32_t at = (uint32_t)n_symbols++;
    symbols[at] = (symbol){id, at ? at - 1 : nowhere, at + 1, WICK_NO_RANK};
  }
  if (n_symbols) symbols[n_symbols - 1].next = nowhere;
  return n_symbols;
}

static void merge(const wick_bpe *bpe, symbol *symbols, uint32_t at, heap *h) {
  symbol *left = &symbols[at], *right = &symbols[left->next];
  left->id = bpe->merged_of_rank[left->rank];
  left->next = right->next;
  left->rank = WICK_NO_RANK;
  right->rank = WICK_NO_RANK;
  if (left->next != nowhere) {
    symbols[left->next].previous = at;
    left->rank = pair_rank(bpe, left->id, symbols[left->next].id);
    if (left->rank != WICK_NO_RANK) heap_push(h, (uint64_t)left->rank << 32 | at);
  }
  if (left->previous != nowhere) {
    symbol *before = &symbols[left->previous];
    before->rank = pair_rank(bpe, before->id, left->id);
    if (before->rank != WICK_NO_RANK) heap_push(h, (uint64_t)before->rank << 32 | left->previous);
  }
}

bool wick_bpe_encode(const wick_bpe *bpe, const char *word, size_t n, wick_bpe_scratch *scratch,
                     wick_id_sink *sink) {
  if (bpe->whole_words) {
    int32_t id = wick_pieces_find(bpe->whole_words, word, n);
    if (id >= 0) {
      wick_id_sink_put(sink, id);
      return true;
    }
  }
  symbol *symbols;
  heap h;
  if (!reserve(scratch, n, &symbols, &h)) return false;
  size_t n_symbols = split_bytes(bpe, word, n, symbols);
  for (uint32_t i = 0; i + 1 < n_symbols; i++) {
    symbols[i].rank = pair_rank(bpe, symbols[i].id, symbols[i + 1].id);
    if (symbols[i].rank != WICK_NO_RANK) h.keys[h.n++] = (uint64_t)symbols[i].rank << 32 | i;
  }
  for (size_t i = h.n / 2; i-- > 0;) sift_down(&h, i);
  while (h.n > 0) {
    uint64_t key = heap_pop(&h);
    uint32_t at = (uint32_t)key, now = symbols[at].rank;
    /* The pair here may be another by now. As in the reference, it still merges at this moment if
     * it makes the same token. */
    if (now == WICK_NO_RANK) continue;
    if (bpe->merged_of_rank[now] != bpe->merged_of_rank[key >> 32]) continue;
    merge(bpe, symbols, at, &h);
  }
  for (uint32_t i = n_symbols ? 0 : nowhere; i != nowhere; i = symbols[i].next)
    wick_id_sink_put(sink, symbols[i].id);
  return true;
}
