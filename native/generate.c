/* See generate.h. */
#define _POSIX_C_SOURCE 200809L
#include "generate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/utf8.h"

cli_sampling cli_sampling_default(void) {
  cli_sampling sampling = {.chain = wick_sampling_default()};
  sampling.chain.temperature = 0.2f;
  sampling.chain.top_p = 0.9f;
  return sampling;
}

static bool parse_bias(const char *text, wick_logit_bias *out) {
  char id[16];
  const char *equals = strchr(text, '=');
  if (!equals || (size_t)(equals - text) >= sizeof id) return false;
  memcpy(id, text, (size_t)(equals - text));
  id[equals - text] = '\0';
  int number;
  if (!cli_parse_int(id, 0, INT32_MAX, &number)) return false;
  out->id = number;
  return cli_parse_float(equals + 1, -1e6, 1e6, &out->bias);
}

int cli_sampling_finish(const char *command, cli_sampling *sampling) {
  for (size_t i = 0; i < sampling->bias.n; i++) {
    if (!parse_bias(sampling->bias.items[i], &sampling->bias_entries[i])) {
      return cli_usage(command, "--logit-bias: expected ID=V with -1e6 <= V <= 1e6, found %s",
                       sampling->bias.items[i]);
    }
  }
  for (size_t i = 0; i < sampling->stop.n; i++) {
    if (!*sampling->stop.items[i]) return cli_usage(command, "--stop: expected a text, found none");
  }
  sampling->chain.n_logit_bias = sampling->bias.n;
  if (!sampling->seed) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    sampling->chain.seed = ((uint64_t)now.tv_sec * 1000000007u) ^ (uint64_t)now.tv_nsec;
  } else if (!cli_parse_u64(sampling->seed, &sampling->chain.seed)) {
    return cli_usage(command, "--seed: expected a whole number from 0 to 2^64 - 1, found %s",
                     sampling->seed);
  }
  return CLI_OK;
}

int cli_sampling_check(const char *command, const cli_sampling *sampling,
                       const wick_model_info *info) {
  for (size_t i = 0; i < sampling->bias.n; i++) {
    int32_t id = sampling->bias_entries[i].id;
    if (id >= info->n_vocab) {
      return cli_usage(command, "--logit-bias: expected an ID from 0 to %d, found %d",
                       info->n_vocab - 1, (int)id);
    }
  }
  return CLI_OK;
}

wick_request cli_request(const cli_sampling *sampling, const int32_t *ids, size_t n_ids) {
  wick_request request = {.ids = ids,
                          .n_ids = n_ids,
                          .max_tokens = sampling->max_tokens,
                          .sampling = sampling->chain,
                          .stop = sampling->stop.items,
                          .n_stop = sampling->stop.n,
                          .n_logprobs = -1};
  request.sampling.logit_bias = sampling->bias_entries;
  return request;
}

/* Hand the events that are there to on_event; true after the request's last. */
static bool take_events(wick_engine *engine, wick_request_id id, cli_on_event *on_event,
                        void *context, double begin, double *first, cli_answer *out) {
  wick_event event;
  while (wick_engine_next(engine, &event)) {
    if (event.type == WICK_EVENT_PROGRESS) continue;
    double now = cli_now();
    if (*first == 0) *first = now;
    if (!on_event(context, &event)) wick_engine_cancel(engine, id);
    if (event.type != WICK_EVENT_DONE) continue;
    *out = (cli_answer){.n_prompt = event.n_prompt,
                        .n_reused = event.n_reused,
                        .n_generated = event.n_generated,
                        .prompt_seconds = *first - begin,
                        .answer_seconds = now - *first,
                        .finish = event.finish};
    return true;
  }
  return false;
}

bool cli_generate(wick_engine *engine, const wick_request *request, cli_interrupt *interrupt,
                  cli_on_event *on_event, void *context, cli_answer *out, wick_error *error) {
  wick_request_id id;
  double begin = cli_now(), first = 0;
  if (wick_engine_submit(engine, request, &id, error) != WICK_OK) return false;
  cli_interrupt_begin(interrupt, engine, id);
  bool good = true, done = false;
  while (good && !done) {
    good = wick_engine_step(engine, error) == WICK_OK;
    done = take_events(engine, id, on_event, context, begin, &first, out);
    if (good && !done && wick_engine_idle(engine)) {
      good = take_events(engine, id, on_event, context, begin, &first, out);
      done = good;
      if (!good) wick_fail(error, WICK_ERROR_ARGUMENT, "the engine ended without an answer");
    }
  }
  cli_interrupt_end(interrupt);
  return good;
}

int cli_write_text(const char *text, size_t n_bytes, bool to_terminal) {
  errno = 0;
  if (!to_terminal) {
    fwrite(text, 1, n_bytes, stdout);
  } else {
    for (size_t at = 0; at < n_bytes;) {
      wick_utf8_char c = wick_utf8_decode(text + at, n_bytes - at);
      bool shown = !wick_is_control(c.code_point) || text[at] == '\n' || text[at] == '\t';
      if (shown) fwrite(text + at, 1, c.n_bytes, stdout);
      at += c.n_bytes;
    }
  }
  bool good = fflush(stdout) == 0 && !ferror(stdout);
  return good ? 0 : errno ? errno : EIO;
}

static double rate(int n, double seconds) {
  return n > 0 && seconds > 0 ? n / seconds : 0;
}

void cli_describe(const cli_answer *answer, char *out, size_t capacity) {
  int n_computed = answer->n_prompt - answer->n_reused;
  snprintf(out, capacity,
           "prompt %d tokens (%d reused, %.1f tokens/s), answer %d tokens (%.1f tokens/s)",
           answer->n_prompt, answer->n_reused, rate(n_computed, answer->prompt_seconds),
           answer->n_generated, rate(answer->n_generated - 1, answer->answer_seconds));
}
