/* SmolLM2's own vocabulary, from its GGUF file, against ids by Hugging Face's tokenizers
 * (tests/golden/smollm2/tokenizer_cases.json). Skipped where the model is not there. */
#include "tap.h"
#include "test_tokenizer_util.h"

static void check_cases(tap *t, const wick_tokenizer *tokenizer) {
  cJSON *golden = parse_golden("tests/golden/smollm2/tokenizer_cases.json");
  const cJSON *cases = cJSON_GetObjectItem(golden, "cases"), *item;
  int n = 0, n_equal = 0, n_back = 0;
  cJSON_ArrayForEach(item, cases) {
    size_t n_text, n_ids = 0;
    char *text = test_text(cJSON_GetObjectItem(item, "text"), &n_text);
    n++;
    n_equal += encodes_to(tokenizer, text, n_text, true, cJSON_GetObjectItem(item, "ids")) ? 1 : 0;
    static int32_t ids[MAX_TEST_IDS];
    static char back[4 * MAX_TEST_IDS];
    wick_tokenizer_encode(tokenizer, text, n_text, true, ids, MAX_TEST_IDS, &n_ids, NULL);
    size_t n_bytes = detokenize(tokenizer, ids, n_ids, back, sizeof back);
    n_back += n_bytes == n_text && memcmp(back, text, n_text) == 0;
    free(text);
  }
  printf("# %d cases\n", n);
  CHECK(t, n > 200 && n_equal == n, "every case of tokenizer_cases.json has the reference's ids");
  CHECK(t, n_back == n, "the bytes of every case's ids are its text");
  cJSON_Delete(golden);
}

int main(void) {
  tap t = {0};
  bool is_there;
  wick_tokenizer *tokenizer = load_smollm2(&is_there);
  if (!is_there) {
    tap_skip(&t, "SmolLM2's vocabulary", "models/smollm2-135m.gguf is not there");
    return tap_done(&t);
  }
  CHECK(&t, tokenizer, "the tokenizer loads from the GGUF header");
  if (tokenizer) {
    const wick_tokenizer_info *info = wick_tokenizer_get_info(tokenizer);
    CHECK(&t, info->n_vocab == 49152 && info->bos_id == 1 && info->eos_id == 2 && !info->add_bos,
          "49152 tokens, bos 1, eos 2, no BOS added");
    CHECK(&t, strcmp(info->pre, "smollm") == 0, "pre-tokenizer smollm");
    CHECK(&t, info->chat_format && strcmp(info->chat_format, "chatml") == 0, "chat format chatml");
    CHECK(&t, wick_tokenizer_is_special(tokenizer, 16) && !wick_tokenizer_is_special(tokenizer, 17),
          "ids 0 to 16 are special");
    CHECK(&t, wick_tokenizer_is_end(tokenizer, 2) && !wick_tokenizer_is_end(tokenizer, 1),
          "<|im_end|> ends an answer, <|im_start|> does not");
    check_cases(&t, tokenizer);
    wick_tokenizer_free(tokenizer);
  }
  return tap_done(&t);
}
