/* The GGUF parser on a file that the gguf package wrote (fixtures/small.gguf, made by
 * tools/fixtures/make_format_fixtures.py), fed whole and in pieces, and on forged files of which
 * each breaks one rule. Chapter 9. */
#include "bytes.h"
#include "formats/gguf.h"
#include "tap.h"

static void check_values(tap *t, const wick_gguf *gguf) {
  uint64_t u = 0;
  double f = 0;
  bool b = false;
  wick_string s = {0};
  CHECK(t, wick_gguf_get_u64(gguf, "test.u8", &u) && u == 200, "u8");
  CHECK(t, wick_gguf_get_u64(gguf, "test.u16", &u) && u == 60000, "u16");
  CHECK(t, wick_gguf_get_u64(gguf, "test.u32", &u) && u == 4000000000u, "u32");
  CHECK(t, wick_gguf_get_u64(gguf, "test.u64", &u) && u == (UINT64_C(1) << 63) + 5, "u64");
  CHECK(t, !wick_gguf_get_u64(gguf, "test.i8", &u), "a negative number is no u64");
  CHECK(t, !wick_gguf_get_u64(gguf, "test.f32", &u), "a float is no u64");
  CHECK(t, !wick_gguf_get_u64(gguf, "test.ints", &u), "an array is no u64");
  CHECK(t, !wick_gguf_get_u64(gguf, "test.nothing", &u), "a missing key has no value");
  CHECK(t, wick_gguf_int_at(wick_gguf_find(gguf, "test.i8"), 0) == -100, "i8");
  CHECK(t, wick_gguf_int_at(wick_gguf_find(gguf, "test.i16"), 0) == -30000, "i16");
  CHECK(t, wick_gguf_int_at(wick_gguf_find(gguf, "test.i32"), 0) == -2000000000, "i32");
  CHECK(t, wick_gguf_int_at(wick_gguf_find(gguf, "test.i64"), 0) == -(INT64_C(1) << 62), "i64");
  CHECK(t, wick_gguf_get_f64(gguf, "test.f32", &f) && f == 0.15625, "f32");
  CHECK(t, wick_gguf_get_f64(gguf, "test.f64", &f) && f == 1.0 / 3, "f64");
  CHECK(t, wick_gguf_get_bool(gguf, "test.bool", &b) && b, "bool");
  CHECK(t, wick_gguf_get_string(gguf, "test.string", &s) && wick_string_equal(s, "na\xc3\xafve\n"),
        "string");
  CHECK(t, wick_gguf_get_string(gguf, "test.empty", &s) && s.n == 0, "an empty string");
  CHECK(t, !wick_gguf_get_string(gguf, "test.strings", &s), "an array of strings is no string");

  const wick_gguf_value *strings = wick_gguf_find(gguf, "test.strings");
  static const char *const expected[] = {"a", "", "d\xc3\xa9j\xc3\xa0"};
  uint64_t at = 0;
  size_t n = 0;
  while (wick_gguf_next_string(strings, &at, &s)) {
    CHECK(t, n < 3 && wick_string_equal(s, expected[n]), "an array's strings in order");
    n++;
  }
  CHECK(t, n == 3 && strings->n == 3, "and not more of them");
  const wick_gguf_value *ints = wick_gguf_find(gguf, "test.ints");
  CHECK(t,
        ints->is_array && ints->n == 3 && wick_gguf_int_at(ints, 0) == 3 &&
            wick_gguf_int_at(ints, 1) == -1 && wick_gguf_int_at(ints, 2) == 7,
        "an array of integers");
  CHECK(t, wick_gguf_int_at(ints, 3) == 0, "beyond an array there is nothing");
  const wick_gguf_value *floats = wick_gguf_find(gguf, "test.floats");
  CHECK(t, floats->n == 2 && wick_gguf_float_at(floats, 1) == -2.0, "an array of floats");
}

