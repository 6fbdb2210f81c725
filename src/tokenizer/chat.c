/* Conversations -> ids, in the format that the file's own chat template describes. Templates are
 * programs (Jinja); wick does not run them but recognises known ones exactly, and refuses others
 * rather than guess. The family of ChatML's template may carry any default system prompt.
 * Sources: the chat templates of SmolLM2, Qwen 2 and Llama 3 on Hugging Face's hub. Chapter 11. */
#include <string.h>

#include "core/utf8.h"
#include "tokenizer/internal.h"
#include "tokenizer/unicode.h"

static const wick_chat_format chatml = {
    .name = "chatml",
    .before_role = "<|im_start|>",
    .after_role = "\n",
    .after_content = "<|im_end|>\n",
};
static const wick_chat_format llama3 = {
    .name = "llama3",
    .begin_with_bos = true,
    .trim_content = true,
    .before_role = "<|start_header_id|>",
    .after_role = "<|end_header_id|>\n\n",
    .after_content = "<|eot_id|>",
};

/* ---- recognising ---- */

/* Take prefix off text; false and unchanged when it does not begin so. */
static bool take(wick_string *text, const char *prefix) {
  size_t n = strlen(prefix);
  if (text->n < n || memcmp(text->data, prefix, n) != 0) return false;
  text->data += n;
  text->n -= n;
  return true;
}

/* Take off everything before the first stop, but nothing that ends or escapes Jinja's literal. */
static bool take_literal(wick_string *text, const char *stop, wick_string *literal) {
  *literal = (wick_string){text->data, 0};
  while (literal->n < text->n) {
    wick_string rest = {text->data + literal->n, text->n - literal->n};
    if (take(&rest, stop)) {
      *text = rest;
      return true;
    }
    if (strchr("'\\", rest.data[0])) return false; /* NUL too */
    literal->n++;
  }
  return false;
}

static bool is_chatml(wick_string text, wick_string *default_system) {
  take(&text, "{% if not add_generation_prompt is defined %}"
              "{% set add_generation_prompt = false %}{% endif %}");
  if (!take(&text, "{% for message in messages %}")) return false;
  *default_system = (wick_string){0};
  if (take(&text, "{% if loop.first and messages[0]['role'] != 'system' %}"
                  "{{ '<|im_start|>system\n") &&
      !take_literal(&text, "<|im_end|>\n' }}{% endif %}", default_system))
    return false;
  return take(&text, "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + "
                     "'<|im_end|>' + '\n'}}{% endfor %}"
                     "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}") &&
         text.n == 0;
}

static bool is_llama3(wick_string text) {
  if (!take(&text, "{% set loop_messages = messages %}{% for message in loop_messages %}"
                   "{% set content = '<|start_header_id|>' + message['role'] + "
                   "'<|end_header_id|>\n\n'+ message['content'] | trim + '<|eot_id|>' %}"
                   "{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}"
                   "{{ content }}{% endfor %}"))
    return false;
  return wick_string_equal(text, "{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}") ||
         wick_string_equal(text, "{% if add_generation_prompt %}"
                                 "{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}"
                                 "{% endif %}");
}

bool wick_chat_recognize(wick_string chat_template, wick_arena *arena,
                         const wick_chat_format **format, wick_string *default_system) {
  *format = NULL;
  *default_system = (wick_string){0};
  /* Files write a line break within a literal as itself or as \n, which mean the same. */
  char *copy = wick_arena_allocate(arena, chat_template.n, 1);
  if (!copy) return false;
  wick_string text = {copy, 0};
  for (size_t i = 0; i < chat_template.n; i++) {
    bool escaped = i + 1 < chat_template.n && memcmp(chat_template.data + i, "\\n", 2) == 0;
    copy[text.n++] = escaped ? '\n' : chat_template.data[i];
    i += escaped;
  }
  if (is_chatml(text, default_system))
    *format = &chatml;
  else if (is_llama3(text))
    *format = &llama3;
  else
    *default_system = (wick_string){0};
  return true;
}

/* ---- writing ---- */

enum { SPANS_PER_MESSAGE = 5 };

typedef struct writer {
  wick_text_span *spans;
  size_t n;
} writer;

static void put(writer *out, wick_string text, bool parse_special) {
  out->spans[out->n++] = (wick_text_span){text.data, text.n, parse_special};
}

static void put_literal(writer *out, const char *text) {
  put(out, (wick_string){text, strlen(text)}, true);
}

