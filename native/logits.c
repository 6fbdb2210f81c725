/* wick logits: raw logits and hidden states, for comparing engines number by number. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "cli.h"
#include "commands.h"
#include "core/memory.h"

enum { CHUNK = 64 }; /* positions whose logits are in memory at once with --all */

typedef struct request {
  const char *model, *ids_text, *prompt, *out, *hidden;
  bool all;
  cli_model_options options;
} request;

/* "1,2,3" to ids; *ids is owned. */
static int parse_ids(const char *text, int n_vocab, int32_t **ids, size_t *n_ids) {
  size_t n = 1;
  for (const char *c = text; *c; c++) n += *c == ',';
  *ids = malloc(n * sizeof **ids);
  if (!*ids) return cli_fail("--ids: no memory for %zu ids", n);
  for (*n_ids = 0; *n_ids < n; ++*n_ids) {
    char item[16];
    size_t length = strcspn(text, ",");
    int id;
    snprintf(item, sizeof item, "%.*s", (int)(length < sizeof item ? length : sizeof item), text);
    if (length >= sizeof item || !cli_parse_int(item, 0, n_vocab - 1, &id)) {
      free(*ids);
      *ids = NULL;
      return cli_usage("logits", "--ids: expected ids from 0 to %d and commas, found %s",
                       n_vocab - 1, length ? item : "nothing");
    }
    (*ids)[*n_ids] = id;
    text += length + (text[length] == ',');
  }
  return CLI_OK;
}

static int read_ids(const request *r, const cli_session *session, int32_t **ids, size_t *n_ids) {
  if (r->ids_text) return parse_ids(r->ids_text, session->info->n_vocab, ids, n_ids);
  wick_error error;
  cli_bytes text;
  bool good = cli_read_text(r->prompt, &text, &error) &&
              cli_tokenize(session->model, text.data, text.n, true, ids, n_ids, &error);
  cli_bytes_free(&text);
  if (!good) return cli_fail_with(&error);
  return *n_ids > 0 ? CLI_OK : cli_fail("-p: expected at least one token, found none");
}

/* float32 as they are on every machine that wick knows: little-endian. */
static bool write_floats(const wick_sink *sink, const float *values, size_t n, wick_error *error) {
  return wick_sink_write(sink, values, n * sizeof *values, error) == WICK_OK;
}

/* Room for n floats, or NULL with an error. */
static float *new_floats(uint64_t rows, uint64_t columns, wick_error *error) {
  uint64_t n;
  size_t bytes;
  float *values = NULL;
  if (wick_multiply_u64(rows, columns, &n) && wick_multiply_u64(n, sizeof(float), &n) &&
      wick_to_size(n, &bytes)) {
    values = malloc(bytes);
  }
  if (!values)
    wick_fail(error, WICK_ERROR_MEMORY, "no memory for %llu x %llu floats",
              (unsigned long long)rows, (unsigned long long)columns);
  return values;
}

/* Every position's logits (or the last one's), a chunk at a time. */
static bool write_logits(cli_session *session, const int32_t *ids, size_t n_ids, bool all,
                         const wick_sink *sink, wick_error *error) {
  size_t n_vocab = (size_t)session->info->n_vocab, chunk = all && n_ids > CHUNK ? CHUNK : n_ids;
  float *logits = new_floats(all ? chunk : 1, n_vocab, error);
  bool good = logits != NULL;
  for (size_t at = 0; good && at < n_ids; at += chunk) {
    size_t n = n_ids - at < chunk ? n_ids - at : chunk, first = all ? 0 : n - 1;
    good = wick_engine_evaluate(session->engine, ids + at, n, at, first, logits, NULL, error) ==
               WICK_OK &&
           write_floats(sink, logits, (n - first) * n_vocab, error);
  }
  free(logits);
  return good;
}

/* The same with all hidden states, which are laid out layer by layer over all tokens: at once. */
static bool write_both(cli_session *session, const int32_t *ids, size_t n_ids, bool all,
                       const wick_sink *sink, const wick_sink *hidden_sink, wick_error *error) {
  const wick_model_info *info = session->info;
  size_t n_vocab = (size_t)info->n_vocab, first = all ? 0 : n_ids - 1;
  size_t n_hidden = ((size_t)info->n_layers + 1) * n_ids;
  float *logits = new_floats(n_ids - first, n_vocab, error);
  float *hidden = logits ? new_floats(n_hidden, (size_t)info->n_embd, error) : NULL;
  bool good = hidden &&
              wick_engine_evaluate(session->engine, ids, n_ids, 0, first, logits, hidden, error) ==
                  WICK_OK &&
              write_floats(sink, logits, (n_ids - first) * n_vocab, error) &&
              write_floats(hidden_sink, hidden, n_hidden * (size_t)info->n_embd, error);
  free(hidden);
  free(logits);
  return good;
}

