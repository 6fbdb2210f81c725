/* From MODEL and options to a model and an engine. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "lib/path.h"

int cli_find_model(const char *name, char **path) {
  static const char *const endings[] = {"", ".gguf"};
  const char *folder = getenv("WICK_MODELS");
  if (!folder || !*folder) folder = "models";
  size_t capacity = strlen(folder) + strlen(name) + 8;
  *path = malloc(capacity);
  if (!*path) return cli_fail("%s: no memory for its path", name);
  snprintf(*path, capacity, "%s", name);
  if (wick_path_exists(name)) return CLI_OK;
  for (size_t i = 0; *name && !strchr(name, '/') && i < sizeof endings / sizeof *endings; i++) {
    snprintf(*path, capacity, "%s/%s%s", folder, name, endings[i]);
    if (wick_path_exists(*path)) return CLI_OK;
  }
  free(*path);
  *path = NULL;
  return cli_fail("%s: expected a model's file or folder, or a name under %s/, found none "
                  "(npm run model fetches one)",
                  name, folder);
}

/* "avx2,avx-vnni" to a mask. */
static int parse_levels(const char *command, const char *text, uint32_t *mask) {
  while (*text) {
    size_t n = strcspn(text, ",");
    uint32_t found = 0;
    for (uint32_t bit = 1; bit <= WICK_LEVEL_RELAXED; bit <<= 1) {
      const char *name = wick_level_name(bit);
      if (strlen(name) == n && memcmp(name, text, n) == 0) found = bit;
    }
    if (!found) {
      return cli_usage(command, "--levels: expected levels as wick probe lists them, found %.*s",
                       (int)n, text);
    }
    *mask |= found;
    text += n + (text[n] == ',');
  }
  if (*mask == 0) return cli_usage(command, "--levels: expected a level, found none");
  if (*mask & wick_levels_available()) return CLI_OK;
  return cli_fail("--levels: expected one that this machine has (see wick probe), found none");
}

static int parse_cache(const char *command, const cli_model_options *options,
                       wick_cache_type *type) {
  const char *name = options->cache;
  *type = options->exact ? WICK_CACHE_F32 : WICK_CACHE_F16;
  if (!name) return CLI_OK;
  if (strcmp(name, "f16") == 0 && options->exact) {
    return cli_usage(command, "--cache: expected f32 or int8 with --exact, found f16");
  }
  if (strcmp(name, "f16") == 0) return CLI_OK;
  *type = strcmp(name, "f32") == 0 ? WICK_CACHE_F32 : WICK_CACHE_INT8;
  if (*type == WICK_CACHE_F32 || strcmp(name, "int8") == 0) return CLI_OK;
  return cli_usage(command, "--cache: expected f16, f32 or int8, found %s", name);
}

int cli_session_open(const char *command, const char *name, const cli_model_options *options,
                     cli_session *out) {
  *out = (cli_session){.n_threads = options->n_threads};
  if (out->n_threads == 0) out->n_threads = cli_count_cores();
  wick_load_options load = {.exact = options->exact, .n_threads = out->n_threads};
  int status = parse_cache(command, options, &out->cache_type);
  if (status == CLI_OK && options->levels) {
    status = parse_levels(command, options->levels, &load.levels);
  }
  char *path = NULL;
  if (status == CLI_OK) status = cli_find_model(name, &path);
  if (status != CLI_OK) return status;
  bool terminal = isatty(STDERR_FILENO) != 0;
  if (terminal) fprintf(stderr, "loading %s ...", path);
  wick_error error;
  wick_status opened = wick_model_open(path, &load, &out->model, &error);
  if (terminal) fputs("\r\033[K", stderr);
  free(path);
  if (opened != WICK_OK) return cli_fail_with(&error);
  out->info = wick_model_get_info(out->model);
  return CLI_OK;
}

int cli_session_start(cli_session *session, int n_context, int max_requests, int n_cached) {
  if (n_context > session->info->n_context) {
    return cli_fail("expected a context of at most %d tokens (the model's), found %d",
                    session->info->n_context, n_context);
  }
  wick_engine_options options = {.n_threads = session->n_threads,
                                 .n_context = n_context,
                                 .n_cache_tokens = n_context * n_cached,
                                 .max_requests = max_requests,
                                 .cache_type = session->cache_type};
  wick_error error;
  wick_status status = wick_engine_new(session->model, &options, &session->engine, &error);
  return status == WICK_OK ? CLI_OK : cli_fail_with(&error);
}

void cli_session_close(cli_session *session) {
  wick_engine_free(session->engine);
  wick_model_free(session->model);
  *session = (cli_session){0};
}

/* ---- tokens ---------------------------------------------------------------------------------- */

typedef struct text_source { /* a text, or a conversation */
  const wick_model *model;
  const char *text;
  size_t n_bytes;
  bool parse_special;
  const wick_message *messages;
  size_t n_messages;
} text_source;

static wick_status tokenize(const text_source *s, int32_t *ids, size_t capacity, size_t *n_ids,
                            wick_error *error) {
  if (s->messages) {
    return wick_chat_tokenize(s->model, s->messages, s->n_messages, ids, capacity, n_ids, error);
  }
  return wick_tokenize(s->model, s->text, s->n_bytes, s->parse_special, ids, capacity, n_ids,
                       error);
}

/* Count, then fill. */
static bool all_tokens(const text_source *source, int32_t **ids, size_t *n_ids, wick_error *error) {
  *ids = NULL;
  if (tokenize(source, NULL, 0, n_ids, error) != WICK_OK) return false;
  *ids = malloc((*n_ids + 1) * sizeof **ids);
  if (!*ids) {
    wick_fail(error, WICK_ERROR_MEMORY, "no memory for %zu tokens", *n_ids);
    return false;
  }
  if (tokenize(source, *ids, *n_ids, n_ids, error) == WICK_OK) return true;
  free(*ids);
  *ids = NULL;
  return false;
}

bool cli_tokenize(const wick_model *model, const char *text, size_t n_bytes, bool parse_special,
                  int32_t **ids, size_t *n_ids, wick_error *error) {
  text_source source = {
      .model = model, .text = text, .n_bytes = n_bytes, .parse_special = parse_special};
  return all_tokens(&source, ids, n_ids, error);
}

bool cli_tokenize_chat(const wick_model *model, const wick_message *messages, size_t n_messages,
                       int32_t **ids, size_t *n_ids, wick_error *error) {
  text_source source = {.model = model, .messages = messages, .n_messages = n_messages};
  return all_tokens(&source, ids, n_ids, error);
}
