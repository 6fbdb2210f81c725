/* The safetensors parser on a file that the safetensors package wrote (fixtures/small.safetensors,
 * made by tools/fixtures/make_format_fixtures.py) and on forged headers. Chapter 9. */
#include "bytes.h"
#include "formats/safetensors.h"
#include "tap.h"

static wick_status parse(const uint8_t *data, uint64_t n, uint64_t total, wick_arena *arena,
                         wick_tensor_table *table, uint64_t *header, uint64_t *need,
                         wick_error *error) {
  wick_arena_init(arena, NULL);
  return wick_safetensors_parse("f", data, n, total, arena, table, header, need, error);
}

static void check_small_file(tap *t) {
  test_bytes file = test_read_file("tests/unit/fixtures/small.safetensors");
  wick_arena arena;
  wick_tensor_table table;
  wick_error error = {0};
  uint64_t header = 0, need = 0;
  wick_status status = parse(file.data, file.n, file.n, &arena, &table, &header, &need, &error);
  CHECK(t, status == WICK_OK && table.n == 4, "a file of the safetensors package parses");
  const wick_tensor_entry *half = wick_tensor_table_find(&table, "half");
  CHECK(t,
        half && half->dtype == WICK_DTYPE_F16 && half->n_dims == 3 && half->dims[0] == 4 &&
            half->dims[1] == 3 && half->dims[2] == 2 && half->n_bytes == 48 &&
            half->offset == header + 44,
        "an F16 tensor of shape [2, 3, 4], innermost first");
  const wick_tensor_entry *scalar = wick_tensor_table_find(&table, "scalar");
  CHECK(t, scalar && scalar->n_dims == 1 && scalar->dims[0] == 1 && scalar->n_bytes == 4,
        "a scalar is a row of one");
  float value = 0;
  if (scalar) wick_row_to_f32(scalar->dtype, file.data + scalar->offset, 1, &value);
  CHECK(t, value == 2.5f, "and lies where the table says");
  const wick_tensor_entry *embedding = wick_tensor_table_find(&table, "model.embed_tokens.weight");
  float row[4] = {0};
  if (embedding)
    wick_row_to_f32(embedding->dtype, file.data + embedding->offset + embedding->n_bytes - 8, 4,
                    row);
  CHECK(t, row[0] == 8 && row[3] == 11, "the last row of a BF16 matrix");
  wick_arena_free(&arena);

  int n_wrong = 0;
  for (uint64_t n = 0; n < header; n++) {
    uint8_t *part = malloc(n ? n : 1);
    memcpy(part, file.data, n);
    if (parse(part, n, file.n, &arena, &table, &header, &need, &error) != WICK_NEED_MORE ||
        need <= n || need > file.n || arena.total_bytes)
      n_wrong++;
    wick_arena_free(&arena);
    if (parse(part, n, n, &arena, &table, &header, &need, &error) != WICK_ERROR_FORMAT) n_wrong++;
    wick_arena_free(&arena);
    free(part);
  }
  CHECK(t, n_wrong == 0,
        "every beginning asks for more and allocates nothing; every cut is refused");
  status = parse(file.data, file.n - 1, file.n - 1, &arena, &table, &header, &need, &error);
  CHECK(t, status == WICK_ERROR_FORMAT && strstr(error.message, "tensor half"),
        "data cut short names the tensor");
  wick_arena_free(&arena);
  free(file.data);
}

/* A header and n_data zeros after it. */
static void expect(tap *t, const char *json, size_t n_data, wick_status expected,
                   const char *in_message, const char *name) {
  test_bytes b = {0};
  test_append_string(&b, json);
  test_append_zeros(&b, n_data);
  wick_arena arena;
  wick_tensor_table table;
  wick_error error = {0};
  uint64_t header, need;
  wick_status status = parse(b.data, b.n, b.n, &arena, &table, &header, &need, &error);
  int ok = status == expected && (!in_message || strstr(error.message, in_message));
  CHECK(t, ok, name);
  if (!ok) printf("# status %d: %s\n", status, error.message);
  wick_arena_free(&arena);
  free(b.data);
}

