/* One answer: submit a request, step the engine, hand its text on, stop at Ctrl-C. */
#ifndef WICK_NATIVE_GENERATE_H
#define WICK_NATIVE_GENERATE_H

#include "cli.h"
#include "interrupt.h"

/* What run and chat let the user say about sampling. */
typedef struct cli_sampling {
  wick_sampling chain;
  const char *seed; /* NULL: the clock's */
  int max_tokens;
  cli_list stop, bias;
  wick_logit_bias bias_entries[CLI_MAX_LIST];
} cli_sampling;

/* The model card's temperature and top-p. */
cli_sampling cli_sampling_default(void);
/* After parsing: the biases, and a seed from the clock when none was given. CLI_OK or CLI_USAGE. */
int cli_sampling_finish(const char *command, cli_sampling *sampling);
/* Once the model is open: the biases are of its tokens. CLI_OK or CLI_USAGE. */
int cli_sampling_check(const char *command, const cli_sampling *sampling,
                       const wick_model_info *info);

#define CLI_SAMPLING_OPTIONS(s)                                                                      \
  {"-n", CLI_INT, &(s)->max_tokens, 1, 1 << 20, "N", "at most so many tokens"},                      \
      {"--temp",                                                                                     \
       CLI_FLOAT,                                                                                    \
       &(s)->chain.temperature,                                                                      \
       0,                                                                                            \
       1000,                                                                                         \
       "T",                                                                                          \
       "temperature; 0: greedy; default 0.2"},                                                       \
      {"--top-k", CLI_INT, &(s)->chain.top_k, 0, 1 << 30, "K", "the K best tokens; 0: off"},         \
      {"--top-p",                                                                                    \
       CLI_FLOAT,                                                                                    \
       &(s)->chain.top_p,                                                                            \
       0,                                                                                            \
       1,                                                                                            \
       "P",                                                                                          \
       "the best tokens with probability P together; 1: off; default 0.9"},                          \
      {"--min-p",                                                                                    \
       CLI_FLOAT,                                                                                    \
       &(s)->chain.min_p,                                                                            \
       0,                                                                                            \
       1,                                                                                            \
       "P",                                                                                          \
       "tokens with P times the best one's probability; 0: off"},                                    \
      {"--typical",                                                                                  \
       CLI_FLOAT,                                                                                    \
       &(s)->chain.typical_p,                                                                        \
       0,                                                                                            \
       1,                                                                                            \
       "P",                                                                                          \
       "locally typical tokens with probability P together; 1: off"},                                \
      {"--repeat-penalty",                                                                           \
       CLI_FLOAT,                                                                                    \
       &(s)->chain.repetition_penalty,                                                               \
       0.001,                                                                                        \
       1000,                                                                                         \
       "R",                                                                                          \
       "divides the logits of tokens that were there; 1: off"},                                      \
      {"--frequency-penalty",                                                                        \
       CLI_FLOAT,                                                                                    \
       &(s)->chain.frequency_penalty,                                                                \
       -1000,                                                                                        \
       1000,                                                                                         \
       "F",                                                                                          \
       "taken from a logit for each time its token was there"},                                      \
      {"--presence-penalty",                                                                         \
       CLI_FLOAT,                                                                                    \
       &(s)->chain.presence_penalty,                                                                 \
       -1000,                                                                                        \
       1000,                                                                                         \
       "F",                                                                                          \
       "taken from a logit once if its token was there"},                                            \
      {"--penalty-window",                                                                           \
       CLI_INT,                                                                                      \
       &(s)->chain.penalty_window,                                                                   \
       -1,                                                                                           \
       1 << 30,                                                                                      \
       "N",                                                                                          \
       "penalties look at the last N tokens; -1: all; default 64"},                                  \
      {"--logit-bias", CLI_LIST, &(s)->bias, 0, 0, "ID=V", "added to a token's logit (repeatable)"}, \
      {"--seed", CLI_TEXT, &(s)->seed, 0, 0, "S", "of the random numbers; default: the clock"},      \
      {"--stop", CLI_LIST, &(s)->stop, 0, 0, "TEXT", "end the answer before TEXT (repeatable)"}

typedef struct cli_answer {
  int n_prompt, n_reused, n_generated;
  double prompt_seconds, answer_seconds; /* to the first token; from there to the last */
  wick_finish finish;
} cli_answer;

/* on_event gets every TOKEN and DONE event; false stops the answer. interrupt may be NULL. False
 * with a filled error when the engine failed. */
typedef bool cli_on_event(void *context, const wick_event *event);
bool cli_generate(wick_engine *engine, const wick_request *request, cli_interrupt *interrupt,
                  cli_on_event *on_event, void *context, cli_answer *out, wick_error *error);

/* A request for ids with these settings. */
wick_request cli_request(const cli_sampling *sampling, const int32_t *ids, size_t n_ids);

/* Text to stdout at once. To a terminal without control characters, which a model's text must not
 * send. 0, or the errno of what failed. */
int cli_write_text(const char *text, size_t n_bytes, bool to_terminal);

/* "31 prompt tokens ... 412 tokens/s" */
void cli_describe(const cli_answer *answer, char *out, size_t capacity);

#endif
