/* What tokenizer.json says to do around BPE. Its steps are composed freely in a file; wick knows
 * the compositions that the models it runs use, and refuses others by name:
 *
 * normalizer      null, NFC
 * pre_tokenizer   ByteLevel alone (gpt2); Digits(individual) then ByteLevel (smollm);
 *                 Split by a known pattern, then ByteLevel without its own (llama-bpe, qwen2)
 * post_processor  null, ByteLevel, TemplateProcessing of a BOS before the text
 *
 * Source: Hugging Face's tokenizers 0.23. Chapter 11. */
#include <string.h>

#include "tokenizer/internal.h"

static const cJSON *member(const cJSON *object, const char *key) {
  return cJSON_GetObjectItemCaseSensitive(object, key);
}

static bool has_type(const cJSON *step, const char *type) {
  wick_string found;
  return wick_json_string(step, "type", &found) && wick_string_equal(found, type);
}

static bool flag_of(const cJSON *step, const char *key, bool otherwise) {
  bool value;
  return wick_json_bool(step, key, &value) ? value : otherwise;
}

/* The step itself, or what a Sequence holds under key: *n of them, from the returned one on. */
static const cJSON *steps_of(const cJSON *step, const char *key, int *n) {
  *n = step && !cJSON_IsNull(step);
  if (!has_type(step, "Sequence")) return step;
  const cJSON *steps = member(step, key);
  *n = cJSON_GetArraySize(steps);
  return *n > 0 ? steps->child : NULL;
}

static wick_status refuse(const wick_load *load, const char *what, const char *expected,
                          const cJSON *found) {
  char *text = found ? cJSON_PrintUnformatted(found) : NULL;
  wick_status status =
      wick_fail(load->error, WICK_ERROR_UNSUPPORTED, "%s: expected %s %s, found %.250s",
                load->tokenizer->name, what, expected, text ? text : "none");
  cJSON_free(text);
  return status;
}

static wick_status read_normalizer(wick_load *load, const cJSON *normalizer) {
  int n;
  const cJSON *step = steps_of(normalizer, "normalizers", &n);
  for (int i = 0; i < n; i++, step = step->next) {
    if (!has_type(step, "NFC")) return refuse(load, "normalizer", "null or NFC", normalizer);
    load->tokenizer->normalize = true;
  }
  return WICK_OK;
}

/* The pattern of a Split that keeps every match as a word of its own. */
static wick_pre split_of(const cJSON *step) {
  wick_string pattern = {0}, behavior = {0};
  wick_json_string(member(step, "pattern"), "Regex", &pattern);
  wick_json_string(step, "behavior", &behavior);
  bool invert = flag_of(step, "invert", false);
  bool keeps =
      invert ? wick_string_equal(behavior, "Removed") : wick_string_equal(behavior, "Isolated");
  return keeps ? wick_pre_from_pattern(pattern) : WICK_PRE_NONE;
}

static wick_pre pre_of(const cJSON *pre_tokenizer) {
  int n;
  const cJSON *first = steps_of(pre_tokenizer, "pretokenizers", &n);
  if (n < 1 || n > 2) return WICK_PRE_NONE;
  const cJSON *last = n == 2 ? first->next : first;
  if (!has_type(last, "ByteLevel") || flag_of(last, "add_prefix_space", true)) return WICK_PRE_NONE;
  bool use_regex = flag_of(last, "use_regex", true);
  if (n == 1) return use_regex ? WICK_PRE_GPT2 : WICK_PRE_NONE;
  if (has_type(first, "Digits"))
    return use_regex && flag_of(first, "individual_digits", false) ? WICK_PRE_SMOLLM
                                                                   : WICK_PRE_NONE;
  return has_type(first, "Split") && !use_regex ? split_of(first) : WICK_PRE_NONE;
}

wick_status wick_load_pipeline(wick_load *load, const cJSON *root) {
  const cJSON *pre_tokenizer = member(root, "pre_tokenizer");
  load->tokenizer->pre = pre_of(pre_tokenizer);
  if (load->tokenizer->pre == WICK_PRE_NONE)
    return refuse(load, "pre_tokenizer",
                  "of smollm, gpt2, llama-bpe or qwen2, without add_prefix_space", pre_tokenizer);
  return read_normalizer(load, member(root, "normalizer"));
}

/* "single" of a TemplateProcessing: the text, or a special token and the text. */
static wick_status read_template(wick_load *load, const cJSON *template) {
  const char *expected = "of a BOS and the text";
  const cJSON *single = member(template, "single");
  int n = cJSON_GetArraySize(single);
  const cJSON *last = n > 0 ? cJSON_GetArrayItem(single, n - 1) : NULL;
  if (n < 1 || n > 2 || !member(last, "Sequence"))
    return refuse(load, "post_processor", expected, template);
  if (n == 1) return WICK_OK;
  const char *id = cJSON_GetStringValue(member(member(single->child, "SpecialToken"), "id"));
  const cJSON *token = id ? member(member(template, "special_tokens"), id) : NULL;
  const cJSON *ids = member(token, "ids");
  uint64_t bos_id;
  if (cJSON_GetArraySize(ids) != 1 || !wick_json_value_u64(ids->child, &bos_id) ||
      bos_id >= load->n_tokens)
    return refuse(load, "post_processor", expected, template);
  load->tokenizer->info.bos_id = (int32_t)bos_id;
  load->tokenizer->info.add_bos = true;
  return WICK_OK;
}

wick_status wick_load_template_bos(wick_load *load, const cJSON *post_processor) {
  int n;
  const cJSON *step = steps_of(post_processor, "processors", &n);
  for (int i = 0; i < n; i++, step = step->next) {
    if (has_type(step, "ByteLevel")) continue; /* offsets only */
    if (!has_type(step, "TemplateProcessing"))
      return refuse(load, "post_processor", "ByteLevel or TemplateProcessing", post_processor);
    WICK_TRY(read_template(load, step));
  }
  return WICK_OK;
}
