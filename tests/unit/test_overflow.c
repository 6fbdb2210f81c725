/* Values that overflow the cache's type at one position leave every earlier position as it is: in
 * attention over one group of queries, and in whole logits, which stay the same for every chunk. */
#include <math.h>

#include "core/memory.h"
#include "engine_support.h"
#include "formats/gguf.h"
#include "model/attention.h"

enum { DIM = 16, N_POSITIONS = 72, FIRST_BAD = 45, FIRST_QUERY = 40, N_TOKENS = 8, SHARED = 2 };
enum { N_QUERIES = N_TOKENS * SHARED };

static void fill(float *x, size_t n, uint32_t seed) {
  for (size_t i = 0; i < n; i++) {
    seed = seed * 1664525u + 1013904223u;
    x[i] = (float)(seed >> 8) / (float)(1 << 23) - 1.0f;
  }
}

/* out [N_QUERIES][DIM]: attention of the queries over n_stored positions, those from FIRST_BAD on
 * holding bad; all in one group, or each token's alone. */
static bool attend(uint32_t level, wick_cache_type type, int n_stored, float bad, bool alone,
                   float *out) {
  wick_kernels kernels;
  wick_kv_cache cache;
  wick_error error;
  int32_t blocks[(N_POSITIONS + WICK_KV_BLOCK - 1) / WICK_KV_BLOCK], positions[N_QUERIES];
  wick_kv_sequence sequence = {.blocks = blocks};
  static float queries[N_QUERIES * DIM], scratch[N_QUERIES * WICK_SPLIT + WICK_KV_BLOCK * DIM];
  wick_partial partials[N_QUERIES];
  wick_kernels_select(&kernels, level);
  if (wick_kv_cache_init(&cache, wick_allocator_default(), type, 1, 1, DIM, 3, &error) != WICK_OK)
    return false;
  bool good = wick_kv_reserve(&cache, &sequence, n_stored);
  for (int i = 0; good && i < n_stored; i++) {
    float k[DIM], v[DIM];
    fill(k, DIM, (uint32_t)i);
    fill(v, DIM, (uint32_t)i + 1000);
    for (int d = 0; d < DIM && i >= FIRST_BAD; d++) k[d] = v[d] = d % 2 ? bad : -bad;
    wick_kv_store_key(&cache, &sequence, 0, 0, i, k);
    wick_kv_store_value(&cache, &kernels, &sequence, 0, 0, i, v);
  }
  fill(queries, N_QUERIES * DIM, 7);
  for (int i = 0; i < N_QUERIES; i++) positions[i] = FIRST_QUERY + i / SHARED;
  size_t each = alone ? SHARED : N_QUERIES;
  for (size_t at = 0; good && at < N_QUERIES; at += each) {
    const wick_query_group group = {.kernels = &kernels,
                                    .cache = &cache,
                                    .sequence = &sequence,
                                    .n_queries = each,
                                    .queries = queries + at * DIM,
                                    .positions = positions + at,
                                    .last_position = positions[at + each - 1]};
    if (group.last_position >= n_stored) break;
    wick_attend_split(&group, 0, partials, out + at * DIM, scratch);
  }
  wick_kv_cache_destroy(&cache);
  return good;
}

static void test_attention(tap *t) {
  static const float bad[] = {1e6f, INFINITY, NAN, 3e38f};
  static const wick_cache_type types[] = {WICK_CACHE_F16, WICK_CACHE_F32, WICK_CACHE_INT8};
  static float expected[N_QUERIES * DIM], found[N_QUERIES * DIM];
  size_t seen_bytes = (size_t)(FIRST_BAD - FIRST_QUERY) * SHARED * DIM * sizeof(float);
  for (uint32_t level = 1; level && level <= wick_levels_available(); level <<= 1) {
    if (!(wick_levels_available() & level)) continue;
    bool equal = true;
    for (size_t type = 0; type < 3; type++) {
      equal = equal && attend(level, types[type], FIRST_BAD, 0, true, expected);
      for (size_t i = 0; i < (FIRST_BAD - FIRST_QUERY) * SHARED * DIM; i++)
        equal = equal && isfinite(expected[i]);
      for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        for (int alone = 0; alone < 2; alone++)
          equal = equal && attend(level, types[type], N_POSITIONS, bad[i], alone != 0, found) &&
                  memcmp(found, expected, seen_bytes) == 0;
    }
    char what[160];
    snprintf(what, sizeof what, "%s: what a query does not see adds nothing",
             wick_level_name(level));
    CHECK(t, equal, what);
  }
}

