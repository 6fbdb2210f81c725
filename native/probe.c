/* wick probe: what this machine can do, and which kernels wick would use on it and why. */
#include <stdlib.h>

#include "cli.h"
#include "commands.h"
#include "formats/json.h"
#include "kernels/cpu.h"
#include "measure.h"

enum { READ_BYTES = 256 << 20, N_READS = 5 };

/* The levels that a build for this processor could have. */
static const uint32_t levels[] = {
#if defined(__x86_64__)
    WICK_LEVEL_AMX, WICK_LEVEL_AVX512_VNNI, WICK_LEVEL_AVX_VNNI, WICK_LEVEL_AVX2,
#elif defined(__aarch64__)
    WICK_LEVEL_NEON_DOTPROD, WICK_LEVEL_NEON,
#endif
    WICK_LEVEL_REFERENCE};
enum { N_LEVELS = sizeof levels / sizeof *levels };

static const char *reason(uint32_t level, uint32_t chosen) {
  if (level == chosen) return "used: the best one that is available";
  if (wick_levels_available() & level) return "available";
  if (!wick_cpu_has_level(level)) return "not granted by this CPU or its operating system";
  return "not in this build, or its known-answer test failed";
}

/* Six digits are enough of a measurement. */
static void add_number(cJSON *object, const char *key, double value) {
  char text[32];
  snprintf(text, sizeof text, "%.6g", value);
  cJSON_AddNumberToObject(object, key, strtod(text, NULL));
}

static void probe_levels(cJSON *report, bool quick) {
  wick_kernels best;
  wick_kernels_select(&best, 0);
  cJSON *array = cJSON_AddArrayToObject(report, "levels");
  for (size_t i = 0; i < N_LEVELS; i++) {
    cJSON *entry = cJSON_CreateObject();
    bool available = (wick_levels_available() & levels[i]) != 0;
    cJSON_AddStringToObject(entry, "name", wick_level_name(levels[i]));
    cJSON_AddBoolToObject(entry, "available", available);
    cJSON_AddStringToObject(entry, "why", reason(levels[i], best.level_bit));
    cli_kernel_peaks peaks;
    wick_kernels kernels;
    if (available && !quick) {
      wick_kernels_select(&kernels, levels[i]);
      if (cli_measure_kernels(&kernels, &peaks)) {
        cJSON *giga = cJSON_AddObjectToObject(entry, "giga_multiply_adds_per_second");
        add_number(giga, "matvec_q4", peaks.matvec_q4 * 1e-9);
        add_number(giga, "matvec_q8", peaks.matvec_q8 * 1e-9);
        add_number(giga, "matmul_q4", peaks.matmul_q4 * 1e-9);
        add_number(giga, "matmul_q8", peaks.matmul_q8 * 1e-9);
        add_number(giga, "matmul_f32", peaks.matmul_f32 * 1e-9);
      }
    }
    cJSON_AddItemToArray(array, entry);
  }
}

/* Read bandwidth by 1 .. n_threads threads. */
static int probe_bandwidth(cJSON *report, int n_threads) {
  const wick_allocator *allocator = wick_allocator_default();
  uint64_t *data = wick_allocate(allocator, READ_BYTES, WICK_ALIGNMENT);
  if (!data) return cli_fail("no memory to read %d MB", READ_BYTES >> 20);
  for (size_t i = 0; i < READ_BYTES / sizeof *data; i++) data[i] = i; /* give it real pages */
  cJSON *array = cJSON_AddArrayToObject(report, "read_bandwidth");
  int status = CLI_OK;
  for (int n = 1; n <= n_threads && status == CLI_OK;
       n = n < n_threads && 2 * n > n_threads ? n_threads : 2 * n) {
    wick_pool *pool;
    wick_error error;
    if (wick_pool_new(allocator, n, &pool, &error) != WICK_OK) {
      status = cli_fail_with(&error);
      break;
    }
    double rates[N_READS];
    for (int i = 0; i < N_READS; i++) rates[i] = cli_read_bandwidth(pool, data, READ_BYTES);
    wick_pool_free(pool);
    cli_spread spread = cli_spread_of(rates, N_READS);
    cJSON *entry = cJSON_CreateObject();
    add_number(entry, "threads", n);
    add_number(entry, "gigabytes_per_second", spread.median * 1e-9);
    add_number(entry, "least", spread.least * 1e-9);
    add_number(entry, "most", spread.most * 1e-9);
    cJSON_AddItemToArray(array, entry);
  }
  wick_release(allocator, data, READ_BYTES, WICK_ALIGNMENT);
  return status;
}

