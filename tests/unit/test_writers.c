/* The writers: a file that another program wrote, parsed and written again, has the same values and
 * tensors; what gguf's and safetensors' own readers make of it is checked where Python is at hand
 * (tools/fixtures/check_convert.py). */
#include "bytes.h"
#include "formats/gguf_write.h"
#include "formats/safetensors.h"
#include "formats/safetensors_write.h"
#include "tap.h"

static wick_status append(void *context, const void *bytes, size_t n, wick_error *error) {
  (void)error;
  test_append(context, bytes, n);
  return WICK_OK;
}

static int same_tensors(const wick_tensor_table *a, const uint8_t *a_data,
                        const wick_tensor_table *b, const uint8_t *b_data) {
  int n_same = 0;
  for (size_t i = 0; i < a->n && i < b->n; i++) {
    const wick_tensor_entry *x = &a->entries[i], *y = &b->entries[i];
    if (x->name.n == y->name.n && memcmp(x->name.data, y->name.data, x->name.n) == 0 &&
        x->dtype == y->dtype && x->n_dims == y->n_dims &&
        memcmp(x->dims, y->dims, sizeof x->dims) == 0 && x->n_bytes == y->n_bytes &&
        memcmp(a_data + x->offset, b_data + y->offset, (size_t)x->n_bytes) == 0)
      n_same++;
  }
  return a->n == b->n && n_same == (int)a->n;
}

static void check_gguf(tap *t) {
  test_bytes file = test_read_file("tests/unit/fixtures/small.gguf"), written = {0};
  wick_arena arena;
  wick_gguf first, second;
  wick_error error = {0};
  uint64_t need;
  wick_arena_init(&arena, NULL);
  wick_status status =
      wick_gguf_parse("first", file.data, file.n, file.n, &arena, &first, &need, &error);
  CHECK(t, status == WICK_OK, "the first file parses");
  wick_gguf_builder builder;
  wick_gguf_builder_init(&builder, NULL);
  for (size_t i = 0; i < first.n_values; i++) wick_gguf_put_value(&builder, &first.values[i]);
  wick_gguf_put_u32(&builder, "new.u32", 7);
  wick_gguf_put_f32(&builder, "new.f32", -0.5f);
  wick_gguf_put_bool(&builder, "new.bool", true);
  wick_gguf_put_string(&builder, "new.string", (wick_string){"text", 4});
  wick_gguf_put_array(&builder, "new.strings", WICK_GGUF_STRING, 2);
  wick_gguf_add_string(&builder, (wick_string){"one", 3});
  wick_gguf_add_string(&builder, (wick_string){"", 0});
  wick_gguf_put_array(&builder, "new.ints", WICK_GGUF_I32, 2);
  wick_gguf_add_i32(&builder, -5);
  wick_gguf_add_i32(&builder, 6);
  wick_sink sink = {append, &written};
  wick_tensor_table table = {WICK_ARENA_ARRAY(&arena, wick_tensor_entry, first.tensors.n),
                             first.tensors.n};
  memcpy(table.entries, first.tensors.entries, table.n * sizeof *table.entries);
  status = wick_gguf_write_header(&sink, &builder, &table, &error);
  CHECK(t, status == WICK_OK, "the header is written");
  for (size_t i = 0; i < table.n; i++) {
    const wick_tensor_entry *entry = &first.tensors.entries[i];
    CHECK(t, written.n == table.entries[i].offset, "a tensor begins where its entry says");
    wick_sink_write(&sink, file.data + entry->offset, (size_t)entry->n_bytes, &error);
    wick_gguf_write_padding(&sink, entry->n_bytes, &error);
  }
  status =
      wick_gguf_parse("second", written.data, written.n, written.n, &arena, &second, &need, &error);
  CHECK(t, status == WICK_OK && second.n_values == first.n_values + 6, "what was written parses");
  CHECK(t, same_tensors(&first.tensors, file.data, &second.tensors, written.data),
        "every tensor has its name, type, dimensions and bytes");
  int n_same = 0;
  for (size_t i = 0; i < first.n_values; i++) {
    const wick_gguf_value *x = &first.values[i], *y = &second.values[i];
    if (x->type == y->type && x->is_array == y->is_array && x->n == y->n &&
        x->n_bytes == y->n_bytes && memcmp(x->data, y->data, (size_t)x->n_bytes) == 0)
      n_same++;
  }
  CHECK(t, n_same == (int)first.n_values, "every value has its type and bytes");
  uint64_t u, at = 0;
  double f;
  bool b;
  wick_string s;
  CHECK(t, wick_gguf_get_u64(&second, "new.u32", &u) && u == 7, "a new u32");
  CHECK(t, wick_gguf_get_f64(&second, "new.f32", &f) && f == -0.5, "a new f32");
  CHECK(t, wick_gguf_get_bool(&second, "new.bool", &b) && b, "a new bool");
  CHECK(t, wick_gguf_get_string(&second, "new.string", &s) && wick_string_equal(s, "text"),
        "a new string");
  const wick_gguf_value *strings = wick_gguf_find(&second, "new.strings");
  CHECK(t,
        wick_gguf_next_string(strings, &at, &s) && wick_string_equal(s, "one") &&
            wick_gguf_next_string(strings, &at, &s) && s.n == 0 &&
            !wick_gguf_next_string(strings, &at, &s),
        "new strings");
  CHECK(t, wick_gguf_int_at(wick_gguf_find(&second, "new.ints"), 0) == -5, "new integers");
  wick_gguf_builder_free(&builder);
  wick_arena_free(&arena);
  free(file.data);
  free(written.data);
}

