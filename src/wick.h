/* wick: one LLM inference engine. The whole public API.
 *
 * A program streams a model's files into a loader and gets an immutable model; makes an engine
 * (KV cache, threads, scheduler) over it; submits requests; steps the engine and takes its events.
 *
 * Ownership: *_new and *_finish return owned objects, freed by *_free. Every other pointer that
 * is passed in is borrowed for the call, every one handed out is borrowed until its owner is freed
 * or, where said, until the next call on it. Nothing here prints, exits or keeps global state.
 * One engine belongs to one thread at a time; wick_engine_cancel may be called from any thread.
 * A model may be shared by several engines. */
#ifndef WICK_H
#define WICK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WICK_VERSION_MAJOR 0
#define WICK_VERSION_MINOR 1
#define WICK_VERSION_PATCH 0
#define WICK_VERSION "0.1.0"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors ---------------------------------------------------------------------------------- */

typedef enum wick_status {
  WICK_OK = 0,
  WICK_ERROR_FORMAT,      /* bytes that break their format's rules */
  WICK_ERROR_UNSUPPORTED, /* well-formed, but not something that wick does */
  WICK_ERROR_MEMORY,      /* an allocation failed */
  WICK_ERROR_IO,          /* the operating system refused */
  WICK_ERROR_ARGUMENT,    /* a caller's value out of range, or more than can ever fit */
  WICK_ERROR_FULL,        /* no free place now; the same call may succeed later */
  WICK_ERROR_CANCELLED,   /* stopped by wick_engine_cancel */
  WICK_NEED_MORE,         /* not an error: the bytes so far are a valid beginning */
} wick_status;

/* One line without a newline: "FILE: TENSOR: expected ..., found ...". Control characters that
 * came from a file are replaced by '?'. */
typedef struct wick_error {
  wick_status status;
  char message[500];
} wick_error;

/* ---- memory ---------------------------------------------------------------------------------- */

/* Where wick's memory comes from. allocate returns bytes at a multiple of alignment (a power of
 * two, at most 4096) or NULL; release gets the same size and alignment back. */
typedef struct wick_allocator {
  void *(*allocate)(void *context, size_t bytes, size_t alignment);
  void (*release)(void *context, void *pointer, size_t bytes, size_t alignment);
  void *context;
} wick_allocator;

/* ---- loading --------------------------------------------------------------------------------- */

typedef struct wick_loader wick_loader;
typedef struct wick_model wick_model;

typedef struct wick_load_options {
  const wick_allocator *allocator; /* NULL: malloc; borrowed until the model is freed */
  uint32_t levels;                 /* mask of WICK_LEVEL_*; 0: all that this CPU has */
  bool exact;                      /* keep weights for float32 arithmetic (--exact) */
  int n_threads;                   /* threads that pack weights, at most 64; 0 or 1: the caller's */
  /* Told of bytes of a mapped file that have been packed and are not read again, so that their
   * pages may go; or NULL. */
  void (*forget)(const void *bytes, size_t n_bytes);
} wick_load_options;

/* Instruction-set levels that a mask can name. On wasm the build decides. */
enum {
  WICK_LEVEL_REFERENCE = 1u << 0,
  WICK_LEVEL_AVX2 = 1u << 1, /* with FMA and F16C */
  WICK_LEVEL_AVX_VNNI = 1u << 2,
  WICK_LEVEL_AVX512_VNNI = 1u << 3, /* F, BW, VL, VNNI */
  WICK_LEVEL_AMX = 1u << 4,
  WICK_LEVEL_NEON = 1u << 5,
  WICK_LEVEL_NEON_DOTPROD = 1u << 6,
  WICK_LEVEL_SIMD128 = 1u << 7,
  WICK_LEVEL_RELAXED = 1u << 8,
};

/* options may be NULL for the defaults. */
wick_status wick_loader_new(const wick_load_options *options, wick_loader **out, wick_error *error);

