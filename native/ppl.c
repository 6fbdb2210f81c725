/* wick ppl: how well a model predicts a text, and how far its predictions are from those that a
 * file keeps. The text's tokens are cut into windows of c; of each, the predictions of the last c/2
 * - 1 tokens count, as llama-perplexity has it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "commands.h"
#include "logits_file.h"

typedef struct ppl {
  const char *model, *text, *base, *save;
  int window, most_windows; /* tokens; 0: all */
  cli_model_options options;
  cli_session session;
  int32_t *ids;
  size_t n_ids, n_windows;
  cli_logits_file base_file, save_file;
  wick_score score;
  double *kl; /* of every scored position */
} ppl;

/* Score window number w; logits: [window - window / 2][n_vocab]. */
static bool score_window(ppl *p, size_t w, float *logits, float *base_row, wick_error *error) {
  size_t window = (size_t)p->window, first = window / 2, n_vocab = (size_t)p->session.info->n_vocab;
  const int32_t *ids = p->ids + w * window;
  if (wick_engine_evaluate(p->session.engine, ids, window, 0, first, logits, NULL, error) !=
      WICK_OK) {
    return false;
  }
  for (size_t i = first; i + 1 < window; i++) {
    const float *row = logits + (i - first) * n_vocab;
    wick_score one = {0};
    if (p->save && !cli_logits_file_write(&p->save_file, row, error)) return false;
    if (p->base && !cli_logits_file_read(&p->base_file, base_row, error)) return false;
    wick_score_add(&one, row, p->base ? base_row : NULL, n_vocab, ids[i + 1]);
    p->kl[p->score.n] = one.kl;
    p->score.n += one.n;
    p->score.nll += one.nll;
    p->score.kl += one.kl;
    p->score.kl_squared += one.kl_squared;
    p->score.n_same_top += one.n_same_top;
    p->score.base_nll += one.base_nll;
  }
  return true;
}

static bool score_text(ppl *p, wick_error *error) {
  size_t n_vocab = (size_t)p->session.info->n_vocab, window = (size_t)p->window;
  float *logits = malloc((window - window / 2) * n_vocab * sizeof *logits);
  float *base_row = malloc(n_vocab * sizeof *base_row);
  p->kl = malloc(p->n_windows * window * sizeof *p->kl);
  bool good = logits && base_row && p->kl, terminal = isatty(STDERR_FILENO) != 0;
  if (!good) wick_fail(error, WICK_ERROR_MEMORY, "no memory for a window's logits");
  for (size_t w = 0; good && w < p->n_windows; w++) {
    good = score_window(p, w, logits, base_row, error);
    if (good && terminal) {
      fprintf(stderr, "\rwindow %zu of %zu, perplexity %.4f\033[K", w + 1, p->n_windows,
              exp(p->score.nll / (double)p->score.n));
    }
  }
  if (terminal) fputs("\r\033[K", stderr);
  free(logits);
  free(base_row);
  return good;
}

/* ---- the result ------------------------------------------------------------------------------ */

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* ,"NAME":VALUE; JSON has neither infinity nor NaN. */
static void print_number(const char *name, double value, int digits) {
  if (isfinite(value))
    printf(",\"%s\":%.*g", name, digits, value);
  else
    printf(",\"%s\":null", name);
}

static void print_result(ppl *p) {
  const wick_score *s = &p->score;
  double n = (double)s->n, ppl_model = exp(s->nll / n);
  printf("{\"context\":%d,\"windows\":%zu,\"scored\":%llu,\"level\":\"%s\",\"exact\":%s,"
         "\"threads\":%d",
         p->window, p->n_windows, (unsigned long long)s->n, p->session.info->level,
         p->options.exact ? "true" : "false", p->session.n_threads);
  print_number("nll", s->nll / n, 9);
  print_number("ppl", ppl_model, 7);
  if (p->base) {
    double mean = s->kl / n, ppl_base = exp(s->base_nll / n);
    double variance = s->kl_squared / n - mean * mean;
    qsort(p->kl, s->n, sizeof *p->kl, ascending);
    print_number("ppl_base", ppl_base, 7);
    print_number("ppl_ratio", ppl_model / ppl_base, 7);
    print_number("mean_kl", mean, 6);
    print_number("mean_kl_error", sqrt(variance > 0 ? variance / n : 0), 3);
    print_number("kl_median", p->kl[s->n / 2], 6);
    print_number("kl_p99", p->kl[s->n * 99 / 100], 6);
    print_number("kl_max", p->kl[s->n - 1], 6);
    print_number("same_top_percent", 100 * (double)s->n_same_top / n, 7);
  }
  puts("}");
}

