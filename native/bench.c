/* wick bench: tokens a second of prefill and of decode through the engine as users have it, with
 * the read bandwidth measured in the same rounds, so that noise hits all alike. Chapter 1. */
#include <stdlib.h>

#include "cli.h"
#include "commands.h"
#include "measure.h"
#include "sampling/rng.h"

enum { READ_BYTES = 256 << 20, MAX_BATCH = 256, MAX_ROUNDS = 1000 };

typedef struct bench {
  const char *model;
  int n_prompt, n_decode, n_batch, n_rounds;
  bool json;
  cli_model_options options;
  cli_session session;
  int32_t *ids;     /* [n_prompt] */
  uint64_t *memory; /* READ_BYTES to read */
  wick_pool *pool;
  double prefill[MAX_ROUNDS], decode[MAX_ROUNDS], bandwidth[MAX_ROUNDS];
} bench;

/* Step until n_wanted tokens have come (or all is done); counts them. */
static bool step_until(bench *b, size_t n_wanted, size_t *n_tokens, wick_error *error) {
  wick_event event;
  while (*n_tokens < n_wanted && !wick_engine_idle(b->session.engine)) {
    if (wick_engine_step(b->session.engine, error) != WICK_OK) return false;
    while (wick_engine_next(b->session.engine, &event)) *n_tokens += event.type == WICK_EVENT_TOKEN;
  }
  if (*n_tokens >= n_wanted) return true;
  wick_fail(error, WICK_ERROR_ARGUMENT, "expected %zu tokens from the engine, found %zu", n_wanted,
            *n_tokens);
  return false;
}

static bool finish(bench *b, wick_error *error) {
  wick_event event;
  while (!wick_engine_idle(b->session.engine)) {
    if (wick_engine_step(b->session.engine, error) != WICK_OK) return false;
    while (wick_engine_next(b->session.engine, &event)) {
    }
  }
  while (wick_engine_next(b->session.engine, &event)) {
  }
  return true;
}

/* n_batch greedy requests of n_ids tokens that go on for max_tokens whatever they say. */
static bool submit_all(bench *b, size_t n_ids, int max_tokens, wick_error *error) {
  wick_request request = {.ids = b->ids,
                          .n_ids = n_ids,
                          .max_tokens = max_tokens,
                          .sampling = wick_sampling_default(),
                          .n_logprobs = -1,
                          .ignore_end = true};
  for (int i = 0; i < b->n_batch; i++) {
    wick_request_id id;
    if (wick_engine_submit(b->session.engine, &request, &id, error) != WICK_OK) return false;
  }
  return true;
}

/* Prompt tokens a second until every request has its first token. */
static bool time_prefill(bench *b, double *out, wick_error *error) {
  size_t n_tokens = 0, n_batch = (size_t)b->n_batch;
  double begin = cli_now();
  if (!submit_all(b, (size_t)b->n_prompt, 1, error)) return false;
  if (!step_until(b, n_batch, &n_tokens, error)) return false;
  *out = (double)b->n_prompt * b->n_batch / (cli_now() - begin);
  return finish(b, error);
}

/* Tokens a second after each request's first one. */
static bool time_decode(bench *b, double *out, wick_error *error) {
  size_t n_tokens = 0, n_batch = (size_t)b->n_batch, n_all = n_batch * (size_t)(b->n_decode + 1);
  if (!submit_all(b, 1, b->n_decode + 1, error)) return false;
  if (!step_until(b, n_batch, &n_tokens, error)) return false;
  size_t n_before = n_tokens;
  double begin = cli_now();
  if (!step_until(b, n_all, &n_tokens, error)) return false;
  *out = (double)(n_tokens - n_before) / (cli_now() - begin);
  return finish(b, error);
}

static bool measure(bench *b, wick_error *error) {
  double warm;
  if (!time_decode(b, &warm, error)) return false;
  for (int i = 0; i < b->n_rounds; i++) {
    b->bandwidth[i] = cli_read_bandwidth(b->pool, b->memory, READ_BYTES);
    if (!time_prefill(b, &b->prefill[i], error)) return false;
    if (!time_decode(b, &b->decode[i], error)) return false;
  }
  return true;
}

static void print_spread(const char *name, const char *unit, cli_spread s, double scale) {
  printf("\"%s\":{\"%s\":{\"median\":%.6g,\"min\":%.6g,\"max\":%.6g}}", name, unit,
         s.median * scale, s.least * scale, s.most * scale);
}

