/* Every allocation of load and generate fails once, in turn: each time a status and a message come
 * back, nothing leaks, nothing is touched that was not allocated (sanitizers watch), and an engine
 * that refused a request for want of memory gives the next one the right text. */
#include <stdlib.h>

#include <cJSON.h>

#include "core/memory.h"
#include "engine_support.h"

typedef struct failing {
  long left;   /* allocations until the one that fails; negative: none does */
  long n_live; /* allocated and not yet released */
} failing;

static void *allocate(void *context, size_t bytes, size_t alignment) {
  failing *state = context;
  if (state->left-- == 0) return NULL;
  const wick_allocator *real = wick_allocator_default();
  void *pointer = wick_allocate(real, bytes, alignment);
  if (pointer) state->n_live++;
  return pointer;
}

static void release(void *context, void *pointer, size_t bytes, size_t alignment) {
  failing *state = context;
  state->n_live--;
  wick_release(wick_allocator_default(), pointer, bytes, alignment);
}

/* cJSON's allocations are counted too; its hooks know no context. */
static failing *json_state;
static void *json_allocate(size_t bytes) {
  return json_state->left-- == 0 ? NULL : (json_state->n_live++, malloc(bytes));
}
static void json_release(void *pointer) {
  if (pointer) json_state->n_live--;
  free(pointer);
}

static wick_status load_folder(const char *folder, const wick_load_options *options,
                               wick_model **model, wick_error *error) {
  static const char *const files[] = {"config.json", "tokenizer.json", "model.safetensors"};
  wick_loader *loader;
  wick_status status = wick_loader_new(options, &loader, error);
  if (status != WICK_OK) return status;
  for (int i = 0; i < 3 && status == WICK_OK; i++) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, files[i]);
    test_bytes file = test_read_file(path);
    status = wick_loader_begin(loader, files[i], file.n, error);
    if (status == WICK_OK) status = wick_loader_write(loader, file.data, file.n, error);
    free(file.data);
  }
  if (status == WICK_OK) status = wick_loader_finish(loader, model, error);
  wick_loader_free(loader);
  return status;
}

/* Step to idle, also after errors; false when that takes more than the request can need. */
static bool run_to_idle(wick_engine *engine, test_answer *answer, wick_status *status,
                        wick_error *error) {
  enum { MAX_STEPS = 100 };
  memset(answer, 0, sizeof *answer);
  for (int i = 0; !wick_engine_idle(engine); i++) {
    wick_event event;
    if (i == MAX_STEPS) return false;
    wick_status stepped = wick_engine_step(engine, error);
    if (stepped != WICK_OK) *status = stepped;
    while (wick_engine_next(engine, &event)) test_take_event(&event, answer);
  }
  return true;
}

/* Two requests, one after the other; what is refused for want of memory is asked again. Both
 * answers must be expected, or are from now on (done is 0). *sound stays true when they were. */
static wick_status generate(const wick_model *model, const wick_allocator *allocator,
                            test_answer *expected, bool *sound, wick_error *error) {
  wick_engine *engine;
  wick_engine_options options = {.allocator = allocator, .n_context = 64, .max_requests = 2};
  wick_status status = wick_engine_new(model, &options, &engine, error);
  if (status != WICK_OK) return status;
  int32_t ids[32];
  size_t n_ids;
  const char *stop = "zzz";
  wick_error ignored;
  status = wick_tokenize(model, "Hello 12", 8, true, ids, 32, &n_ids, error);
  if (status != WICK_OK) wick_tokenize(model, "Hello 12", 8, true, ids, 32, &n_ids, &ignored);
  wick_request request = {.ids = ids,
                          .n_ids = n_ids,
                          .max_tokens = 4,
                          .ignore_end = true,
                          .stop = &stop,
                          .n_stop = 1,
                          .sampling = wick_sampling_default(),
                          .n_logprobs = 2};
  for (int i = 0; i < 2; i++) {
    test_answer answer;
    wick_request_id id;
    wick_status submitted = wick_engine_submit(engine, &request, &id, error);
    if (submitted != WICK_OK) {
      status = submitted;
      submitted = wick_engine_submit(engine, &request, &id, &ignored);
    }
    bool ran = submitted == WICK_OK && run_to_idle(engine, &answer, &status, error);
    if (ran && !expected->done) *expected = answer;
    *sound = *sound && ran && answer.done == 1 && answer.n == 4 &&
             answer.finish == WICK_FINISH_LENGTH && test_same(&answer, expected) &&
             answer.n_text == expected->n_text &&
             memcmp(answer.text, expected->text, answer.n_text) == 0;
  }
  wick_engine_free(engine);
  return status;
}

/* path ends in .gguf, or is a folder. */
static void test_model(tap *t, const char *path) {
  wick_status status = WICK_ERROR_MEMORY;
  bool graceful = true, leaked = false, finished = false, sound = true;
  static test_answer expected;
  expected.done = 0;
  bool is_folder = strchr(path, '/') != NULL;
  long n;
  for (n = -1; n < 20000 && !finished; n++) { /* -1: none fails, and says what is expected */
    failing state = {.left = n};
    json_state = &state;
    wick_allocator allocator = {allocate, release, &state};
    wick_load_options options = {.allocator = &allocator};
    wick_error error = {0};
    wick_model *model = NULL;
    if (is_folder) {
      status = load_folder(path, &options, &model, &error);
    } else {
      model = test_load(path, 10000, &options, NULL, &error);
      status = model ? WICK_OK : error.status;
    }
    if (status == WICK_OK) status = generate(model, &allocator, &expected, &sound, &error);
    wick_model_free(model);
    finished = status == WICK_OK && state.left >= 0;
    bool injected = n >= 0 && state.left < 0;
    if (injected && (status != WICK_ERROR_MEMORY || !error.message[0])) {
      graceful = false;
      printf("# allocation %ld: status %d: %s\n", n, (int)status, error.message);
    }
    if (state.n_live != 0) {
      leaked = true;
      printf("# allocation %ld: %ld blocks leaked\n", n, state.n_live);
    }
  }
  char what[160];
  snprintf(what, sizeof what, "%s: each of %ld allocations can fail", path, n);
  CHECK(t, finished && graceful, what);
  CHECK(t, !leaked, "and nothing leaks");
  CHECK(t, sound, "an engine that wanted memory once runs to idle, and gives the right text");
}

int main(void) {
  tap t = {0};
  cJSON_Hooks hooks = {json_allocate, json_release};
  failing none = {.left = -1};
  json_state = &none;
  cJSON_InitHooks(&hooks);
  test_model(&t, "type_q4_1");
  test_model(&t, "tests/golden/generality/llama3_f32");
  return tap_done(&t);
}
