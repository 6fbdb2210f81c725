/* A tokenizer from Hugging Face's tokenizer.json:
 *
 * model          {"type": "BPE", "vocab": {"text": id}, "merges": ["a b"] or [["a", "b"]], ...}
 * added_tokens   [{"id", "content", "special", "lstrip", "rstrip", "normalized", "single_word"}]
 * normalizer, pre_tokenizer, post_processor   small programs: see pipeline.c
 *
 * and tokenizer_config.json: bos_token, eos_token, add_bos_token, chat_template.
 * Source: Hugging Face's tokenizers 0.23, whose reading of odd files is followed. Chapter 11. */
#include <string.h>

#include "tokenizer/hash.h"
#include "tokenizer/internal.h"

static const cJSON *member(const cJSON *object, const char *key) {
  return cJSON_GetObjectItemCaseSensitive(object, key);
}

/* ---- vocabulary ---- */

/* ids lie close together in real files: a lone huge one must not make the tables huge. */
static wick_status check_id(const wick_load *load, const cJSON *value, const char *text,
                            uint64_t n_entries, uint64_t *id) {
  uint64_t limit = 2 * n_entries + 1024;
  if (wick_json_value_u64(value, id) && *id < limit) return WICK_OK;
  return wick_fail(load->error, WICK_ERROR_FORMAT,
                   "%s: token \"%.80s\": expected an id below %llu, found %s",
                   load->tokenizer->name, text, (unsigned long long)limit,
                   cJSON_IsNumber(value) ? "a number that is not" : "another type");
}

/* An added token's content, or NULL. */
static const char *content_of(const cJSON *added) {
  return cJSON_GetStringValue(member(added, "content"));
}

static wick_status count_tokens(wick_load *load, const cJSON *vocab, const cJSON *added) {
  uint64_t n_entries = (uint64_t)cJSON_GetArraySize(vocab) + (uint64_t)cJSON_GetArraySize(added);
  uint64_t n_tokens = 0, id;
  const cJSON *item;
  cJSON_ArrayForEach(item, vocab) {
    WICK_TRY(check_id(load, item, item->string, n_entries, &id));
    if (id >= n_tokens) n_tokens = id + 1;
  }
  cJSON_ArrayForEach(item, added) {
    const char *content = content_of(item);
    if (!content)
      return wick_fail(load->error, WICK_ERROR_FORMAT,
                       "%s: expected added tokens with a content, found one without",
                       load->tokenizer->name);
    WICK_TRY(check_id(load, member(item, "id"), content, n_entries, &id));
    if (id >= n_tokens) n_tokens = id + 1;
  }
  return wick_load_tokens(load, n_tokens);
}

static wick_status read_vocab(wick_load *load, const cJSON *vocab) {
  const cJSON *item;
  cJSON_ArrayForEach(item, vocab) {
    size_t id = (size_t)item->valuedouble; /* count_tokens has checked it */
    if (load->kinds[id] != WICK_TOKEN_NONE)
      return wick_fail(load->error, WICK_ERROR_FORMAT,
                       "%s: expected one token per id, found \"%.80s\" with %zu as well",
                       load->tokenizer->name, item->string, id);
    load->texts[id] = (wick_string){item->string, strlen(item->string)};
    load->kinds[id] = WICK_TOKEN_NORMAL;
    load->written_in_alphabet[id] = 1;
  }
  WICK_TRY(wick_load_index(load));
  for (size_t id = 0; id < load->n_tokens; id++) {
    wick_string text = load->texts[id];
    if (load->kinds[id] == WICK_TOKEN_NONE) continue;
    if (wick_pieces_find(&load->raw, text.data, text.n) != (int32_t)id)
      return wick_fail(load->error, WICK_ERROR_FORMAT,
                       "%s: expected each token once, found \"%.*s\" twice", load->tokenizer->name,
                       WICK_STRING_ARGS(text));
  }
  return WICK_OK;
}

