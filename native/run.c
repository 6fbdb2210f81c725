/* wick run: one prompt, one answer on stdout. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "formats/json.h"
#include "generate.h"
#include "tokenizer/stream.h"

enum { INTERRUPTED = 130 };     /* what shells give a command that SIGINT ended */
enum { MAX_SHOWN_BYTES = 200 }; /* of a token, in --logprobs */

typedef struct run {
  const char *model, *prompt, *system;
  bool raw, verbose;
  int n_logprobs;
  cli_model_options options;
  cli_sampling sampling;
} run;

static void print_logprob(int32_t id, float logprob, const wick_model *model) {
  size_t n;
  const char *bytes = wick_token_bytes(model, id, &n);
  char text[3 * (MAX_SHOWN_BYTES + 6) + 1]; /* as the stream's contract asks for */
  wick_utf8_stream stream = {0};
  size_t n_text =
      wick_utf8_stream_push(&stream, bytes, n < MAX_SHOWN_BYTES ? n : MAX_SHOWN_BYTES, text);
  n_text += wick_utf8_stream_flush(&stream, text + n_text);
  text[n_text] = '\0';
  cJSON *string = cJSON_CreateString(text);
  char *quoted = cJSON_PrintUnformatted(string);
  fprintf(stderr, "\"id\":%d,\"logprob\":%.6g,\"text\":%s", (int)id, (double)logprob,
          quoted ? quoted : "\"\"");
  cJSON_free(quoted);
  cJSON_Delete(string);
}

/* One line of JSON a token. */
static void print_logprobs(const wick_event *event, const wick_model *model) {
  fputc('{', stderr);
  print_logprob(event->token, event->logprob, model);
  fputs(",\"top\":[", stderr);
  for (size_t i = 0; i < event->n_alternatives; i++) {
    fputs(i ? ",{" : "{", stderr);
    print_logprob(event->alternatives[i].id, event->alternatives[i].logprob, model);
    fputc('}', stderr);
  }
  fputs("]}\n", stderr);
}

typedef struct sink {
  const wick_model *model;
  bool logprobs, terminal;
  int failure; /* errno of a write that failed, or 0 */
  char last;   /* byte written */
} sink;

static bool on_event(void *context, const wick_event *event) {
  sink *s = context;
  if (s->logprobs && event->type == WICK_EVENT_TOKEN) print_logprobs(event, s->model);
  if (event->n_bytes == 0) return true;
  s->last = event->text[event->n_bytes - 1];
  s->failure = cli_write_text(event->text, event->n_bytes, s->terminal);
  return s->failure == 0;
}

/* The prompt as tokens; *ids is owned. */
static int prompt_tokens(const run *r, const wick_model *model, int32_t **ids, size_t *n_ids) {
  wick_error error;
  cli_bytes text;
  if (!cli_read_text(r->prompt, &text, &error)) return cli_fail_with(&error);
  bool good;
  if (r->raw) {
    good = cli_tokenize(model, text.data, text.n, true, ids, n_ids, &error);
  } else {
    wick_message messages[2] = {{"system", r->system, r->system ? strlen(r->system) : 0},
                                {"user", text.data, text.n}};
    size_t skip = r->system ? 0 : 1;
    good = cli_tokenize_chat(model, messages + skip, 2 - skip, ids, n_ids, &error);
  }
  cli_bytes_free(&text);
  if (!good && error.status == WICK_ERROR_UNSUPPORTED && !r->raw) {
    return cli_fail("%s (--raw takes TEXT as the prompt itself)", error.message);
  }
  if (!good) return cli_fail_with(&error);
  if (*n_ids == 0) return cli_fail("-p: expected a prompt of at least one token, found none");
  return CLI_OK;
}

