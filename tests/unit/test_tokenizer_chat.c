/* Chat formats: ids by transformers' apply_chat_template (tools/fixtures/make_tokenizer_chat.py),
 * and refusal of every template that is not a known one. */
#include "tap.h"
#include "test_tokenizer_util.h"

enum { MAX_MESSAGES = 8 };

static bool chat_encodes_to(const wick_tokenizer *tokenizer, const cJSON *conversation,
                            const cJSON *expected) {
  wick_message messages[MAX_MESSAGES];
  size_t n_messages = 0, n_ids = 0, i = 0;
  const cJSON *turn;
  cJSON_ArrayForEach(turn, conversation) {
    const char *content = cJSON_GetStringValue(cJSON_GetArrayItem(turn, 1));
    messages[n_messages++] =
        (wick_message){cJSON_GetStringValue(cJSON_GetArrayItem(turn, 0)), content, strlen(content)};
  }
  static int32_t ids[MAX_TEST_IDS];
  wick_error error = {0};
  if (wick_tokenizer_encode_chat(tokenizer, messages, n_messages, ids, MAX_TEST_IDS, &n_ids,
                                 &error) != WICK_OK) {
    printf("# %s\n", error.message);
    return false;
  }
  const cJSON *item = expected->child;
  while (item && i < n_ids && ids[i] == item->valueint) item = item->next, i++;
  if (item || i != n_ids) printf("# \"%s\": id %zu differs\n", messages[0].content, i);
  return !item && i == n_ids;
}

static void check_group(tap *t, const cJSON *group, const cJSON *conversations) {
  const char *name = cJSON_GetStringValue(cJSON_GetObjectItem(group, "tokenizer"));
  const char *source = cJSON_GetStringValue(cJSON_GetObjectItem(group, "template"));
  const char *format = cJSON_GetStringValue(cJSON_GetObjectItem(group, "format"));
  bool is_there = true;
  wick_tokenizer *tokenizer =
      strcmp(name, "smollm2") == 0 ? load_smollm2(&is_there) : load_golden(name, source);
  if (!is_there) {
    tap_skip(t, "SmolLM2's own chat format", "models/smollm2-135m.gguf is not there");
    return;
  }
  const char *found = tokenizer ? wick_tokenizer_get_info(tokenizer)->chat_format : NULL;
  CHECK(t, found && strcmp(found, format) == 0, "the template is recognised");
  const cJSON *conversation, *ids = cJSON_GetObjectItem(group, "ids")->child;
  int n = 0, n_equal = 0;
  cJSON_ArrayForEach(conversation, conversations) {
    n++;
    n_equal += tokenizer && chat_encodes_to(tokenizer, conversation, ids);
    ids = ids->next;
  }
  printf("# %s, %s: %d of %d\n", name, format, n_equal, n);
  CHECK(t, n > 10 && n_equal == n && !ids, "every conversation has the reference's ids");
  wick_tokenizer_free(tokenizer);
}

/* A template with any one character left out or changed must not be taken for the known one, but
 * for changes within the default system prompt, which is the file's own. */
static void check_changed_templates(tap *t, const char *source) {
  size_t n = strlen(source), n_accepted = 0, n_literal = 0;
  const char *literal = strstr(source, "You are");
  if (literal) n_literal = (size_t)(strstr(literal, "<|im_end|>") - literal);
  for (size_t i = 0; i < 2 * n; i++) {
    size_t at = i / 2;
    char *changed = malloc(n + 1);
    memcpy(changed, source, n + 1);
    if (i % 2)
      changed[at] = changed[at] == '#' ? '!' : '#';
    else
      memmove(changed + at, changed + at + 1, n - at);
    wick_tokenizer *tokenizer = load_golden("smollm", changed);
    bool inside =
        literal && at >= (size_t)(literal - source) && at < (size_t)(literal - source) + n_literal;
    bool known = tokenizer && wick_tokenizer_get_info(tokenizer)->chat_format;
    if (known != inside) printf("# accepted: %s\n", changed);
    n_accepted += known != inside;
    wick_tokenizer_free(tokenizer);
    free(changed);
  }
  CHECK(t, n_accepted == 0, "a template that differs in one character is not known");
}

static void check_refusals(tap *t, const char *source) {
  wick_message message = {"user", "hi", 2};
  size_t n_ids = 1;
  wick_error error = {0};
  wick_tokenizer *tokenizer = load_golden("smollm", "{{ raise_exception('no') }}");
  CHECK(t, !wick_tokenizer_get_info(tokenizer)->chat_format, "an unknown template has no format");
  CHECK(t,
        wick_tokenizer_encode_chat(tokenizer, &message, 1, NULL, 0, &n_ids, &error) ==
                WICK_ERROR_UNSUPPORTED &&
            strstr(error.message, "raise_exception"),
        "chatting by an unknown template is refused, naming it");
  CHECK(t,
        wick_tokenizer_encode(tokenizer, "hi", 2, true, NULL, 0, &n_ids, NULL) == WICK_OK &&
            n_ids > 0,
        "and completion still works");
  wick_tokenizer_free(tokenizer);
  tokenizer = load_golden("smollm", NULL);
  CHECK(t,
        wick_tokenizer_encode_chat(tokenizer, &message, 1, NULL, 0, &n_ids, &error) ==
                WICK_ERROR_UNSUPPORTED &&
            strstr(error.message, "none"),
        "a file without a template is refused");
  wick_tokenizer_free(tokenizer);
  tokenizer = load_golden("smollm", source);
  CHECK(t,
        wick_tokenizer_encode_chat(tokenizer, &message, 0, NULL, 0, &n_ids, &error) ==
            WICK_ERROR_ARGUMENT,
        "no message at all is the caller's error");
  message.role = "tool<|im_end|>";
  CHECK(t,
        wick_tokenizer_encode_chat(tokenizer, &message, 1, NULL, 0, &n_ids, &error) ==
                WICK_ERROR_ARGUMENT &&
            strstr(error.message, "tool"),
        "an unknown role is the caller's error");
  wick_tokenizer_free(tokenizer);
}

int main(void) {
  tap t = {0};
  cJSON *golden = parse_golden("tests/golden/tokenizer_chat.json");
  const cJSON *conversations = cJSON_GetObjectItem(golden, "conversations"), *group;
  const char *smollm2 = NULL;
  cJSON_ArrayForEach(group, cJSON_GetObjectItem(golden, "groups")) {
    check_group(&t, group, conversations);
    if (!smollm2) smollm2 = cJSON_GetStringValue(cJSON_GetObjectItem(group, "template"));
  }
  CHECK(&t, smollm2, "tokenizer_chat.json is there");
  if (smollm2) {
    check_changed_templates(&t, smollm2);
    check_refusals(&t, smollm2);
  }
  cJSON_Delete(golden);
  return tap_done(&t);
}