/* ---- the command ----------------------------------------------------------------------------- */

static int read_tokens(ppl *p) {
  wick_error error;
  cli_bytes text;
  bool good = cli_read(p->text, &text, &error) &&
              cli_tokenize(p->session.model, text.data, text.n, false, &p->ids, &p->n_ids, &error);
  cli_bytes_free(&text);
  if (!good) return cli_fail_with(&error);
  p->n_windows = p->n_ids / (size_t)p->window;
  if (p->most_windows > 0 && p->n_windows > (size_t)p->most_windows) {
    p->n_windows = (size_t)p->most_windows;
  }
  if (p->n_windows > 0) return CLI_OK;
  return cli_fail("%s: expected at least one window of %d tokens, found %zu tokens", p->text,
                  p->window, p->n_ids);
}

static int measure(ppl *p) {
  wick_error error;
  cli_logits_header header = {.n_vocab = (uint32_t)p->session.info->n_vocab,
                              .window = (uint32_t)p->window,
                              .n_windows = (uint32_t)p->n_windows};
  header.ids_hash = cli_hash_ids(p->ids, p->n_windows * (size_t)p->window);
  if (p->base && !cli_logits_file_open(p->base, &header, &p->base_file, &error)) {
    return cli_fail_with(&error);
  }
  if (p->save) {
    cli_guard_outputs(&p->save_file.output, 1);
    if (!cli_logits_file_create(p->save, &header, &p->save_file, &error)) {
      return cli_fail_with(&error);
    }
  }
  bool good = score_text(p, &error);
  if (good && p->save) good = cli_logits_file_finish(&p->save_file, &error);
  if (!good) return cli_fail_with(&error);
  print_result(p);
  return CLI_OK;
}

int wick_command_ppl(int argc, char **argv) {
  ppl p = {.window = 512};
  const cli_option options[] = {
      {"-f", CLI_PATH, &p.text, 0, 0, "TEXT", "a text file; - is stdin"},
      {"-c", CLI_INT, &p.window, 4, 1 << 20, "N", "tokens of a window; default 512"},
      {"--chunks", CLI_INT, &p.most_windows, 1, 1 << 30, "N", "at most so many windows"},
      {"--save-logits", CLI_PATH, &p.save, 0, 0, "F", "keep the scored logits in a file"},
      {"--kl-base", CLI_PATH, &p.base, 0, 0, "F", "compare with logits that --save-logits kept"},
      {"--cache", CLI_TEXT, &p.options.cache, 0, 0, "TYPE", "KV cache: f16, f32 or int8"},
      CLI_MODEL_OPTIONS(&p.options)};
  const cli_syntax syntax = {.command = "ppl",
                             .synopsis = "ppl MODEL -f TEXT [options]",
                             .summary = "Perplexity of a text, as JSON.",
                             .options = options,
                             .n_options = sizeof options / sizeof *options,
                             .positional = &p.model,
                             .n_positional = 1};
  int status;
  if (!cli_parse(&syntax, argc, argv, &status)) return status;
  if (!p.text) return cli_usage("ppl", "expected -f TEXT, found no text");
  status = cli_session_open("ppl", p.model, &p.options, &p.session);
  if (status == CLI_OK) status = cli_session_start(&p.session, p.window, 1, 1);
  if (status == CLI_OK) status = read_tokens(&p);
  if (status == CLI_OK) status = measure(&p);
  cli_logits_file_close(&p.base_file);
  cli_logits_file_close(&p.save_file);
  cli_guard_outputs(NULL, 0);
  free(p.kl);
  free(p.ids);
  cli_session_close(&p.session);
  return status;
}