static void print_result(bench *b) {
  size_t n = (size_t)b->n_rounds;
  const wick_model_info *info = b->session.info;
  cli_spread prefill = cli_spread_of(b->prefill, n), decode = cli_spread_of(b->decode, n);
  cli_spread bandwidth = cli_spread_of(b->bandwidth, n);
  double bytes = (double)info->weight_bytes; /* one pass over the weights serves the whole batch */
  double read = decode.median / b->n_batch * bytes;
  if (b->json) {
    printf("{\"architecture\":\"%s\",\"level\":\"%s\",\"exact\":%s,\"threads\":%d,\"prompt\":%d,"
           "\"generated\":%d,\"batch\":%d,\"rounds\":%d,",
           info->architecture, info->level, b->options.exact ? "true" : "false",
           b->session.n_threads, b->n_prompt, b->n_decode, b->n_batch, b->n_rounds);
    print_spread("prefill", "tokens_per_second", prefill, 1);
    putchar(',');
    print_spread("decode", "tokens_per_second", decode, 1);
    putchar(',');
    print_spread("read_bandwidth", "gigabytes_per_second", bandwidth, 1e-9);
    printf(",\"weight_bytes_per_step\":%.0f,\"weight_gigabytes_per_second\":%.6g,"
           "\"fraction_of_bandwidth\":%.4f}\n",
           bytes, read * 1e-9, read / bandwidth.median);
    return;
  }
  printf("%s, %s%s, %d threads, %d at once, median of %d (least to most)\n", info->name,
         info->level, b->options.exact ? " exact" : "", b->session.n_threads, b->n_batch,
         b->n_rounds);
  printf("  prefill %4d  %8.1f tokens/s (%.1f to %.1f)\n", b->n_prompt, prefill.median,
         prefill.least, prefill.most);
  printf("  decode  %4d  %8.1f tokens/s (%.1f to %.1f)\n", b->n_decode, decode.median, decode.least,
         decode.most);
  printf("  decode reads %.1f MB of weights a step: %.1f GB/s, %.0f %% of the %.1f GB/s measured "
         "here\n",
         bytes * 1e-6, read * 1e-9, 100 * read / bandwidth.median, bandwidth.median * 1e-9);
}

/* An engine for the batch, a random prompt, memory to read, threads to read it. */
static int prepare(bench *b) {
  int longest = b->n_prompt + 1 > b->n_decode + 2 ? b->n_prompt + 1 : b->n_decode + 2;
  int n_context = b->options.n_context ? b->options.n_context : longest;
  int status = cli_session_start(&b->session, n_context, b->n_batch, true);
  if (status != CLI_OK) return status;
  const wick_allocator *allocator = wick_allocator_default();
  b->ids = malloc((size_t)b->n_prompt * sizeof *b->ids);
  b->memory = wick_allocate(allocator, READ_BYTES, WICK_ALIGNMENT);
  wick_error error;
  if (!b->ids || !b->memory) return cli_fail("no memory to measure with");
  if (wick_pool_new(allocator, b->session.n_threads, &b->pool, &error) != WICK_OK) {
    return cli_fail_with(&error);
  }
  wick_rng rng;
  wick_rng_seed(&rng, 1);
  for (int i = 0; i < b->n_prompt; i++) {
    b->ids[i] = (int32_t)(wick_rng_next(&rng) % (uint64_t)b->session.info->n_vocab);
  }
  for (size_t i = 0; i < READ_BYTES / sizeof *b->memory; i++) b->memory[i] = i;
  return CLI_OK;
}

int wick_command_bench(int argc, char **argv) {
  bench b = {.n_prompt = 512, .n_decode = 128, .n_batch = 1, .n_rounds = 5};
  const cli_option options[] = {
      {"-p", CLI_INT, &b.n_prompt, 1, 1 << 20, "N", "prompt tokens of a prefill; default 512"},
      {"-n", CLI_INT, &b.n_decode, 1, 1 << 20, "N", "tokens of a decode; default 128"},
      {"-b", CLI_INT, &b.n_batch, 1, MAX_BATCH, "N", "sequences at once; default 1"},
      {"-r", CLI_INT, &b.n_rounds, 1, MAX_ROUNDS, "N", "rounds; default 5"},
      {"--json", CLI_FLAG, &b.json, 0, 0, NULL, "as JSON"},
      CLI_MODEL_OPTIONS(&b.options),
      CLI_ENGINE_OPTIONS(&b.options)};
  const cli_syntax syntax = {.command = "bench",
                             .synopsis = "bench MODEL [options]",
                             .summary = "Tokens a second of prefill and decode.",
                             .options = options,
                             .n_options = sizeof options / sizeof *options,
                             .positional = &b.model,
                             .n_positional = 1};
  int status;
  if (!cli_parse(&syntax, argc, argv, &status)) return status;
  status = cli_session_open("bench", b.model, &b.options, &b.session);
  if (status == CLI_OK) status = prepare(&b);
  wick_error error;
  if (status == CLI_OK && !measure(&b, &error)) status = cli_fail_with(&error);
  if (status == CLI_OK) print_result(&b);
  wick_pool_free(b.pool);
  wick_release(wick_allocator_default(), b.memory, READ_BYTES, WICK_ALIGNMENT);
  free(b.ids);
  cli_session_close(&b.session);
  return status;
}