/* Begin the next file. name: its name or path, which errors give and whose end decides its kind:
 * *.gguf (of a split model every part, in order), or the files of a Hugging Face folder in this
 * order: config.json, tokenizer.json, tokenizer_config.json (optional), chat_template.jinja
 * (optional), then *.safetensors (every shard). total_bytes: the file's size. The previous file
 * must be complete. */
wick_status wick_loader_begin(wick_loader *loader, const char *name, uint64_t total_bytes,
                              wick_error *error);

/* The next bytes of the current file; any size. Weights are packed as they come. */
wick_status wick_loader_write(wick_loader *loader, const void *bytes, size_t n_bytes,
                              wick_error *error);

/* A whole file that stays mapped (and unchanged) until the model is freed: weights whose layout
 * needs no packing are used in place. In place of begin and write. */
wick_status wick_loader_map(wick_loader *loader, const char *name, const void *bytes,
                            uint64_t n_bytes, wick_error *error);

/* Check that everything arrived and hand the model over. The loader must be freed either way. */
wick_status wick_loader_finish(wick_loader *loader, wick_model **out, wick_error *error);
void wick_loader_free(wick_loader *loader);

#ifndef __wasm__
/* Load a .gguf file (of a split model any part stands for all), a .safetensors file (its folder's
 * config.json and tokenizer.json are used) or a model folder by mmap. */
wick_status wick_model_open(const char *path, const wick_load_options *options, wick_model **out,
                            wick_error *error);
#endif
void wick_model_free(wick_model *model);

typedef struct wick_model_info {
  const char *name;         /* general.name or the file's, UTF-8 */
  const char *architecture; /* "llama", "qwen2", "qwen3" */
  const char *level;        /* the kernel level in use, as "avx512-vnni" */
  const char *chat_format;  /* "chatml" ..., or NULL: the file's template isn't known */
  int n_vocab, n_layers, n_embd, n_heads, n_kv_heads, head_dim, n_ffn, n_context;
  int32_t bos_id, eos_id; /* -1: none */
  uint64_t n_parameters, weight_bytes;
} wick_model_info;

const wick_model_info *wick_model_get_info(const wick_model *model);

/* ---- text ------------------------------------------------------------------------------------ */

/* Text to token ids. parse_special: special tokens that stand in the text become their ids; else
 * they are plain text. Writes at most capacity ids and sets *n_ids to the whole count, so a call
 * with capacity 0 counts. text is UTF-8; what is not is treated as the reference tokenizer treats
 * U+FFFD. */
wick_status wick_tokenize(const wick_model *model, const char *text, size_t n_bytes,
                          bool parse_special, int32_t *ids, size_t capacity, size_t *n_ids,
                          wick_error *error);

/* The bytes of one token; special tokens give their name. Borrowed from the model. Out-of-range
 * ids give an empty piece. */
const char *wick_token_bytes(const wick_model *model, int32_t id, size_t *n_bytes);
bool wick_token_is_special(const wick_model *model, int32_t id);
/* True for tokens that end an answer (eos, end of turn). */
bool wick_token_is_end(const wick_model *model, int32_t id);

typedef struct wick_message {
  const char *role; /* "system", "user", "assistant" */
  const char *content;
  size_t n_bytes; /* of content */
} wick_message;

/* A conversation to token ids in the model's own chat format, ready for the assistant's answer.
 * Special tokens inside contents stay plain text. WICK_ERROR_UNSUPPORTED when the file's template
 * is not a known one. */
wick_status wick_chat_tokenize(const wick_model *model, const wick_message *messages,
                               size_t n_messages, int32_t *ids, size_t capacity, size_t *n_ids,
                               wick_error *error);

/* ---- generation ------------------------------------------------------------------------------ */

typedef struct wick_engine wick_engine;

typedef enum wick_cache_type {
  WICK_CACHE_F16 = 0,
  WICK_CACHE_F32,
  WICK_CACHE_INT8
} wick_cache_type;