static wick_status read_merge(wick_load *load, const cJSON *merge) {
  const char *line = cJSON_GetStringValue(merge);
  if (line) {
    if (strncmp(line, "#version", 8) == 0) return WICK_OK; /* the header of merges.txt */
    return wick_load_merge_line(load, (wick_string){line, strlen(line)});
  }
  const char *left = cJSON_GetStringValue(cJSON_GetArrayItem(merge, 0));
  const char *right = cJSON_GetStringValue(cJSON_GetArrayItem(merge, 1));
  if (!cJSON_IsArray(merge) || cJSON_GetArraySize(merge) != 2 || !left || !right)
    return wick_fail(load->error, WICK_ERROR_FORMAT,
                     "%s: merge %u: expected \"a b\" or [\"a\", \"b\"], found another type",
                     load->tokenizer->name, load->tokenizer->bpe.n_merges);
  return wick_load_merge(load, (wick_string){left, strlen(left)},
                         (wick_string){right, strlen(right)});
}

/* The options of BPE that no byte-level model uses are refused by name. */
static wick_status check_options(const wick_load *load, const cJSON *model) {
  static const char *const affixes[] = {"continuing_subword_prefix", "end_of_word_suffix"};
  const char *name = load->tokenizer->name;
  wick_string text;
  double dropout;
  bool byte_fallback;
  if (wick_json_string(model, "type", &text) && !wick_string_equal(text, "BPE"))
    return wick_fail(load->error, WICK_ERROR_UNSUPPORTED, "%s: expected model BPE, found \"%.*s\"",
                     name, WICK_STRING_ARGS(text));
  for (size_t i = 0; i < 2; i++)
    if (wick_json_string(model, affixes[i], &text) && text.n > 0)
      return wick_fail(load->error, WICK_ERROR_UNSUPPORTED, "%s: expected no %s, found \"%.*s\"",
                       name, affixes[i], WICK_STRING_ARGS(text));
  if (wick_json_f64(model, "dropout", &dropout) && dropout != 0)
    return wick_fail(load->error, WICK_ERROR_UNSUPPORTED, "%s: expected no dropout, found %g", name,
                     dropout);
  if (wick_json_bool(model, "byte_fallback", &byte_fallback) && byte_fallback)
    return wick_fail(load->error, WICK_ERROR_UNSUPPORTED,
                     "%s: expected byte-level BPE, found byte_fallback", name);
  return WICK_OK;
}

static bool lacks_a_byte(const wick_bpe *bpe) {
  for (int byte = 0; byte < 256; byte++)
    if (bpe->byte_ids[byte] < 0) return true;
  return false;
}

static wick_status read_model(wick_load *load, const cJSON *model, const cJSON *added) {
  wick_tokenizer *tokenizer = load->tokenizer;
  const cJSON *vocab = member(model, "vocab"), *merges = member(model, "merges"), *item;
  if (!cJSON_IsObject(vocab) || !cJSON_IsArray(merges))
    return wick_fail(load->error, WICK_ERROR_FORMAT,
                     "%s: expected a model with vocab and merges, found %s", tokenizer->name,
                     cJSON_IsObject(model) ? "one without" : "none");
  WICK_TRY(check_options(load, model));
  WICK_TRY(count_tokens(load, vocab, added));
  WICK_TRY(read_vocab(load, vocab));
  if (!wick_bpe_init(&tokenizer->bpe, &tokenizer->arena, (size_t)cJSON_GetArraySize(merges)))
    return wick_load_no_memory(load);
  cJSON_ArrayForEach(item, merges) WICK_TRY(read_merge(load, item));
  bool flag;
  if (wick_json_bool(model, "ignore_merges", &flag) && flag)
    tokenizer->bpe.whole_words = &tokenizer->pieces;
  if (wick_json_bool(model, "fuse_unk", &flag)) tokenizer->bpe.fuse_unknown = flag;
  wick_string unknown;
  if (!wick_json_string(model, "unk_token", &unknown)) return WICK_OK;
  tokenizer->bpe.unknown_id = wick_pieces_find(&load->raw, unknown.data, unknown.n);
  if (tokenizer->bpe.unknown_id < 0 && lacks_a_byte(&tokenizer->bpe))
    return wick_fail(load->error, WICK_ERROR_FORMAT,
                     "%s: expected unk_token \"%.*s\" in the vocabulary, found it missing",
                     tokenizer->name, WICK_STRING_ARGS(unknown));
  return WICK_OK;
}

/* ---- added tokens ---- */

static bool flag_of(const cJSON *object, const char *key) {
  bool value;
  return wick_json_bool(object, key, &value) && value;
}

