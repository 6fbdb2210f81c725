/* One run of the forward pass, as its stages see it: shared by forward.c and attend.c. */
#ifndef WICK_MODEL_PASS_H
#define WICK_MODEL_PASS_H

#include "model/workspace.h"

typedef struct wick_pass {
  const wick_model *model;
  const wick_kernels *kernels;
  const wick_config *config;
  wick_workspace *space;
  wick_kv_cache *cache;
  const wick_batch *batch;
  size_t n_groups;
  bool stopped; /* written by thread 0 before a barrier, read after it */
} wick_pass;

static inline void wick_pass_enter(const wick_pass *run, const wick_team *team, wick_stage stage) {
  wick_stopwatch_enter(&run->space->threads[team->thread].stopwatch, stage);
}

/* A barrier; its time is waiting. */
static inline void wick_pass_join(const wick_pass *run, const wick_team *team) {
  wick_pass_enter(run, team, WICK_STAGE_WAITING);
  wick_barrier(team);
}

/* Attention of all heads over the cache: queries of workspace.qkv to workspace.attended. Ends
 * without a barrier. */
void wick_pass_attend(const wick_pass *run, const wick_team *team, int layer);

#endif