/* Jinja's trim is Python's str.strip, whose white space has four more controls than \s. */
static bool is_python_space(uint32_t code_point) {
  return (code_point >= 0x1c && code_point <= 0x1f) ||
         (wick_unicode_class(code_point) & WICK_UNICODE_SPACE);
}

static wick_string trim(wick_string text) {
  while (text.n > 0) {
    wick_utf8_char c = wick_utf8_decode(text.data, text.n);
    if (!is_python_space(c.code_point)) break;
    text.data += c.n_bytes;
    text.n -= c.n_bytes;
  }
  while (text.n > 0) {
    size_t from = text.n - 1;
    while (from > 0 && text.n - from < WICK_UTF8_MAX_BYTES &&
           ((uint8_t)text.data[from] & 0xc0) == 0x80)
      from--;
    wick_utf8_char c = wick_utf8_decode(text.data + from, text.n - from);
    if (from + c.n_bytes != text.n || !is_python_space(c.code_point)) break;
    text.n = from;
  }
  return text;
}

static void put_message(writer *out, const wick_chat_format *format, const char *role,
                        wick_string content, bool content_is_template) {
  put_literal(out, format->before_role);
  put(out, (wick_string){role, strlen(role)}, false);
  put_literal(out, format->after_role);
  put(out, format->trim_content ? trim(content) : content, content_is_template);
  put_literal(out, format->after_content);
}

static wick_status check_messages(const wick_tokenizer *tokenizer, const wick_message *messages,
                                  size_t n_messages, wick_error *error) {
  if (n_messages == 0)
    return wick_fail(error, WICK_ERROR_ARGUMENT, "%s: expected at least one message, found none",
                     tokenizer->name);
  for (size_t i = 0; i < n_messages; i++) {
    const char *role = messages[i].role;
    if (!role || (strcmp(role, "system") && strcmp(role, "user") && strcmp(role, "assistant")))
      return wick_fail(error, WICK_ERROR_ARGUMENT,
                       "message %zu: expected role system, user or assistant, found \"%.80s\"", i,
                       role ? role : "");
  }
  return WICK_OK;
}

wick_status wick_tokenizer_encode_chat(const wick_tokenizer *tokenizer,
                                       const wick_message *messages, size_t n_messages,
                                       int32_t *ids, size_t capacity, size_t *n_ids,
                                       wick_error *error) {
  *n_ids = 0;
  const wick_chat_format *format = tokenizer->chat;
  const char *source = tokenizer->info.chat_template;
  if (!format)
    return wick_fail(error, WICK_ERROR_UNSUPPORTED,
                     "%s: expected a known chat template (chatml, llama3), found %s%.80s%s",
                     tokenizer->name, source ? "\"" : "", source ? source : "none",
                     source ? "...\"" : "");
  WICK_TRY(check_messages(tokenizer, messages, n_messages, error));
  uint64_t bytes;
  size_t n_bytes;
  if (!wick_add_u64(n_messages, 2, &bytes) ||
      !wick_multiply_u64(bytes, SPANS_PER_MESSAGE * sizeof(wick_text_span), &bytes) ||
      !wick_to_size(bytes, &n_bytes))
    return wick_fail(error, WICK_ERROR_ARGUMENT, "%zu messages are too many", n_messages);
  writer out = {wick_allocate(tokenizer->allocator, n_bytes, _Alignof(wick_text_span)), 0};
  if (!out.spans)
    return wick_fail(error, WICK_ERROR_MEMORY, "%s: no memory for %zu messages", tokenizer->name,
                     n_messages);
  if (format->begin_with_bos)
    put(&out, wick_tokenizer_token_bytes(tokenizer, tokenizer->info.bos_id), true);
  if (tokenizer->default_system.n > 0 && strcmp(messages[0].role, "system") != 0)
    put_message(&out, format, "system", tokenizer->default_system, true);
  for (size_t i = 0; i < n_messages; i++)
    put_message(&out, format, messages[i].role,
                (wick_string){messages[i].content, messages[i].n_bytes}, false);
  put_literal(&out, format->before_role);
  put_literal(&out, "assistant");
  put_literal(&out, format->after_role);
  wick_status status =
      wick_tokenizer_encode_spans(tokenizer, out.spans, out.n, ids, capacity, n_ids, error);
  wick_release(tokenizer->allocator, out.spans, n_bytes, _Alignof(wick_text_span));
  return status;
}
