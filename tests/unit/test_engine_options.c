/* Every option of an engine at its limits and beyond: a refusal names what was expected and what
 * was found, and nothing is sized by a number that was not checked (sanitizers watch). */
#include <limits.h>

#include "core/memory.h"
#include "engine_support.h"

/* A machine with little memory, so that a size which overflowed to something small shows. */
static void *allocate(void *context, size_t bytes, size_t alignment) {
  const size_t *most = context;
  return bytes > *most ? NULL : wick_allocate(wick_allocator_default(), bytes, alignment);
}

static void release(void *context, void *pointer, size_t bytes, size_t alignment) {
  (void)context;
  wick_release(wick_allocator_default(), pointer, bytes, alignment);
}

typedef struct row {
  const char *what;
  wick_engine_options options;
  wick_status status;
  const char *found; /* a part of the message */
} row;

static const row rows[] = {
    {"defaults", {0}, WICK_OK, ""},
    {"negative context", {.n_context = -1}, WICK_ERROR_ARGUMENT, "-1"},
    {"least context", {.n_context = INT_MIN}, WICK_ERROR_ARGUMENT, "-2147483648"},
    {"huge context", {.n_context = INT_MAX}, WICK_ERROR_ARGUMENT, "2147483647"},
    {"context of one", {.n_context = 1}, WICK_OK, ""},
    {"negative cache", {.n_cache_tokens = -1}, WICK_ERROR_ARGUMENT, "-1"},
    {"cache below the context", {.n_context = 64, .n_cache_tokens = 63}, WICK_ERROR_ARGUMENT, "63"},
    {"cache beyond memory", {.n_cache_tokens = INT_MAX}, WICK_ERROR_MEMORY, "KV cache"},
    {"cache that is no multiple of a block", {.n_context = 64, .n_cache_tokens = 65}, WICK_OK, ""},
    {"negative chunk", {.n_chunk = -1}, WICK_ERROR_ARGUMENT, "-1"},
    {"huge chunk", {.n_chunk = INT_MAX}, WICK_ERROR_ARGUMENT, "2147483647"},
    {"chunk of one", {.n_chunk = 1}, WICK_OK, ""},
    {"negative requests", {.max_requests = -1}, WICK_ERROR_ARGUMENT, "-1"},
    {"huge requests", {.max_requests = INT_MAX}, WICK_ERROR_ARGUMENT, "2147483647"},
    {"one request", {.max_requests = 1}, WICK_OK, ""},
    {"negative threads", {.n_threads = -1}, WICK_ERROR_ARGUMENT, "-1"},
    {"least threads", {.n_threads = INT_MIN}, WICK_ERROR_ARGUMENT, "-2147483648"},
    {"cache type below", {.cache_type = (wick_cache_type)-1}, WICK_ERROR_ARGUMENT, "cache type"},
    {"cache type above",
     {.cache_type = (wick_cache_type)(WICK_CACHE_INT8 + 1)},
     WICK_ERROR_ARGUMENT,
     "cache type"},
    {"cache of float32", {.cache_type = WICK_CACHE_F32}, WICK_OK, ""},
    {"cache of int8", {.cache_type = WICK_CACHE_INT8}, WICK_OK, ""},
};

/* Made or refused as the row says; one that was made answers. */
static bool holds(const wick_model *model, const row *each) {
  size_t most = 64 << 20;
  wick_allocator allocator = {allocate, release, &most};
  wick_engine_options options = each->options;
  options.allocator = &allocator;
  wick_engine *engine = NULL;
  wick_error error = {0};
  wick_status status = wick_engine_new(model, &options, &engine, &error);
  bool good =
      status == each->status && error.status == status && strstr(error.message, each->found);
  if (!good) printf("# status %d: %s\n", (int)status, error.message);
  if (status != WICK_OK) return good;
  float logits[4096];
  const int32_t id = 5;
  good = good && wick_model_get_info(model)->n_vocab <= 4096 &&
         wick_engine_evaluate(engine, &id, 1, 0, 0, logits, NULL, &error) == WICK_OK;
  wick_engine_free(engine);
  return good;
}

int main(void) {
  tap t = {0};
  wick_error error = {0};
  wick_model *model = test_load("type_q4_1", 1 << 16, NULL, NULL, &error);
  CHECK(&t, model != NULL, "the model loads");
  for (size_t i = 0; model && i < sizeof rows / sizeof *rows; i++)
    CHECK(&t, holds(model, &rows[i]), rows[i].what);
  wick_model_free(model);

  wick_loader *loader = NULL;
  const wick_load_options negative = {.n_threads = -1};
  CHECK(&t,
        wick_loader_new(&negative, &loader, &error) == WICK_ERROR_ARGUMENT &&
            strstr(error.message, "-1"),
        "a loader refuses negative threads");
  return tap_done(&t);
}