/* Offsets and sizes as gguf's own reader gives them. */
static void check_tensors(tap *t, const wick_gguf *gguf) {
  static const struct {
    const char *name;
    uint64_t offset, n_bytes;
  } expected[] = {
      {"tensor.F32", 1120, 3072},  {"tensor.F16", 4192, 1536},  {"tensor.BF16", 5728, 1536},
      {"tensor.Q4_0", 7264, 432},  {"tensor.Q4_1", 7712, 480},  {"tensor.Q5_0", 8192, 528},
      {"tensor.Q5_1", 8736, 576},  {"tensor.Q8_0", 9312, 816},  {"tensor.Q4_K", 10144, 432},
      {"tensor.Q5_K", 10592, 528}, {"tensor.Q6_K", 11136, 630},
  };
  CHECK(t, gguf->tensors.n == 11 && gguf->header_bytes == 1120, "eleven tensors from byte 1120");
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    const wick_tensor_entry *e = wick_tensor_table_find(&gguf->tensors, expected[i].name);
    CHECK(t,
          e && e->offset == expected[i].offset && e->n_bytes == expected[i].n_bytes &&
              e->n_dims == 2 && e->dims[0] == 256 && e->dims[1] == 3 && e->dims[2] == 1,
          expected[i].name);
  }
}

static void check_small_file(tap *t) {
  test_bytes file = test_read_file("tests/unit/fixtures/small.gguf");
  wick_arena arena;
  wick_gguf gguf;
  wick_error error = {0};
  uint64_t need = 0;
  wick_arena_init(&arena, NULL);
  wick_status status =
      wick_gguf_parse("small.gguf", file.data, file.n, file.n, &arena, &gguf, &need, &error);
  CHECK(t, status == WICK_OK && gguf.version == 3, "a file of the gguf package parses");
  if (status == WICK_OK) {
    check_values(t, &gguf);
    check_tensors(t, &gguf);
  }
  wick_arena_free(&arena);

  int n_wrong = 0;
  for (uint64_t n = 0; n < 1120; n++) {
    /* a copy of exactly n bytes, so that a read beyond them is seen by the sanitizer */
    uint8_t *part = malloc(n ? n : 1);
    memcpy(part, file.data, n);
    wick_arena_init(&arena, NULL);
    status = wick_gguf_parse("f", part, n, file.n, &arena, &gguf, &need, &error);
    if (status != WICK_NEED_MORE || need <= n || need > file.n || arena.total_bytes) n_wrong++;
    status = wick_gguf_parse("f", part, n, n, &arena, &gguf, &need, &error);
    if (status != WICK_ERROR_FORMAT || strncmp(error.message, "f: ", 3) != 0) n_wrong++;
    wick_arena_free(&arena);
    free(part);
  }
  CHECK(t, n_wrong == 0,
        "every beginning asks for more and allocates nothing; every cut is refused");
  wick_arena_init(&arena, NULL);
  CHECK(t, wick_gguf_parse("f", file.data, 1120, file.n, &arena, &gguf, &need, &error) == WICK_OK,
        "the header alone is enough");
  wick_arena_free(&arena);
  wick_arena_init(&arena, NULL);
  status = wick_gguf_parse("f", file.data, 11765, 11765, &arena, &gguf, &need, &error);
  CHECK(t,
        status == WICK_ERROR_FORMAT && strstr(error.message, "tensor.Q6_K") &&
            strstr(error.message, "found a file of 11765 bytes"),
        "a data section cut short names the tensor and the bytes found");
  wick_arena_free(&arena);
  free(file.data);
}

/* ---- forged files ---- */

typedef struct forged_tensor {
  const char *name;
  uint32_t n_dims, type;
  uint64_t dims[2], offset;
} forged_tensor;

static void append_preamble(test_bytes *b, uint32_t version, uint64_t n_tensors,
                            uint64_t n_values) {
  test_append(b, "GGUF", 4);
  test_append_u32(b, version);
  test_append_u64(b, n_tensors);
  test_append_u64(b, n_values);
}

static void append_tensor(test_bytes *b, const forged_tensor *tensor) {
  test_append_string(b, tensor->name);
  test_append_u32(b, tensor->n_dims);
  for (uint32_t i = 0; i < tensor->n_dims && i < 2; i++) test_append_u64(b, tensor->dims[i]);
  test_append_u32(b, tensor->type);
  test_append_u64(b, tensor->offset);
}

