/* Limits: GGUF metadata that is damaged or odd, a failing allocator at every allocation, and texts
 * of a megabyte, which only linear time survives. */
#include "tap.h"
#include "test_tokenizer_util.h"

/* ---- GGUF metadata made by hand ---- */

enum { MAX_VALUES = 12, MAX_DATA = 4096 };

typedef struct metadata {
  wick_gguf_value values[MAX_VALUES];
  wick_gguf gguf;
  uint8_t data[MAX_DATA];
  size_t n_data;
} metadata;

static wick_gguf_value *add_value(metadata *m, const char *key, wick_gguf_type type,
                                  bool is_array) {
  wick_gguf_value *value = &m->values[m->gguf.n_values++];
  *value = (wick_gguf_value){
      .key = {key, strlen(key)}, .type = type, .is_array = is_array, .data = m->data + m->n_data};
  return value;
}

static void put_bytes(metadata *m, wick_gguf_value *value, const void *bytes, size_t n) {
  if (n) memcpy(m->data + m->n_data, bytes, n);
  m->n_data += n;
  value->n_bytes += n;
}

static void put_string(metadata *m, wick_gguf_value *value, const char *text, size_t n) {
  uint64_t length = n; /* little-endian, as the machines that run this */
  put_bytes(m, value, &length, 8);
  put_bytes(m, value, text, n);
  value->n++;
}

static void add_string(metadata *m, const char *key, const char *text) {
  put_string(m, add_value(m, key, WICK_GGUF_STRING, false), text, strlen(text));
}

static void add_u32(metadata *m, const char *key, uint32_t number) {
  wick_gguf_value *value = add_value(m, key, WICK_GGUF_U32, false);
  put_bytes(m, value, &number, 4);
  value->n = 1;
}

static void add_types(metadata *m, const int32_t *types, size_t n) {
  wick_gguf_value *value = add_value(m, "tokenizer.ggml.token_type", WICK_GGUF_I32, true);
  put_bytes(m, value, types, 4 * n);
  value->n = n;
}

/* a b ab <s> and one token with a NUL, one ill-formed, one empty, a twice. */
static const struct {
  const char *text;
  size_t n;
} tokens[] = {{"a", 1},    {"b", 1},        {"ab", 2}, {"<s>", 3},
              {"x\0y", 3}, {"\xff\xfe", 2}, {"", 0},   {"a", 1}};
enum { N_TOKENS = sizeof tokens / sizeof tokens[0] };
static const int32_t types[N_TOKENS] = {1, 1, 1, 3, 4, 1, 3, 1};

static metadata *begin(void) {
  metadata *m = calloc(1, sizeof *m);
  m->gguf.values = m->values;
  add_string(m, "tokenizer.ggml.model", "gpt2");
  add_string(m, "tokenizer.ggml.pre", "gpt-2");
  return m;
}

static void add_tokens(metadata *m) {
  wick_gguf_value *value = add_value(m, "tokenizer.ggml.tokens", WICK_GGUF_STRING, true);
  for (size_t i = 0; i < N_TOKENS; i++) put_string(m, value, tokens[i].text, tokens[i].n);
}

static void add_merges(metadata *m, const char *line) {
  wick_gguf_value *value = add_value(m, "tokenizer.ggml.merges", WICK_GGUF_STRING, true);
  put_string(m, value, line, strlen(line));
}

static void expect_refused(tap *t, metadata *m, wick_status expected, const char *found,
                           const char *name) {
  wick_error error = {0};
  wick_tokenizer *tokenizer = NULL;
  wick_status status = wick_tokenizer_from_gguf("file", &m->gguf, NULL, &tokenizer, &error);
  bool ok = status == expected && !tokenizer && strstr(error.message, found);
  if (!ok) printf("# %d: %s\n", (int)status, error.message);
  CHECK(t, ok, name);
  wick_tokenizer_free(tokenizer);
  free(m);
}

