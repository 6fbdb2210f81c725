/* wick convert, on every model of tests/golden/generality.json: what is converted to the other kind
 * of file still gives transformers' logits, and what is converted back has the same values in every
 * tensor. So names, shapes, row order, configuration and tokenizer files are right in both
 * directions. */
#define _XOPEN_SOURCE 700
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../native/lib/convert.h"
#include "../../native/lib/output.h"
#include "bytes.h"
#include "formats/gguf.h"
#include "formats/json.h"
#include "tap.h"
#include "wick.h"

enum { MAX_IDS = 64, MAX_FILES = 5 };

static const char *const folder_files[] = {"config.json", "generation_config.json",
                                           "tokenizer.json", "tokenizer_config.json",
                                           "model.safetensors"};

/* A model that stays in memory; files must outlive it. */
typedef struct loaded {
  test_bytes files[MAX_FILES];
  int n_files;
  wick_model *model;
} loaded;

static wick_status load_file(wick_loader *loader, loaded *out, const char *path, const char *name,
                             wick_error *error) {
  test_bytes *file = &out->files[out->n_files++];
  *file = test_read_file(path);
  return wick_loader_map(loader, name, file->data, file->n, error);
}

static wick_status load(const char *path, loaded *out, wick_error *error) {
  wick_loader *loader = NULL;
  wick_load_options options = {.exact = true};
  *out = (loaded){0};
  wick_status status = wick_loader_new(&options, &loader, error);
  if (status == WICK_OK && wick_path_ends(path, ".gguf"))
    status = load_file(loader, out, path, "model.gguf", error);
  for (int i = 0; status == WICK_OK && !wick_path_ends(path, ".gguf") && i < MAX_FILES; i++) {
    char file[WICK_PATH_BYTES];
    if (i == 1) continue; /* generation_config.json is for others */
    wick_path_join(file, path, folder_files[i]);
    status = load_file(loader, out, file, folder_files[i], error);
  }
  if (status == WICK_OK) status = wick_loader_finish(loader, &out->model, error);
  wick_loader_free(loader);
  return status;
}

static void unload(loaded *model) {
  if (model->model) wick_model_free(model->model);
  for (int i = 0; i < model->n_files; i++) free(model->files[i].data);
}

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

static void remove_folder(const char *folder) {
  char path[WICK_PATH_BYTES];
  for (int i = 0; i < MAX_FILES; i++) {
    wick_path_join(path, folder, folder_files[i]);
    unlink(path);
  }
  rmdir(folder);
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
  wick_path_join(folder, work, "folder");
  wick_path_join(back, work, "back.gguf");
  wick_convert_options f32 = {.type = "f32"}, keep = {0};
  wick_status status = wick_convert(source, folder, &f32, &error);
  if (status == WICK_OK) status = wick_convert(folder, back, &keep, &error);
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
  wick_path_join(gguf, work, "model.gguf");
  wick_path_join(back, work, "folder");
  wick_convert_options keep = {0};
  wick_status status = wick_convert(source, gguf, &keep, &error);
  if (status == WICK_OK) status = wick_convert(gguf, back, &keep, &error);
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
    if (wick_path_ends(source, ".gguf"))
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
  wick_path_join(out, work, "typed.gguf");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    wick_convert_options options = {.type = cases[i].type, .force = true};
    wick_error error = {0};
    wick_status status =
        wick_convert("tests/golden/generality/type_f32.gguf", out, &options, &error);
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

static int exists(const char *path) {
  struct stat information;
  return stat(path, &information) == 0;
}

static void check_refusals(tap *t, const char *work) {
  char out[WICK_PATH_BYTES], partial[WICK_PATH_BYTES], folder[WICK_PATH_BYTES];
  const char *source = "tests/golden/generality/type_f32.gguf";
  wick_convert_options plain = {0}, wrong = {.type = "q4_0"}, unknown = {.type = "q3_k"};
  wick_error error = {0};
  wick_path_join(out, work, "out.gguf");
  wick_path_join(partial, work, "out.gguf.partial");
  wick_path_join(folder, work, "out");
  FILE *file = fopen(out, "wb");
  if (file) {
    fputs("precious", file);
    fclose(file);
  }
  wick_status status = wick_convert(source, out, &plain, &error);
  test_bytes kept = test_read_file(out);
  CHECK(t,
        status == WICK_ERROR_ARGUMENT && strstr(error.message, out) && kept.n == 8 &&
            memcmp(kept.data, "precious", 8) == 0,
        "an existing file is not overwritten");
  free(kept.data);
  status = wick_convert("tests/unit/fixtures/small.gguf", out,
                        &(wick_convert_options){.force = true}, &error);
  kept = test_read_file(out);
  CHECK(t,
        status != WICK_OK && strstr(error.message, "tests/unit/fixtures/small.gguf") &&
            kept.n == 8 && !exists(partial),
        "a failure names the file, keeps the old output and leaves nothing behind");
  free(kept.data);
  unlink(out);
  CHECK(t, wick_convert(source, folder, &wrong, &error) == WICK_ERROR_ARGUMENT && !exists(folder),
        "a folder holds no quantized types");
  CHECK(t,
        wick_convert(source, out, &unknown, &error) == WICK_ERROR_ARGUMENT &&
            strstr(error.message, "q3_k") && !exists(out),
        "an unknown type");
  CHECK(t,
        wick_convert("no/such/file.gguf", out, &plain, &error) == WICK_ERROR_IO &&
            strstr(error.message, "no/such/file.gguf") && !exists(out),
        "a missing source");
  status = wick_convert("tests/golden/generality/smollm2_f16", folder, &plain, &error);
  CHECK(t, status == WICK_ERROR_UNSUPPORTED && !exists(folder), "a folder to a folder");
  mkdir(folder, 0777);
  char other[WICK_PATH_BYTES];
  wick_path_join(other, folder, "model-00001-of-00002.safetensors");
  file = fopen(other, "wb");
  if (file) fclose(file);
  status = wick_convert(source, folder, &(wick_convert_options){.force = true}, &error);
  CHECK(t, status == WICK_ERROR_ARGUMENT && strstr(error.message, "model-00001"),
        "weights of another model in the folder");
  unlink(other);
  status = wick_convert(source, folder, &(wick_convert_options){.force = true}, &error);
  CHECK(t, status == WICK_OK, "an existing folder is filled with --force");
  remove_folder(folder);
  CHECK(t, !exists(folder), "and holds nothing else");
}

int main(void) {
  tap t = {0};
  char work[] = "/tmp/wick-convert-XXXXXX";
  CHECK(&t, mkdtemp(work) != NULL, "a place to work in");
  check_models(&t, work);
  check_types(&t, work);
  check_refusals(&t, work);
  CHECK(&t, rmdir(work) == 0, "nothing is left in it");
  return tap_done(&t);
}