static void probe_latency(cJSON *report) {
  cJSON *array = cJSON_AddArrayToObject(report, "load_latency");
  for (size_t bytes = 16 << 10; bytes <= (size_t)64 << 20; bytes *= 4) {
    double seconds = cli_load_latency(bytes);
    if (seconds < 0) continue;
    cJSON *entry = cJSON_CreateObject();
    add_number(entry, "kilobytes", (double)(bytes >> 10));
    add_number(entry, "nanoseconds", seconds * 1e9);
    cJSON_AddItemToArray(array, entry);
  }
}

/* ---- for people ------------------------------------------------------------------------------ */

static double number(const cJSON *object, const char *key) {
  double value = 0;
  wick_json_f64(object, key, &value);
  return value;
}

static void print_for_people(const cJSON *report) {
  const cJSON *entry;
  printf("%.0f cores to use\n\nkernel levels\n", number(report, "cores"));
  cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(report, "levels")) {
    const cJSON *giga = cJSON_GetObjectItemCaseSensitive(entry, "giga_multiply_adds_per_second");
    printf("  %-12s %s\n", cJSON_GetObjectItemCaseSensitive(entry, "name")->valuestring,
           cJSON_GetObjectItemCaseSensitive(entry, "why")->valuestring);
    if (!giga) continue;
    printf("  %-12s billion multiply-adds/s: vector Q4 %.1f, Q8 %.1f; tile Q4 %.1f, Q8 %.1f, "
           "F32 %.1f\n",
           "", number(giga, "matvec_q4"), number(giga, "matvec_q8"), number(giga, "matmul_q4"),
           number(giga, "matmul_q8"), number(giga, "matmul_f32"));
  }
  const cJSON *bandwidth = cJSON_GetObjectItemCaseSensitive(report, "read_bandwidth");
  if (bandwidth) printf("\nread bandwidth (%d MB)\n", READ_BYTES >> 20);
  cJSON_ArrayForEach(entry, bandwidth) {
    printf("  %2.0f threads   %.1f GB/s (%.1f to %.1f)\n", number(entry, "threads"),
           number(entry, "gigabytes_per_second"), number(entry, "least"), number(entry, "most"));
  }
  const cJSON *latency = cJSON_GetObjectItemCaseSensitive(report, "load_latency");
  if (latency) puts("\nlatency of a load by working set");
  cJSON_ArrayForEach(entry, latency) {
    printf("  %6.0f KB    %.1f ns\n", number(entry, "kilobytes"), number(entry, "nanoseconds"));
  }
}

int wick_command_probe(int argc, char **argv) {
  bool json = false, quick = false;
  int n_threads = cli_count_cores();
  const cli_option options[] = {
      {"--json", CLI_FLAG, &json, 0, 0, NULL, "as JSON"},
      {"--quick", CLI_FLAG, &quick, 0, 0, NULL, "say what there is, measure nothing"},
      {"-t", CLI_INT, &n_threads, 1, WICK_MAX_THREADS, "N", "measure with up to N threads"}};
  const cli_syntax syntax = {
      .command = "probe",
      .synopsis = "probe [--json] [--quick] [-t N]",
      .summary = "What this CPU has and wick uses, bandwidth, latency, each kernel's peak.",
      .options = options,
      .n_options = sizeof options / sizeof *options};
  int status;
  if (!cli_parse(&syntax, argc, argv, &status)) return status;
  cJSON *report = cJSON_CreateObject();
  add_number(report, "cores", cli_count_cores());
  probe_levels(report, quick);
  status = quick ? CLI_OK : probe_bandwidth(report, n_threads);
  if (!quick && status == CLI_OK) probe_latency(report);
  if (status == CLI_OK && json) {
    char *text = cJSON_PrintUnformatted(report);
    if (text) puts(text);
    cJSON_free(text);
  } else if (status == CLI_OK) {
    print_for_people(report);
  }
  cJSON_Delete(report);
  return status;
}