static void check_gguf(tap *t) {
  metadata *m = calloc(1, sizeof *m);
  m->gguf.values = m->values;
  expect_refused(t, m, WICK_ERROR_UNSUPPORTED, "tokenizer.ggml.model", "no metadata at all");
  m = begin();
  m->gguf.n_values = 1;
  add_string(m, "tokenizer.ggml.pre", "starcoder");
  expect_refused(t, m, WICK_ERROR_UNSUPPORTED, "starcoder", "an unknown pre-tokenizer");
  expect_refused(t, begin(), WICK_ERROR_FORMAT, "tokenizer.ggml.tokens", "no tokens");
  m = begin();
  add_value(m, "tokenizer.ggml.tokens", WICK_GGUF_STRING, true);
  expect_refused(t, m, WICK_ERROR_FORMAT, "found 0", "a vocabulary of nothing");
  m = begin();
  add_u32(m, "tokenizer.ggml.tokens", 7);
  expect_refused(t, m, WICK_ERROR_FORMAT, "another type", "tokens that are a number");
  m = begin();
  add_tokens(m);
  add_types(m, types, N_TOKENS - 1);
  expect_refused(t, m, WICK_ERROR_FORMAT, "token_type", "fewer types than tokens");
  m = begin();
  add_tokens(m);
  expect_refused(t, m, WICK_ERROR_FORMAT, "tokenizer.ggml.merges", "no merges");
  m = begin();
  add_tokens(m);
  add_merges(m, "a c");
  expect_refused(t, m, WICK_ERROR_FORMAT, "\"c\"", "a merge of an unknown token");
  m = begin();
  add_tokens(m);
  add_merges(m, "a b");
  add_u32(m, "tokenizer.ggml.bos_token_id", N_TOKENS);
  expect_refused(t, m, WICK_ERROR_FORMAT, "found 8", "a BOS beyond the vocabulary");
}

static metadata *odd_metadata(void) {
  metadata *m = begin();
  add_tokens(m);
  add_types(m, types, N_TOKENS);
  add_merges(m, "a b");
  add_u32(m, "tokenizer.ggml.eos_token_id", 3);
  add_u32(m, "tokenizer.ggml.eot_token_id", 5);
  return m;
}

static void check_odd(tap *t) {
  metadata *m = odd_metadata();
  wick_tokenizer *tokenizer = NULL;
  wick_error error = {0};
  wick_status status = wick_tokenizer_from_gguf("file", &m->gguf, NULL, &tokenizer, &error);
  free(m); /* nothing is borrowed from it */
  CHECK(t, status == WICK_OK, "odd tokens load");
  if (status != WICK_OK) return;
  int32_t ids[8];
  size_t n = 0;
  wick_tokenizer_encode(tokenizer, "aab<s>x\0y", 9, true, ids, 8, &n, NULL);
  CHECK(t, n == 4 && ids[0] == 7 && ids[1] == 2 && ids[2] == 3 && ids[3] == 4,
        "of equal tokens the last counts; special and user-defined ones are found, NUL and all");
  wick_tokenizer_encode(tokenizer, "b<s>b", 5, false, ids, 8, &n, NULL);
  CHECK(t, n == 2 && ids[0] == 1 && ids[1] == 1, "a special token's text is plain where asked");
  CHECK(t,
        wick_tokenizer_token_bytes(tokenizer, 5).n == 2 &&
            memcmp(wick_tokenizer_token_bytes(tokenizer, 5).data, "\xff\xfe", 2) == 0,
        "a token outside the byte-level alphabet stands for its own bytes");
  CHECK(t, wick_tokenizer_is_end(tokenizer, 3) && wick_tokenizer_is_end(tokenizer, 5),
        "EOS and end of turn end an answer");
  wick_tokenizer_free(tokenizer);
}

/* ---- a failing allocator ---- */

typedef struct budget {
  int left;      /* allocations until one fails */
  size_t n_live; /* bytes */
} budget;

static void *budget_allocate(void *context, size_t bytes, size_t alignment) {
  budget *b = context;
  if (b->left-- <= 0) return NULL;
  void *pointer = wick_allocate(wick_allocator_default(), bytes, alignment);
  if (pointer) b->n_live += bytes;
  return pointer;
}

static void budget_release(void *context, void *pointer, size_t bytes, size_t alignment) {
  ((budget *)context)->n_live -= bytes;
  wick_release(wick_allocator_default(), pointer, bytes, alignment);
}

