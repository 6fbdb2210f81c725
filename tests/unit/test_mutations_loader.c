/* Seeded damage (fuzz/mutate.h) to a GGUF and to a folder's safetensors, through the whole loader,
 * mapped and streamed: a line that names the file, or a model that runs; memory counted and given
 * back; no more than ten times the sound file's time. */
#include <math.h>
#include <time.h>

#include "fuzz/mutate.h"
#include "tap.h"
#include "wick.h"

enum { N_SEEDS = 300, MAX_BYTES = 50 << 20, MAX_FILES = 4 };

typedef struct counter {
  size_t now, peak;
} counter;

static void *count_allocate(void *context, size_t bytes, size_t alignment) {
  counter *c = context;
  void *pointer = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (!pointer) return NULL;
  c->now += bytes;
  if (c->now > c->peak) c->peak = c->now;
  return pointer;
}

static void count_release(void *context, void *pointer, size_t bytes, size_t alignment) {
  (void)alignment;
  ((counter *)context)->now -= bytes;
  free(pointer);
}

/* A model's files in the loader's order; the last one gets damaged. */
typedef struct model_files {
  const char *names[MAX_FILES];
  test_bytes files[MAX_FILES];
  int n;
} model_files;

static void add_file(model_files *m, const char *folder, const char *name, const char *as) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  m->names[m->n] = as;
  m->files[m->n++] = test_read_file(path);
}

static wick_status load_one(wick_loader *loader, const char *name, const test_bytes *file,
                            size_t piece, wick_error *error) {
  if (piece == 0) return wick_loader_map(loader, name, file->data, file->n, error);
  wick_status status = wick_loader_begin(loader, name, file->n, error);
  for (size_t at = 0; status == WICK_OK && at < file->n; at += piece)
    status = wick_loader_write(loader, file->data + at, file->n - at < piece ? file->n - at : piece,
                               error);
  return status;
}

/* Load, and when that works run two tokens. */
static wick_status try_model(const model_files *m, const test_bytes *last, size_t piece,
                             counter *count, wick_error *error) {
  wick_allocator allocator = {count_allocate, count_release, count};
  wick_load_options options = {.allocator = &allocator};
  wick_loader *loader = NULL;
  wick_model *model = NULL;
  wick_engine *engine = NULL;
  wick_status status = wick_loader_new(&options, &loader, error);
  for (int i = 0; status == WICK_OK && i < m->n; i++)
    status = load_one(loader, m->names[i], i + 1 < m->n ? &m->files[i] : last, piece, error);
  if (status == WICK_OK) status = wick_loader_finish(loader, &model, error);
  wick_loader_free(loader);
  if (status != WICK_OK) return status;
  int32_t ids[2] = {0, wick_model_get_info(model)->n_vocab - 1};
  wick_engine_options small = {.allocator = &allocator, .n_context = 8};
  status = wick_engine_new(model, &small, &engine, error);
  if (status == WICK_OK) status = wick_engine_evaluate(engine, ids, 2, 0, 2, NULL, NULL, error);
  if (engine) wick_engine_free(engine);
  wick_model_free(model);
  return status;
}

static double seconds(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double fastest_of(int n, const model_files *m, const test_bytes *last) {
  double best = INFINITY;
  for (int i = 0; i < n; i++) {
    counter count = {0};
    wick_error error;
    double begin = seconds();
    try_model(m, last, 0, &count, &error);
    best = fmin(best, seconds() - begin);
  }
  return best;
}

static int is_one_line(const wick_error *error, wick_status status) {
  if (status == WICK_OK) return 1;
  if (error->status != status || !error->message[0]) return 0;
  for (const char *c = error->message; *c; c++)
    if ((unsigned char)*c < 0x20 || *c == 0x7f) return 0;
  return 1;
}

static void check_model(tap *t, const char *what, const model_files *m,
                        void (*find)(const test_bytes *, mutation_fields *)) {
  const test_bytes *sound = &m->files[m->n - 1];
  counter count = {0};
  wick_error error = {0};
  char name[160], damage[100];
  int n_wrong = 0, n_large = 0, n_slow = 0, n_loaded = 0;
  snprintf(name, sizeof name, "%s: the sound model loads and runs", what);
  CHECK(t, sound->n && try_model(m, sound, 0, &count, &error) == WICK_OK, name);
  if (!sound->n) return;
  mutation_fields *fields = malloc(sizeof *fields);
  find(sound, fields);
  double limit = 10 * fastest_of(10, m, sound);
  for (uint64_t seed = 0; seed < N_SEEDS; seed++) {
    test_bytes damaged = mutation_make(sound, fields, seed, damage, sizeof damage);
    uint8_t *exact = malloc(damaged.n ? damaged.n : 1);
    if (damaged.n) memcpy(exact, damaged.data, damaged.n);
    free(damaged.data);
    damaged.data = exact;
    wick_error mapped_error = {0}, streamed_error = {0};
    counter mapped = {0}, streamed = {0};
    wick_status status = try_model(m, &damaged, 0, &mapped, &mapped_error);
    wick_status again = try_model(m, &damaged, 4093, &streamed, &streamed_error);
    if ((status == WICK_OK) != (again == WICK_OK) || !is_one_line(&mapped_error, status) ||
        !is_one_line(&streamed_error, again)) {
      n_wrong++;
      printf("# seed %d, %s: %d %s; %d %s\n", (int)seed, damage, status, mapped_error.message,
             again, streamed_error.message);
    }
    n_loaded += status == WICK_OK;
    n_large += mapped.peak > MAX_BYTES || streamed.peak > MAX_BYTES || mapped.now || streamed.now;
    if (fastest_of(1, m, &damaged) > limit && fastest_of(10, m, &damaged) > limit) n_slow++;
    free(exact);
  }
  printf("# %s: %d of %d damaged files still load\n", what, n_loaded, N_SEEDS);
  snprintf(name, sizeof name, "%s: each damage gives one line, or a model that runs", what);
  CHECK(t, n_wrong == 0, name);
  snprintf(name, sizeof name, "%s: at most 50 MB, all given back", what);
  CHECK(t, n_large == 0, name);
  snprintf(name, sizeof name, "%s: none takes ten times as long", what);
  CHECK(t, n_slow == 0, name);
  free(fields);
}

static void free_files(model_files *m) {
  for (int i = 0; i < m->n; i++) free(m->files[i].data);
}

int main(void) {
  tap t = {0};
  model_files gguf = {0}, folder = {0};
  const char *path = "tests/golden/generality/smollm2_f16";
  add_file(&gguf, "tests/golden/generality", "type_q4_0.gguf", "type_q4_0.gguf");
  add_file(&folder, path, "config.json", "config.json");
  add_file(&folder, path, "tokenizer.json", "tokenizer.json");
  add_file(&folder, path, "tokenizer_config.json", "tokenizer_config.json");
  add_file(&folder, path, "model.safetensors", "model.safetensors");
  check_model(&t, "GGUF", &gguf, mutation_find_gguf);
  check_model(&t, "safetensors", &folder, mutation_find_safetensors);
  free_files(&gguf);
  free_files(&folder);
  return tap_done(&t);
}
