/* The public text functions: the model's tokenizer. */
#include "model/model.h"

wick_status wick_tokenize(const wick_model *model, const char *text, size_t n_bytes,
                          bool parse_special, int32_t *ids, size_t capacity, size_t *n_ids,
                          wick_error *error) {
  return wick_tokenizer_encode(model->tokenizer, text, n_bytes, parse_special, ids, capacity, n_ids,
                               error);
}

const char *wick_token_bytes(const wick_model *model, int32_t id, size_t *n_bytes) {
  wick_string bytes = wick_tokenizer_token_bytes(model->tokenizer, id);
  *n_bytes = bytes.n;
  return bytes.n ? bytes.data : "";
}

bool wick_token_is_special(const wick_model *model, int32_t id) {
  return wick_tokenizer_is_special(model->tokenizer, id);
}

bool wick_token_is_end(const wick_model *model, int32_t id) {
  return wick_tokenizer_is_end(model->tokenizer, id);
}

wick_status wick_chat_tokenize(const wick_model *model, const wick_message *messages,
                               size_t n_messages, int32_t *ids, size_t capacity, size_t *n_ids,
                               wick_error *error) {
  return wick_tokenizer_encode_chat(model->tokenizer, messages, n_messages, ids, capacity, n_ids,
                                    error);
}