static void append_u32_value(test_bytes *b, const char *key, uint32_t value) {
  test_append_string(b, key);
  test_append_u32(b, WICK_GGUF_U32);
  test_append_u32(b, value);
}

/* Parses and frees; NULL expected: it must parse. */
static void expect(tap *t, test_bytes *b, wick_status expected, const char *in_message,
                   const char *name) {
  wick_arena arena;
  wick_gguf gguf;
  wick_error error = {0};
  uint64_t need;
  wick_arena_init(&arena, NULL);
  wick_status status = wick_gguf_parse("forged", b->data, b->n, b->n, &arena, &gguf, &need, &error);
  int ok = status == expected && (!in_message || strstr(error.message, in_message));
  CHECK(t, ok, name);
  if (!ok) printf("# status %d: %s\n", status, error.message);
  wick_arena_free(&arena);
  free(b->data);
  *b = (test_bytes){0};
}

static void check_forged_preambles(tap *t) {
  test_bytes b = {0};
  test_append(&b, "<!DOCTYPE html><html>", 21);
  expect(t, &b, WICK_ERROR_FORMAT, "found \"<!DO\"", "an error page is no GGUF");
  append_preamble(&b, 1, 0, 0);
  expect(t, &b, WICK_ERROR_UNSUPPORTED, "version 2 or 3, found 1", "version 1");
  append_preamble(&b, 0x03000000, 0, 0);
  expect(t, &b, WICK_ERROR_UNSUPPORTED, "big-endian", "a big-endian file");
  append_preamble(&b, 2, 0, 0);
  expect(t, &b, WICK_OK, NULL, "an empty version 2 file parses");
  append_preamble(&b, 3, UINT64_MAX, 0);
  expect(t, &b, WICK_ERROR_FORMAT, "tensors", "more tensors than bytes");
  append_preamble(&b, 3, 0, UINT64_C(1) << 61);
  expect(t, &b, WICK_ERROR_FORMAT, "values", "more values than bytes");
}

static void check_forged_values(tap *t) {
  test_bytes b = {0};
  append_preamble(&b, 3, 0, 1);
  test_append_u64(&b, UINT64_MAX);
  test_append_zeros(&b, 64);
  expect(t, &b, WICK_ERROR_FORMAT, "a key", "a key of 2^64 - 1 bytes");

  append_preamble(&b, 3, 0, 1);
  test_append_string(&b, "k");
  test_append_u32(&b, 13);
  test_append_zeros(&b, 64);
  expect(t, &b, WICK_ERROR_FORMAT, "type of 0 to 12, found 13", "an unknown value type");

  append_preamble(&b, 3, 0, 1);
  test_append_string(&b, "k");
  test_append_u32(&b, WICK_GGUF_BOOL);
  test_append_number(&b, 2, 1);
  expect(t, &b, WICK_ERROR_FORMAT, "bool", "a bool of 2");

  static const struct {
    uint32_t type;
    uint64_t n;
    const char *message, *name;
  } arrays[] = {
      {WICK_GGUF_ARRAY, 1, "array of arrays", "an array of arrays"},
      {WICK_GGUF_U64, UINT64_MAX / 8 + 2, "at most", "an array whose bytes overflow"},
      {WICK_GGUF_U64, 1 << 20, "before the file's end", "an array longer than the file"},
      {WICK_GGUF_STRING, 1 << 20, "before the file's end", "more strings than bytes"},
  };
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
    append_preamble(&b, 3, 0, 1);
    test_append_string(&b, "k");
    test_append_u32(&b, WICK_GGUF_ARRAY);
    test_append_u32(&b, arrays[i].type);
    test_append_u64(&b, arrays[i].n);
    test_append_zeros(&b, 64);
    wick_status expected =
        arrays[i].type == WICK_GGUF_ARRAY ? WICK_ERROR_UNSUPPORTED : WICK_ERROR_FORMAT;
    expect(t, &b, expected, arrays[i].message, arrays[i].name);
  }

  append_preamble(&b, 3, 0, 2);
  append_u32_value(&b, "a.key", 1);
  append_u32_value(&b, "a.key", 2);
  expect(t, &b, WICK_ERROR_FORMAT, "a.key twice", "a key that stands there twice");
  static const uint32_t alignments[] = {0, 24, 1u << 21, UINT32_MAX};
  for (size_t i = 0; i < sizeof alignments / sizeof *alignments; i++) {
    append_preamble(&b, 3, 0, 1);
    append_u32_value(&b, "general.alignment", alignments[i]);
    expect(t, &b, WICK_ERROR_FORMAT, "general.alignment", "an alignment out of range");
  }
}

