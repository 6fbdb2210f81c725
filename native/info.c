/* wick info MODEL [--json]: metadata and tensors of a GGUF or safetensors file, or of all files of
 * a model folder and its config.json. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"
#include "commands.h"
#include "formats/gguf.h"
#include "formats/json.h"
#include "formats/safetensors.h"
#include "lib/escape.h"
#include "lib/file_map.h"
#include "lib/weight_files.h"

enum { SHOWN_BYTES = 160, SHOWN_ELEMENTS = 8 }; /* of long values, for people */

static void print_float(double value, bool is_double) {
  if (isfinite(value)) {
    printf(is_double ? "%.17g" : "%.9g", value);
  } else {
    fputs("null", stdout); /* JSON has no infinity */
  }
}

static void print_element(const wick_gguf_value *value, uint64_t i, uint64_t *at, bool json) {
  wick_string text;
  if (value->type == WICK_GGUF_STRING) {
    if (wick_gguf_next_string(value, at, &text))
      wick_print_quoted(stdout, text, json ? SIZE_MAX : SHOWN_BYTES);
  } else if (value->type == WICK_GGUF_F32 || value->type == WICK_GGUF_F64) {
    print_float(wick_gguf_float_at(value, i), value->type == WICK_GGUF_F64);
  } else if (value->type == WICK_GGUF_BOOL) {
    fputs(wick_gguf_int_at(value, i) ? "true" : "false", stdout);
  } else if (value->type == WICK_GGUF_U64) {
    printf("%" PRIu64, (uint64_t)wick_gguf_int_at(value, i));
  } else {
    printf("%" PRId64, wick_gguf_int_at(value, i));
  }
}

static void print_value(const wick_gguf_value *value, bool json) {
  uint64_t at = 0, shown = json || value->n <= SHOWN_ELEMENTS ? value->n : SHOWN_ELEMENTS;
  if (value->is_array) fputc('[', stdout);
  for (uint64_t i = 0; i < shown; i++) {
    if (i) fputs(json ? "," : ", ", stdout);
    print_element(value, i, &at, json);
  }
  if (shown < value->n) printf(", ... %" PRIu64 " in all", value->n);
  if (value->is_array) fputc(']', stdout);
}

static void print_tensor(const wick_tensor_entry *entry, bool json) {
  const wick_dtype_info *info = wick_dtype_get_info(entry->dtype);
  if (json) {
    fputs("{\"name\":", stdout);
    wick_print_quoted(stdout, entry->name, SIZE_MAX);
    printf(",\"type\":\"%s\",\"shape\":[", info->name);
  } else {
    printf("  %-5s [", info->name);
  }
  for (int i = entry->n_dims - 1; i >= 0; i--)
    printf("%" PRIu64 "%s", entry->dims[i], i ? json ? "," : ", " : "]");
  if (json) {
    printf(",\"offset\":%" PRIu64 ",\"bytes\":%" PRIu64 "}", entry->offset, entry->n_bytes);
  } else {
    fputc(' ', stdout);
    wick_print_quoted(stdout, entry->name, SIZE_MAX);
    printf(" %" PRIu64 " bytes at %" PRIu64 "\n", entry->n_bytes, entry->offset);
  }
}

static void print_tensors(const wick_tensor_table *table, bool json) {
  printf(json ? "\"tensors\":[" : "tensors, outermost dimension first:\n");
  for (size_t i = 0; i < table->n; i++) {
    if (json && i) fputc(',', stdout);
    print_tensor(&table->entries[i], json);
  }
  if (json) fputs("]}", stdout);
}

