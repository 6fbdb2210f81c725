/* What the tokenizer's tests share: files, and the texts of
 * tests/golden/smollm2/tokenizer_cases.json. */
#ifndef WICK_TESTS_TOKENIZER_UTIL_H
#define WICK_TESTS_TOKENIZER_UTIL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tokenizer/tokenizer.h"

enum { MAX_TEST_IDS = 4096 };

/* The whole file, terminated; NULL when it cannot be read. The caller frees it. */
static inline char *read_file(const char *path, size_t *n) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  char *data = NULL;
  *n = 0;
  for (size_t capacity = 1 << 16;; capacity *= 2) {
    char *grown = realloc(data, capacity + 1);
    if (!grown) break;
    data = grown;
    *n += fread(data + *n, 1, capacity - *n, file);
    if (*n < capacity) break;
  }
  fclose(file);
  data[*n] = 0;
  return data;
}

/* cJSON ends a string at \u0000 and wick_json_parse refuses it; the golden file has one in a text.
 * It is replaced by \uf8ff (which no text has) before parsing and put back by test_text. */
static inline cJSON *parse_golden(const char *path) {
  size_t n;
  char *data = read_file(path, &n);
  if (!data) return NULL;
  for (char *found = data; (found = strstr(found, "\\u0000")) != NULL;) memcpy(found, "\\uf8ff", 6);
  cJSON *json = NULL;
  wick_error error = {0};
  if (wick_json_parse(path, data, n, &json, &error) != WICK_OK) printf("# %s\n", error.message);
  free(data);
  return json;
}

/* The text of a string value, U+F8FF back to NUL; the caller frees it. */
static inline char *test_text(const cJSON *value, size_t *n) {
  const char *from = cJSON_GetStringValue(value);
  char *text = malloc(strlen(from) + 1);
  for (*n = 0; text && *from; from++) {
    bool nul = memcmp(from, "\xef\xa3\xbf", 3) == 0;
    text[(*n)++] = nul ? '\0' : *from;
    if (nul) from += 2;
  }
  return text;
}

/* From tests/golden/tokenizer_PRE.json, with a chat template or NULL. */
static inline wick_tokenizer *load_golden(const char *pre, const char *chat_template) {
  char path[128];
  snprintf(path, sizeof path, "tests/golden/tokenizer_%s.json", pre);
  size_t n = 0;
  char *json = read_file(path, &n);
  wick_tokenizer *tokenizer = NULL;
  wick_error error = {0};
  wick_string text = {chat_template, chat_template ? strlen(chat_template) : 0};
  if (!json ||
      wick_tokenizer_from_json(path, json, n, NULL, text, NULL, &tokenizer, &error) != WICK_OK)
    printf("# %s: %s\n", path, error.message);
  free(json);
  return tokenizer;
}

/* From the header of $WICK_MODELS/smollm2-135m.gguf, by default models/smollm2-135m.gguf. */
static inline wick_tokenizer *load_smollm2(bool *is_there) {
  enum { HEADER_BYTES = 8 << 20 };
  char path[512];
  const char *folder = getenv("WICK_MODELS");
  snprintf(path, sizeof path, "%s/smollm2-135m.gguf", folder ? folder : "models");
  FILE *file = fopen(path, "rb");
  *is_there = file != NULL;
  uint8_t *data = file ? malloc(HEADER_BYTES) : NULL;
  size_t n = data ? fread(data, 1, HEADER_BYTES, file) : 0;
  if (file) fclose(file);
  wick_arena arena;
  wick_arena_init(&arena, NULL);
  wick_gguf gguf;
  wick_error error = {0};
  wick_tokenizer *tokenizer = NULL;
  uint64_t need;
  wick_status status =
      wick_gguf_parse(path, data, n, UINT64_C(1) << 40, &arena, &gguf, &need, &error);
  if (status == WICK_OK) status = wick_tokenizer_from_gguf(path, &gguf, NULL, &tokenizer, &error);
  if (*is_there && status != WICK_OK) printf("# %s\n", error.message);
  wick_arena_free(&arena);
  free(data);
  return tokenizer;
}

/* True when text becomes exactly the ids of a JSON array; prints the difference. */
static inline bool encodes_to(const wick_tokenizer *tokenizer, const char *text, size_t n,
                              bool parse_special, const cJSON *expected) {
  static int32_t ids[MAX_TEST_IDS];
  size_t n_ids = 0, i = 0;
  wick_error error = {0};
  if (wick_tokenizer_encode(tokenizer, text, n, parse_special, ids, MAX_TEST_IDS, &n_ids, &error) !=
      WICK_OK) {
    printf("# %s\n", error.message);
    return false;
  }
  const cJSON *item = expected->child;
  while (item && i < n_ids && i < MAX_TEST_IDS && ids[i] == item->valueint) item = item->next, i++;
  if (!item && i == n_ids) return true;
  printf("# text \"%.*s\": id %zu of %zu: expected %d, found %d\n", (int)n, text, i, n_ids,
         item ? item->valueint : -1, i < n_ids ? (int)ids[i] : -1);
  return false;
}

/* The ids' bytes joined, in out (capacity bytes); returns how many. */
static inline size_t detokenize(const wick_tokenizer *tokenizer, const int32_t *ids, size_t n_ids,
                                char *out, size_t capacity) {
  size_t n = 0;
  for (size_t i = 0; i < n_ids; i++) {
    wick_string piece = wick_tokenizer_token_bytes(tokenizer, ids[i]);
    if (piece.n > capacity - n) break;
    memcpy(out + n, piece.data, piece.n);
    n += piece.n;
  }
  return n;
}

#endif
