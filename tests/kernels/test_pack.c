/* Packing against the conversion of whole rows (tensor/dtype.h), and choosing a level. */
#include "kernel_test.h"

static bool round_trip(wick_dtype dtype, size_t n_rows, size_t rows_per_group, size_t n_cols) {
  test_random random = {3};
  source_matrix m = source_new(dtype, n_rows, n_cols);
  source_fill(&m, &random, 0.5f, -2.0f);
  wick_packing packing = wick_packing_for(dtype, n_cols);
  size_t bytes = wick_packed_group_bytes(packing, rows_per_group, n_cols);
  uint8_t *group = test_allocate(bytes);
  memset(group, 0x5a, bytes);
  float *expected = test_allocate(n_cols * sizeof(float));
  float *found = test_allocate(n_cols * sizeof(float));
  bool right = wick_pack_group(dtype, m.rows, m.row_bytes, n_rows, rows_per_group, n_cols, group);
  for (size_t r = 0; r < rows_per_group; r++) {
    memset(expected, 0, n_cols * sizeof(float));
    if (r < n_rows) wick_row_to_f32(dtype, m.rows + r * m.row_bytes, n_cols, expected);
    wick_unpack_row(packing, group, rows_per_group, r, n_cols, found);
    for (size_t c = 0; c < n_cols; c++)
      if (expected[c] != found[c]) right = false;
  }
  free(expected);
  free(found);
  free(group);
  free(m.rows);
  return right;
}

/* The layout byte by byte, as kernels.h draws it. */
static bool layout_is_as_drawn(void) {
  enum { R = 8, ROW = 5 };
  uint8_t q4[R * 20], q8[R * 34], group[R * 34];
  for (int i = 0; i < R * 20; i++) q4[i] = (uint8_t)(i % 20 < 4 ? i % 20 : i * 7);
  for (int i = 0; i < R * 34; i++) q8[i] = (uint8_t)(i % 34 < 2 ? i % 34 : i * 5);
  bool right = true;
  if (!wick_pack_group(WICK_DTYPE_Q4_1, q4, 20, R, R, 32, group)) return false;
  const uint8_t *source = q4 + ROW * 20;
  if (memcmp(group + 2 * ROW, source, 2) != 0 ||
      memcmp(group + 2 * R + 2 * ROW, source + 2, 2) != 0)
    right = false;
  for (int j = 0; j < 4; j++)
    for (int i = 0; i < 4; i++) /* low nibble: column 4j+i, high nibble: column 16+4j+i */
      if (group[4 * R + j * 4 * R + 4 * ROW + i] != source[4 + 4 * j + i]) right = false;
  if (!wick_pack_group(WICK_DTYPE_Q8_0, q8, 34, R, R, 32, group)) return false;
  source = q8 + ROW * 34;
  if (memcmp(group + 2 * ROW, source, 2) != 0) right = false;
  for (int j = 0; j < 8; j++)
    for (int i = 0; i < 4; i++)
      if (group[2 * R + j * 4 * R + 4 * ROW + i] != source[2 + 4 * j + i]) right = false;
  return right;
}

static bool refuses(wick_dtype dtype, size_t at, uint16_t half) {
  uint8_t rows[3 * 2 * 34] = {0}, group[4 * 2 * 34];
  size_t block = (size_t)wick_dtype_get_info((uint32_t)dtype)->block_bytes;
  memcpy(rows + 5 * block + at, &half, 2); /* the last block of the last row */
  return !wick_pack_group(dtype, rows, 2 * block, 3, 4, 64, group);
}

static void check_names(tap *t, const wick_kernels *table) {
  CHECK(t, strcmp(table->level, wick_level_name(table->level_bit)) == 0, table->level);
}

int main(void) {
  tap t = {0};
  CHECK(&t, wick_packing_for(WICK_DTYPE_Q4_0, 64) == WICK_PACKED_Q4, "Q4_0 is packed as Q4");
  CHECK(&t, wick_packing_for(WICK_DTYPE_Q4_1, 576) == WICK_PACKED_Q4, "Q4_1 is packed as Q4");
  CHECK(&t, wick_packing_for(WICK_DTYPE_Q8_0, 32) == WICK_PACKED_Q8, "Q8_0 is packed as Q8");
  CHECK(&t, wick_packing_for(WICK_DTYPE_Q8_0, 48) == WICK_PACKED_NONE,
        "half blocks are not packed");
  CHECK(&t, wick_packing_for(WICK_DTYPE_F16, 64) == WICK_PACKED_NONE, "floats are not packed");
  CHECK(&t, wick_packing_for(WICK_DTYPE_Q6_K, 256) == WICK_PACKED_NONE, "Q6_K is not packed");
  CHECK(&t, wick_packed_group_bytes(WICK_PACKED_Q4, 8, 64) == 320, "20 R bytes a Q4 block");
  CHECK(&t, wick_packed_group_bytes(WICK_PACKED_Q8, 16, 32) == 544, "34 R bytes a Q8 block");
  CHECK(&t, layout_is_as_drawn(), "bytes lie where kernels.h says");

  static const wick_dtype dtypes[] = {WICK_DTYPE_Q4_0, WICK_DTYPE_Q4_1, WICK_DTYPE_Q8_0};
  for (int i = 0; i < 3; i++) {
    bool right = true;
    for (size_t r = 8; r <= WICK_MAX_GROUP_ROWS; r *= 2)
      for (size_t n = 1; n <= r; n += 1 + n / 3)
        if (!round_trip(dtypes[i], n, r, 96)) right = false;
    char name[100];
    const char *dtype = wick_dtype_get_info((uint32_t)dtypes[i])->name;
    snprintf(name, sizeof name, "%s: packed rows read back as the file's", dtype);
    CHECK(&t, right, name);
    snprintf(name, sizeof name, "%s: an infinite or NaN scale is refused", dtype);
    CHECK(&t, refuses(dtypes[i], 0, 0x7c00) && refuses(dtypes[i], 0, 0xfe01), name);
  }
  CHECK(&t, refuses(WICK_DTYPE_Q4_1, 2, 0xfc00), "Q4_1: an infinite minimum is refused");
  CHECK(&t, refuses(WICK_DTYPE_Q4_0, 0, 0x7000),
        "Q4_0: a scale whose minimum overflows is refused");

  for_each_level(&t, check_names);
  wick_kernels table;
  wick_kernels_select(&table, 0);
  CHECK(&t, table.level_bit & wick_kernels_available(), "no mask: one of the available levels");
  wick_kernels_select(&table, 1u << 31);
  CHECK(&t, table.level_bit == WICK_LEVEL_REFERENCE, "an unknown mask: the reference");
  CHECK(&t, wick_levels_available() == wick_kernels_available(), "the public mask is the same");
  return tap_done(&t);
}
