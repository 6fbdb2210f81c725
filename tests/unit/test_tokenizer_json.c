/* Small tokenizer.json files, one per pre-tokenizer, against ids by Hugging Face's tokenizers
 * (tools/fixtures/make_tokenizer_fixtures.py): every text of tokenizer_cases.json, and others that
 * aim at each rule. */
#include "tap.h"
#include "test_tokenizer_util.h"
#include "tokenizer/stream.h"

/* The ids' bytes, ill-formed ones replaced, are the expected text. */
static bool decodes_to(const wick_tokenizer *tokenizer, const char *text, size_t n,
                       const char *expected, size_t n_expected) {
  static int32_t ids[MAX_TEST_IDS];
  static char bytes[1 << 16], decoded[3 * ((1 << 16) + 6)];
  size_t n_ids = 0;
  wick_tokenizer_encode(tokenizer, text, n, true, ids, MAX_TEST_IDS, &n_ids, NULL);
  size_t n_bytes = detokenize(tokenizer, ids, n_ids, bytes, sizeof bytes);
  wick_utf8_stream stream = {0};
  size_t n_decoded = wick_utf8_stream_push(&stream, bytes, n_bytes, decoded);
  n_decoded += wick_utf8_stream_flush(&stream, decoded + n_decoded);
  return n_decoded == n_expected && memcmp(decoded, expected, n_expected) == 0;
}

/* Each text cut into spans of a few bytes, code points broken, gives the same ids. */
static bool seams_change_nothing(const wick_tokenizer *tokenizer, const char *text, size_t n,
                                 bool parse_special, const cJSON *expected) {
  static int32_t ids[MAX_TEST_IDS];
  static wick_text_span spans[1 << 14];
  for (size_t step = 1; step <= 7; step += 3) {
    size_t n_spans = 0, n_ids = 0, i = 0;
    for (size_t at = 0; at < n; at += step)
      spans[n_spans++] = (wick_text_span){text + at, n - at < step ? n - at : step, parse_special};
    wick_tokenizer_encode_spans(tokenizer, spans, n_spans, ids, MAX_TEST_IDS, &n_ids, NULL);
    const cJSON *item = expected->child;
    while (item && i < n_ids && ids[i] == item->valueint) item = item->next, i++;
    if (item || i != n_ids) return false;
  }
  return true;
}

static void check_cases(tap *t, const wick_tokenizer *tokenizer, const cJSON *expected) {
  cJSON *golden = parse_golden("tests/golden/smollm2/tokenizer_cases.json");
  const cJSON *item, *ids = cJSON_GetObjectItem(expected, "ids")->child;
  const cJSON *decoded = cJSON_GetObjectItem(expected, "decoded");
  int n = 0, n_equal = 0, n_decoded = 0, n_seams = 0;
  cJSON_ArrayForEach(item, cJSON_GetObjectItem(golden, "cases")) {
    size_t n_text, n_other;
    char *text = test_text(cJSON_GetObjectItem(item, "text"), &n_text), key[16];
    snprintf(key, sizeof key, "%d", n++);
    const cJSON *differs = cJSON_GetObjectItem(decoded, key);
    char *other = test_text(differs ? differs : cJSON_GetObjectItem(item, "text"), &n_other);
    n_equal += encodes_to(tokenizer, text, n_text, true, ids);
    n_decoded += decodes_to(tokenizer, text, n_text, other, n_other);
    n_seams += seams_change_nothing(tokenizer, text, n_text, true, ids);
    free(text);
    free(other);
    ids = ids->next;
  }
  CHECK(t, n > 200 && n_equal == n && !ids, "every text has the reference's ids");
  CHECK(t, n_decoded == n, "every text's ids decode as the reference's");
  CHECK(t, n_seams == n, "seams between spans change nothing");
  cJSON_Delete(golden);
}

static void check_extra(tap *t, const wick_tokenizer *tokenizer, const cJSON *expected) {
  const cJSON *item;
  int n = 0, n_equal = 0, n_plain = 0, n_seams = 0;
  cJSON_ArrayForEach(item, cJSON_GetObjectItem(expected, "extra")) {
    size_t n_text;
    char *text = test_text(cJSON_GetObjectItem(item, "text"), &n_text);
    const cJSON *plain = cJSON_GetObjectItem(item, "plain");
    n++;
    n_equal += encodes_to(tokenizer, text, n_text, true, cJSON_GetObjectItem(item, "ids"));
    n_plain += encodes_to(tokenizer, text, n_text, false, plain);
    n_seams += seams_change_nothing(tokenizer, text, n_text, false, plain);
    free(text);
  }
  CHECK(t, n > 50 && n_equal == n, "texts that aim at each rule have the reference's ids");
  CHECK(t, n_plain == n, "the same with special tokens as plain text");
  CHECK(t, n_seams == n, "and cut into plain spans");
}

static void check_file(tap *t, const char *pre, bool add_bos) {
  char path[128];
  snprintf(path, sizeof path, "tests/golden/tokenizer_%s_expected.json", pre);
  cJSON *expected = parse_golden(path);
  wick_tokenizer *tokenizer = load_golden(pre, NULL);
  printf("# %s\n", pre);
  CHECK(t, tokenizer && expected, "tokenizer.json loads");
  if (tokenizer && expected) {
    const wick_tokenizer_info *info = wick_tokenizer_get_info(tokenizer);
    CHECK(t, strcmp(info->pre, pre) == 0, "its pre-tokenizer is recognised");
    CHECK(t, info->add_bos == add_bos, "a BOS is added only if its template says so");
    check_cases(t, tokenizer, expected);
    check_extra(t, tokenizer, expected);
  }
  wick_tokenizer_free(tokenizer);
  cJSON_Delete(expected);
}

int main(void) {
  tap t = {0};
  check_file(&t, "smollm", false);
  check_file(&t, "gpt2", false);
  check_file(&t, "llama-bpe", true);
  check_file(&t, "qwen2", false);
  return tap_done(&t);
}