static void print_gguf(const wick_gguf *gguf, bool json) {
  printf(json ? "{\"format\":\"gguf\",\"version\":%u,\"metadata\":{"
              : "GGUF version %u, %zu values, %zu tensors\n",
         gguf->version, gguf->n_values, gguf->tensors.n);
  for (size_t i = 0; i < gguf->n_values; i++) {
    const wick_gguf_value *value = &gguf->values[i];
    fputs(json ? i ? "," : "" : "  ", stdout);
    wick_print_quoted(stdout, value->key, json ? SIZE_MAX : SHOWN_BYTES);
    fputs(json ? ":" : " = ", stdout);
    print_value(value, json);
    if (!json) fputc('\n', stdout);
  }
  if (json) fputs("},", stdout);
  print_tensors(&gguf->tensors, json);
}

/* "__metadata__", which the parser checks and leaves out: pairs of strings. */
static void print_safetensors(const cJSON *header, const wick_tensor_table *table, bool json) {
  const cJSON *metadata = cJSON_GetObjectItemCaseSensitive(header, "__metadata__");
  const char *comma = "";
  printf(json ? "{\"format\":\"safetensors\",\"metadata\":{" : "safetensors, %zu tensors\n",
         table->n);
  for (const cJSON *item = metadata ? metadata->child : NULL; item; item = item->next) {
    wick_string value;
    if (!item->string || !wick_json_string(metadata, item->string, &value)) continue;
    fputs(json ? comma : "  ", stdout);
    wick_print_quoted(stdout, (wick_string){item->string, strlen(item->string)}, SIZE_MAX);
    fputs(json ? ":" : " = ", stdout);
    wick_print_quoted(stdout, value, json ? SIZE_MAX : SHOWN_BYTES);
    if (!json) fputc('\n', stdout);
    comma = ",";
  }
  if (json) fputs("},", stdout);
  print_tensors(table, json);
}

typedef enum show_mode {
  SHOW_TEXT,
  SHOW_JSON,
  SHOW_NOTHING /* only see whether it can be */
} show_mode;

static wick_status show_safetensors(const char *path, const wick_file_map *map, wick_arena *arena,
                                    show_mode mode, wick_error *error) {
  wick_tensor_table table;
  uint64_t need, header_bytes;
  cJSON *header;
  WICK_TRY(wick_safetensors_parse(path, map->data, map->n_bytes, map->n_bytes, arena, &table,
                                  &header_bytes, &need, error));
  const char *text = (const char *)map->data + 8; /* after the header's length */
  WICK_TRY(wick_json_parse(path, text, (size_t)header_bytes - 8, &header, error));
  if (mode != SHOW_NOTHING) print_safetensors(header, &table, mode == SHOW_JSON);
  cJSON_Delete(header);
  return WICK_OK;
}

static wick_status show_gguf(const char *path, const wick_file_map *map, wick_arena *arena,
                             show_mode mode, wick_error *error) {
  wick_gguf gguf;
  uint64_t need;
  WICK_TRY(
      wick_gguf_parse(path, map->data, map->n_bytes, map->n_bytes, arena, &gguf, &need, error));
  if (mode != SHOW_NOTHING) print_gguf(&gguf, mode == SHOW_JSON);
  return WICK_OK;
}

static wick_status show_file(const char *path, show_mode mode, wick_error *error) {
  wick_file_map map;
  wick_arena arena;
  wick_arena_init(&arena, NULL);
  wick_status status = wick_file_map_open(path, &map, error);
  bool is_safetensors = wick_ends_with(path, ".safetensors");
  if (status == WICK_OK) {
    status = (is_safetensors ? show_safetensors : show_gguf)(path, &map, &arena, mode, error);
  }
  wick_file_map_close(&map);
  wick_arena_free(&arena);
  return status;
}

/* ---- a folder -------------------------------------------------------------------------------- */

/* A value of config.json, on one line. */
static void print_json(const cJSON *value) {
  char *text = cJSON_PrintUnformatted(value);
  if (text) wick_clean_line(text);
  fputs(text ? text : "null", stdout);
  cJSON_free(text);
}

