/* What the subcommands share: one way to fail, to read arguments, to open a model, to write. */
#ifndef WICK_NATIVE_CLI_H
#define WICK_NATIVE_CLI_H

#include <stdio.h>

#include "core/pool.h"

enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

/* ---- failing (report.c) ---------------------------------------------------------------------- */

/* One line "wick: ..." on stderr; through wick_clean_line. Return CLI_FAILED and CLI_USAGE.
 */
int cli_fail(const char *format, ...) WICK_PRINTF(1, 2);
int cli_usage(const char *command, const char *format, ...) WICK_PRINTF(2, 3);
int cli_fail_with(const wick_error *error);

/* ---- arguments (options.c) ------------------------------------------------------------------- */

enum { CLI_MAX_LIST = 256 };

typedef struct cli_list { /* an option that may be repeated */
  const char *items[CLI_MAX_LIST];
  size_t n;
} cli_list;

typedef enum cli_kind {
  CLI_FLAG,
  CLI_TEXT,
  CLI_PATH, /* a text that is not empty */
  CLI_INT,
  CLI_FLOAT,
  CLI_LIST
} cli_kind;

typedef struct cli_option {
  const char *name; /* "--temp" or "-n" */
  cli_kind kind;
  void *target;         /* bool, const char *, the same, int, float, cli_list */
  double least, most;   /* of CLI_INT and CLI_FLOAT */
  const char *argument; /* for the help: "N" */
  const char *help;
} cli_option;

typedef struct cli_syntax {
  const char *command, *synopsis, *summary;
  const cli_option *options;
  size_t n_options;
  const char **positional; /* [n_positional], out; all are needed */
  size_t n_positional;
} cli_syntax;

/* Fill the targets from argv[1 ..]. True: go on. False: *status is what to exit with (a usage error
 * that has been reported, or 0 after --help). */
bool cli_parse(const cli_syntax *syntax, int argc, char **argv, int *status);

/* A whole decimal number within the range, nothing before or after it. */
bool cli_parse_int(const char *text, double least, double most, int *out);
bool cli_parse_float(const char *text, double least, double most, float *out);
bool cli_parse_u64(const char *text, uint64_t *out);

/* ---- files (files.c) ------------------------------------------------------------------------- */

typedef struct cli_bytes {
  char *data; /* owned; one more byte than n, a zero */
  size_t n;
} cli_bytes;

/* A whole file, or stdin for "-"; at most 1 GiB. */
bool cli_read(const char *path, cli_bytes *out, wick_error *error);
/* Text from the command line, or stdin's for "-". */
bool cli_read_text(const char *text, cli_bytes *out, wick_error *error);
void cli_bytes_free(cli_bytes *bytes);
/* Flush stdout; false with a filled error when anything was not written. */
bool cli_finish_stdout(wick_error *error);
/* Report that a write to stdout failed, by its errno; CLI_FAILED. */
int cli_fail_stdout(int reason);

/* ---- models (session.c) ---------------------------------------------------------------------- */

typedef struct cli_model_options {
  int n_threads; /* 0: as many as cores */
  bool exact;
  const char *levels, *cache; /* NULL: not given */
  int n_context;
} cli_model_options;

#define CLI_MODEL_OPTIONS(o)                                                                       \
  {                                                                                                \
      "-t",                                                                                        \
      CLI_INT,                                                                                     \
      &(o)->n_threads,                                                                             \
      1,                                                                                           \
      WICK_MAX_THREADS,                                                                            \
      "N",                                                                                         \
      "threads; default: one for each core"},                                                      \
      {"--exact", CLI_FLAG, &(o)->exact, 0, 0, NULL, "float32 arithmetic on dequantized weights"}, \
      {"--levels",                                                                                 \
       CLI_TEXT,                                                                                   \
       &(o)->levels,                                                                               \
       0,                                                                                          \
       0,                                                                                          \
       "L,..",                                                                                     \
       "use only these kernel levels (see wick probe)"}
#define CLI_ENGINE_OPTIONS(o)                                                                      \
  {"-c", CLI_INT, &(o)->n_context, 16, 1 << 20, "N", "context in tokens"},                         \
      {"--cache", CLI_TEXT, &(o)->cache, 0, 0, "TYPE", "KV cache: f16, f32 or int8"}

/* MODEL is a path, or a name under $WICK_MODELS (models/). Everything is borrowed from the session.
 */
typedef struct cli_session {
  wick_model *model;
  wick_engine *engine; /* NULL until cli_session_start */
  const wick_model_info *info;
  int n_threads;
  wick_cache_type cache_type;
} cli_session;

/* MODEL itself, or MODEL or MODEL.gguf under $WICK_MODELS. *path is owned (free). */
int cli_find_model(const char *name, char **path);
/* Opening reports its own errors; the result is the exit status. */
int cli_session_open(const char *command, const char *name, const cli_model_options *options,
                     cli_session *out);
/* An engine of n_context tokens for max_requests sequences, whose KV cache holds n_cached (at least
 * max_requests) of that length. */
int cli_session_start(cli_session *session, int n_context, int max_requests, int n_cached);
void cli_session_close(cli_session *session);

/* Tokens of a text, special ones parsed or not; *ids is owned (free). */
bool cli_tokenize(const wick_model *model, const char *text, size_t n_bytes, bool parse_special,
                  int32_t **ids, size_t *n_ids, wick_error *error);
bool cli_tokenize_chat(const wick_model *model, const wick_message *messages, size_t n_messages,
                       int32_t **ids, size_t *n_ids, wick_error *error);

/* ---- this machine (machine.c) ---------------------------------------------------------------- */

/* Cores that this process may keep busy: physical ones, within its affinity and its quota. */
int cli_count_cores(void);
/* Seconds of a clock that never goes back. */
double cli_now(void);
/* The most memory that this process has had resident so far. */
uint64_t cli_peak_bytes(void);

#endif
