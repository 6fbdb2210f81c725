/* Byte-pair encoding of one word: start from its bytes, merge the pair of lowest rank (leftmost on
 * a tie) until none is left. Source: Sennrich, Haddow, Birch 2016 (arXiv 1508.07909); byte-level
 * as in GPT-2. Chapter 11. */
#ifndef WICK_TOKENIZER_BPE_H
#define WICK_TOKENIZER_BPE_H

#include "tokenizer/pieces.h"

/* One hash slot: the pair, its rank (WICK_NO_RANK: empty) and what it becomes. */
typedef struct wick_merge {
  int32_t left, right;
  uint32_t rank;
  int32_t merged;
} wick_merge;

#define WICK_NO_RANK UINT32_MAX

typedef struct wick_bpe {
  wick_merge *slots;
  uint32_t slot_mask;
  int32_t *merged_of_rank; /* [n_merges] */
  uint32_t n_merges, n_merges_max;
  int32_t byte_ids[256]; /* -1: the vocabulary lacks that byte */
  /* A lacking byte: as the reference does, it becomes unknown_id (fused with an unknown neighbour
   * if fuse_unknown), or vanishes where unknown_id is -1. */
  int32_t unknown_id;
  bool fuse_unknown;
  const wick_pieces *whole_words; /* ignore_merges: a word that is a token is that; or NULL */
} wick_bpe;

/* Room for n merges, ranks ascending as they are added; memory from an arena. */
bool wick_bpe_init(wick_bpe *bpe, wick_arena *arena, size_t n_merges);
/* A repeated pair takes its last rank, as in the reference. False for a file made to collide. */
bool wick_bpe_add_merge(wick_bpe *bpe, int32_t left, int32_t right, int32_t merged);

/* Where ids go: those beyond capacity are counted only. */
typedef struct wick_id_sink {
  int32_t *ids;
  size_t capacity, n;
} wick_id_sink;

void wick_id_sink_put(wick_id_sink *sink, int32_t id);

/* Scratch memory that grows to the longest word: 32 bytes for each of its bytes. */
typedef struct wick_bpe_scratch {
  const wick_allocator *allocator;
  void *memory;
  size_t n_symbols, bytes;
} wick_bpe_scratch; /* starts with the allocator and zeros */

/* O(n log n). False when scratch cannot be had. n < 2^31. */
bool wick_bpe_encode(const wick_bpe *bpe, const char *word, size_t n, wick_bpe_scratch *scratch,
                     wick_id_sink *sink);
void wick_bpe_scratch_free(wick_bpe_scratch *scratch);

#endif