/* Load, tokenize and chat; the status of what failed first. */
static wick_status run_all(const wick_allocator *allocator, const metadata *m, const char *json,
                           size_t n_json, wick_string chat_template) {
  static int32_t ids[256];
  static const char text[] = "cafe\xcc\x81 <tool_call>\xff 12\xe4\xb8\xad<|im_end|>";
  wick_message message = {"user", text, sizeof text - 1};
  wick_tokenizer *tokenizer = NULL;
  size_t n_ids;
  wick_status status = wick_tokenizer_from_gguf("file", &m->gguf, allocator, &tokenizer, NULL);
  wick_tokenizer_free(tokenizer);
  if (status != WICK_OK) return status;
  status = wick_tokenizer_from_json("file", json, n_json, NULL, chat_template, allocator,
                                    &tokenizer, NULL);
  if (status == WICK_OK)
    status = wick_tokenizer_encode(tokenizer, text, sizeof text - 1, true, ids, 256, &n_ids, NULL);
  if (status == WICK_OK)
    status = wick_tokenizer_encode_chat(tokenizer, &message, 1, ids, 256, &n_ids, NULL);
  wick_tokenizer_free(tokenizer);
  return status;
}

static void check_allocation(tap *t) {
  metadata *m = odd_metadata();
  size_t n_json;
  char *json = read_file("tests/golden/tokenizer_qwen2.json", &n_json);
  static const char template[] =
      "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] "
      "+ '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ "
      "'<|im_start|>assistant\n' "
      "}}{% endif %}";
  budget b = {0};
  wick_allocator allocator = {budget_allocate, budget_release, &b};
  int n_failed = 0, n_wrong = 0, n_leaked = 0;
  wick_status status;
  do {
    b = (budget){n_failed, 0};
    status = run_all(&allocator, m, json, n_json, (wick_string){template, sizeof template - 1});
    n_wrong += status != WICK_OK && status != WICK_ERROR_MEMORY;
    n_leaked += b.n_live != 0;
    n_failed++;
  } while (status != WICK_OK && n_failed < 1000);
  CHECK(t, n_failed > 20 && n_failed < 1000, "it works once every allocation succeeds");
  CHECK(t, n_wrong == 0, "each failed allocation is reported as one");
  CHECK(t, n_leaked == 0, "and leaves nothing behind");
  free(json);
  free(m);
}

/* ---- a megabyte of anything ---- */

/* keeps_bytes: the ids' bytes are the text again. */
static void check_long(tap *t, const char *pre, const char *unit, bool keeps_bytes,
                       const char *name) {
  enum { LONG = 1 << 20, MAX_IDS = 3 * LONG };
  static char text[LONG], back[LONG];
  static int32_t ids[MAX_IDS];
  size_t n_unit = strlen(unit), n = LONG / n_unit * n_unit, n_ids = 0;
  for (size_t i = 0; i < n; i++) text[i] = unit[i % n_unit];
  wick_tokenizer *tokenizer = load_golden(pre, NULL);
  wick_status status = wick_tokenizer_encode(tokenizer, text, n, true, ids, MAX_IDS, &n_ids, NULL);
  bool ok = status == WICK_OK && n_ids > 0 && n_ids <= MAX_IDS;
  if (ok && keeps_bytes)
    ok = detokenize(tokenizer, ids, n_ids, back, sizeof back) == n && memcmp(back, text, n) == 0;
  CHECK(t, ok, name);
  wick_tokenizer_free(tokenizer);
}

int main(void) {
  tap t = {0};
  check_gguf(&t);
  check_odd(&t);
  check_allocation(&t);
  check_long(&t, "smollm", "a", true, "a megabyte of one letter");
  check_long(&t, "smollm", " ", true, "a megabyte of spaces");
  check_long(&t, "llama-bpe", " \n", true, "a megabyte of line breaks between spaces");
  check_long(&t, "llama-bpe", "7", true, "a megabyte of digits");
  check_long(&t, "gpt2", "\xf0\x9f\x98\x80", true, "a megabyte of emoji");
  check_long(&t, "gpt2", " <left>", false, "a megabyte of added tokens");
  check_long(&t, "qwen2", "\xcc\x81\xcc\xa3", false, "a megabyte of marks");
  check_long(&t, "qwen2", "\xff", false, "a megabyte of ill-formed bytes");
  check_long(&t, "qwen2", "<|im_start<|im_end", true, "a megabyte of beginnings of special tokens");
  return tap_done(&t);
}
