/* wick convert, on every model of tests/golden/generality.json: what is converted to the other kind
 * of file still gives transformers' logits, and what is converted back has the same values in every
 * tensor. So names, shapes, row order, configuration and tokenizer files are right in both
 * directions. */
#define _XOPEN_SOURCE 700
#include <math.h>

#include "convert_support.h"
#include "formats/gguf.h"

enum { MAX_IDS = 64 };

/* The largest difference to the golden logits, or infinity. */
static double logits_difference(const char *path, const cJSON *golden) {
  loaded model;
  wick_error error = {0};
  wick_engine *engine = NULL;
  int32_t ids[MAX_IDS];
  size_t n_ids = 0;
  double worst = INFINITY;
  uint64_t n_vocab = 0;
  wick_json_u64(golden, "n_vocab", &n_vocab);
  for (const cJSON *id = cJSON_GetObjectItem(golden, "ids")->child; id && n_ids < MAX_IDS;
       id = id->next)
    ids[n_ids++] = id->valueint;
  char golden_path[256];
  snprintf(golden_path, sizeof golden_path, "tests/golden/%s",
           cJSON_GetObjectItem(golden, "logits")->valuestring);
  test_bytes expected = test_read_file(golden_path);
  float *logits = malloc(n_ids * n_vocab * sizeof *logits);
  wick_status status = load(path, &model, &error);
  if (status == WICK_OK) status = wick_engine_new(model.model, NULL, &engine, &error);
  if (status == WICK_OK)
    status = wick_engine_evaluate(engine, ids, n_ids, 0, 0, logits, NULL, &error);
  if (status == WICK_OK && expected.n) {
    worst = 0;
    size_t row = 0;
    for (const cJSON *at = cJSON_GetObjectItem(golden, "positions")->child; at;
         at = at->next, row++)
      for (size_t i = 0; i < n_vocab; i++) {
        float value;
        memcpy(&value, expected.data + (row * n_vocab + i) * sizeof value, sizeof value);
        double difference =
            fabs((double)value - (double)logits[(size_t)at->valueint * n_vocab + i]);
        if (!(difference <= worst)) worst = difference;
      }
  } else {
    printf("# %s: %s\n", path, error.message);
  }
  if (engine) wick_engine_free(engine);
  unload(&model);
  free(logits);
  free(expected.data);
  return worst;
}

/* 1 when both GGUF files have the same tensors with, value for value, the same weights. */
static int same_values(const char *a_path, const char *b_path) {
  test_bytes a_file = test_read_file(a_path), b_file = test_read_file(b_path);
  wick_arena arena;
  wick_arena_init(&arena, NULL);
  wick_gguf a, b;
  uint64_t need;
  wick_error error = {0};
  int same = wick_gguf_parse(a_path, a_file.data, a_file.n, a_file.n, &arena, &a, &need, &error) ==
                 WICK_OK &&
             wick_gguf_parse(b_path, b_file.data, b_file.n, b_file.n, &arena, &b, &need, &error) ==
                 WICK_OK &&
             a.tensors.n == b.tensors.n;
  for (size_t i = 0; same && i < a.tensors.n; i++) {
    const wick_tensor_entry *x = &a.tensors.entries[i], *y = NULL;
    for (size_t k = 0; k < b.tensors.n; k++) {
      const wick_tensor_entry *entry = &b.tensors.entries[k];
      if (entry->name.n == x->name.n && memcmp(entry->name.data, x->name.data, x->name.n) == 0)
        y = entry;
    }
    same = y && memcmp(x->dims, y->dims, sizeof x->dims) == 0;
    uint64_t n = x->dims[0] * x->dims[1];
    float *values = WICK_ARENA_ARRAY(&arena, float, 2 * n);
    if (!same) break;
    wick_row_to_f32(x->dtype, a_file.data + x->offset, (size_t)n, values);
    wick_row_to_f32(y->dtype, b_file.data + y->offset, (size_t)n, values + n);
    same = memcmp(values, values + n, (size_t)n * sizeof *values) == 0;
  }
  if (!same) printf("# %s\n", error.message);
  wick_arena_free(&arena);
  free(a_file.data);
  free(b_file.data);
  return same;
}

static void check_logits(tap *t, const char *path, const cJSON *golden, const char *what) {
  char name[200];
  double tolerance = cJSON_GetObjectItem(golden, "tolerance")->valuedouble;
  double difference = logits_difference(path, golden);
  snprintf(name, sizeof name, "%s %s: transformers' logits", golden->child->valuestring, what);
  CHECK(t, difference <= tolerance, name);
  if (!(difference <= tolerance)) printf("# difference %g\n", difference);
}