typedef struct wick_engine_options {
  const wick_allocator *allocator; /* NULL: malloc */
  int n_threads;                   /* at most 64 are used; 0: 1 */
  int n_context;                   /* most tokens of one sequence; 0: the model's, at most 2048 */
  int n_cache_tokens;              /* tokens that the whole KV cache holds; 0: n_context */
  int n_chunk;                     /* most tokens of one step; 0: a default */
  int max_requests;                /* live at once; 0: 16 */
  wick_cache_type cache_type;      /* exact models default to F32 */
  bool no_prefix_reuse;
} wick_engine_options;

/* WICK_ERROR_ARGUMENT for an option out of range, WICK_ERROR_MEMORY when what they ask for cannot
 * be had. All memory is taken here and in wick_engine_submit; a step allocates nothing. */
wick_status wick_engine_new(const wick_model *model, const wick_engine_options *options,
                            wick_engine **out, wick_error *error);
void wick_engine_free(wick_engine *engine);

typedef struct wick_logit_bias {
  int32_t id;
  float bias;
} wick_logit_bias;

/* The sampler chain, applied in this order: logit bias, repetition, frequency and presence
 * penalties, (temperature 0: the largest logit, lowest id on a tie), temperature, top-k, typical,
 * top-p, min-p, draw. */
typedef struct wick_sampling {
  float temperature;                         /* 0: greedy */
  int top_k;                                 /* 0: off */
  float top_p;                               /* 1: off */
  float min_p;                               /* 0: off */
  float typical_p;                           /* 1: off */
  float repetition_penalty;                  /* 1: off */
  float frequency_penalty, presence_penalty; /* 0: off */
  int penalty_window; /* last tokens that penalties look at; 0: 64, -1: all */
  uint64_t seed;
  const wick_logit_bias *logit_bias; /* borrowed for the call of submit */
  size_t n_logit_bias;
} wick_sampling;

/* Greedy with everything off. */
wick_sampling wick_sampling_default(void);

typedef struct wick_request {
  const int32_t *ids; /* the prompt, n_ids >= 1 */
  size_t n_ids;
  int max_tokens; /* 0: until the context is full */
  wick_sampling sampling;
  const char *const *stop; /* stop strings, UTF-8; borrowed for the call of submit */
  size_t n_stop;
  int n_logprobs;  /* alternatives reported per token, 0..20; -1: none */
  bool ignore_end; /* go on after an end token */
} wick_request;

typedef uint32_t wick_request_id; /* never 0 */

/* Queue a request. WICK_ERROR_FULL when max_requests are live; WICK_ERROR_ARGUMENT for a value out
 * of range and for a prompt that leaves no room for a token in the context. After an error the
 * engine is as it was. */
wick_status wick_engine_submit(wick_engine *engine, const wick_request *request,
                               wick_request_id *id, wick_error *error);

/* One bounded piece of work: at most n_chunk tokens through the model. Always WICK_OK, also when
 * idle; error is left as it is. */
wick_status wick_engine_step(wick_engine *engine, wick_error *error);
/* From the next step on at most n_tokens of prompts in one, clamped to 1 .. n_chunk, which is
 * returned: for callers that learn of a cancel between steps only. Results stay the same bits. */
int wick_engine_limit_prompts(wick_engine *engine, int n_tokens);
bool wick_engine_idle(const wick_engine *engine);

/* Stop a request; its event WICK_EVENT_DONE with WICK_FINISH_CANCELLED follows at the next step,
 * at most one layer's work later. What was computed is kept for reuse. Any thread. */
void wick_engine_cancel(wick_engine *engine, wick_request_id id);

typedef enum wick_event_type {
  WICK_EVENT_PROGRESS, /* prefill advanced: n_prompt_done of n_prompt */
  WICK_EVENT_TOKEN,    /* a token was drawn; text may be empty (held back) */
  WICK_EVENT_DONE,     /* the last event of a request; text: what was still held */
} wick_event_type;

typedef enum wick_finish {
  WICK_FINISH_NONE = 0,
  WICK_FINISH_STOP,      /* an end token or a stop string */
  WICK_FINISH_LENGTH,    /* max_tokens, or the context is full */
  WICK_FINISH_CANCELLED, /* wick_engine_cancel */
} wick_finish;

typedef struct wick_logprob {
  int32_t id;
  float logprob; /* natural log, of the distribution before temperature and filters */
} wick_logprob;

