/* From logits to a token: the sampler chain, a seeded generator, log-probabilities. The same seed
 * and logits give the same token on every platform (exp and log are core/elementary.h's).
 * Chapter 15. */
#ifndef WICK_SAMPLING_SAMPLER_H
#define WICK_SAMPLING_SAMPLER_H

#include "core/memory.h"

typedef struct wick_sampler wick_sampler;

/* Copies what sampling points at. Refuses (WICK_ERROR_ARGUMENT, naming the field) what is not
 * finite or out of range, and biased ids >= n_vocab. All memory that drawing needs is allocated
 * here. temperature, top_p, min_p, typical_p and the penalties are numbers within the ranges that
 * the message states. */
wick_status wick_sampler_new(const wick_allocator *allocator, const wick_sampling *sampling,
                             size_t n_vocab, wick_sampler **out, wick_error *error);
void wick_sampler_free(wick_sampler *sampler);

/* Draw one token. logits: [n_vocab], overwritten. history: the tokens before, oldest first, that
 * penalties look at (ids outside of the vocabulary are passed over). NaN counts as -infinity;
 * logits of +infinity share the probability; when nothing is left, the lowest id wins. Every filter
 * keeps at least one token and breaks ties by the lowest id. A temperature above 0 takes one number
 * of the seed's sequence (rng.h), 0 none. */
int32_t wick_sampler_draw(wick_sampler *sampler, float *logits, const int32_t *history,
                          size_t n_history);

/* The exact probabilities that wick_sampler_draw would draw from: out [n_vocab], sums to 1. For
 * tests and for pages that show them. logits is overwritten and is not out; no number is taken from
 * the seed's sequence. */
void wick_sampler_probabilities(wick_sampler *sampler, float *logits, const int32_t *history,
                                size_t n_history, float *out);

/* Natural-log probabilities of logits [n_vocab] (no chain): of token, and of the n best, best
 * first (ties: lowest id first). n <= n_vocab, n <= 20. NaN and infinities count as in draw.
 * Returns the token's. */
float wick_logprobs(const float *logits, size_t n_vocab, int32_t token, wick_logprob *best,
                    size_t n);

#endif
