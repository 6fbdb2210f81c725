/* Sequences and their blocks: taking, retaining, the longest common prefix, eviction. A request is
 * admitted only when every block that it may come to need is free or promised to it, so a running
 * one never fails for want of cache. */
#include "engine/engine.h"

#include <string.h>

void wick_sequence_drop(wick_engine *engine, engine_sequence *sequence) {
  wick_kv_truncate(&engine->cache, &sequence->kv, 0);
  sequence->n_ids = sequence->n_computed = 0;
  sequence->state = SEQUENCE_FREE;
}

void wick_sequence_retain(wick_engine *engine, engine_sequence *sequence) {
  if (!engine->prefix_reuse || !sequence->n_computed) {
    wick_sequence_drop(engine, sequence);
    return;
  }
  wick_kv_truncate(&engine->cache, &sequence->kv, sequence->n_computed);
  sequence->state = SEQUENCE_RETAINED;
  sequence->used = ++engine->clock;
}

static engine_sequence *oldest_retained(wick_engine *engine, const engine_sequence *keep) {
  engine_sequence *oldest = NULL;
  for (int i = 0; i < engine->n_sequences; i++) {
    engine_sequence *each = &engine->sequences[i];
    if (each->state == SEQUENCE_RETAINED && each != keep && (!oldest || each->used < oldest->used))
      oldest = each;
  }
  return oldest;
}

engine_sequence *wick_sequence_take(wick_engine *engine) {
  engine_sequence *found = NULL;
  for (int i = 0; i < engine->n_sequences && !found; i++)
    if (engine->sequences[i].state == SEQUENCE_FREE) found = &engine->sequences[i];
  if (!found) {
    found = oldest_retained(engine, NULL);
    if (found) wick_sequence_drop(engine, found);
  }
  if (found) found->state = SEQUENCE_LIVE;
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
  engine_sequence *oldest = oldest_retained(engine, keep), *private = engine->private;
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

bool wick_sequence_admit(wick_engine *engine, engine_request *request) {
  engine_sequence *mine = request->sequence;
  int n_common;
  /* The last prompt token is always computed: its logits are wanted. */
  engine_sequence *donor = find_donor(engine, mine, request->n_prompt - 1, &n_common);
  int whole = n_common / WICK_KV_BLOCK;
  if (!wick_sequence_make_room(engine, request->max_blocks - whole, donor)) {
    /* Not beside the donor; perhaps in its place. */
    bool retained = donor && donor->state == SEQUENCE_RETAINED;
    if (!retained) return false;
    int held = donor->kv.n_blocks, freed = 0;
    for (int i = wick_kv_blocks_for(n_common); i < held; i++)
      freed += engine->cache.references[donor->kv.blocks[i]] == 1;
    int need = request->max_blocks - wick_kv_blocks_for(n_common);
    bool shared_tail =
        n_common % WICK_KV_BLOCK && engine->cache.references[donor->kv.blocks[whole]] > 1;
    if (shared_tail) need++;
    if (engine->cache.n_free + freed - promised_blocks(engine) < need) return false;
    n_common = adopt(engine, mine, donor, n_common);
  } else if (donor) {
    wick_kv_fork(&engine->cache, &mine->kv, &donor->kv, n_common, &n_common);
  }
  mine->n_computed = request->n_reused = n_common;
  request->admitted = true;
  return true;
}
