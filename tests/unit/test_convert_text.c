/* wick convert's tokenizer files: converted either way, every golden text still has the ids that
 * Hugging Face's tokenizers gives it. */
#define _XOPEN_SOURCE 700
#include "convert_support.h"
#include "test_tokenizer_util.h"

/* 1 when the model gives every text its golden ids. */
static int same_ids(const char *path, const char *ids_path, const cJSON *cases) {
  loaded model;
  wick_error error = {0};
  test_bytes golden_text = test_read_file(ids_path);
  cJSON *golden = NULL;
  wick_status status =
      wick_json_parse(ids_path, (char *)golden_text.data, golden_text.n, &golden, &error);
  if (status == WICK_OK) status = load(path, &model, &error);
  if (status != WICK_OK) printf("# %s\n", error.message);
  if (status != WICK_OK) return 0;
  int n_same = 0, n = 0;
  const cJSON *row = golden->child;
  for (const cJSON *one = cases; one && row; one = one->next, row = row->next, n++) {
    size_t n_bytes, n_ids = 0, i = 0;
    char *text = test_text(cJSON_GetObjectItem(one, "text"), &n_bytes);
    int32_t *ids = malloc((n_bytes + 1) * sizeof *ids);
    status = wick_tokenize(model.model, text, n_bytes, true, ids, n_bytes + 1, &n_ids, &error);
    const cJSON *id = row->child;
    while (id && i < n_ids && ids[i] == id->valueint) {
      id = id->next;
      i++;
    }
    n_same += status == WICK_OK && !id && i == n_ids;
    free(ids);
    free(text);
  }
  unload(&model);
  cJSON_Delete(golden);
  free(golden_text.data);
  return n > 0 && n_same == n;
}

/* Every pre-tokenizer, from a folder to GGUF and from GGUF to a folder. */
static void check_tokenizers(tap *t, const char *work) {
  static const char *const names[] = {"smollm", "gpt2", "llama-bpe", "qwen2"};
  cJSON *json = parse_golden("tests/golden/smollm2/tokenizer_cases.json");
  const cJSON *cases = cJSON_GetObjectItem(json, "cases");
  CHECK(t, cases && cases->child, "the texts are there");
  char folder[WICK_PATH_BYTES], gguf[WICK_PATH_BYTES];
  wick_path_join(folder, work, "folder", NULL);
  wick_path_join(gguf, work, "model.gguf", NULL);
  for (size_t i = 0; cases && i < sizeof names / sizeof *names; i++) {
    char source[128], ids[192], name[128];
    wick_convert_options options = {0};
    wick_error error = {0};
    snprintf(source, sizeof source, "tests/golden/generality/tokenizer_%s", names[i]);
    snprintf(ids, sizeof ids, "%s.ids.json", source);
    snprintf(name, sizeof name, "%s: from a folder to GGUF, every text has its ids", names[i]);
    CHECK(t,
          wick_convert(source, gguf, &options, NULL, &error) == WICK_OK &&
              same_ids(gguf, ids, cases->child),
          name);
    if (error.message[0]) printf("# %s\n", error.message);
    snprintf(name, sizeof name, "%s: from GGUF to a folder, every text has its ids", names[i]);
    CHECK(t,
          wick_convert(gguf, folder, &options, NULL, &error) == WICK_OK &&
              same_ids(folder, ids, cases->child),
          name);
    if (error.message[0]) printf("# %s\n", error.message);
    remove_folder(folder);
    unlink(gguf);
  }
  cJSON_Delete(json);
}

int main(void) {
  tap t = {0};
  char work[] = "/tmp/wick-convert-XXXXXX";
  CHECK(&t, mkdtemp(work) != NULL, "a place to work in");
  check_tokenizers(&t, work);
  CHECK(&t, rmdir(work) == 0, "nothing is left in it");
  return tap_done(&t);
}