/* GGUF -> folder -> GGUF. float32 holds every type's values exactly. */
static void check_from_gguf(tap *t, const char *source, const char *work, const cJSON *golden) {
  char folder[WICK_PATH_BYTES], back[WICK_PATH_BYTES], name[200];
  wick_error error = {0};
  wick_path_join(folder, work, "folder", NULL);
  wick_path_join(back, work, "back.gguf", NULL);
  wick_convert_options f32 = {.type = "f32"}, keep = {0};
  wick_status status = wick_convert(source, folder, &f32, NULL, &error);
  if (status == WICK_OK) status = wick_convert(folder, back, &keep, NULL, &error);
  snprintf(name, sizeof name, "%s: to a folder and back", golden->child->valuestring);
  CHECK(t, status == WICK_OK, name);
  if (status != WICK_OK) printf("# %s\n", error.message);
  if (status == WICK_OK) {
    check_logits(t, folder, golden, "as a folder");
    check_logits(t, back, golden, "as GGUF again");
    snprintf(name, sizeof name, "%s: the same values in every tensor", golden->child->valuestring);
    CHECK(t, same_values(source, back), name);
  }
  remove_folder(folder);
  unlink(back);
}

/* Folder -> GGUF -> folder, each tensor in its own type. */
static void check_from_folder(tap *t, const char *source, const char *work, const cJSON *golden) {
  char gguf[WICK_PATH_BYTES], back[WICK_PATH_BYTES], name[200];
  wick_error error = {0};
  wick_path_join(gguf, work, "model.gguf", NULL);
  wick_path_join(back, work, "folder", NULL);
  wick_convert_options keep = {0};
  wick_status status = wick_convert(source, gguf, &keep, NULL, &error);
  if (status == WICK_OK) status = wick_convert(gguf, back, &keep, NULL, &error);
  snprintf(name, sizeof name, "%s: to GGUF and back", golden->child->valuestring);
  CHECK(t, status == WICK_OK, name);
  if (status != WICK_OK) printf("# %s\n", error.message);
  if (status == WICK_OK) {
    check_logits(t, gguf, golden, "as GGUF");
    check_logits(t, back, golden, "as a folder again");
  }
  remove_folder(back);
  unlink(gguf);
}

static void check_models(tap *t, const char *work) {
  test_bytes list = test_read_file("tests/golden/generality.json");
  cJSON *json = NULL;
  wick_error error = {0};
  wick_status status = wick_json_parse("generality.json", (char *)list.data, list.n, &json, &error);
  CHECK(t, status == WICK_OK, "the list of golden models parses");
  const cJSON *models = cJSON_GetObjectItem(json, "models");
  int n = 0;
  for (const cJSON *golden = models ? models->child : NULL; golden; golden = golden->next, n++) {
    char source[256];
    snprintf(source, sizeof source, "tests/golden/%s",
             cJSON_GetObjectItem(golden, "model")->valuestring);
    if (wick_ends_with(source, ".gguf"))
      check_from_gguf(t, source, work, golden);
    else
      check_from_folder(t, source, work, golden);
  }
  CHECK(t, n >= 20, "all of the golden models were tried");
  cJSON_Delete(json);
  free(list.data);
}

/* The type that was asked for, smaller than the source. */
static void check_types(tap *t, const char *work) {
  static const struct {
    const char *type;
    wick_dtype matrix, embedding;
  } cases[] = {{"f16", WICK_DTYPE_F16, WICK_DTYPE_F16},
               {"bf16", WICK_DTYPE_BF16, WICK_DTYPE_BF16},
               {"q8_0", WICK_DTYPE_Q8_0, WICK_DTYPE_Q8_0},
               {"q4_0", WICK_DTYPE_Q4_0, WICK_DTYPE_Q8_0},
               {"q4_1", WICK_DTYPE_Q4_1, WICK_DTYPE_Q8_0}};
  char out[WICK_PATH_BYTES];
  wick_path_join(out, work, "typed.gguf", NULL);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    wick_convert_options options = {.type = cases[i].type, .force = true};
    wick_error error = {0};
    wick_status status =
        wick_convert("tests/golden/generality/type_f32.gguf", out, &options, NULL, &error);
    test_bytes file = test_read_file(out);
    wick_arena arena;
    wick_gguf gguf = {0};
    uint64_t need;
    wick_arena_init(&arena, NULL);
    if (status == WICK_OK)
      status = wick_gguf_parse(out, file.data, file.n, file.n, &arena, &gguf, &need, &error);
    const wick_tensor_entry *matrix = wick_tensor_table_find(&gguf.tensors, "blk.0.ffn_up.weight");
    const wick_tensor_entry *embedding = wick_tensor_table_find(&gguf.tensors, "token_embd.weight");
    const wick_tensor_entry *norm = wick_tensor_table_find(&gguf.tensors, "output_norm.weight");
    CHECK(t,
          status == WICK_OK && matrix && matrix->dtype == cases[i].matrix && embedding &&
              embedding->dtype == cases[i].embedding && norm && norm->dtype == WICK_DTYPE_F32,
          cases[i].type);
    if (status != WICK_OK) printf("# %s\n", error.message);
    wick_arena_free(&arena);
    free(file.data);
  }
  unlink(out);
}

int main(void) {
  tap t = {0};
  char work[] = "/tmp/wick-convert-XXXXXX";
  CHECK(&t, mkdtemp(work) != NULL, "a place to work in");
  check_models(&t, work);
  check_types(&t, work);
  CHECK(&t, rmdir(work) == 0, "nothing is left in it");
  return tap_done(&t);
}