static void print_config(const cJSON *config, bool json) {
  if (json) {
    fputs("{\"format\":\"folder\",\"config\":", stdout);
    print_json(config);
    fputs(",\"files\":[", stdout);
    return;
  }
  puts("config.json");
  for (const cJSON *item = config->child; item; item = item->next) {
    fputs("  ", stdout);
    const char *key = item->string ? item->string : "";
    wick_print_quoted(stdout, (wick_string){key, strlen(key)}, SHOWN_BYTES);
    fputs(" = ", stdout);
    print_json(item);
    fputc('\n', stdout);
  }
}

static wick_status show_config(const char *folder, bool json, wick_error *error) {
  char path[WICK_PATH_BYTES];
  wick_file_map map = {0};
  cJSON *config = NULL;
  WICK_TRY(wick_path_join(path, folder, "config.json", error));
  if (!wick_path_exists(path))
    return wick_fail(error, WICK_ERROR_FORMAT, "%s: expected config.json in it, found none",
                     folder);
  wick_status status = wick_file_map_open(path, &map, error);
  if (status == WICK_OK)
    status = wick_json_parse(path, (const char *)map.data, (size_t)map.n_bytes, &config, error);
  if (status == WICK_OK) print_config(config, json);
  cJSON_Delete(config);
  wick_file_map_close(&map);
  return status;
}

static wick_status show_weights(const char *folder, const char *name, bool json, bool first,
                                wick_error *error) {
  char path[WICK_PATH_BYTES];
  WICK_TRY(wick_path_join(path, folder, name, error));
  fputs(!json ? "\n" : first ? "{\"name\":" : ",{\"name\":", stdout);
  wick_print_quoted(stdout, (wick_string){name, strlen(name)}, SIZE_MAX);
  fputs(json ? ",\"content\":" : ": ", stdout);
  WICK_TRY(show_file(path, json ? SHOW_JSON : SHOW_TEXT, error));
  if (json) fputc('}', stdout);
  return WICK_OK;
}

static wick_status show_folder(const char *folder, bool json, wick_error *error) {
  wick_weight_files files = {0};
  wick_status status = wick_weight_files_list(folder, &files, error);
  for (size_t i = 0; status == WICK_OK && i < files.n; i++) { /* nothing of it, or all */
    char path[WICK_PATH_BYTES];
    status = wick_path_join(path, folder, files.items[i], error);
    if (status == WICK_OK) status = show_file(path, SHOW_NOTHING, error);
  }
  if (status == WICK_OK) status = show_config(folder, json, error);
  for (size_t i = 0; status == WICK_OK && i < files.n; i++)
    status = show_weights(folder, files.items[i], json, i == 0, error);
  if (status == WICK_OK && json) fputs("]}", stdout);
  wick_weight_files_free(&files);
  return status;
}

int wick_command_info(int argc, char **argv) {
  const char *name = NULL;
  bool json = false;
  const cli_option options[] = {{"--json", CLI_FLAG, &json, 0, 0, NULL, "as JSON, nothing cut"}};
  const cli_syntax syntax = {.command = "info",
                             .synopsis = "info MODEL [--json]",
                             .summary = "Metadata and tensors of a .gguf or .safetensors file, or "
                                        "of a model folder's.",
                             .options = options,
                             .n_options = sizeof options / sizeof *options,
                             .positional = &name,
                             .n_positional = 1};
  int exit_status;
  if (!cli_parse(&syntax, argc, argv, &exit_status)) return exit_status;
  char *path = NULL;
  exit_status = cli_find_model(name, &path);
  if (exit_status != CLI_OK) return exit_status;
  wick_error error = {0};
  struct stat information;
  bool is_folder = stat(path, &information) == 0 && S_ISDIR(information.st_mode);
  wick_status status = is_folder ? show_folder(path, json, &error)
                                 : show_file(path, json ? SHOW_JSON : SHOW_TEXT, &error);
  free(path);
  if (status != WICK_OK) return cli_fail_with(&error);
  if (json) putchar('\n');
  return CLI_OK;
}
