/* One weight file's tensors on their way in: names bound to places in the model, memory for them,
 * and their bytes, which come in order and in pieces of any size. Only an incomplete group of rows
 * is ever staged. Chapter 9. */
#ifndef WICK_MODEL_INTAKE_H
#define WICK_MODEL_INTAKE_H

#include "core/buffer.h"
#include "core/pool.h"
#include "model/model.h"

typedef struct wick_bound_tensor wick_bound_tensor;

typedef struct wick_intake {
  const wick_allocator *allocator;
  wick_model *model;
  wick_pool *pool;
  const char *name; /* the file's */
  bool mapped;      /* bytes stay where they are until the model is freed */
  void (*forget)(const void *bytes, size_t n_bytes); /* of wick_load_options */
  wick_arena arena;                                  /* the file's table, and tensors */
  wick_bound_tensor *tensors;                        /* in order of offset */
  size_t n_tensors, current;
  uint64_t at;        /* position in the file */
  uint64_t tensor_at; /* bytes of the current tensor taken, staged ones included */
  wick_buffer staged;
} wick_intake;

/* Bind every tensor of the table (which lives until the intake is reset) and allocate what they
 * need. */
wick_status wick_intake_bind(wick_intake *intake, const wick_tensor_table *table,
                             wick_error *error);

/* The next n bytes of the file, from position at on. */
wick_status wick_intake_take(wick_intake *intake, const uint8_t *bytes, uint64_t n,
                             wick_error *error);

/* Free what belongs to the current file only. */
void wick_intake_reset(wick_intake *intake);

#endif