/* type_f32 with the first layer's value weights times factor; *file holds its bytes. */
static wick_model *load_scaled(float factor, test_bytes *file) {
  wick_arena arena;
  wick_gguf gguf;
  uint64_t need;
  wick_error error = {0};
  wick_loader *loader = NULL;
  wick_model *model = NULL;
  const char *path = "tests/golden/generality/type_f32.gguf";
  const wick_load_options options = {.exact = false};
  *file = test_read_file(path);
  wick_arena_init(&arena, NULL);
  if (wick_gguf_parse(path, file->data, file->n, file->n, &arena, &gguf, &need, &error) ==
      WICK_OK) {
    const wick_tensor_entry *v = wick_tensor_table_find(&gguf.tensors, "blk.0.attn_v.weight");
    for (uint64_t i = 0; v && i < v->n_bytes / sizeof(float); i++) {
      float weight;
      uint8_t *at = file->data + v->offset + i * sizeof weight;
      memcpy(&weight, at, sizeof weight);
      weight *= factor;
      memcpy(at, &weight, sizeof weight);
    }
    if (wick_loader_new(&options, &loader, &error) == WICK_OK &&
        wick_loader_map(loader, path, file->data, file->n, &error) == WICK_OK)
      wick_loader_finish(loader, &model, &error);
    wick_loader_free(loader);
  }
  wick_arena_free(&arena);
  if (!model) printf("# %s\n", error.message);
  return model;
}

enum { N_PROMPT = 100 };

/* Logits of a prompt in chunks; the first row that is not finite, or N_PROMPT. */
static int evaluate(const wick_model *model, int n_chunk, float *logits) {
  size_t n_vocab = (size_t)wick_model_get_info(model)->n_vocab;
  const wick_engine_options options = {.n_context = 128, .n_chunk = n_chunk};
  wick_engine *engine = NULL;
  wick_error error;
  int32_t ids[N_PROMPT];
  test_prompt(ids, N_PROMPT, (int)n_vocab, 7);
  bool ran = wick_engine_new(model, &options, &engine, &error) == WICK_OK &&
             wick_engine_evaluate(engine, ids, N_PROMPT, 0, 0, logits, NULL, &error) == WICK_OK;
  wick_engine_free(engine);
  size_t i = 0;
  while (ran && i < N_PROMPT * n_vocab && isfinite(logits[i])) i++;
  return (int)(i / n_vocab);
}

static void test_logits(tap *t) {
  bool found = false;
  for (float factor = 1e4f; factor < 1e9f && !found; factor *= 1.05f) {
    test_bytes file;
    wick_model *model = load_scaled(factor, &file);
    size_t n_vocab = model ? (size_t)wick_model_get_info(model)->n_vocab : 1;
    float *one = calloc(N_PROMPT * n_vocab, sizeof *one), *other = calloc(N_PROMPT * n_vocab, 4);
    int n_good = model && one && other ? evaluate(model, 1, one) : 0;
    if (!model || n_good < N_PROMPT) {
      static const int chunks[] = {3, 8, 64};
      found = n_good > 0;
      CHECK(t, found, "a factor with which some position is the first to overflow");
      for (size_t i = 0; found && i < sizeof chunks / sizeof *chunks; i++) {
        char what[160];
        evaluate(model, chunks[i], other);
        snprintf(what, sizeof what, "chunks of %d: the %d positions before it are the same bits",
                 chunks[i], n_good);
        CHECK(t, memcmp(one, other, (size_t)n_good * n_vocab * sizeof *one) == 0, what);
      }
      found = true;
    }
    free(one);
    free(other);
    wick_model_free(model);
    free(file.data);
  }
  CHECK(t, found, "the values overflow in the end");
}

int main(void) {
  tap t = {0};
  test_attention(&t);
  test_logits(&t);
  return tap_done(&t);
}
