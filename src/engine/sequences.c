/* Sequences and their blocks: taking, retaining, the longest common prefix, eviction. A request is
 * admitted only when every block that it may come to need is free or promised to it, so a running
 * one never fails for want of cache. */
#include "engine/engine.h"

#include <assert.h>
#include <string.h>

void wick_sequence_drop(wick_engine *engine, engine_sequence *sequence) {
  wick_kv_truncate(&engine->cache, &sequence->kv, 0);
  sequence->n_ids = sequence->n_computed = 0;
  sequence->state = SEQUENCE_FREE;
}

/* The retained sequence that was not used for longest, but for keep. */
static engine_sequence *oldest_retained(wick_engine *engine, const engine_sequence *keep,
                                        int *n_retained) {
  engine_sequence *oldest = NULL;
  *n_retained = 0;
  for (int i = 0; i < engine->n_sequences; i++) {
    engine_sequence *each = &engine->sequences[i];
    if (each->state != SEQUENCE_RETAINED) continue;
    ++*n_retained;
    if (each != keep && (!oldest || each->used < oldest->used)) oldest = each;
  }
  return oldest;
}

void wick_sequence_retain(wick_engine *engine, engine_sequence *sequence) {
  if (!engine->prefix_reuse || !sequence->n_computed) {
    wick_sequence_drop(engine, sequence);
    return;
  }
  int n_retained;
  engine_sequence *oldest = oldest_retained(engine, NULL, &n_retained);
  if (n_retained == engine->n_kept) wick_sequence_drop(engine, oldest);
  wick_kv_truncate(&engine->cache, &sequence->kv, sequence->n_computed);
  sequence->state = SEQUENCE_RETAINED;
  sequence->used = ++engine->clock;
}

engine_sequence *wick_sequence_take(wick_engine *engine) {
  engine_sequence *found = NULL;
  for (int i = 0; i < engine->n_sequences && !found; i++)
    if (engine->sequences[i].state == SEQUENCE_FREE) found = &engine->sequences[i];
  assert(found);
  found->state = SEQUENCE_LIVE;
  return found;
}

/* Blocks promised to admitted requests that they do not hold yet. */
static int promised_blocks(const wick_engine *engine) {
  int n = 0;
  for (int i = 0; i < engine->max_requests; i++) {
    const engine_request *each = &engine->requests[i];
    if (each->id && each->admitted) n += each->max_blocks - each->sequence->kv.n_blocks;
  }
  return n;
}

/* Give up one sequence that nobody waits for, but for keep. What wick_engine_evaluate left goes
 * last, for its caller may go on from there. */
static bool evict(wick_engine *engine, const engine_sequence *keep) {
  int n_retained;
  engine_sequence *oldest = oldest_retained(engine, keep, &n_retained), *private = engine->private;
  if (!oldest && (keep == private || !private->kv.n_blocks)) return false;
  wick_sequence_drop(engine, oldest ? oldest : private);
  private->state = SEQUENCE_LIVE;
  return true;
}

bool wick_sequence_make_room(wick_engine *engine, int n, const engine_sequence *keep) {
  int promised = promised_blocks(engine);
  while (engine->cache.n_free - promised < n)
    if (!evict(engine, keep)) return false;
  return true;
}

static int common_prefix(const engine_sequence *a, const int32_t *ids, int n) {
  if (n > a->n_computed) n = a->n_computed;
  int i = 0;
  while (i < n && a->ids[i] == ids[i]) i++;
  return i;
}

/* The retained or live sequence that shares the longest computed prefix with ids. */
static engine_sequence *find_donor(wick_engine *engine, const engine_sequence *mine, int most,
                                   int *n_common) {
  engine_sequence *best = NULL;
  *n_common = 0;
  for (int i = 0; engine->prefix_reuse && i < engine->n_sequences; i++) {
    engine_sequence *each = &engine->sequences[i];
    if (each == mine || each == engine->private || each->state == SEQUENCE_FREE) continue;
    int n = common_prefix(each, mine->ids, most);
    if (n > *n_common) {
      *n_common = n;
      best = each;
    }
  }
  return best;
}

/* Take over the donor's blocks for the first n_common positions; the rest of it is gone. A partial
 * block that somebody else holds too may not be written to and is left behind. */
static int adopt(wick_engine *engine, engine_sequence *mine, engine_sequence *donor, int n_common) {
  wick_kv_truncate(&engine->cache, &donor->kv, n_common);
  int last = donor->kv.n_blocks - 1;
  if (n_common % WICK_KV_BLOCK && engine->cache.references[donor->kv.blocks[last]] > 1) {
    n_common -= n_common % WICK_KV_BLOCK;
    wick_kv_truncate(&engine->cache, &donor->kv, n_common);
  }
  memcpy(mine->kv.blocks, donor->kv.blocks, (size_t)donor->kv.n_blocks * sizeof(int32_t));
  mine->kv.n_blocks = donor->kv.n_blocks;
  donor->kv.n_blocks = 0;
  wick_sequence_drop(engine, donor);
  return n_common;
}

/* Go on in a retained donor's place, if its blocks and those that can be had are enough. */
static bool take_over(wick_engine *engine, engine_request *request, engine_sequence *donor,
                      int *n_common) {
  int freed = 0, need = request->max_blocks - wick_kv_blocks_for(*n_common);
  for (int i = wick_kv_blocks_for(*n_common); i < donor->kv.n_blocks; i++)
    freed += engine->cache.references[donor->kv.blocks[i]] == 1;
  int last = *n_common / WICK_KV_BLOCK;
  bool shared_tail =
      *n_common % WICK_KV_BLOCK && engine->cache.references[donor->kv.blocks[last]] > 1;
  if (shared_tail) need++;
  if (!wick_sequence_make_room(engine, need - freed, donor)) return false;
  *n_common = adopt(engine, request->sequence, donor, *n_common);
  return true;
}

bool wick_sequence_admit(wick_engine *engine, engine_request *request) {
  engine_sequence *mine = request->sequence;
  int n_common;
  /* The last prompt token is always computed: its logits are wanted. */
  engine_sequence *donor = find_donor(engine, mine, request->n_prompt - 1, &n_common);
  bool retained = donor && donor->state == SEQUENCE_RETAINED;
  /* A conversation that goes on needs no copy of itself. A branch leaves the other one be while
   * both have room. */
  bool goes_on = retained && n_common == donor->n_computed;
  if (!goes_on &&
      wick_sequence_make_room(engine, request->max_blocks - n_common / WICK_KV_BLOCK, donor)) {
    if (donor) {
      wick_kv_fork(&engine->cache, &mine->kv, &donor->kv, n_common, &n_common);
      donor->used = ++engine->clock;
    }
  } else if (!retained || !take_over(engine, request, donor, &n_common)) {
    return false;
  }
  mine->n_computed = request->n_reused = n_common;
  request->admitted = true;
  return true;
}
