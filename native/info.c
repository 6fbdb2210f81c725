/* wick info FILE [--json]: metadata and tensors of a GGUF or safetensors file. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "commands.h"
#include "formats/gguf.h"
#include "formats/json.h"
#include "formats/safetensors.h"
#include "lib/escape.h"
#include "lib/file_map.h"
#include "lib/output.h"

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
  if (json) fputs("]}\n", stdout);
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

static wick_status show_safetensors(const char *path, const wick_file_map *map, wick_arena *arena,
                                    bool json, wick_error *error) {
  wick_tensor_table table;
  uint64_t need, header_bytes;
  cJSON *header;
  WICK_TRY(wick_safetensors_parse(path, map->data, map->n_bytes, map->n_bytes, arena, &table,
                                  &header_bytes, &need, error));
  const char *text = (const char *)map->data + 8; /* after the header's length */
  WICK_TRY(wick_json_parse(path, text, (size_t)header_bytes - 8, &header, error));
  print_safetensors(header, &table, json);
  cJSON_Delete(header);
  return WICK_OK;
}

static wick_status show_gguf(const char *path, const wick_file_map *map, wick_arena *arena,
                             bool json, wick_error *error) {
  wick_gguf gguf;
  uint64_t need;
  WICK_TRY(
      wick_gguf_parse(path, map->data, map->n_bytes, map->n_bytes, arena, &gguf, &need, error));
  print_gguf(&gguf, json);
  return WICK_OK;
}

static wick_status show(const char *path, const wick_file_map *map, wick_arena *arena, bool json,
                        wick_error *error) {
  bool is_safetensors = wick_path_ends(path, ".safetensors");
  return (is_safetensors ? show_safetensors : show_gguf)(path, map, arena, json, error);
}

int wick_command_info(int argc, char **argv) {
  const char *path = NULL;
  bool json = false;
  const cli_option options[] = {{"--json", CLI_FLAG, &json, 0, 0, NULL, "as JSON, nothing cut"}};
  const cli_syntax syntax = {.command = "info",
                             .synopsis = "info FILE [--json]",
                             .summary = "Metadata and tensors of a .gguf or .safetensors file.",
                             .options = options,
                             .n_options = sizeof options / sizeof *options,
                             .positional = &path,
                             .n_positional = 1};
  int exit_status;
  if (!cli_parse(&syntax, argc, argv, &exit_status)) return exit_status;
  wick_file_map map;
  wick_arena arena;
  wick_error error = {0};
  wick_arena_init(&arena, NULL);
  wick_status status = wick_file_map_open(path, &map, &error);
  if (status == WICK_OK) status = show(path, &map, &arena, json, &error);
  wick_file_map_close(&map);
  wick_arena_free(&arena);
  return status == WICK_OK ? CLI_OK : cli_fail_with(&error);
}