#define TENSOR(dtype, shape, begin, end)                                                           \
  "{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" begin "," end "]}"

int main(void) {
  tap t = {0};
  const wick_status format = WICK_ERROR_FORMAT;
  check_small_file(&t);
  expect(&t, "{}  ", 0, WICK_OK, NULL, "an empty file with padding");
  expect(&t, "{\"x\":" TENSOR("F32", "[2,3]", "0", "24") "}", 24, WICK_OK, NULL, "one tensor");
  expect(&t, "[]", 0, format, "object", "a header that is no object");
  expect(&t, "{\"x\":3}", 0, format, "tensor x", "a tensor that is no object");
  expect(&t, "{\"x\":" TENSOR("F32", "[2,3]", "0", "24"), 24, format, "JSON", "a header cut short");
  expect(&t, "{}{}", 0, format, "end of the JSON", "two values");
  expect(&t, "{\"x\":" TENSOR("I64", "[3]", "0", "24") "}", 24, WICK_ERROR_UNSUPPORTED, "I64",
         "a type that wick does not read");
  expect(&t, "{\"x\":" TENSOR("F32", "[2,3]", "0", "20") "}", 20, format, "(24), found 20",
         "fewer bytes than the shape takes");
  expect(&t, "{\"x\":" TENSOR("F32", "[2,3]", "24", "0") "}", 24, format, "not less",
         "offsets in the wrong order");
  expect(&t, "{\"x\":" TENSOR("F32", "[-1]", "0", "4") "}", 4, format, "shape", "a negative size");
  expect(&t, "{\"x\":" TENSOR("F32", "[1.5]", "0", "6") "}", 6, format, "shape", "half a weight");
  expect(&t, "{\"x\":" TENSOR("F32", "[0]", "0", "0") "}", 0, format, "shape", "an empty tensor");
  expect(&t, "{\"x\":" TENSOR("F32", "[1,1,1,1,1]", "0", "4") "}", 4, format, "shape",
         "five dimensions");
  expect(&t, "{\"x\":" TENSOR("F32", "[9007199254740992]", "0", "4") "}", 4, format, "shape",
         "a size that a double does not hold exactly");
  expect(&t, "{\"x\":" TENSOR("F32", "[4503599627370496,4503599627370496,4]", "0", "0") "}", 4,
         format, "tensor x", "a product that wraps to 0");
  expect(&t, "{\"x\":" TENSOR("F32", "[1]", "9007199254740000", "9007199254740004") "}", 4, format,
         "found a file of", "an offset beyond the end");
  expect(&t, "{\"x\":" TENSOR("F32", "[2]", "0", "8") ",\"y\":" TENSOR("F32", "[2]", "4", "12") "}",
         12, format, "tensor y", "two tensors that share bytes");
  expect(&t, "{\"x\":" TENSOR("F32", "[1]", "0", "4") ",\"x\":" TENSOR("F32", "[1]", "4", "8") "}",
         8, format, "found x twice", "a name that stands there twice");
  expect(&t, "{\"x\":" TENSOR("F32", "[1]", "4", "8") "}", 8, format, "begin", "a gap");
  expect(&t, "{\"x\":" TENSOR("F32", "[1]", "0", "4") "}", 8, format, "end", "bytes left over");
  test_bytes b = {0};
  test_append_u64(&b, UINT64_MAX);
  test_append(&b, "{}", 2);
  wick_arena arena;
  wick_tensor_table table;
  wick_error error = {0};
  uint64_t header, need;
  wick_status status = parse(b.data, b.n, b.n, &arena, &table, &header, &need, &error);
  CHECK(&t, status == format && strstr(error.message, "length of 18446744073709551615"),
        "a header of 2^64 - 1 bytes");
  wick_arena_free(&arena);
  free(b.data);
  return tap_done(&t);
}
