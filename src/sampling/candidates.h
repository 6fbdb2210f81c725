/* The best few of many without sorting all: tokens ranked by a key, larger first, the lower id
 * first on a tie, so that every ranking is unique. Chapter 15. */
#ifndef WICK_SAMPLING_CANDIDATES_H
#define WICK_SAMPLING_CANDIDATES_H

#include <stddef.h>
#include <stdint.h>

typedef struct wick_candidate {
  float key;    /* what the filter at work ranks by; never NaN */
  float weight; /* proportional to the probability */
  int32_t id;
} wick_candidate;

/* Of keys [n_vocab] the k best (1 <= k <= n_vocab) into out [k], in no particular order, weights
 * unset. One comparison for most keys; at worst n_vocab log k. */
void wick_candidates_top(const float *keys, size_t n_vocab, size_t k, wick_candidate *out);

/* Reorder so that the list begins with its best, best first, up to and including the one with which
 * the sum of weights (in that order) reaches mass; returns how many, at least 1 of n >= 1. The rest
 * follows in no particular order. n + m log n comparisons for m returned. */
size_t wick_candidates_nucleus(wick_candidate *list, size_t n, double mass);

#endif
