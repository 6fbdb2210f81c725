/* Files that are damaged, odd or made to harm: each is refused in one line that names what was
 * found, or read as Hugging Face's tokenizers reads it (noted where that is the truth tested). */
#include "tap.h"
#include "test_tokenizer_util.h"

#define BYTE_LEVEL                                                                                 \
  "\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true},"
#define MODEL(inner) "{" BYTE_LEVEL "\"model\":{\"type\":\"BPE\"," inner "}}"
#define AB "\"vocab\":{\"a\":0,\"b\":1,\"ab\":2}"
#define AB_FILE(inner) "{" BYTE_LEVEL inner ",\"model\":{" AB ",\"merges\":[\"a b\"]}}"

typedef struct bad_json {
  const char *name, *json;
  wick_status status;
  const char *found; /* in the message */
} bad_json;

static const bad_json bad_files[] = {
    {"an empty file", "", WICK_ERROR_FORMAT, "JSON"},
    {"no pre-tokenizer", "{}", WICK_ERROR_UNSUPPORTED, "none"},
    {"an unknown pre-tokenizer", "{\"pre_tokenizer\":{\"type\":\"Metaspace\"}}",
     WICK_ERROR_UNSUPPORTED, "Metaspace"},
    {"an unknown pattern",
     "{\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":"
     "{\"Regex\":\"[0-9]+\"},\"behavior\":\"Isolated\"},{\"type\":\"ByteLevel\",\"add_prefix_"
     "space\":false,\"use_regex\":false}]}}",
     WICK_ERROR_UNSUPPORTED, "[0-9]+"},
    {"a prefix space", "{\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":true}}",
     WICK_ERROR_UNSUPPORTED, "add_prefix_space\":true"},
    {"an unknown normalizer", "{" BYTE_LEVEL "\"normalizer\":{\"type\":\"Lowercase\"}}",
     WICK_ERROR_UNSUPPORTED, "Lowercase"},
    {"no model", "{" BYTE_LEVEL "\"version\":1}", WICK_ERROR_FORMAT, "none"},
    {"another model", MODEL("\"type\":\"WordPiece\",\"vocab\":{}"), WICK_ERROR_FORMAT, "without"},
    {"a vocabulary of nothing", MODEL("\"vocab\":{},\"merges\":[]"), WICK_ERROR_FORMAT, "found 0"},
    {"an id far away", MODEL("\"vocab\":{\"a\":4000000000},\"merges\":[]"), WICK_ERROR_FORMAT,
     "\"a\""},
    {"a negative id", MODEL("\"vocab\":{\"a\":-1},\"merges\":[]"), WICK_ERROR_FORMAT, "\"a\""},
    {"half an id", MODEL("\"vocab\":{\"a\":0.5},\"merges\":[]"), WICK_ERROR_FORMAT, "\"a\""},
    {"an id that is text", MODEL("\"vocab\":{\"a\":\"0\"},\"merges\":[]"), WICK_ERROR_FORMAT,
     "another type"},
    {"two tokens with one id", MODEL("\"vocab\":{\"a\":0,\"b\":0},\"merges\":[]"),
     WICK_ERROR_FORMAT, "\"b\""},
    {"a token with two ids", MODEL("\"vocab\":{\"a\":0,\"a\":1},\"merges\":[]"), WICK_ERROR_FORMAT,
     "\"a\" twice"},
    {"a merge of an unknown token", MODEL(AB ",\"merges\":[\"a b\",\"a z\"]"), WICK_ERROR_FORMAT,
     "merge 1: expected tokens of the vocabulary, found \"z\""},
    {"a merge into an unknown token", MODEL(AB ",\"merges\":[[\"b\",\"a\"]]"), WICK_ERROR_FORMAT,
     "\"ba\""},
    {"a merge of three", MODEL(AB ",\"merges\":[\"a b a\"]"), WICK_ERROR_FORMAT, "\"a b a\""},
    {"a merge of one", MODEL(AB ",\"merges\":[\"ab\"]"), WICK_ERROR_FORMAT, "\"ab\""},
    {"a merge that is a number", MODEL(AB ",\"merges\":[7]"), WICK_ERROR_FORMAT, "merge 0"},
    {"a pair of three", MODEL(AB ",\"merges\":[[\"a\",\"b\",\"a\"]]"), WICK_ERROR_FORMAT,
     "merge 0"},
    {"merges that are no list", MODEL(AB ",\"merges\":{}"), WICK_ERROR_FORMAT, "without"},
    {"byte fallback", MODEL(AB ",\"merges\":[],\"byte_fallback\":true"), WICK_ERROR_UNSUPPORTED,
     "byte_fallback"},
    {"dropout", MODEL(AB ",\"merges\":[],\"dropout\":0.1"), WICK_ERROR_UNSUPPORTED, "0.1"},
    {"a suffix", MODEL(AB ",\"merges\":[],\"end_of_word_suffix\":\"</w>\""), WICK_ERROR_UNSUPPORTED,
     "</w>"},
    {"an unk_token that is missing", MODEL(AB ",\"merges\":[],\"unk_token\":\"?\""),
     WICK_ERROR_FORMAT, "\"?\""},
    {"an added token without content", AB_FILE("\"added_tokens\":[{\"id\":3}]"), WICK_ERROR_FORMAT,
     "without"},
    {"an added token without id", AB_FILE("\"added_tokens\":[{\"content\":\"x\"}]"),
     WICK_ERROR_FORMAT, "\"x\""},
    {"an added token on another's id", AB_FILE("\"added_tokens\":[{\"id\":1,\"content\":\"x\"}]"),
     WICK_ERROR_FORMAT, "\"x\""},
    {"text behind the template",
     AB_FILE("\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"Sequence\":{}},{"
             "\"SpecialToken\":{\"id\":\"a\"}}]}"),
     WICK_ERROR_UNSUPPORTED, "SpecialToken"},
    {"a BOS that is missing",
     AB_FILE("\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{"
             "\"id\":\"s\"}},{\"Sequence\":{}}],\"special_tokens\":{}}"),
     WICK_ERROR_UNSUPPORTED, "TemplateProcessing"},
    {"another post-processor", AB_FILE("\"post_processor\":{\"type\":\"BertProcessing\"}"),
     WICK_ERROR_UNSUPPORTED, "BertProcessing"},
    {"a NUL in a token", MODEL("\"vocab\":{\"a\\u0000\":0},\"merges\":[]"), WICK_ERROR_UNSUPPORTED,
     "u0000"},
};

