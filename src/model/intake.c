/* See intake.h. */
#include "model/intake.h"

#include <stdlib.h>
#include <string.h>

#include "formats/names.h"

/* A tensor of the current file and where it goes. */
struct wick_bound_tensor {
  const wick_tensor_entry *entry;
  wick_target target;
  size_t unit_bytes; /* staged and put together: a group of rows, or a whole vector */
};

static wick_status no_memory(wick_intake *intake, wick_error *error) {
  return wick_fail(error, WICK_ERROR_MEMORY, "%s: no memory", intake->name);
}

static wick_status check_tensor(wick_intake *intake, const wick_bound_tensor *bound,
                                const char *name, wick_error *error) {
  const wick_tensor_entry *entry = bound->entry;
  const wick_target *target = &bound->target;
  uint64_t rows = entry->dims[1], cols = entry->dims[0];
  bool flat = entry->dims[2] == 1 && entry->dims[3] == 1;
  if (!flat || cols != target->n_cols || rows != target->n_rows)
    return wick_fail(error, WICK_ERROR_FORMAT,
                     "%s: tensor %s: expected %zu rows of %zu, found %llu of %llu%s", intake->name,
                     name, target->n_rows, target->n_cols, (unsigned long long)rows,
                     (unsigned long long)cols, flat ? "" : " in more dimensions");
  if (target->matrix ? target->matrix->n_rows != 0 : target->vector && *target->vector != NULL)
    return wick_fail(error, WICK_ERROR_FORMAT, "%s: tensor %s: expected once, found twice",
                     intake->name, name);
  return WICK_OK;
}

/* Weights that stay where the file's mapping has them. */
static bool is_in_place(const wick_intake *intake, const wick_matrix *matrix) {
  return intake->mapped && matrix->packing == WICK_PACKED_NONE;
}

static wick_status bind_tensor(wick_intake *intake, const wick_tensor_entry *entry,
                               wick_error *error) {
  wick_model *model = intake->model;
  char name[WICK_NAME_BYTES];
  wick_canonical_name(name, sizeof name, entry->name);
  wick_bound_tensor bound = {.entry = entry};
  if (!wick_model_find_target(model, name, &bound.target))
    return wick_fail(error, WICK_ERROR_UNSUPPORTED,
                     "%s: tensor %.*s: not one that architecture %s is known to have", intake->name,
                     WICK_STRING_ARGS(entry->name), model->config.architecture);
  WICK_TRY(check_tensor(intake, &bound, name, error));
  wick_matrix *matrix = bound.target.matrix;
  size_t n_rows = bound.target.n_rows, n_cols = bound.target.n_cols;
  if (matrix) {
    if (!wick_matrix_init(matrix, &model->kernels, entry->dtype, n_rows, n_cols,
                          intake->model->exact))
      return wick_fail(error, WICK_ERROR_FORMAT, "%s: tensor %s: too large", intake->name, name);
    bound.unit_bytes = matrix->rows_per_group * matrix->row_bytes;
    model->info.weight_bytes += wick_matrix_bytes(matrix);
  } else if (bound.target.vector) {
    bound.unit_bytes = (size_t)entry->n_bytes;
    *bound.target.vector = WICK_ARENA_ARRAY(&model->arena, float, n_cols);
    if (!*bound.target.vector) return no_memory(intake, error);
  } else {
    return WICK_OK; /* a tied head's copy: passed over */
  }
  model->info.n_parameters += (uint64_t)n_rows * n_cols;
  intake->tensors[intake->n_tensors++] = bound;
  return WICK_OK;
}

static int compare_offsets(const void *a, const void *b) {
  uint64_t x = ((const wick_bound_tensor *)a)->entry->offset;
  uint64_t y = ((const wick_bound_tensor *)b)->entry->offset;
  return x < y ? -1 : x > y;
}

/* One slab for all matrices of the file that need memory of their own. */
static wick_status allocate_slab(wick_intake *intake, wick_error *error) {
  wick_model *model = intake->model;
  uint64_t total = 0;
  for (size_t i = 0; i < intake->n_tensors; i++) {
    const wick_matrix *matrix = intake->tensors[i].target.matrix;
    if (matrix && !is_in_place(intake, matrix)) total += wick_matrix_bytes(matrix);
  }
  if (!total) return WICK_OK;
  wick_slab *slab = WICK_ARENA_ARRAY(&model->arena, wick_slab, 1);
  if (!slab) return no_memory(intake, error);
  if (wick_to_size(total, &slab->n_bytes))
    slab->data = wick_allocate(model->allocator, slab->n_bytes, WICK_ALIGNMENT);
  if (!slab->data)
    return wick_fail(error, WICK_ERROR_MEMORY, "%s: no memory for %llu bytes of weights",
                     intake->name, (unsigned long long)total);
  slab->next = model->slabs;
  model->slabs = slab;
  size_t at = 0;
  for (size_t i = 0; i < intake->n_tensors; i++) {
    wick_matrix *matrix = intake->tensors[i].target.matrix;
    if (!matrix || is_in_place(intake, matrix)) continue;
    matrix->data = matrix->owned = slab->data + at;
    at += wick_matrix_bytes(matrix);
  }
  return WICK_OK;
}

