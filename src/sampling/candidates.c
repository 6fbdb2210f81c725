/* Partial selection by binary heaps (J. Williams, R. Floyd 1964). For the k best of a stream the
 * heap's root is the worst kept; for the nucleus it is the best left. Chapter 15. */
#include "sampling/candidates.h"

#include <stdbool.h>

static bool better(const wick_candidate *a, const wick_candidate *b) {
  return a->key > b->key || (a->key == b->key && a->id < b->id);
}

/* Restore the heap below i. best_first: the root is the best, else the worst. */
static void sift_down(wick_candidate *heap, size_t n, size_t i, bool best_first) {
  wick_candidate moving = heap[i];
  for (size_t child = 2 * i + 1; child < n; child = 2 * i + 1) {
    if (child + 1 < n && better(&heap[child + 1], &heap[child]) == best_first) child++;
    if (better(&heap[child], &moving) != best_first) break;
    heap[i] = heap[child];
    i = child;
  }
  heap[i] = moving;
}

static void make_heap(wick_candidate *heap, size_t n, bool best_first) {
  for (size_t i = n / 2; i-- > 0;) sift_down(heap, n, i, best_first);
}

void wick_candidates_top(const float *keys, size_t n_vocab, size_t k, wick_candidate *out) {
  for (size_t i = 0; i < k; i++) out[i] = (wick_candidate){.key = keys[i], .id = (int32_t)i};
  if (k == n_vocab) return;
  make_heap(out, k, false);
  for (size_t i = k; i < n_vocab; i++) {
    if (keys[i] <= out[0].key) continue; /* on a tie the earlier id stays */
    out[0] = (wick_candidate){.key = keys[i], .id = (int32_t)i};
    sift_down(out, k, 0, false);
  }
}

size_t wick_candidates_nucleus(wick_candidate *list, size_t n, double mass) {
  make_heap(list, n, true);
  double sum = 0;
  size_t n_left = n; /* list[n_left .. n) holds what was taken, the first one last */
  do {
    wick_candidate best = list[0];
    list[0] = list[--n_left];
    if (n_left > 0) sift_down(list, n_left, 0, true);
    list[n_left] = best;
    sum += (double)best.weight;
  } while (sum < mass && n_left > 0);
  for (size_t i = 0, j = n - 1; i < j; i++, j--) {
    wick_candidate swapped = list[i];
    list[i] = list[j];
    list[j] = swapped;
  }
  return n - n_left;
}