static wick_status load_text(const char *json, wick_tokenizer **tokenizer, wick_error *error) {
  return wick_tokenizer_from_json("file", json, strlen(json), NULL, (wick_string){0}, NULL,
                                  tokenizer, error);
}

static void check_bad(tap *t) {
  for (size_t i = 0; i < sizeof bad_files / sizeof bad_files[0]; i++) {
    const bad_json *bad = &bad_files[i];
    wick_error error = {0};
    wick_tokenizer *tokenizer = NULL;
    wick_status status = load_text(bad->json, &tokenizer, &error);
    bool ok = status == bad->status && !tokenizer && strncmp(error.message, "file: ", 6) == 0 &&
              strstr(error.message, bad->found);
    if (!ok) printf("# %d: %s\n", (int)status, error.message);
    CHECK(t, ok, bad->name);
    wick_tokenizer_free(tokenizer);
  }
  char json[1024] = AB_FILE("\"added_tokens\":[{\"id\":3,\"content\":\"");
  char *end = json + strlen("{" BYTE_LEVEL "\"added_tokens\":[{\"id\":3,\"content\":\"");
  memset(end, 'x', 300);
  strcpy(end + 300, "\"}],\"model\":{" AB ",\"merges\":[]}}");
  wick_error error = {0};
  wick_tokenizer *tokenizer = NULL;
  CHECK(t,
        load_text(json, &tokenizer, &error) == WICK_ERROR_UNSUPPORTED &&
            strstr(error.message, "found 300"),
        "an added token of 300 bytes");
  static const char valid[] = MODEL(AB ",\"merges\":[\"a b\"]");
  size_t n_wrong = 0;
  for (size_t n = 0; n < sizeof valid - 1; n++)
    n_wrong += wick_tokenizer_from_json("file", valid, n, NULL, (wick_string){0}, NULL, &tokenizer,
                                        NULL) == WICK_OK;
  CHECK(t, n_wrong == 0, "the file cut off anywhere");
}

typedef struct odd_json {
  const char *name, *json, *text, *ids;
} odd_json;

/* The ids are those of Hugging Face's tokenizers 0.23.3 for the same files. */
static const odd_json odd_files[] = {
    {"a file without a type of model", AB_FILE("\"x\":0"), "abba", "2 1 0"},
    {"lacking bytes vanish and their neighbours meet", AB_FILE("\"x\":0"), "axb x", "2"},
    {"unk_token stands for lacking bytes",
     MODEL("\"vocab\":{\"a\":0,\"b\":1,\"ab\":2,\"?\":3},\"merges\":[\"a b\"],\"unk_token\":\"?\""),
     "axxb", "0 3 3 1"},
    {"fuse_unk makes one of several",
     MODEL("\"vocab\":{\"a\":0,\"b\":1,\"ab\":2,\"?\":3},\"merges\":[\"a b\"],\"unk_token\":\"?\","
           "\"fuse_unk\":true"),
     "axxbx", "0 3 1 3"},
    {"a repeated pair has its last rank",
     MODEL("\"vocab\":{\"a\":0,\"b\":1,\"c\":2,\"ab\":3,\"bc\":4},\"merges\":[\"a b\",\"b c\",\"a "
           "b\"]"),
     "abc", "0 4"},
    {"ids with holes", MODEL("\"vocab\":{\"a\":5,\"b\":900,\"ab\":7},\"merges\":[\"a b\"]"), "abb",
     "7 900"},
    {"an added token keeps its id in the vocabulary",
     AB_FILE("\"added_tokens\":[{\"id\":9,\"content\":\"ab\",\"special\":true}]"), "aab", "0 2"},
    {"an added token of no text is none", AB_FILE("\"added_tokens\":[{\"id\":9,\"content\":\"\"}]"),
     "ab", "2"},
};

