/* Fuzz target: a tokenizer.json, a NUL, a text. An empty tokenizer.json stands for a small built-in
 * one of each pre-tokenizer. Besides not crashing: ids are in range, counting alone gives the same
 * count, and seams between plain spans change nothing. */
#include <stdlib.h>
#include <string.h>

#include "tokenizer/tokenizer.h"

#define EXPECT(condition)                                                                          \
  do {                                                                                             \
    if (!(condition)) abort();                                                                     \
  } while (0)

#define MODEL                                                                                      \
  "\"added_tokens\":[{\"id\":9,\"content\":\"<s>\",\"special\":true},{\"id\":10,\"content\":"      \
  "\"<sp>\",\"lstrip\":true,\"rstrip\":true},{\"id\":11,\"content\":\"e\xcc\x81\",\"normalized\":" \
  "true,\"single_word\":true}],\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2,"   \
  "\"\xc4\xa0\":3,\"\xc4\xa0\x61\":4,\"\xc4\x8a\":5,\"1\":6,\"\xc4\xa0\xc4\xa0\":7,\"aa\":8},"     \
  "\"merges\":[\"a b\",[\"\xc4\xa0\",\"a\"],\"\xc4\xa0 \xc4\xa0\",\"a a\"],\"unk_token\":\"b\"}}"
#define SPLIT(digits)                                                                              \
  "{\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":{" \
  "\"Regex\":\"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|\\\\p{"        \
  "N}" digits                                                                                      \
  "| ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+\"},"       \
  "\"behavior\":\"Isolated\"},{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":"   \
  "false}]},"
#define BYTE_LEVEL "{\"type\":\"ByteLevel\",\"add_prefix_space\":false}"

static const char *const built_in[] = {
    "{\"pre_tokenizer\":" BYTE_LEVEL "," MODEL,
    "{\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Digits\","
    "\"individual_digits\":true}," BYTE_LEVEL "]}," MODEL,
    SPLIT("{1,3}") MODEL,
    SPLIT("") "\"normalizer\":{\"type\":\"NFC\"}," MODEL,
};

static const char chat_template[] =
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] "
    "+ "
    "'<|im_end|>' + '\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' "
    "}}{% endif %}";

static void check_text(const wick_tokenizer *tokenizer, const char *text, size_t n) {
  size_t n_ids, n_again, capacity = 3 * n + 64;
  int32_t *ids = malloc(capacity * sizeof *ids), *again = malloc(capacity * sizeof *again);
  wick_text_span *spans = malloc((n + 1) * sizeof *spans);
  EXPECT(ids && again && spans);
  for (int parse_special = 0; parse_special < 2; parse_special++) {
    EXPECT(wick_tokenizer_encode(tokenizer, text, n, parse_special, ids, capacity, &n_ids, NULL) ==
           WICK_OK);
    EXPECT(n_ids <= capacity);
    for (size_t i = 0; i < n_ids; i++)
      EXPECT(ids[i] >= 0 && ids[i] < wick_tokenizer_get_info(tokenizer)->n_vocab);
    EXPECT(wick_tokenizer_encode(tokenizer, text, n, parse_special, NULL, 0, &n_again, NULL) ==
               WICK_OK &&
           n_again == n_ids);
    for (size_t i = 0; i < n; i++) spans[i] = (wick_text_span){text + i, 1, parse_special};
    EXPECT(wick_tokenizer_encode_spans(tokenizer, spans, n, again, capacity, &n_again, NULL) ==
           WICK_OK);
    EXPECT(n_again == n_ids && memcmp(ids, again, n_ids * sizeof *ids) == 0);
  }
  for (size_t i = 0; i < n; i++) spans[i].parse_special = i % 3 == 0; /* seams of every kind */
  EXPECT(wick_tokenizer_encode_spans(tokenizer, spans, n, again, capacity, &n_again, NULL) ==
         WICK_OK);
  wick_message message = {"user", text, n};
  EXPECT(wick_tokenizer_encode_chat(tokenizer, &message, 1, NULL, 0, &n_again, NULL) == WICK_OK);
  free(ids);
  free(again);
  free(spans);
}

static void check_file(const char *json, size_t n_json, const char *text, size_t n_text) {
  wick_tokenizer *tokenizer;
  wick_error error = {0};
  wick_string template = {chat_template, sizeof chat_template - 1};
  wick_status status =
      wick_tokenizer_from_json("fuzz", json, n_json, NULL, template, NULL, &tokenizer, &error);
  EXPECT((status == WICK_OK) == (tokenizer != NULL));
  EXPECT(status == WICK_OK || (error.status == status && error.message[0]));
  if (tokenizer) check_text(tokenizer, text, n_text);
  wick_tokenizer_free(tokenizer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
  size_t n_json = nul ? (size_t)(nul - data) : size;
  const char *text = nul ? (const char *)nul + 1 : "ab <s>";
  size_t n_text = nul ? size - n_json - 1 : 6;
  if (n_json > 0) {
    check_file((const char *)data, n_json, text, n_text);
  } else {
    for (size_t i = 0; i < sizeof built_in / sizeof built_in[0]; i++)
      check_file(built_in[i], strlen(built_in[i]), text, n_text);
  }
  return 0;
}