/* Room for the prompt and what shall follow, within what the model was made for. */
static int choose_context(const run *r, const wick_model_info *info, size_t n_ids) {
  enum { USUAL = 2048 };
  if (r->options.n_context > 0) return r->options.n_context;
  uint64_t wanted =
      (uint64_t)n_ids + (uint64_t)(r->sampling.max_tokens ? r->sampling.max_tokens : USUAL / 2);
  if (wanted < USUAL) wanted = USUAL;
  return wanted > (uint64_t)info->n_context ? info->n_context : (int)wanted;
}

static int answer(const run *r, cli_session *session, cli_interrupt *interrupt) {
  int32_t *ids = NULL;
  size_t n_ids = 0;
  int status = prompt_tokens(r, session->model, &ids, &n_ids);
  if (status == CLI_OK) {
    status = cli_session_start(session, choose_context(r, session->info, n_ids), 1, 1);
  }
  if (status != CLI_OK) {
    free(ids);
    return status;
  }
  wick_request request = cli_request(&r->sampling, ids, n_ids);
  request.n_logprobs = r->n_logprobs;
  sink s = {.model = session->model,
            .logprobs = r->n_logprobs >= 0,
            .terminal = isatty(STDOUT_FILENO) != 0,
            .last = '\n'};
  cli_answer got;
  wick_error error;
  bool good = cli_generate(session->engine, &request, interrupt, on_event, &s, &got, &error);
  free(ids);
  if (s.terminal && s.last != '\n') cli_write_text("\n", 1, true);
  if (!good) return cli_fail("run: %s", error.message);
  if (s.failure) return cli_fail_stdout(s.failure);
  if (r->verbose || isatty(STDERR_FILENO)) {
    char line[200];
    cli_describe(&got, line, sizeof line);
    fprintf(stderr, "[%s; %s, %d threads, seed %llu]\n", line, session->info->level,
            session->n_threads, (unsigned long long)r->sampling.chain.seed);
  }
  return got.finish == WICK_FINISH_CANCELLED ? INTERRUPTED : CLI_OK;
}

int wick_command_run(int argc, char **argv) {
  run r = {.n_logprobs = -1, .sampling = cli_sampling_default()};
  const cli_option options[] = {
      {"-p", CLI_TEXT, &r.prompt, 0, 0, "TEXT", "the prompt; - reads it from stdin"},
      {"--system", CLI_TEXT, &r.system, 0, 0, "TEXT", "the system prompt"},
      {"--raw", CLI_FLAG, &r.raw, 0, 0, NULL,
       "TEXT is the prompt itself; special tokens in it count"},
      CLI_SAMPLING_OPTIONS(&r.sampling),
      {"--logprobs", CLI_INT, &r.n_logprobs, 0, 20, "N",
       "each token's log-probability and the N best ones', as JSON lines on stderr"},
      {"-v", CLI_FLAG, &r.verbose, 0, 0, NULL, "timings on stderr, also when it is no terminal"},
      CLI_MODEL_OPTIONS(&r.options),
      CLI_ENGINE_OPTIONS(&r.options)};
  const cli_syntax syntax = {.command = "run",
                             .synopsis = "run MODEL -p TEXT [options]",
                             .summary = "Answers TEXT in the model's chat format, on stdout.",
                             .options = options,
                             .n_options = sizeof options / sizeof *options,
                             .positional = &r.model,
                             .n_positional = 1};
  int status;
  if (!cli_parse(&syntax, argc, argv, &status)) return status;
  if (!r.prompt) return cli_usage("run", "expected -p TEXT, found no prompt");
  if (r.raw && r.system) return cli_usage("run", "--system: expected no --raw beside it");
  status = cli_sampling_finish("run", &r.sampling);
  if (status != CLI_OK) return status;
  cli_interrupt *interrupt = cli_interrupt_new();
  cli_session session;
  status = cli_session_open("run", r.model, &r.options, &session);
  if (status == CLI_OK) {
    status = cli_sampling_check("run", &r.sampling, session.info);
    if (status == CLI_OK) status = answer(&r, &session, interrupt);
    cli_session_close(&session);
  }
  cli_interrupt_free(interrupt);
  return status;
}