static void check_safetensors(tap *t) {
  test_bytes file = test_read_file("tests/unit/fixtures/small.safetensors"), written = {0};
  wick_arena arena;
  wick_tensor_table first, second, table;
  wick_error error = {0};
  uint64_t need, header;
  wick_arena_init(&arena, NULL);
  wick_status status = wick_safetensors_parse("first", file.data, file.n, file.n, &arena, &first,
                                              &header, &need, &error);
  CHECK(t, status == WICK_OK, "the first file parses");
  table = (wick_tensor_table){WICK_ARENA_ARRAY(&arena, wick_tensor_entry, first.n), first.n};
  memcpy(table.entries, first.entries, table.n * sizeof *table.entries);
  wick_sink sink = {append, &written};
  status = wick_safetensors_write_header(&sink, &table, &arena, &error);
  CHECK(t, status == WICK_OK && written.n % 8 == 0, "the header is written, at a multiple of 8");
  for (size_t i = 0; i < table.n; i++) {
    CHECK(t, written.n == table.entries[i].offset, "a tensor begins where its entry says");
    wick_sink_write(&sink, file.data + first.entries[i].offset, (size_t)first.entries[i].n_bytes,
                    &error);
  }
  status = wick_safetensors_parse("second", written.data, written.n, written.n, &arena, &second,
                                  &header, &need, &error);
  CHECK(t, status == WICK_OK && same_tensors(&first, file.data, &second, written.data),
        "what was written parses to the same tensors");
  wick_arena_free(&arena);
  free(file.data);
  free(written.data);
}

static void *never(void *context, size_t bytes, size_t alignment) {
  (void)context, (void)bytes, (void)alignment;
  return NULL;
}

static void nothing(void *context, void *pointer, size_t bytes, size_t alignment) {
  (void)context, (void)pointer, (void)bytes, (void)alignment;
}

static void check_no_memory(tap *t) {
  wick_allocator allocator = {never, nothing, NULL};
  wick_gguf_builder builder;
  wick_gguf_builder_init(&builder, &allocator);
  wick_gguf_put_u32(&builder, "key", 1);
  test_bytes written = {0};
  wick_sink sink = {append, &written};
  wick_tensor_table table = {0};
  wick_error error = {0};
  CHECK(t,
        wick_gguf_write_header(&sink, &builder, &table, &error) == WICK_ERROR_MEMORY &&
            written.n == 0,
        "a builder that could not grow writes nothing and says so");
  wick_gguf_builder_free(&builder);
}

int main(void) {
  tap t = {0};
  check_gguf(&t);
  check_safetensors(&t);
  check_no_memory(&t);
  return tap_done(&t);
}
