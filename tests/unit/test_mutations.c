/* Hundreds of seeded damages (fuzz/mutate.h) to small files, through the parsers: each ends in a
 * status with one line that names the file, or parses; with bounded memory, whole and piece by
 * piece, and in no more than ten times the sound file's time. Run under ASan and UBSan this also
 * shows that no read leaves the bytes. Why: right-behaviour of untrusted files; the published GGUF
 * parser overflows are all of these kinds. */
#include <time.h>

#include "formats/gguf.h"
#include "formats/json.h"
#include "formats/safetensors.h"
#include "fuzz/mutate.h"
#include "tap.h"

enum { N_SEEDS = 600 };

/* ---- memory, counted; both the arena's and cJSON's ---- */

typedef struct counter {
  size_t now, peak;
} counter;

static counter memory; /* cJSON's hooks have no context */

static void *count_allocate(size_t n) {
  size_t *block = malloc(n + 16);
  if (!block) return NULL;
  *block = n;
  memory.now += n;
  if (memory.now > memory.peak) memory.peak = memory.now;
  return (char *)block + 16;
}

static void count_free(void *pointer) {
  if (!pointer) return;
  size_t *block = (size_t *)(void *)((char *)pointer - 16);
  memory.now -= *block;
  free(block);
}

static void *arena_allocate(void *context, size_t bytes, size_t alignment) {
  (void)context;
  size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void *pointer = aligned_alloc(alignment, rounded);
  if (!pointer) return NULL;
  memory.now += bytes;
  if (memory.now > memory.peak) memory.peak = memory.now;
  return pointer;
}

static void arena_release(void *context, void *pointer, size_t bytes, size_t alignment) {
  (void)context, (void)alignment;
  memory.now -= bytes;
  free(pointer);
}

/* ---- one file through its parser ---- */

typedef wick_status parse_function(const uint8_t *data, uint64_t n, uint64_t total,
                                   wick_arena *arena, uint64_t *need, wick_error *error);

static uint64_t touch_table(const wick_tensor_table *table) {
  uint64_t sum = 0;
  for (size_t i = 0; i < table->n; i++) sum += table->entries[i].offset ^ table->entries[i].name.n;
  return sum;
}

/* Read every value as a loader may. */
static uint64_t touch_value(const wick_gguf_value *value) {
  uint64_t sum = 0, at = 0;
  wick_string text;
  while (wick_gguf_next_string(value, &at, &text))
    for (size_t i = 0; i < text.n; i++) sum += (uint8_t)text.data[i];
  for (uint64_t i = 0; value->type != WICK_GGUF_STRING && i < value->n; i++)
    sum += (uint64_t)wick_gguf_int_at(value, i) + (wick_gguf_float_at(value, i) > 0);
  return sum;
}

static wick_status parse_gguf(const uint8_t *data, uint64_t n, uint64_t total, wick_arena *arena,
                              uint64_t *need, wick_error *error) {
  wick_gguf gguf;
  WICK_TRY(wick_gguf_parse("damaged.gguf", data, n, total, arena, &gguf, need, error));
  uint64_t sum = touch_table(&gguf.tensors);
  for (size_t i = 0; i < gguf.n_values; i++) sum += touch_value(&gguf.values[i]);
  return sum == UINT64_MAX ? WICK_ERROR_ARGUMENT : WICK_OK; /* the sum must be used */
}

static wick_status parse_safetensors(const uint8_t *data, uint64_t n, uint64_t total,
                                     wick_arena *arena, uint64_t *need, wick_error *error) {
  wick_tensor_table table;
  uint64_t header;
  WICK_TRY(wick_safetensors_parse("damaged.safetensors", data, n, total, arena, &table, &header,
                                  need, error));
  return touch_table(&table) == UINT64_MAX || header > total ? WICK_ERROR_ARGUMENT : WICK_OK;
}

static wick_status parse_whole(parse_function *parse, const test_bytes *file, wick_error *error) {
  static const wick_allocator allocator = {arena_allocate, arena_release, NULL};
  wick_arena arena;
  uint64_t need;
  wick_arena_init(&arena, &allocator);
  wick_status status = parse(file->data, file->n, file->n, &arena, &need, error);
  wick_arena_free(&arena);
  return status;
}

/* As a download: the first bytes, then as many as are asked for, each time in a buffer of exactly
 * that size. n_rounds: how often. */
static wick_status parse_pieces(parse_function *parse, const test_bytes *file, wick_error *error,
                                int *n_rounds) {
  uint64_t n = 1 < file->n ? 1 : file->n, need = 0;
  wick_status status = WICK_NEED_MORE;
  for (*n_rounds = 0; status == WICK_NEED_MORE && *n_rounds < 100; ++*n_rounds) {
    uint8_t *part = malloc(n ? n : 1);
    if (!part) abort();
    if (n) memcpy(part, file->data, n);
    wick_arena arena;
    wick_arena_init(&arena, NULL);
    status = parse(part, n, file->n, &arena, &need, error);
    wick_arena_free(&arena);
    free(part);
    if (status == WICK_NEED_MORE && (need <= n || need > file->n)) return WICK_ERROR_ARGUMENT;
    n = need;
  }
  return status;
}

