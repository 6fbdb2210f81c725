/* One tensor from its source to its target: type, and order of rows.
 *
 * Rotary embeddings turn pairs of a head's values. Hugging Face pairs row i with row i + half;
 * llama's GGUF pairs rows 2i and 2i + 1, and so keeps the rows of Q and K (weights and biases) in
 * another order: GGUF row 2i + j of a head is row j * half + i of Hugging Face's, j = 0, 1. */
#include <string.h>

#include "convert_parts.h"

wick_status convert_read_type(const char *name, bool to_gguf, convert_target *out,
                              wick_error *error) {
  static const struct {
    const char *name;
    wick_dtype type;
  } types[] = {{"f32", WICK_DTYPE_F32},   {"f16", WICK_DTYPE_F16},   {"bf16", WICK_DTYPE_BF16},
               {"q8_0", WICK_DTYPE_Q8_0}, {"q4_0", WICK_DTYPE_Q4_0}, {"q4_1", WICK_DTYPE_Q4_1}};
  size_t n = to_gguf ? 6 : 3;
  *out = (convert_target){.to_gguf = to_gguf, .has_type = name != NULL};
  if (!name) return WICK_OK;
  for (size_t i = 0; i < n; i++)
    if (strcmp(name, types[i].name) == 0) {
      out->type = types[i].type;
      return WICK_OK;
    }
  return wick_fail(error, WICK_ERROR_ARGUMENT, "--type: expected %s, found %s",
                   to_gguf ? "f32, f16, bf16, q8_0, q4_0 or q4_1" : "f32, f16 or bf16 for a folder",
                   name);
}

static bool is_quantized(wick_dtype type) {
  return wick_dtype_get_info(type)->block_size > 1;
}

/* To a folder: one type for everything; without a wish as it is, but bf16 when anything would have
 * to be dequantized. To GGUF, as llama.cpp does: vectors in float32; embedding and head never below
 * Q8_0; rows that don't divide into blocks in float16. */
wick_dtype convert_tensor_type(const convert_source *source, const convert_target *target,
                               const convert_tensor *tensor) {
  if (!target->to_gguf) {
    if (target->has_type) return target->type;
    for (size_t i = 0; i < source->n_tensors; i++)
      if (is_quantized(source->tensors[i].entry.dtype)) return WICK_DTYPE_BF16;
    return tensor->entry.dtype;
  }
  if (tensor->entry.n_dims == 1) return WICK_DTYPE_F32;
  if (!target->has_type) return tensor->entry.dtype;
  if (!is_quantized(target->type)) return target->type;
  if (tensor->entry.dims[0] % (uint64_t)wick_dtype_get_info(target->type)->block_size != 0)
    return WICK_DTYPE_F16;
  bool outer =
      strcmp(tensor->name, "token_embd.weight") == 0 || strcmp(tensor->name, "output.weight") == 0;
  return outer ? WICK_DTYPE_Q8_0 : target->type;
}

/* Heads of a tensor whose rows are to be reordered, or 0. */
static uint64_t heads_to_permute(const convert_source *source, const convert_target *target,
                                 const char *name) {
  if (source->config.rope_style == target->rope_style) return 0;
  const char *dot = strncmp(name, "blk.", 4) == 0 ? strchr(name + 4, '.') : NULL;
  if (!dot) return 0;
  if (strncmp(dot, ".attn_q.", 8) == 0) return (uint64_t)source->config.n_heads;
  if (strncmp(dot, ".attn_k.", 8) == 0) return (uint64_t)source->config.n_kv_heads;
  return 0;
}

/* The source's row that becomes row `row`. */
static uint64_t source_row(uint64_t row, uint64_t head_rows, wick_rope_style target_style) {
  uint64_t head = row / head_rows * head_rows, i = row % head_rows, half = head_rows / 2;
  if (target_style == WICK_ROPE_INTERLEAVED) return head + i % 2 * half + i / 2;
  return head + i % half * 2 + i / half;
}

/* What convert_write_tensor has worked out. */
typedef struct row_plan {
  wick_dtype from, to;
  uint64_t n_rows, n_cols, from_bytes, to_bytes; /* bytes of one row */
  uint64_t head_rows;                            /* 0: rows stay in their order */
  wick_rope_style style;
} row_plan;

static wick_status write_rows(const row_plan *plan, const uint8_t *data, const wick_sink *sink,
                              wick_arena *scratch, wick_error *error) {
  float *values = WICK_ARENA_ARRAY(scratch, float, plan->n_cols);
  uint8_t *bytes = WICK_ARENA_ARRAY(scratch, uint8_t, plan->to_bytes);
  if (!values || !bytes) return wick_fail(error, WICK_ERROR_MEMORY, "out of memory");
  for (uint64_t row = 0; row < plan->n_rows; row++) {
    uint64_t from = plan->head_rows ? source_row(row, plan->head_rows, plan->style) : row;
    const uint8_t *source = data + from * plan->from_bytes;
    if (plan->from == plan->to) {
      WICK_TRY(wick_sink_write(sink, source, (size_t)plan->from_bytes, error));
      continue;
    }
    wick_row_to_f32(plan->from, source, (size_t)plan->n_cols, values);
    wick_row_from_f32(plan->to, values, (size_t)plan->n_cols, bytes);
    WICK_TRY(wick_sink_write(sink, bytes, (size_t)plan->to_bytes, error));
  }
  return WICK_OK;
}

wick_status convert_write_tensor(const convert_source *source, const convert_target *target,
                                 const convert_tensor *tensor, const wick_sink *sink,
                                 wick_error *error) {
  const wick_tensor_entry *entry = &tensor->entry;
  row_plan plan = {.from = entry->dtype,
                   .to = convert_tensor_type(source, target, tensor),
                   .n_rows = entry->dims[1] * entry->dims[2] * entry->dims[3],
                   .n_cols = entry->dims[0],
                   .style = target->rope_style};
  uint64_t n_heads = heads_to_permute(source, target, tensor->name);
  if (n_heads) {
    if (entry->n_dims == 1) { /* a bias: its values are the rows */
      plan.n_rows = plan.n_cols;
      plan.n_cols = 1;
    }
    plan.head_rows = (uint64_t)source->config.head_dim;
    if (plan.n_rows != n_heads * plan.head_rows)
      return wick_fail(error, WICK_ERROR_FORMAT, "%s: tensor %s: expected %llu rows, found %llu",
                       source->path, tensor->name, (unsigned long long)(n_heads * plan.head_rows),
                       (unsigned long long)plan.n_rows);
  }
  if (!wick_dtype_row_bytes(plan.from, plan.n_cols, &plan.from_bytes) ||
      !wick_dtype_row_bytes(plan.to, plan.n_cols, &plan.to_bytes))
    return wick_fail(error, WICK_ERROR_UNSUPPORTED, "%s: tensor %s: expected whole blocks in a row",
                     source->path, tensor->name);
  if (plan.from == plan.to && !plan.head_rows)
    return wick_sink_write(sink, tensor->data, (size_t)entry->n_bytes, error);
  wick_arena scratch;
  wick_arena_init(&scratch, NULL);
  wick_status status = write_rows(&plan, tensor->data, sink, &scratch, error);
  wick_arena_free(&scratch);
  return status;
}