typedef struct wick_event {
  wick_event_type type;
  wick_request_id id;
  int32_t token;    /* TOKEN */
  const char *text; /* whole UTF-8 sequences; borrowed until the next call of step */
  size_t n_bytes;
  float logprob;                    /* TOKEN, when asked for */
  const wick_logprob *alternatives; /* best first; borrowed until the next call of step */
  size_t n_alternatives;
  int n_prompt, n_prompt_done, n_reused, n_generated;
  wick_finish finish; /* DONE */
} wick_event;

/* The next event, oldest first; false when there is none. While events wait, wick_engine_step does
 * nothing: a slow reader slows the engine, and nothing is lost. */
bool wick_engine_next(wick_engine *engine, wick_event *out);

/* Threads that the next step will use. */
int wick_engine_threads(const wick_engine *engine);

typedef struct wick_engine_info {
  wick_cache_type cache_type;
  int n_context;
  uint64_t cache_bytes, cache_bytes_per_token; /* the KV cache: whole, and one position's */
  uint64_t work_bytes;                         /* all other memory of the engine but sampling's */
} wick_engine_info;

wick_engine_info wick_engine_get_info(const wick_engine *engine);
#ifdef __wasm__
/* The body of an extra worker that the host started on the shared memory; returns when the engine
 * is freed. From the next step on it is one of the engine's threads. */
void wick_engine_worker(wick_engine *engine);
#endif

/* ---- where the time goes ----------------------------------------------------------------------
 */

/* What a thread does in a step. */
typedef enum wick_stage {
  WICK_STAGE_EMBEDDING, /* and states copied out */
  WICK_STAGE_PREPARE,   /* norms, activations quantized */
  WICK_STAGE_QKV,       /* query, key and value projections, rotation, storing in the KV cache */
  WICK_STAGE_ATTENTION,
  WICK_STAGE_OUTPUT,  /* attention's output projection */
  WICK_STAGE_GATE_UP, /* and SiLU */
  WICK_STAGE_DOWN,
  WICK_STAGE_HEAD,
  WICK_STAGE_SAMPLING, /* and text, events */
  WICK_STAGE_WAITING,  /* at joins within the pass */
  WICK_N_STAGES
} wick_stage;

const char *wick_stage_name(wick_stage stage);
/* Measure from zero (on) or no longer. A step is slower by some 0.3 % meanwhile. Between steps
 * only; natively, wasm measures 0. */
void wick_engine_profile(wick_engine *engine, bool on);
/* Seconds in a stage since then, summed over the threads. */
double wick_engine_stage_seconds(const wick_engine *engine, wick_stage stage);

/* ---- raw evaluation: logits, hidden states, perplexity --------------------------------------- */

/* Run tokens through the model in a private sequence at positions n_past .. n_past+n_ids-1 (n_past
 * must equal what earlier calls evaluated, 0 starts over). logits, or NULL: float32 [n_ids -
 * first_output][n_vocab]. hidden, or NULL: float32 [n_layers + 1][n_ids][n_embd]: row 0 the
 * embedding, row i the residual stream after layer i, the last row after the final norm. */
wick_status wick_engine_evaluate(wick_engine *engine, const int32_t *ids, size_t n_ids,
                                 size_t n_past, size_t first_output, float *logits, float *hidden,
                                 wick_error *error);

/* Sums over scored positions; start from zeros. */
typedef struct wick_score {
  uint64_t n;
  double nll, kl, kl_squared; /* natural log */
  uint64_t n_same_top;
  double base_nll;
} wick_score;

/* Add one position: logits [n_vocab], the token that really follows, and the base's logits for the
 * same position or NULL. */
void wick_score_add(wick_score *score, const float *logits, const float *base_logits,
                    size_t n_vocab, int32_t target);

/* ---- this machine ---------------------------------------------------------------------------- */

/* Levels that this CPU and OS grant, after each has passed a known-answer probe. */
uint32_t wick_levels_available(void);
const char *wick_level_name(uint32_t level);

#ifdef __cplusplus
}
#endif
#endif
