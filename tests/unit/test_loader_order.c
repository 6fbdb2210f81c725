/* wick.h says which files come in which order; every other order is refused, by name. */
#include "engine_support.h"

enum { MOST = 5 };

typedef struct row {
  const char *what;
  const char *files[MOST]; /* of the folder or, ending in .gguf, of tests/golden/generality */
  wick_status status;      /* of the last */
  const char *message;
} row;

#define PART(n) "../split/qwen2_untied_q4_1-0000" #n "-of-00004.gguf"

static const row rows[] = {
    {"a .gguf file alone", {"type_f32.gguf"}, WICK_OK, ""},
    {"a folder's files", {"config.json", "tokenizer.json", "model.safetensors"}, WICK_OK, ""},
    {"weights before their configuration",
     {"tokenizer.json", "model.safetensors"},
     WICK_ERROR_ARGUMENT,
     "model.safetensors: expected config.json before it"},
    {"a .gguf file after a configuration",
     {"config.json", "type_f32.gguf"},
     WICK_ERROR_ARGUMENT,
     "type_f32.gguf: expected .gguf files alone"},
    {"a .gguf file after a tokenizer",
     {"tokenizer.json", "type_f32.gguf"},
     WICK_ERROR_ARGUMENT,
     "type_f32.gguf: expected .gguf files alone"},
    {"weights after a .gguf file",
     {"type_f32.gguf", "model.safetensors"},
     WICK_ERROR_ARGUMENT,
     "model.safetensors: expected config.json before it"},
    {"a configuration after a .gguf file",
     {"type_f32.gguf", "config.json"},
     WICK_ERROR_ARGUMENT,
     "config.json: expected no more files"},
    {"a .gguf file after a folder's weights",
     {"config.json", "tokenizer.json", "model.safetensors", "type_f32.gguf"},
     WICK_ERROR_ARGUMENT,
     "type_f32.gguf: expected .gguf files alone"},
    {"all parts of a split model", {PART(1), PART(2), PART(3), PART(4)}, WICK_OK, ""},
    {"a later part first", {PART(2)}, WICK_ERROR_FORMAT, "expected part 1 of 4, found part 2 of 4"},
    {"a part twice",
     {PART(1), PART(2), PART(2)},
     WICK_ERROR_FORMAT,
     "00002-of-00004.gguf: expected part 3 of 4, found part 2 of 4"},
    {"a part left out",
     {PART(1), PART(2), PART(4)},
     WICK_ERROR_FORMAT,
     "00004-of-00004.gguf: expected part 3 of 4, found part 4 of 4"},
    {"the last parts missing",
     {PART(1), PART(2), PART(3)},
     WICK_ERROR_FORMAT,
     "00003-of-00004.gguf: expected a model of 4 parts, found 3"},
    {"a whole model's file among the parts",
     {PART(1), "type_f32.gguf"},
     WICK_ERROR_FORMAT,
     "type_f32.gguf: expected part 2 of 4, found part 1 of 1"},
    {"a part after a whole model's file",
     {"type_f32.gguf", PART(2)},
     WICK_ERROR_ARGUMENT,
     "expected no more files"},
    {"another file after all parts",
     {PART(1), PART(2), PART(3), PART(4), "config.json"},
     WICK_ERROR_ARGUMENT,
     "config.json: expected no more files"},
    {"a file of another kind", {"readme.txt"}, WICK_ERROR_UNSUPPORTED, "readme.txt: expected"},
};

static wick_status give(wick_loader *loader, const char *name, wick_error *error) {
  char path[256];
  bool gguf = strstr(name, ".gguf") != NULL;
  snprintf(path, sizeof path, "tests/golden/generality/%s%s", gguf ? "" : "llama3_f32/", name);
  test_bytes file = {0};
  if (!strstr(name, ".txt")) file = test_read_file(path);
  wick_status status = wick_loader_begin(loader, name, file.n, error);
  if (status == WICK_OK) status = wick_loader_write(loader, file.data, file.n, error);
  free(file.data);
  return status;
}

static void check_row(tap *t, const row *each) {
  wick_loader *loader;
  wick_model *model = NULL;
  wick_error error = {0};
  wick_status status = wick_loader_new(NULL, &loader, &error);
  for (int i = 0; i < MOST && each->files[i] && status == WICK_OK; i++) {
    bool last = i + 1 == MOST || !each->files[i + 1];
    status = give(loader, each->files[i], &error);
    if (status != WICK_OK && !last) status = WICK_OK + 100; /* refused too early */
  }
  if (status == WICK_OK) status = wick_loader_finish(loader, &model, &error);
  bool good = status == each->status && strstr(error.message, each->message);
  CHECK(t, good, each->what);
  if (!good) printf("# status %d: %s\n", (int)status, error.message);
  wick_loader_free(loader);
  wick_model_free(model);
}

int main(void) {
  tap t = {0};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) check_row(&t, &rows[i]);
  return tap_done(&t);
}