static void check_forged_tensors(tap *t) {
  static const struct {
    forged_tensor tensor;
    wick_status status;
    const char *message, *name;
  } cases[] = {
      {{"x", 2, 0, {8, 2}, 0}, WICK_OK, NULL, "a sound tensor parses"},
      {{"x", 0, 0, {0, 0}, 0}, WICK_ERROR_FORMAT, "dimensions", "no dimensions"},
      {{"x", 5, 0, {1, 1}, 0}, WICK_ERROR_FORMAT, "dimensions", "five dimensions"},
      {{"x", 2, 0, {0, 2}, 0}, WICK_ERROR_FORMAT, "at least 1", "a dimension of 0"},
      {{"x", 2, 17, {256, 2}, 0}, WICK_ERROR_UNSUPPORTED, "found type IQ2_XS (17)", "IQ2_XS"},
      {{"x", 2, 99, {256, 2}, 0}, WICK_ERROR_UNSUPPORTED, "unknown (99)", "an unknown type"},
      {{"x", 2, 3, {40, 2}, 0}, WICK_ERROR_FORMAT, "multiple of 32", "a broken block"},
      {{"x", 2, 0, {UINT64_MAX / 4, 8}, 0}, WICK_ERROR_FORMAT, "64 bits", "a product that wraps"},
      {{"x", 2, 0, {UINT64_MAX, 1}, 0}, WICK_ERROR_FORMAT, "64 bits", "a row that wraps"},
      {{"x", 2, 0, {8, 2}, 4}, WICK_ERROR_FORMAT, "alignment", "an offset off the alignment"},
      {{"x", 2, 0, {8, 2}, UINT64_MAX - 31}, WICK_ERROR_FORMAT, "offset", "an offset that wraps"},
      {{"x", 2, 0, {8, 2}, 96}, WICK_ERROR_FORMAT, "found a file of", "data beyond the end"},
      {{"x", 2, 0, {8, 3}, 64},
       WICK_ERROR_FORMAT,
       "found a file of",
       "data that runs over the end"},
      {{"", 2, 0, {8, 2}, 0}, WICK_ERROR_FORMAT, "name of a tensor", "an empty name"},
  };
  test_bytes b = {0};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    append_preamble(&b, 3, 1, 0);
    append_tensor(&b, &cases[i].tensor);
    test_append_zeros(&b, 96 - b.n); /* the header ends at 96 at most */
    test_append_zeros(&b, 128);
    expect(t, &b, cases[i].status, cases[i].message, cases[i].name);
  }
  for (int same_name = 0; same_name < 2; same_name++) {
    append_preamble(&b, 3, 2, 0);
    append_tensor(&b, &(forged_tensor){"x", 2, 0, {8, 2}, same_name ? 64 : 32});
    append_tensor(&b, &(forged_tensor){same_name ? "x" : "y", 2, 0, {8, 2}, 0});
    test_append_zeros(&b, 256);
    expect(t, &b, WICK_ERROR_FORMAT, same_name ? "found x twice" : "where y ends",
           same_name ? "a tensor that stands there twice" : "two tensors that share bytes");
  }
}

/* Padding is added after the last tensor: with a large alignment it alone may pass the end. */
static void check_padding(tap *t) {
  test_bytes b = {0};
  append_preamble(&b, 3, 1, 1);
  append_u32_value(&b, "general.alignment", 1 << 20);
  append_tensor(&b, &(forged_tensor){"x", 1, 0, {8, 1}, 0});
  test_append_zeros(&b, 512);
  expect(t, &b, WICK_ERROR_FORMAT, "padding", "padding beyond the end");
}

int main(void) {
  tap t = {0};
  check_small_file(&t);
  check_forged_preambles(&t);
  check_forged_values(&t);
  check_forged_tensors(&t);
  check_padding(&t);
  return tap_done(&t);
}
