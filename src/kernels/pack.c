/* Packing of quantized rows into groups whose lanes are rows, and reading a row back. The layouts
 * stand in kernels.h; the sources are GGUF's Q4_0, Q4_1 and Q8_0 blocks:
 *
 *   Q4_0  h d | 16 bytes: byte i holds column i in its low nibble, column 16+i in its high one;
 *               weight = d * (nibble - 8)
 *   Q4_1  h d | h m | 16 bytes as above; weight = d * nibble + m
 *   Q8_0  h d | 32 int8; weight = d * code
 *
 * A Q4 block's byte 4j+i is already what run j wants, so packing moves four bytes at a time.
 * Chapters 9 and 19. */
#include "kernels/kernels.h"

#include <string.h>

enum { HALF_BYTES = 2, Q4_RUNS = 4, Q8_RUNS = 8 };

static uint16_t read_half(const uint8_t *bytes) {
  return (uint16_t)(bytes[0] | (unsigned)bytes[1] << 8);
}

static void write_half(uint8_t *bytes, uint16_t half) {
  bytes[0] = (uint8_t)half;
  bytes[1] = (uint8_t)(half >> 8);
}

static bool half_is_finite(uint16_t half) {
  return (half & 0x7c00) != 0x7c00;
}

wick_packing wick_packing_for(wick_dtype dtype, size_t n_cols) {
  if (n_cols == 0 || n_cols % WICK_BLOCK != 0) return WICK_PACKED_NONE;
  switch (dtype) {
  case WICK_DTYPE_Q4_0:
  case WICK_DTYPE_Q4_1:
    return WICK_PACKED_Q4;
  case WICK_DTYPE_Q8_0:
    return WICK_PACKED_Q8;
  default:
    return WICK_PACKED_NONE;
  }
}

/* Bytes that one row takes in a packed block. */
static size_t row_block_bytes(wick_packing packing) {
  return packing == WICK_PACKED_Q4 ? 2 * HALF_BYTES + Q4_RUNS * 4 : HALF_BYTES + Q8_RUNS * 4;
}

size_t wick_packed_group_bytes(wick_packing packing, size_t rows_per_group, size_t n_cols) {
  return n_cols / WICK_BLOCK * rows_per_group * row_block_bytes(packing);
}

/* One source block as row r of one packed block. */
static bool pack_block(wick_dtype dtype, const uint8_t *source, size_t rows_per_group, size_t r,
                       uint8_t *block) {
  uint16_t scale = read_half(source);
  if (!half_is_finite(scale)) return false;
  write_half(block + HALF_BYTES * r, scale);
  source += HALF_BYTES;
  uint8_t *runs = block + HALF_BYTES * rows_per_group;

  if (dtype != WICK_DTYPE_Q8_0) {
    uint16_t minimum = dtype == WICK_DTYPE_Q4_1 ? read_half(source)
                                                : wick_f32_to_f16(-8.0f * wick_f16_to_f32(scale));
    if (!half_is_finite(minimum)) return false;
    write_half(runs + HALF_BYTES * r, minimum);
    runs += HALF_BYTES * rows_per_group;
    if (dtype == WICK_DTYPE_Q4_1) source += HALF_BYTES;
  }
  size_t n_runs = dtype == WICK_DTYPE_Q8_0 ? Q8_RUNS : Q4_RUNS;
  for (size_t j = 0; j < n_runs; j++)
    memcpy(runs + 4 * rows_per_group * j + 4 * r, source + 4 * j, 4);
  return true;
}

bool wick_pack_group(wick_dtype dtype, const void *rows, size_t row_bytes, size_t n_rows,
                     size_t rows_per_group, size_t n_cols, void *group) {
  wick_packing packing = wick_packing_for(dtype, n_cols);
  size_t block_bytes = rows_per_group * row_block_bytes(packing);
  size_t source_bytes = (size_t)wick_dtype_get_info((uint32_t)dtype)->block_bytes;
  if (n_rows < rows_per_group)
    memset(group, 0, wick_packed_group_bytes(packing, rows_per_group, n_cols));
  for (size_t b = 0; b < n_cols / WICK_BLOCK; b++) {
    uint8_t *block = (uint8_t *)group + b * block_bytes;
    for (size_t r = 0; r < n_rows; r++) {
      const uint8_t *source = (const uint8_t *)rows + r * row_bytes + b * source_bytes;
      if (!pack_block(dtype, source, rows_per_group, r, block)) return false;
    }
  }
  return true;
}

void wick_unpack_row(wick_packing packing, const void *group, size_t rows_per_group, size_t r,
                     size_t n_cols, float *out) {
  size_t block_bytes = rows_per_group * row_block_bytes(packing);
  for (size_t b = 0; b < n_cols / WICK_BLOCK; b++, out += WICK_BLOCK) {
    const uint8_t *at = (const uint8_t *)group + b * block_bytes;
    float scale = wick_f16_to_f32(read_half(at + HALF_BYTES * r));
    at += HALF_BYTES * rows_per_group;
    if (packing == WICK_PACKED_Q4) {
      float minimum = wick_f16_to_f32(read_half(at + HALF_BYTES * r));
      at += HALF_BYTES * rows_per_group;
      for (size_t c = 0; c < 16; c++) {
        uint8_t byte = at[c / 4 * 4 * rows_per_group + 4 * r + c % 4];
        out[c] = scale * (float)(byte & 15) + minimum;
        out[16 + c] = scale * (float)(byte >> 4) + minimum;
      }
    } else {
      for (size_t c = 0; c < WICK_BLOCK; c++) {
        uint8_t byte = at[c / 4 * 4 * rows_per_group + 4 * r + c % 4];
        out[c] = scale * (float)(int8_t)byte;
      }
    }
  }
}