/* A token that the vocabulary has already keeps its id there. */
static wick_status read_added(wick_load *load, const cJSON *added) {
  const cJSON *item;
  load->added = WICK_ARENA_ARRAY(&load->tokenizer->arena, wick_added_token,
                                 (uint64_t)cJSON_GetArraySize(added));
  if (!load->added) return wick_load_no_memory(load);
  cJSON_ArrayForEach(item, added) {
    const char *content = content_of(item);
    wick_string text = {content, strlen(content)};
    if (text.n == 0) continue;
    int32_t id = wick_pieces_find(&load->raw, text.data, text.n);
    if (id < 0) {
      id = (int32_t)member(item, "id")->valuedouble; /* count_tokens has checked it */
      if (load->kinds[id] != WICK_TOKEN_NONE)
        return wick_fail(load->error, WICK_ERROR_FORMAT,
                         "%s: expected a free id for added token \"%.80s\", found %d in use",
                         load->tokenizer->name, content, (int)id);
    }
    bool special = flag_of(item, "special");
    load->texts[id] = text;
    load->kinds[id] = special ? WICK_TOKEN_SPECIAL : WICK_TOKEN_ADDED;
    load->added[load->n_added++] = (wick_added_token){
        .n = text.n,
        .id = id,
        .special = special,
        .single_word = flag_of(item, "single_word"),
        .lstrip = flag_of(item, "lstrip"),
        .rstrip = flag_of(item, "rstrip"),
        .normalized = flag_of(item, "normalized"),
    };
  }
  return WICK_OK;
}

/* ---- tokenizer_config.json ---- */

/* The id of config[key], a string or an added token; -1 when it is missing or unknown. */
static int32_t token_of(const wick_load *load, const cJSON *config, const char *key) {
  const cJSON *value = member(config, key);
  const char *content = cJSON_IsObject(value) ? content_of(value) : cJSON_GetStringValue(value);
  if (!content) return -1;
  size_t n = strlen(content);
  for (size_t i = 0; i < load->n_added; i++)
    if (wick_string_equal(load->texts[load->added[i].id], content)) return load->added[i].id;
  return wick_pieces_find(&load->raw, content, n);
}

/* A string, or the "default" of a list of {"name", "template"}. */
static wick_string template_of(const cJSON *config) {
  wick_string text = {0}, name;
  if (wick_json_string(config, "chat_template", &text)) return text;
  const cJSON *item;
  cJSON_ArrayForEach(item, member(config, "chat_template")) {
    if (wick_json_string(item, "name", &name) && wick_string_equal(name, "default"))
      wick_json_string(item, "template", &text);
  }
  return text;
}

static wick_status read_config(wick_load *load, const cJSON *config, wick_string chat_template) {
  wick_tokenizer_info *info = &load->tokenizer->info;
  int32_t bos_id = token_of(load, config, "bos_token");
  if (!info->add_bos) info->bos_id = bos_id; /* else the post-processor has named it */
  info->eos_id = token_of(load, config, "eos_token");
  wick_json_bool(config, "add_bos_token", &info->add_bos);
  if (chat_template.n == 0) chat_template = template_of(config);
  if (chat_template.n == 0) return WICK_OK;
  info->chat_template =
      wick_arena_copy_string(&load->tokenizer->arena, chat_template.data, chat_template.n);
  return info->chat_template ? WICK_OK : wick_load_no_memory(load);
}

static wick_status read_all(wick_load *load, const cJSON *root, const cJSON *config,
                            wick_string chat_template) {
  const cJSON *added = member(root, "added_tokens");
  WICK_TRY(wick_load_pipeline(load, root));
  WICK_TRY(read_model(load, member(root, "model"), added));
  WICK_TRY(read_added(load, added));
  WICK_TRY(wick_load_template_bos(load, member(root, "post_processor")));
  WICK_TRY(read_config(load, config, chat_template));
  return wick_load_finish(load);
}

wick_status wick_tokenizer_from_json(const char *name, const char *json, size_t n_json,
                                     const cJSON *tokenizer_config, wick_string chat_template,
                                     const wick_allocator *allocator, wick_tokenizer **out,
                                     wick_error *error) {
  *out = NULL;
  cJSON *root;
  WICK_TRY(wick_json_parse(name, json, n_json, &root, error));
  wick_load load;
  wick_status status = wick_load_begin(&load, name, allocator, error);
  if (status == WICK_OK) status = read_all(&load, root, tokenizer_config, chat_template);
  status = wick_load_end(&load, status, out);
  cJSON_Delete(root);
  return status;
}
