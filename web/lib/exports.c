/* Where JavaScript finds the fields of wick.h's structs: a table of names, offsets and kinds that
 * the compiler fills, so that the shim reads and writes structs by name and cannot disagree with
 * the header. Everything else that JavaScript calls is wick.h itself. Source: the C17 standard,
 * 7.19 (offsetof) and 6.5.1.1 (_Generic). */
#include "sha256.h"
#include "wick.h"

typedef struct wick_web_field {
  const char *name; /* NULL ends the table */
  uint16_t offset;
  uint16_t n_bytes; /* other than 1, 4 and 8: an array or struct, so its address is meant */
  char kind; /* 's' a struct whose fields follow, 'i' signed, 'u' unsigned or pointer, 'f' float */
} wick_web_field;

const wick_web_field *wick_web_fields(void);

#define KIND(value) _Generic((value), float: 'f', double: 'f', int32_t: 'i', default: 'u')
#define STRUCT(type) {#type, 0, sizeof(type), 's'}
#define FIELD(type, field)                                                                         \
  {#field, offsetof(type, field), sizeof(((type *)0)->field), KIND(((type *)0)->field)}

static const wick_web_field fields[] = {
    STRUCT(wick_error),
    FIELD(wick_error, status),
    FIELD(wick_error, message),

    STRUCT(wick_load_options),
    FIELD(wick_load_options, exact),

    STRUCT(wick_model_info),
    FIELD(wick_model_info, name),
    FIELD(wick_model_info, architecture),
    FIELD(wick_model_info, level),
    FIELD(wick_model_info, chat_format),
    FIELD(wick_model_info, n_vocab),
    FIELD(wick_model_info, n_layers),
    FIELD(wick_model_info, n_embd),
    FIELD(wick_model_info, n_heads),
    FIELD(wick_model_info, n_kv_heads),
    FIELD(wick_model_info, head_dim),
    FIELD(wick_model_info, n_ffn),
    FIELD(wick_model_info, n_context),
    FIELD(wick_model_info, bos_id),
    FIELD(wick_model_info, eos_id),
    FIELD(wick_model_info, n_parameters),
    FIELD(wick_model_info, weight_bytes),

    STRUCT(wick_message),
    FIELD(wick_message, role),
    FIELD(wick_message, content),
    FIELD(wick_message, n_bytes),

    STRUCT(wick_engine_options),
    FIELD(wick_engine_options, n_threads),
    FIELD(wick_engine_options, n_context),
    FIELD(wick_engine_options, n_cache_tokens),
    FIELD(wick_engine_options, n_chunk),
    FIELD(wick_engine_options, max_requests),
    FIELD(wick_engine_options, cache_type),
    FIELD(wick_engine_options, no_prefix_reuse),

    STRUCT(wick_logit_bias),
    FIELD(wick_logit_bias, id),
    FIELD(wick_logit_bias, bias),

    STRUCT(wick_request),
    FIELD(wick_request, ids),
    FIELD(wick_request, n_ids),
    FIELD(wick_request, max_tokens),
    FIELD(wick_request, sampling),
    FIELD(wick_request, stop),
    FIELD(wick_request, n_stop),
    FIELD(wick_request, n_logprobs),
    FIELD(wick_request, ignore_end),

    STRUCT(wick_sampling),
    FIELD(wick_sampling, temperature),
    FIELD(wick_sampling, top_k),
    FIELD(wick_sampling, top_p),
    FIELD(wick_sampling, min_p),
    FIELD(wick_sampling, typical_p),
    FIELD(wick_sampling, repetition_penalty),
    FIELD(wick_sampling, frequency_penalty),
    FIELD(wick_sampling, presence_penalty),
    FIELD(wick_sampling, penalty_window),
    FIELD(wick_sampling, seed),
    FIELD(wick_sampling, logit_bias),
    FIELD(wick_sampling, n_logit_bias),

    STRUCT(wick_logprob),
    FIELD(wick_logprob, id),
    FIELD(wick_logprob, logprob),

    STRUCT(wick_event),
    FIELD(wick_event, type),
    FIELD(wick_event, id),
    FIELD(wick_event, token),
    FIELD(wick_event, text),
    FIELD(wick_event, n_bytes),
    FIELD(wick_event, logprob),
    FIELD(wick_event, alternatives),
    FIELD(wick_event, n_alternatives),
    FIELD(wick_event, n_prompt),
    FIELD(wick_event, n_prompt_done),
    FIELD(wick_event, n_reused),
    FIELD(wick_event, n_generated),
    FIELD(wick_event, finish),

    STRUCT(wick_score),
    FIELD(wick_score, nll),
    FIELD(wick_score, kl),
    FIELD(wick_score, n_same_top),
    FIELD(wick_score, base_nll),

    STRUCT(wick_sha256),

    {NULL, 0, 0, 0},
};

const wick_web_field *wick_web_fields(void) {
  return fields;
}
