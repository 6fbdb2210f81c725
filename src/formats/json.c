/* See json.h. Before cJSON sees anything, one linear scan without recursion bounds what it will do:
 * nesting (cJSON recurses), the number of values (it allocates for each) and \u0000 (it ends
 * strings there). When cJSON gives nothing back, a second reading without memory of its own says
 * whether the text or the memory was to blame. Source: RFC 8259. */
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

static size_t skip_space(const char *data, size_t n, size_t at) {
  while (at < n && (data[at] == ' ' || data[at] == '\t' || data[at] == '\r' || data[at] == '\n'))
    at++;
  return at;
}

static bool is_digit(const char *data, size_t n, size_t at) {
  return at < n && data[at] >= '0' && data[at] <= '9';
}

/* The four hexadecimal digits at data[at], or -1. */
static int hex4(const char *data, size_t n, size_t at) {
  int value = 0;
  for (int i = 0; i < 4; i++, at++) {
    char c = at < n ? data[at] : '\0';
    int digit = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
    if (digit < 0) return -1;
    value = 16 * value + digit;
  }
  return value;
}

/* Each of the following ends behind what it names at data[at], or gives 0 where there is none. */
static size_t end_of_string(const char *data, size_t n, size_t at) {
  if (at >= n || data[at] != '"') return 0;
  for (at++; at < n && data[at] != '"'; at++) {
    if (data[at] != '\\') continue;
    at++;
    if (at >= n || !data[at] || !strchr("\"\\/bfnrtu", data[at])) return 0;
    if (data[at] != 'u') continue;
    int unit = hex4(data, n, at + 1);
    at += 4;
    if (unit < 0 || (unit >= 0xdc00 && unit < 0xe000)) return 0;
    if (unit < 0xd800 || unit >= 0xe000) continue;
    if (n - at < 3 || data[at + 1] != '\\' || data[at + 2] != 'u') return 0;
    unit = hex4(data, n, at + 3);
    at += 6;
    if (unit < 0xdc00 || unit >= 0xe000) return 0;
  }
  return at < n ? at + 1 : 0;
}

static size_t end_of_number(const char *data, size_t n, size_t at) {
  enum { MAX_DIGITS = 63 }; /* cJSON's, in older versions */
  size_t start = at;
  if (at < n && data[at] == '-') at++;
  if (!is_digit(data, n, at)) return 0;
  while (is_digit(data, n, at)) at++;
  if (at < n && data[at] == '.') {
    if (!is_digit(data, n, ++at)) return 0;
    while (is_digit(data, n, at)) at++;
  }
  if (at < n && (data[at] == 'e' || data[at] == 'E')) {
    at++;
    if (at < n && (data[at] == '+' || data[at] == '-')) at++;
    if (!is_digit(data, n, at)) return 0;
    while (is_digit(data, n, at)) at++;
  }
  return at - start <= MAX_DIGITS ? at : 0;
}

static size_t end_of_scalar(const char *data, size_t n, size_t at) {
  static const char *const words[] = {"true", "false", "null"};
  for (size_t i = 0; i < 3; i++) {
    size_t length = strlen(words[i]);
    if (n - at >= length && memcmp(data + at, words[i], length) == 0) return at + length;
  }
  return at < n && data[at] == '"' ? end_of_string(data, n, at) : end_of_number(data, n, at);
}

/* Behind a key and its colon, up to the value. */
static size_t end_of_key(const char *data, size_t n, size_t at) {
  at = end_of_string(data, n, at);
  at = at ? skip_space(data, n, at) : n;
  return at < n && data[at] == ':' ? skip_space(data, n, at + 1) : 0;
}

/* True when one value stands at the beginning: what cJSON parses if it has the memory. The nesting
 * was bounded by scan; objects has a bit for each level, set in an object. */
static bool is_value(const char *data, size_t n) {
  uint64_t objects = 0;
  size_t depth = 0, at = skip_space(data, n, 0);
  for (;;) {
    bool opens = at < n && (data[at] == '[' || data[at] == '{');
    if (opens) {
      objects = objects << 1 | (data[at] == '{');
      depth++;
      at = skip_space(data, n, at + 1);
      bool empty = at < n && data[at] == (objects & 1 ? '}' : ']');
      if (!empty) {
        if (objects & 1 && !(at = end_of_key(data, n, at))) return false;
        continue;
      }
    } else if (!(at = end_of_scalar(data, n, at))) {
      return false;
    }
    for (;;) { /* behind a value, or before the end of an empty list */
      if (depth == 0) return true;
      at = skip_space(data, n, at);
      if (at >= n || data[at] != (objects & 1 ? '}' : ']')) break;
      at++;
      objects >>= 1;
      depth--;
    }
    if (at >= n || data[at] != ',') return false;
    at = skip_space(data, n, at + 1);
    if (objects & 1 && !(at = end_of_key(data, n, at))) return false;
  }
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
  size_t at = end >= data && end <= data + n_bytes ? (size_t)(end - data) : 0;
  if (json) at = skip_space(data, n_bytes, at);
  if (json && at == n_bytes) {
    *out = json;
    return WICK_OK;
  }
  const char *expected = json ? "the end of the JSON" : "JSON";
  bool nothing = !json;
  cJSON_Delete(json);
  if (nothing && is_value(data, n_bytes))
    return wick_fail(error, WICK_ERROR_MEMORY, "%s: no memory for %zu bytes of JSON", name,
                     n_bytes);
  wick_string found = {data + at, n_bytes - at < 12 ? n_bytes - at : 12};
  return wick_fail(error, WICK_ERROR_FORMAT, "%s: expected %s at byte %zu, found \"%.*s\"", name,
                   expected, at, WICK_STRING_ARGS(found));
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
