/* wick bench: tokens a second of prefill and of decode through the engine as users have it, with
 * the read bandwidth measured in the same rounds over as many bytes, so that noise hits all alike.
 * Chapters 1 and 4. */
#include <stdlib.h>

#include "cli.h"
#include "commands.h"
#include "measure.h"
#include "sampling/rng.h"

enum { MAX_BATCH = 256, MAX_ROUNDS = 1000 };

/* One kind of work over the rounds. */
typedef struct bench_part {
  double rates[MAX_ROUNDS];     /* tokens a second */
  double seconds;               /* of all rounds */
  double stages[WICK_N_STAGES]; /* thread-seconds of all rounds */
} bench_part;

typedef struct bench {
  const char *model;
  int n_prompt, n_depth, n_decode, n_batch, n_rounds;
  bool json, profile;
  cli_model_options options;
  cli_session session;
  wick_engine_info engine;
  int32_t *ids;     /* [n_batch][n_prompt or n_depth] */
  uint64_t *memory; /* as many bytes as the weights have, to read */
  wick_pool *pool;
  bench_part prefill, decode;
  double bandwidth[MAX_ROUNDS];
  uint64_t n_prompts;  /* prefills so far */
  uint64_t peak_bytes; /* resident, after the first round */
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

/* A prompt of n_ids for each of the batch; the seed decides which. */
static void random_prompts(bench *b, uint64_t seed, int n_ids) {
  wick_rng rng;
  wick_rng_seed(&rng, seed);
  for (size_t i = 0; i < (size_t)b->n_batch * (size_t)n_ids; i++)
    b->ids[i] = (int32_t)(wick_rng_next(&rng) % (uint64_t)b->session.info->n_vocab);
}

/* Greedy requests for the prompts in b->ids that go on for max_tokens whatever they say. */
static bool submit_all(bench *b, int n_ids, int max_tokens, wick_error *error) {
  wick_request request = {.n_ids = (size_t)n_ids,
                          .max_tokens = max_tokens,
                          .sampling = wick_sampling_default(),
                          .n_logprobs = -1,
                          .ignore_end = true};
  for (int i = 0; i < b->n_batch; i++) {
    wick_request_id id;
    request.ids = b->ids + (size_t)i * (size_t)n_ids;
    if (wick_engine_submit(b->session.engine, &request, &id, error) != WICK_OK) return false;
  }
  return true;
}

static void begin_part(bench *b) {
  if (b->profile) wick_engine_profile(b->session.engine, true);
}

/* A round's n_tokens since begin. */
static void end_part(bench *b, bench_part *part, int round, double begin, double n_tokens) {
  double seconds = cli_now() - begin;
  part->rates[round] = n_tokens / seconds;
  part->seconds += seconds;
  for (int stage = 0; b->profile && stage < WICK_N_STAGES; stage++)
    part->stages[stage] += wick_engine_stage_seconds(b->session.engine, (wick_stage)stage);
}

/* Prompt tokens a second until every request has its first token. */
static bool time_prefill(bench *b, int round, wick_error *error) {
  size_t n_tokens = 0;
  random_prompts(b, ++b->n_prompts + 1, b->n_prompt); /* no two alike: nothing is reused */
  begin_part(b);
  double begin = cli_now();
  if (!submit_all(b, b->n_prompt, 1, error)) return false;
  if (!step_until(b, (size_t)b->n_batch, &n_tokens, error)) return false;
  end_part(b, &b->prefill, round, begin, (double)b->n_prompt * b->n_batch);
  return finish(b, error);
}

/* Tokens a second after each request's first one. */
static bool time_decode(bench *b, int round, wick_error *error) {
  size_t n_tokens = 0, n_batch = (size_t)b->n_batch, n_all = n_batch * (size_t)(b->n_decode + 1);
  random_prompts(b, 1, b->n_depth); /* the same every round: all but their last token is reused */
  if (!submit_all(b, b->n_depth, b->n_decode + 1, error)) return false;
  if (!step_until(b, n_batch, &n_tokens, error)) return false;
  size_t n_before = n_tokens;
  begin_part(b);
  double begin = cli_now();
  if (!step_until(b, n_all, &n_tokens, error)) return false;
  end_part(b, &b->decode, round, begin, (double)(n_tokens - n_before));
  return finish(b, error);
}

static bool time_round(bench *b, int round, wick_error *error) {
  if (b->n_decode && !time_decode(b, round, error)) return false;
  return !b->n_prompt || time_prefill(b, round, error);
}

/* Memory to read, threads to read it. Only once the engine's own peak has been seen. */
static bool prepare_reading(bench *b, wick_error *error) {
  const wick_allocator *allocator = wick_allocator_default();
  size_t bytes = (size_t)b->session.info->weight_bytes;
  b->memory = wick_allocate(allocator, bytes, WICK_ALIGNMENT);
  if (!b->memory) {
    wick_fail(error, WICK_ERROR_MEMORY, "no memory to measure with");
    return false;
  }
  for (size_t i = 0; i < bytes / sizeof *b->memory; i++) b->memory[i] = i;
  return wick_pool_new(allocator, b->session.n_threads, &b->pool, error) == WICK_OK;
}

static bool measure(bench *b, wick_error *error) {
  if (!time_round(b, 0, error)) return false; /* warms up */
  b->peak_bytes = cli_peak_bytes();
  b->prefill = b->decode = (bench_part){0};
  if (!prepare_reading(b, error)) return false;
  for (int i = 0; i < b->n_rounds; i++) {
    size_t bytes = (size_t)b->session.info->weight_bytes;
    b->bandwidth[i] = cli_read_bandwidth(b->pool, b->memory, bytes);
    if (!time_round(b, i, error)) return false;
  }
  return true;
}

/* ---- what was found ---------------------------------------------------------------------------
 */

static const char *const cache_names[] = {
    [WICK_CACHE_F16] = "f16", [WICK_CACHE_F32] = "f32", [WICK_CACHE_INT8] = "int8"};

/* Bytes that one step of decode reads: all weights once for the whole batch, and each sequence's
 * part of the cache, at the middle of the decode. */
static double step_cache_bytes(const bench *b) {
  return (b->n_depth + b->n_decode / 2.0) * b->n_batch * (double)b->engine.cache_bytes_per_token;
}

static void print_spread(const char *name, const char *unit, cli_spread s, double scale) {
  printf(",\"%s\":{\"%s\":{\"median\":%.6g,\"min\":%.6g,\"max\":%.6g}}", name, unit,
         s.median * scale, s.least * scale, s.most * scale);
}

/* Milliseconds of each stage for a token (of decode: for a step), one thread's share. */
static double stage_milliseconds(const bench *b, const bench_part *part, int stage, int n_each) {
  return part->stages[stage] * 1e3 / b->session.n_threads / ((double)n_each * b->n_rounds);
}

static void print_stages_json(const bench *b, const char *name, const bench_part *part,
                              int n_each) {
  printf(",\"%s_stage_milliseconds\":{", name);
  for (int stage = 0; stage < WICK_N_STAGES; stage++)
    printf("%s\"%s\":%.6g", stage ? "," : "", wick_stage_name((wick_stage)stage),
           stage_milliseconds(b, part, stage, n_each));
  putchar('}');
}

static void print_stages(const bench *b, const char *name, const bench_part *part, int n_each) {
  double whole = part->seconds * 1e3 / ((double)n_each * b->n_rounds), rest = whole;
  printf("\n  %s: %.4f ms, of which\n", name, whole);
  for (int stage = 0; stage < WICK_N_STAGES; stage++) {
    double each = stage_milliseconds(b, part, stage, n_each);
    rest -= each;
    printf("    %-22s %8.4f ms  %5.1f %%\n", wick_stage_name((wick_stage)stage), each,
           100 * each / whole);
  }
  printf("    %-22s %8.4f ms  %5.1f %%\n", "outside, or idle", rest, 100 * rest / whole);
}

typedef struct bench_result {
  cli_spread prefill, decode, bandwidth; /* tokens/s, tokens/s, bytes/s */
  double read;                           /* bytes/s that decode reads */
} bench_result;

static void print_json(const bench *b, const bench_result *r) {
  const wick_model_info *info = b->session.info;
  printf("{\"architecture\":\"%s\",\"level\":\"%s\",\"exact\":%s,\"threads\":%d,\"prompt\":%d,"
         "\"context\":%d,\"generated\":%d,\"batch\":%d,\"rounds\":%d,\"cache\":\"%s\"",
         info->architecture, info->level, b->options.exact ? "true" : "false", b->session.n_threads,
         b->n_prompt, b->n_depth, b->n_decode, b->n_batch, b->n_rounds,
         cache_names[b->engine.cache_type]);
  print_spread("read_bandwidth", "gigabytes_per_second", r->bandwidth, 1e-9);
  if (b->n_prompt) print_spread("prefill", "tokens_per_second", r->prefill, 1);
  if (b->n_decode) {
    print_spread("decode", "tokens_per_second", r->decode, 1);
    printf(",\"weight_bytes_per_step\":%.0f,\"cache_bytes_per_step\":%.0f,"
           "\"gigabytes_per_second\":%.6g,\"fraction_of_bandwidth\":%.4f",
           (double)info->weight_bytes, step_cache_bytes(b), r->read * 1e-9,
           r->read / r->bandwidth.median);
  }
  printf(",\"memory_bytes\":{\"weights\":%.0f,\"cache\":%.0f,\"work\":%.0f,\"peak\":%.0f}",
         (double)info->weight_bytes, (double)b->engine.cache_bytes, (double)b->engine.work_bytes,
         (double)b->peak_bytes);
  if (b->profile && b->n_prompt)
    print_stages_json(b, "prefill", &b->prefill, b->n_prompt * b->n_batch);
  if (b->profile && b->n_decode) print_stages_json(b, "decode", &b->decode, b->n_decode);
  puts("}");
}

static void print_text(const bench *b, const bench_result *r) {
  const wick_model_info *info = b->session.info;
  printf("%s, %s%s, %d threads, %d at once, %s cache, median of %d (least to most)\n", info->name,
         info->level, b->options.exact ? " exact" : "", b->session.n_threads, b->n_batch,
         cache_names[b->engine.cache_type], b->n_rounds);
  if (b->n_prompt)
    printf("  prefill %4d  %8.1f tokens/s (%.1f to %.1f)\n", b->n_prompt, r->prefill.median,
           r->prefill.least, r->prefill.most);
  if (b->n_decode) {
    printf("  decode  %4d  %8.1f tokens/s (%.1f to %.1f) after %d in the context\n", b->n_decode,
           r->decode.median, r->decode.least, r->decode.most, b->n_depth);
    printf(
        "  decode reads %.1f MB of weights and %.1f MB of cache a step: %.1f GB/s, %.0f %% of the "
        "%.1f GB/s measured here\n",
        (double)info->weight_bytes * 1e-6, step_cache_bytes(b) * 1e-6, r->read * 1e-9,
        100 * r->read / r->bandwidth.median, r->bandwidth.median * 1e-9);
  }
  printf("  memory: weights %.1f MB, cache %.1f MB, work %.1f MB, peak of all %.1f MB\n",
         (double)info->weight_bytes * 1e-6, (double)b->engine.cache_bytes * 1e-6,
         (double)b->engine.work_bytes * 1e-6, (double)b->peak_bytes * 1e-6);
  if (b->profile && b->n_prompt)
    print_stages(b, "one token of prefill", &b->prefill, b->n_prompt * b->n_batch);
  if (b->profile && b->n_decode) print_stages(b, "one step of decode", &b->decode, b->n_decode);
}

static void print_result(bench *b) {
  size_t n = (size_t)b->n_rounds;
  bench_result r = {cli_spread_of(b->prefill.rates, n), cli_spread_of(b->decode.rates, n),
                    cli_spread_of(b->bandwidth, n), 0};
  r.read =
      r.decode.median / b->n_batch * ((double)b->session.info->weight_bytes + step_cache_bytes(b));
  if (b->json)
    print_json(b, &r);
  else
    print_text(b, &r);
}

/* An engine for the batch, room for prompts. */
static int prepare(bench *b) {
  int longest = b->n_depth + b->n_decode + 1;
  if (longest < b->n_prompt + 1) longest = b->n_prompt + 1;
  int n_context = b->options.n_context ? b->options.n_context : longest;
  /* Twice the batch: a decode's prompts stay in the cache while a prefill's come and go. */
  int status = cli_session_start(&b->session, n_context, b->n_batch, 2 * b->n_batch);
  if (status != CLI_OK) return status;
  b->engine = wick_engine_get_info(b->session.engine);
  b->ids = calloc((size_t)b->n_batch * (size_t)longest, sizeof *b->ids);
  return b->ids ? CLI_OK : cli_fail("no memory to measure with");
}

int wick_command_bench(int argc, char **argv) {
  bench b = {.n_prompt = 512, .n_depth = 1, .n_decode = 128, .n_batch = 1, .n_rounds = 5};
  const cli_option options[] = {
      {"-p", CLI_INT, &b.n_prompt, 0, 1 << 20, "N", "prompt tokens of a prefill; default 512"},
      {"-n", CLI_INT, &b.n_decode, 0, 1 << 20, "N", "tokens of a decode; default 128"},
      {"-d", CLI_INT, &b.n_depth, 1, 1 << 20, "N", "tokens in the context before; default 1"},
      {"-b", CLI_INT, &b.n_batch, 1, MAX_BATCH, "N", "sequences at once; default 1"},
      {"-r", CLI_INT, &b.n_rounds, 1, MAX_ROUNDS, "N", "rounds; default 5"},
      {"--profile", CLI_FLAG, &b.profile, 0, 0, NULL, "the time in each stage"},
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
  if (b.memory)
    wick_release(wick_allocator_default(), b.memory, (size_t)b.session.info->weight_bytes,
                 WICK_ALIGNMENT);
  free(b.ids);
  cli_session_close(&b.session);
  return status;
}