/* ---- where they go --------------------------------------------------------------------------- */

static wick_status write_stdout(void *context, const void *bytes, size_t n, wick_error *error) {
  (void)context;
  if (fwrite(bytes, 1, n, stdout) == n) return WICK_OK;
  return wick_fail(error, WICK_ERROR_IO, "stdout: %s", strerror(errno));
}

/* A file that gets its name when it is whole, or stdout for "-", which needs no output. */
static bool open_output(wick_output *output, const char *path, wick_sink *sink, wick_error *error) {
  *sink = (wick_sink){write_stdout, NULL};
  if (strcmp(path, "-") == 0) return true;
  *sink = wick_output_sink(output);
  return wick_output_begin(output, path, false, true, error) == WICK_OK &&
         wick_output_open(output, NULL, error) == WICK_OK;
}

static bool finish_output(wick_output *output, wick_error *error) {
  if (!output->file) return true;
  return wick_output_close(output, error) == WICK_OK &&
         wick_output_commit(output, error) == WICK_OK;
}

static int write_all(const request *r, cli_session *session, const int32_t *ids, size_t n_ids) {
  wick_error error = {0};
  wick_output outputs[2] = {0};
  wick_sink sinks[2];
  cli_guard_outputs(outputs, 2);
  bool good = open_output(&outputs[0], r->out, &sinks[0], &error) &&
              (!r->hidden || open_output(&outputs[1], r->hidden, &sinks[1], &error));
  if (good && r->hidden) {
    good = write_both(session, ids, n_ids, r->all, &sinks[0], &sinks[1], &error);
  } else if (good) {
    good = write_logits(session, ids, n_ids, r->all, &sinks[0], &error);
  }
  good = good && finish_output(&outputs[0], &error) && finish_output(&outputs[1], &error);
  for (int i = 0; !good && i < 2; i++) wick_output_discard(&outputs[i]);
  cli_guard_outputs(NULL, 0);
  return good ? CLI_OK : cli_fail_with(&error);
}

int wick_command_logits(int argc, char **argv) {
  request r = {0};
  const cli_option options[] = {
      {"--ids", CLI_TEXT, &r.ids_text, 0, 0, "1,2,3", "the prompt as token ids"},
      {"-p", CLI_TEXT, &r.prompt, 0, 0, "TEXT",
       "the prompt as text with special tokens; - reads it from stdin"},
      {"--all", CLI_FLAG, &r.all, 0, 0, NULL, "every position's logits, not only the last one's"},
      {"--out", CLI_PATH, &r.out, 0, 0, "F",
       "float32 [positions][vocabulary], little-endian; - is stdout"},
      {"--hidden", CLI_PATH, &r.hidden, 0, 0, "F",
       "float32 [layers + 1][tokens][width]: embedding, after each layer, last after the norm"},
      CLI_MODEL_OPTIONS(&r.options),
      CLI_ENGINE_OPTIONS(&r.options)};
  const cli_syntax syntax = {.command = "logits",
                             .synopsis = "logits MODEL --ids 1,2,3 --out F [options]",
                             .summary = "Writes the raw logits after a prompt.",
                             .options = options,
                             .n_options = sizeof options / sizeof *options,
                             .positional = &r.model,
                             .n_positional = 1};
  int status;
  if (!cli_parse(&syntax, argc, argv, &status)) return status;
  if (!r.ids_text == !r.prompt) return cli_usage("logits", "expected either --ids or -p");
  if (!r.out) return cli_usage("logits", "expected --out F, found no file to write");
  cli_session session;
  status = cli_session_open("logits", r.model, &r.options, &session);
  if (status != CLI_OK) return status;
  int32_t *ids = NULL;
  size_t n_ids = 0;
  status = read_ids(&r, &session, &ids, &n_ids);
  if (status == CLI_OK && n_ids > (size_t)session.info->n_context) {
    status = cli_fail("expected at most %d tokens, found %zu", session.info->n_context, n_ids);
  }
  if (status == CLI_OK) {
    int n_context = r.options.n_context ? r.options.n_context : (int)n_ids;
    status = cli_session_start(&session, n_context, 1, 1);
  }
  if (status == CLI_OK) status = write_all(&r, &session, ids, n_ids);
  free(ids);
  cli_session_close(&session);
  return status;
}
