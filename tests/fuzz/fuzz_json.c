/* Fuzz target: any bytes as JSON. What cJSON refuses is never blamed on memory, which is there. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "formats/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  cJSON *json;
  wick_error error;
  wick_status status = wick_json_parse("fuzz", (const char *)data, n, &json, &error);
  if (status == WICK_ERROR_MEMORY) abort();
  if (status == WICK_OK) {
    uint64_t whole;
    wick_string text;
    wick_json_u64(json, "a", &whole);
    wick_json_string(json, "a", &text);
    cJSON_Delete(json);
  }
  return 0;
}
