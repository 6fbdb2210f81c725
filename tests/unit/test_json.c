/* JSON: what RFC 8259 allows and does not, and the caps that untrusted files need. */
#include "bytes.h"
#include "formats/json.h"
#include "tap.h"

static void expect(tap *t, const char *data, size_t n, wick_status expected, const char *in_message,
                   const char *name) {
  /* an exact copy, so that a read beyond it is seen by the sanitizer */
  char *copy = malloc(n ? n : 1);
  if (n) memcpy(copy, data, n);
  cJSON *json = NULL;
  wick_error error = {0};
  wick_status status = wick_json_parse("f.json", copy, n, &json, &error);
  int ok = status == expected && (json != NULL) == (status == WICK_OK) &&
           (!in_message || strstr(error.message, in_message));
  CHECK(t, ok, name);
  if (!ok) printf("# status %d: %s\n", status, error.message);
  cJSON_Delete(json);
  free(copy);
}

static void expect_text(tap *t, const char *text, wick_status expected, const char *in_message) {
  expect(t, text, strlen(text), expected, in_message, text);
}

static void check_nesting(tap *t, size_t depth, wick_status expected, const char *name) {
  char *text = malloc(2 * depth);
  memset(text, '[', depth);
  memset(text + depth, ']', depth);
  expect(t, text, 2 * depth, expected, NULL, name);
  free(text);
}

static void check_members(tap *t) {
  const char *text = "{\"n\": 8192, \"big\": 9007199254740992, \"half\": 0.5, \"minus\": -1, "
                     "\"yes\": true, \"null\": null, \"text\": \"\\u00e9\\n\"}";
  cJSON *json = NULL;
  uint64_t u = 0;
  double f = 0;
  bool b = false;
  wick_string s = {0};
  CHECK(t, wick_json_parse("f", text, strlen(text), &json, NULL) == WICK_OK, "an object parses");
  CHECK(t, wick_json_u64(json, "n", &u) && u == 8192, "a whole number");
  CHECK(t, !wick_json_u64(json, "big", &u), "2^53 may have been 2^53 + 1");
  CHECK(t, !wick_json_u64(json, "half", &u) && !wick_json_u64(json, "minus", &u),
        "fractions and negative numbers are no whole numbers");
  CHECK(t,
        !wick_json_u64(json, "yes", &u) && !wick_json_u64(json, "null", &u) &&
            !wick_json_u64(json, "absent", &u),
        "nor are bool, null and nothing");
  CHECK(t, wick_json_f64(json, "half", &f) && f == 0.5, "a number");
  CHECK(t, wick_json_bool(json, "yes", &b) && b && !wick_json_bool(json, "n", &b), "a bool");
  CHECK(t, wick_json_string(json, "text", &s) && wick_string_equal(s, "\xc3\xa9\n"), "a string");
  CHECK(t, !wick_json_string(json, "n", &s), "a number is no string");
  CHECK(t, !wick_json_u64(cJSON_GetObjectItem(json, "n"), "n", &u), "a number has no members");
  cJSON_Delete(json);
}

static void *no_memory(size_t bytes) {
  (void)bytes;
  return NULL;
}

/* With no memory at all, well-formed text is told from bad text: RFC 8259's grammar, and escapes
 * that are characters. */
static void check_memory(tap *t) {
  static const char *const good[] = {"{}",
                                     " [ ] ",
                                     "0",
                                     "-0",
                                     "-1.5e+30",
                                     "1E2",
                                     "\"\"",
                                     "true",
                                     "null",
                                     "[[],{},[[1]],\"]\"]",
                                     "{\"a\":{\"b\":[1,{\"c\":false}]},\"d\":\"\\\\\\\"\"}",
                                     "\"\\ud83d\\ude00 \\u00e9\\/\"",
                                     "{ \"a\" : 1 , \"b\" : [ 2 , 3 ] }"};
  static const char *const bad[] = {"[",           "]",           "{",
                                    "}",           "[1,]",        "[,1]",
                                    "[1 2]",       "{\"a\"}",     "{\"a\":}",
                                    "{\"a\":1,}",  "{1:2}",       "{\"a\" 1}",
                                    "[1}",         "{\"a\":1]",   "[[1]",
                                    "\"abc",       "\"\\x\"",     "\"\\u12\"",
                                    "\"\\ud800\"", "\"\\udc00\"", "\"\\ud800\\u0041\"",
                                    "-",           "1e",          ".5",
                                    "+1",          "tru",         "nul",
                                    "'a'",         "<p>"};
  cJSON_Hooks none = {no_memory, free};
  cJSON_InitHooks(&none);
  for (size_t i = 0; i < sizeof good / sizeof *good; i++)
    expect_text(t, good[i], WICK_ERROR_MEMORY, "f.json: no memory");
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    expect_text(t, bad[i], WICK_ERROR_FORMAT, "expected JSON at byte");
  cJSON_InitHooks(NULL);
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) expect_text(t, good[i], WICK_OK, NULL);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    expect_text(t, bad[i], WICK_ERROR_FORMAT, "expected ");
}

int main(void) {
  tap t = {0};
  expect_text(&t, "{\"a\": [1, 2.5e3, true, null, \"x\"]}\n", WICK_OK, NULL);
  expect_text(&t, " 3 ", WICK_OK, NULL);
  expect_text(&t, "", WICK_ERROR_FORMAT, "f.json: expected JSON at byte 0");
  expect_text(&t, "<html>", WICK_ERROR_FORMAT, "found \"<html>\"");
  expect_text(&t, "{\"a\":1} x", WICK_ERROR_FORMAT, "end of the JSON at byte 8");
  expect_text(&t, "{\"a\":", WICK_ERROR_FORMAT, "JSON");
  expect_text(&t, "\"abc", WICK_ERROR_FORMAT, "JSON");
  expect_text(&t, "\"abc\\", WICK_ERROR_FORMAT, "JSON");
  expect_text(&t, "[1,]", WICK_ERROR_FORMAT, "JSON");
  expect_text(&t, "{\"a\\u0000b\": 1}", WICK_ERROR_UNSUPPORTED, "\\u0000");
  expect_text(&t, "\"\\\\u0000\"", WICK_OK, NULL);
  expect(&t, "{}\0", 3, WICK_ERROR_FORMAT, "end of the JSON", "a zero byte after the value");
  check_nesting(&t, 64, WICK_OK, "64 arrays in each other");
  check_nesting(&t, 65, WICK_ERROR_UNSUPPORTED, "65 are too many");
  check_nesting(&t, 1000000, WICK_ERROR_UNSUPPORTED, "a million too, without recursion");
  check_members(&t);
  check_memory(&t);
  return tap_done(&t);
}