static void check_odd(tap *t) {
  for (size_t i = 0; i < sizeof odd_files / sizeof odd_files[0]; i++) {
    const odd_json *odd = &odd_files[i];
    wick_error error = {0};
    wick_tokenizer *tokenizer = NULL;
    int32_t ids[16];
    char found[128] = "";
    size_t n_ids = 0, n = 0;
    if (load_text(odd->json, &tokenizer, &error) != WICK_OK ||
        wick_tokenizer_encode(tokenizer, odd->text, strlen(odd->text), true, ids, 16, &n_ids,
                              &error) != WICK_OK)
      printf("# %s\n", error.message);
    for (size_t j = 0; j < n_ids; j++)
      n += (size_t)snprintf(found + n, sizeof found - n, "%s%d", j ? " " : "", (int)ids[j]);
    if (strcmp(found, odd->ids) != 0) printf("# expected %s, found %s\n", odd->ids, found);
    CHECK(t, strcmp(found, odd->ids) == 0, odd->name);
    wick_tokenizer_free(tokenizer);
  }
}

/* An added token that the vocabulary has is written in the byte-level alphabet and decodes so (as
 * in the reference); one that it has not stands for its own text. */
static void check_added_bytes(tap *t) {
  static const char json[] =
      "{" BYTE_LEVEL "\"added_tokens\":[{\"id\":2,\"content\":\"\xc4\xa0\x61\"},"
      "{\"id\":3,\"content\":\"\xc3\xa9\"}],\"model\":{\"vocab\":{\"a\":0,"
      "\"\xc4\xa0\":1,\"\xc4\xa0\x61\":2},\"merges\":[\"\xc4\xa0 a\"]}}";
  wick_tokenizer *tokenizer = NULL;
  int32_t ids[4] = {-1, -1, -1, -1};
  size_t n_ids = 0;
  load_text(json, &tokenizer, NULL);
  wick_tokenizer_encode(tokenizer, " a\xc3\xa9\xc4\xa0\x61", 7, false, ids, 4, &n_ids, NULL);
  CHECK(t, n_ids == 3 && ids[0] == 2 && ids[1] == 3 && ids[2] == 2,
        "added tokens are found by their text, and one of the vocabulary by merging as well");
  wick_string space_a = wick_tokenizer_token_bytes(tokenizer, 2);
  wick_string accent = wick_tokenizer_token_bytes(tokenizer, 3);
  CHECK(t, space_a.n == 2 && memcmp(space_a.data, " a", 2) == 0, "one of the vocabulary decodes");
  CHECK(t, accent.n == 2 && memcmp(accent.data, "\xc3\xa9", 2) == 0, "another is its own text");
  wick_tokenizer_free(tokenizer);
}

/* What tokenizer_config.json says. */
static void check_config(tap *t) {
  static const char config_json[] =
      "{\"bos_token\":\"b\",\"eos_token\":{\"content\":\"a\"},\"add_bos_token\":true,"
      "\"chat_template\":[{\"name\":\"tools\",\"template\":\"T\"},{\"name\":\"default\","
      "\"template\":\"D\"}]}";
  cJSON *config = NULL;
  wick_json_parse("config", config_json, strlen(config_json), &config, NULL);
  wick_tokenizer *tokenizer = NULL;
  wick_tokenizer_from_json("file", AB_FILE("\"x\":0"), strlen(AB_FILE("\"x\":0")), config,
                           (wick_string){0}, NULL, &tokenizer, NULL);
  const wick_tokenizer_info *info = wick_tokenizer_get_info(tokenizer);
  CHECK(t, info->bos_id == 1 && info->eos_id == 0, "bos_token and eos_token, as text or object");
  CHECK(t, info->add_bos, "add_bos_token");
  CHECK(t, strcmp(info->chat_template, "D") == 0, "the default of several templates");
  CHECK(t, wick_tokenizer_is_end(tokenizer, 0), "the EOS ends an answer");
  CHECK(t,
        wick_tokenizer_token_bytes(tokenizer, -1).n == 0 &&
            wick_tokenizer_token_bytes(tokenizer, 3).n == 0 &&
            !wick_tokenizer_is_special(tokenizer, 3) && !wick_tokenizer_is_end(tokenizer, -1),
        "ids out of range have no bytes and are nothing");
  wick_tokenizer_free(tokenizer);
  cJSON_Delete(config);
}

int main(void) {
  tap t = {0};
  check_bad(&t);
  check_odd(&t);
  check_added_bytes(&t);
  check_config(&t);
  return tap_done(&t);
}