static double seconds(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double fastest_of(int n, parse_function *parse, const test_bytes *file) {
  double best = 1e9;
  for (int i = 0; i < n; i++) {
    double begin = seconds();
    wick_error error;
    parse_whole(parse, file, &error);
    double taken = seconds() - begin;
    if (taken < best) best = taken;
  }
  return best;
}

static int is_one_line(const wick_error *error, wick_status status) {
  if (status == WICK_OK) return 1;
  if (strncmp(error->message, "damaged.", 8) != 0 || error->status != status) return 0;
  for (const char *c = error->message; *c; c++)
    if ((unsigned char)*c < 0x20 || *c == 0x7f) return 0;
  return 1;
}

typedef struct tally {
  int n_refused, n_parsed, n_wrong, n_large, n_slow;
} tally;

static void try_one(tally *sum, parse_function *parse, const test_bytes *damaged, double limit,
                    uint64_t seed, const char *what) {
  wick_error error = {0}, again = {0};
  int n_rounds;
  memory.peak = memory.now;
  size_t before = memory.now;
  wick_status status = parse_whole(parse, damaged, &error);
  wick_status pieces = parse_pieces(parse, damaged, &again, &n_rounds);
  int ok = status != WICK_NEED_MORE && status != WICK_ERROR_ARGUMENT && status == pieces &&
           n_rounds <= 40 && is_one_line(&error, status) && is_one_line(&again, pieces);
  if (!ok) {
    sum->n_wrong++;
    printf("# seed %llu, %s: status %d and %d, %s\n", (unsigned long long)seed, what, status,
           pieces, error.message);
  }
  if (memory.now != before || memory.peak - before > 50u << 20) sum->n_large++;
  double taken = fastest_of(1, parse, damaged);
  if (taken > limit && fastest_of(20, parse, damaged) > limit) {
    sum->n_slow++;
    printf("# seed %llu, %s: %.6f s, limit %.6f s\n", (unsigned long long)seed, what, taken, limit);
  }
  if (status == WICK_OK) sum->n_parsed++;
  if (status != WICK_OK) sum->n_refused++;
}

static void check_file(tap *t, const char *path, parse_function *parse,
                       void (*find)(const test_bytes *, mutation_fields *)) {
  char name[200], what[100];
  test_bytes file = test_read_file(path);
  snprintf(name, sizeof name, "%s: the sound file parses", path);
  wick_error error = {0};
  CHECK(t, file.n && parse_whole(parse, &file, &error) == WICK_OK, name);
  if (!file.n) return;
  mutation_fields *fields = malloc(sizeof *fields);
  find(&file, fields);
  double limit = 10 * fastest_of(20, parse, &file);
  tally sum = {0};
  for (uint64_t seed = 0; seed < N_SEEDS; seed++) {
    test_bytes damaged = mutation_make(&file, fields, seed, what, sizeof what);
    /* shrink to fit, so that the sanitizer sees the first byte beyond */
    uint8_t *exact = malloc(damaged.n ? damaged.n : 1);
    if (damaged.n) memcpy(exact, damaged.data, damaged.n);
    free(damaged.data);
    damaged.data = exact;
    try_one(&sum, parse, &damaged, limit, seed, what);
    free(exact);
  }
  printf("# %s: %d refused, %d harmless, of %d\n", path, sum.n_refused, sum.n_parsed, N_SEEDS);
  snprintf(name, sizeof name, "%s: each damage gives one line or parses, whole and in pieces",
           path);
  CHECK(t, sum.n_wrong == 0, name);
  snprintf(name, sizeof name, "%s: at most 50 MB, all given back", path);
  CHECK(t, sum.n_large == 0, name);
  snprintf(name, sizeof name, "%s: none takes ten times as long", path);
  CHECK(t, sum.n_slow == 0, name);
  snprintf(name, sizeof name, "%s: the damage is real: at least half is refused", path);
  CHECK(t, sum.n_refused >= N_SEEDS / 2, name);
  free(fields);
  free(file.data);
}

int main(void) {
  tap t = {0};
  cJSON_Hooks hooks = {count_allocate, count_free};
  cJSON_InitHooks(&hooks);
  check_file(&t, "tests/unit/fixtures/small.gguf", parse_gguf, mutation_find_gguf);
  check_file(&t, "tests/golden/generality/type_q4_0.gguf", parse_gguf, mutation_find_gguf);
  check_file(&t, "tests/unit/fixtures/small.safetensors", parse_safetensors,
             mutation_find_safetensors);
  return tap_done(&t);
}
