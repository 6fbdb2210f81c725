/* See json.h. Before cJSON sees anything, one linear scan without recursion bounds what it will do:
 * nesting (cJSON recurses), the number of values (it allocates for each) and \u0000 (it ends
 * strings there). Source: RFC 8259. */
#include "formats/json.h"

#include <string.h>

enum {
  MAX_DEPTH = 64,
  MAX_VALUES = 4 << 20, /* a tokenizer of 150 thousand tokens has less than a million */
  MAX_BYTES = 256 << 20,
};

static wick_status scan(const char *name, const char *data, size_t n_bytes, wick_error *error) {
  size_t depth = 0, n_values = 1;
  bool in_string = false;
  for (size_t i = 0; i < n_bytes; i++) {
    char c = data[i];
    if (in_string) {
      if (c == '\\') {
        if (n_bytes - i > 5 && memcmp(data + i + 1, "u0000", 5) == 0)
          return wick_fail(error, WICK_ERROR_UNSUPPORTED,
                           "%s: expected text without \\u0000, found one at byte %zu", name, i);
        i++;
      } else if (c == '"') {
        in_string = false;
      }
      continue;
    }
    if (c == '"') in_string = true;
    if ((c == '[' || c == '{') && ++depth > MAX_DEPTH)
      return wick_fail(error, WICK_ERROR_UNSUPPORTED,
                       "%s: expected JSON nested at most %d deep, found more at byte %zu", name,
                       MAX_DEPTH, i);
    if ((c == ']' || c == '}') && depth > 0) depth--;
    if ((c == ',' || c == '[' || c == '{') && ++n_values > MAX_VALUES)
      return wick_fail(error, WICK_ERROR_UNSUPPORTED,
                       "%s: expected JSON of at most %d values, found more", name, MAX_VALUES);
  }
  return WICK_OK;
}

wick_status wick_json_parse(const char *name, const char *data, size_t n_bytes, cJSON **out,
                            wick_error *error) {
  *out = NULL;
  if (n_bytes > MAX_BYTES)
    return wick_fail(error, WICK_ERROR_UNSUPPORTED,
                     "%s: expected at most %d bytes of JSON, found %zu", name, MAX_BYTES, n_bytes);
  WICK_TRY(scan(name, data, n_bytes, error));
  const char *end = data;
  cJSON *json = n_bytes ? cJSON_ParseWithLengthOpts(data, n_bytes, &end, 0) : NULL;
  size_t at = json ? (size_t)(end - data) : 0;
  while (json && at < n_bytes && strchr(" \t\r\n", data[at]) && data[at]) at++;
  if (json && at == n_bytes) {
    *out = json;
    return WICK_OK;
  }
  if (!json && end >= data && end <= data + n_bytes) at = (size_t)(end - data);
  cJSON_Delete(json);
  wick_string found = {data + at, n_bytes - at < 12 ? n_bytes - at : 12};
  return wick_fail(error, WICK_ERROR_FORMAT, "%s: expected %s at byte %zu, found \"%.*s\"", name,
                   json ? "the end of the JSON" : "JSON", at, WICK_STRING_ARGS(found));
}

static const cJSON *member(const cJSON *object, const char *key) {
  return cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, key) : NULL;
}

bool wick_json_value_u64(const cJSON *value, uint64_t *out) {
  const double beyond = 9007199254740992.0; /* 2^53: from here doubles skip whole numbers */
  if (!cJSON_IsNumber(value)) return false;
  double number = value->valuedouble;
  if (!(number >= 0 && number < beyond) || number != (double)(uint64_t)number) return false;
  *out = (uint64_t)number;
  return true;
}

bool wick_json_u64(const cJSON *object, const char *key, uint64_t *out) {
  return wick_json_value_u64(member(object, key), out);
}

bool wick_json_f64(const cJSON *object, const char *key, double *out) {
  const cJSON *value = member(object, key);
  if (!cJSON_IsNumber(value)) return false;
  *out = value->valuedouble;
  return true;
}

bool wick_json_bool(const cJSON *object, const char *key, bool *out) {
  const cJSON *value = member(object, key);
  if (!cJSON_IsBool(value)) return false;
  *out = cJSON_IsTrue(value);
  return true;
}

bool wick_json_string(const cJSON *object, const char *key, wick_string *out) {
  const cJSON *value = member(object, key);
  if (!cJSON_IsString(value)) return false;
  *out = (wick_string){value->valuestring, strlen(value->valuestring)};
  return true;
}
