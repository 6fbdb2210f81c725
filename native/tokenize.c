/* wick tokenize and wick detokenize: text to ids and back. */
#include <stdlib.h>

#include "cli.h"
#include "commands.h"
#include "formats/json.h"

int wick_command_tokenize(int argc, char **argv) {
  bool no_special = false;
  const char *name;
  const cli_option options[] = {{"--no-special", CLI_FLAG, &no_special, 0, 0, NULL,
                                 "special tokens in the text are plain text"}};
  const cli_syntax syntax = {.command = "tokenize",
                             .synopsis = "tokenize MODEL [--no-special] < TEXT",
                             .summary = "Writes the text's token ids as a JSON array.",
                             .options = options,
                             .n_options = 1,
                             .positional = &name,
                             .n_positional = 1};
  int status;
  if (!cli_parse(&syntax, argc, argv, &status)) return status;
  cli_session session;
  status = cli_session_open("tokenize", name, &(cli_model_options){0}, &session);
  if (status != CLI_OK) return status;
  wick_error error;
  cli_bytes text;
  int32_t *ids = NULL;
  size_t n_ids = 0;
  if (!cli_read("-", &text, &error) ||
      !cli_tokenize(session.model, text.data, text.n, !no_special, &ids, &n_ids, &error)) {
    status = cli_fail_with(&error);
  }
  if (status == CLI_OK) {
    putchar('[');
    for (size_t i = 0; i < n_ids; i++) printf("%s%d", i ? "," : "", (int)ids[i]);
    puts("]");
  }
  free(ids);
  cli_bytes_free(&text);
  cli_session_close(&session);
  return status;
}

/* Write the bytes of each id of a JSON array. */
static int write_tokens(const wick_model *model, const cJSON *array) {
  int n_vocab = wick_model_get_info(model)->n_vocab;
  if (!cJSON_IsArray(array)) return cli_fail("stdin: expected a JSON array of token ids");
  const cJSON *item;
  size_t i = 0;
  cJSON_ArrayForEach(item, array) {
    double id = cJSON_IsNumber(item) ? item->valuedouble : -1;
    if (!(id >= 0 && id < n_vocab) || id != (double)(int32_t)id) {
      return cli_fail("stdin: expected whole token ids from 0 to %d, found another value at [%zu]",
                      n_vocab - 1, i);
    }
    i++;
  }
  cJSON_ArrayForEach(item, array) {
    size_t n;
    const char *bytes = wick_token_bytes(model, (int32_t)item->valuedouble, &n);
    fwrite(bytes, 1, n, stdout);
  }
  return CLI_OK;
}

int wick_command_detokenize(int argc, char **argv) {
  const char *name;
  const cli_syntax syntax = {.command = "detokenize",
                             .synopsis = "detokenize MODEL < IDS",
                             .summary = "Reads a JSON array of token ids and writes their bytes.",
                             .positional = &name,
                             .n_positional = 1};
  int status;
  if (!cli_parse(&syntax, argc, argv, &status)) return status;
  cli_session session;
  status = cli_session_open("detokenize", name, &(cli_model_options){0}, &session);
  if (status != CLI_OK) return status;
  wick_error error;
  cli_bytes text;
  cJSON *array = NULL;
  if (!cli_read("-", &text, &error) ||
      wick_json_parse("stdin", text.data, text.n, &array, &error) != WICK_OK) {
    status = cli_fail_with(&error);
  } else {
    status = write_tokens(session.model, array);
  }
  cJSON_Delete(array);
  cli_bytes_free(&text);
  cli_session_close(&session);
  return status;
}
