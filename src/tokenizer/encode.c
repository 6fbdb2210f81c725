/* Text -> ids: spans are joined into one well-formed text, added tokens are found in it, what is
 * left between them is normalized, cut into words, and each word encoded. All scratch memory
 * belongs to one call, so threads may share a tokenizer. See tokenizer.h. Chapter 11. */
#include <string.h>

#include "core/utf8.h"
#include "tokenizer/internal.h"
#include "tokenizer/stream.h"
#include "tokenizer/unicode.h"

typedef struct encoder {
  const wick_tokenizer *tokenizer;
  wick_buffer joined;
  wick_run *runs; /* [n_runs_max] */
  size_t n_runs, n_runs_max;
  wick_buffer normal;
  wick_bpe_scratch scratch;
  wick_id_sink sink;
} encoder;

/* Below, false means that memory failed. */

static bool encode_words(encoder *e, const char *text, size_t n) {
  wick_words words = {.pre = e->tokenizer->pre, .text = text, .n = n};
  for (wick_string word; wick_words_next(&words, &word);)
    if (!wick_bpe_encode(&e->tokenizer->bpe, word.data, word.n, &e->scratch, &e->sink))
      return false;
  return true;
}

/* What lies between the added tokens of the text as it is. */
static bool encode_between(encoder *e, const char *text, size_t n) {
  const wick_tokenizer *tokenizer = e->tokenizer;
  if (tokenizer->normalize && !wick_is_plainly_nfc(text, n)) {
    e->normal.n = 0;
    if (!wick_normalize_nfc(text, n, tokenizer->allocator, &e->normal)) return false;
    text = e->normal.data;
    n = e->normal.n;
  }
  wick_added_walk walk = {.set = &tokenizer->added_after_normalizing, .text = text, .n = n};
  const wick_added_token *token;
  size_t from = 0, start, end;
  for (; wick_added_next(&walk, &token, &start, &end); from = end) {
    if (!encode_words(e, text + from, start - from)) return false;
    wick_id_sink_put(&e->sink, token->id);
  }
  return encode_words(e, text + from, n - from);
}

static bool encode_text(encoder *e, const char *text, size_t n) {
  wick_added_walk walk = {.set = &e->tokenizer->added, .text = text, .n = n, .runs = e->runs};
  const wick_added_token *token;
  size_t from = 0, start, end;
  for (; wick_added_next(&walk, &token, &start, &end); from = end) {
    if (!encode_between(e, text + from, start - from)) return false;
    wick_id_sink_put(&e->sink, token->id);
  }
  return encode_between(e, text + from, n - from);
}

/* A span behind the others; ill-formed bytes become U+FFFD, but a character may be cut by a seam
 * between spans of one run. */
static bool append_span(encoder *e, wick_utf8_stream *stream, const wick_text_span *span) {
  if (stream->n_held == 0 && wick_utf8_valid(span->text, span->n_bytes))
    return wick_buffer_append(&e->joined, span->text, span->n_bytes);
  if (!wick_buffer_reserve(&e->joined, 3 * (span->n_bytes + 3))) return false;
  e->joined.n +=
      wick_utf8_stream_push(stream, span->text, span->n_bytes, e->joined.data + e->joined.n);
  return true;
}

/* Join the spans, with runs where the rule for special tokens changes. */
static bool join(encoder *e, const wick_text_span *spans, size_t n_spans) {
  wick_utf8_stream stream = {0};
  for (size_t i = 0; i < n_spans; i++) {
    if (!append_span(e, &stream, &spans[i])) return false;
    if (i + 1 < n_spans && spans[i + 1].parse_special == spans[i].parse_special) continue;
    if (!wick_buffer_reserve(&e->joined, 9)) return false;
    e->joined.n += wick_utf8_stream_flush(&stream, e->joined.data + e->joined.n);
    e->runs[e->n_runs++] = (wick_run){e->joined.n, spans[i].parse_special};
  }
  return true;
}

static bool encode_spans(encoder *e, const wick_text_span *spans, size_t n_spans) {
  size_t runs_bytes;
  uint64_t bytes;
  if (!wick_multiply_u64(n_spans, sizeof(wick_run), &bytes) || !wick_to_size(bytes, &runs_bytes))
    return false;
  e->runs = wick_allocate(e->joined.allocator, runs_bytes, _Alignof(wick_run));
  if (!e->runs) return false;
  e->n_runs_max = n_spans;
  if (n_spans == 1 && wick_utf8_valid(spans->text, spans->n_bytes)) { /* no need to copy */
    e->runs[0] = (wick_run){spans->n_bytes, spans->parse_special};
    return encode_text(e, spans->text, spans->n_bytes);
  }
  return join(e, spans, n_spans) && encode_text(e, e->joined.data, e->joined.n);
}

wick_status wick_tokenizer_encode_spans(const wick_tokenizer *tokenizer,
                                        const wick_text_span *spans, size_t n_spans, int32_t *ids,
                                        size_t capacity, size_t *n_ids, wick_error *error) {
  *n_ids = 0;
  uint64_t n_bytes = 0;
  for (size_t i = 0; i < n_spans; i++)
    if (spans[i].n_bytes > INT32_MAX / 3 || (n_bytes += spans[i].n_bytes) > INT32_MAX / 3)
      return wick_fail(error, WICK_ERROR_ARGUMENT, "%s: expected a text of at most %d bytes",
                       tokenizer->name, INT32_MAX / 3);
  if (n_bytes == 0) return WICK_OK;
  const wick_allocator *allocator = tokenizer->allocator;
  encoder e = {.tokenizer = tokenizer,
               .joined = {.allocator = allocator},
               .normal = {.allocator = allocator},
               .scratch = {.allocator = allocator},
               .sink = {ids, capacity, 0}};
  bool ok = encode_spans(&e, spans, n_spans);
  wick_release(allocator, e.runs, e.n_runs_max * sizeof(wick_run), _Alignof(wick_run));
  wick_buffer_free(&e.joined);
  wick_buffer_free(&e.normal);
  wick_bpe_scratch_free(&e.scratch);
  if (!ok)
    return wick_fail(error, WICK_ERROR_MEMORY, "%s: no memory to tokenize %llu bytes",
                     tokenizer->name, (unsigned long long)n_bytes);
  *n_ids = e.sink.n;
  return WICK_OK;
}

wick_status wick_tokenizer_encode(const wick_tokenizer *tokenizer, const char *text, size_t n_bytes,
                                  bool parse_special, int32_t *ids, size_t capacity, size_t *n_ids,
                                  wick_error *error) {
  wick_text_span span = {text, n_bytes, parse_special};
  return wick_tokenizer_encode_spans(tokenizer, &span, 1, ids, capacity, n_ids, error);
}