wick_status wick_intake_bind(wick_intake *intake, const wick_tensor_table *table,
                             wick_error *error) {
  intake->tensors = WICK_ARENA_ARRAY(&intake->arena, wick_bound_tensor, table->n);
  if (!intake->tensors) return no_memory(intake, error);
  for (size_t i = 0; i < table->n; i++) WICK_TRY(bind_tensor(intake, &table->entries[i], error));
  qsort(intake->tensors, intake->n_tensors, sizeof *intake->tensors, compare_offsets);
  return allocate_slab(intake, error);
}

/* Whole units of a tensor: rows first .. of a matrix, or all of a vector. */
typedef struct put_run {
  const wick_bound_tensor *bound;
  const uint8_t *bytes;
  size_t first, n_rows;
  bool failed[WICK_MAX_THREADS];
} put_run;

static void put_share(void *context, const wick_team *team) {
  put_run *run = context;
  wick_matrix *matrix = run->bound->target.matrix;
  size_t each = matrix->rows_per_group, begin, end;
  wick_team_range(team, (run->n_rows + each - 1) / each, &begin, &end);
  begin *= each;
  end = end * each < run->n_rows ? end * each : run->n_rows;
  if (begin < end)
    run->failed[team->thread] = !wick_matrix_put(matrix, run->first + begin, end - begin,
                                                 run->bytes + begin * matrix->row_bytes);
}

static wick_status put_units(wick_intake *intake, const wick_bound_tensor *bound, uint64_t at,
                             const uint8_t *bytes, size_t n, wick_error *error) {
  const wick_matrix *matrix = bound->target.matrix;
  if (!matrix) {
    wick_row_to_f32(bound->entry->dtype, bytes, bound->target.n_cols, *bound->target.vector);
    return WICK_OK;
  }
  put_run run = {.bound = bound, .bytes = bytes};
  run.first = (size_t)(at / matrix->row_bytes);
  run.n_rows = n / matrix->row_bytes;
  wick_pool_run(intake->pool, put_share, &run);
  for (int i = 0; i < WICK_MAX_THREADS; i++)
    if (run.failed[i])
      return wick_fail(error, WICK_ERROR_FORMAT,
                       "%s: tensor %.*s: expected finite block scales, found NaN or infinity",
                       intake->name, WICK_STRING_ARGS(bound->entry->name));
  return WICK_OK;
}

/* Up to n bytes of the current tensor; *taken says how many. */
static wick_status take_tensor_bytes(wick_intake *intake, const uint8_t *bytes, uint64_t n,
                                     uint64_t *taken, wick_error *error) {
  const wick_bound_tensor *bound = &intake->tensors[intake->current];
  wick_matrix *matrix = bound->target.matrix;
  uint64_t left = bound->entry->n_bytes - intake->tensor_at;
  if (n > left) n = left;
  *taken = n;
  uint64_t at = intake->tensor_at;
  intake->tensor_at += n;
  if (matrix && is_in_place(intake, matrix)) {
    matrix->data = bytes;
    return WICK_OK;
  }
  wick_buffer *staged = &intake->staged;
  if (staged->n) {
    size_t missing = bound->unit_bytes - staged->n;
    if (missing > left) missing = (size_t)left;
    size_t part = n < missing ? (size_t)n : missing;
    if (!wick_buffer_append(staged, bytes, part)) return no_memory(intake, error);
    if (part < missing) return WICK_OK;
    WICK_TRY(put_units(intake, bound, at + part - staged->n, (const uint8_t *)staged->data,
                       staged->n, error));
    staged->n = 0;
    bytes += part;
    at += part;
    n -= part;
  }
  bool last = intake->tensor_at == bound->entry->n_bytes;
  size_t whole = last ? (size_t)n : (size_t)(n - n % bound->unit_bytes);
  if (whole) WICK_TRY(put_units(intake, bound, at, bytes, whole, error));
  if (!wick_buffer_append(staged, bytes + whole, (size_t)n - whole))
    return no_memory(intake, error);
  return WICK_OK;
}

/* Tensor data, with the gaps between tensors passed over. */
wick_status wick_intake_take(wick_intake *intake, const uint8_t *bytes, uint64_t n,
                             wick_error *error) {
  while (n) {
    uint64_t taken = n;
    if (intake->current < intake->n_tensors) {
      const wick_tensor_entry *entry = intake->tensors[intake->current].entry;
      if (intake->at < entry->offset) {
        taken = entry->offset - intake->at < n ? entry->offset - intake->at : n;
      } else {
        WICK_TRY(take_tensor_bytes(intake, bytes, n, &taken, error));
        const wick_matrix *matrix = intake->tensors[intake->current].target.matrix;
        if (intake->mapped && intake->forget && matrix && !is_in_place(intake, matrix))
          intake->forget(bytes, (size_t)taken);
        if (intake->tensor_at == entry->n_bytes) {
          intake->current++;
          intake->tensor_at = 0;
        }
      }
    }
    bytes += taken;
    n -= taken;
    intake->at += taken;
  }
  return WICK_OK;
}

void wick_intake_reset(wick_intake *intake) {
  wick_buffer_free(&intake->staged);
  wick_arena_free(&intake->arena);
  intake->tensors = NULL;
  intake->n_tensors = intake->current = 0;
  intake->at = intake->tensor_at = 0;
  intake->mapped = false;
}
