/* wick chat: a conversation in the terminal. The whole conversation is tokenized for each answer;
 * the engine finds what is new by its prefix cache. When it no longer fits the context the oldest
 * turns are left out, and that is said. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "commands.h"
#include "generate.h"
#include "line.h"

enum { USUAL_CONTEXT = 4096 };

typedef struct turn { /* a message, owned */
  const char *role;
  char *text;
} turn;

typedef struct chat {
  const char *model, *system_option;
  cli_model_options options;
  cli_sampling sampling;
  cli_session session;
  cli_interrupt *interrupt;
  cli_lines *lines;
  char *system; /* owned; NULL: the model's own */
  turn *turns;  /* user and assistant, in turn */
  size_t n_turns, capacity;
  int n_context;
  bool colour;
} chat;

/* ---- the conversation ------------------------------------------------------------------------ */

/* Takes text. */
static bool add_turn(chat *c, const char *role, char *text) {
  if (c->n_turns == c->capacity) {
    size_t capacity = c->capacity ? 2 * c->capacity : 16;
    turn *larger = realloc(c->turns, capacity * sizeof *larger);
    if (!larger) return false;
    c->turns = larger;
    c->capacity = capacity;
  }
  c->turns[c->n_turns++] = (turn){role, text};
  return true;
}

static void drop_oldest(chat *c, size_t n) {
  for (size_t i = 0; i < n; i++) free(c->turns[i].text);
  c->n_turns -= n;
  if (c->n_turns > 0) memmove(c->turns, c->turns + n, c->n_turns * sizeof *c->turns);
}

static bool conversation_tokens(const chat *c, int32_t **ids, size_t *n_ids, wick_error *error) {
  wick_message *messages = malloc((c->n_turns + 1) * sizeof *messages);
  if (!messages) {
    wick_fail(error, WICK_ERROR_MEMORY, "no memory for the conversation");
    return false;
  }
  size_t n = 0;
  if (c->system) messages[n++] = (wick_message){"system", c->system, strlen(c->system)};
  for (size_t i = 0; i < c->n_turns; i++) {
    messages[n++] = (wick_message){c->turns[i].role, c->turns[i].text, strlen(c->turns[i].text)};
  }
  bool good = cli_tokenize_chat(c->session.model, messages, n, ids, n_ids, error);
  free(messages);
  return good;
}

/* Something about the program rather than from the model. */
static void note(const chat *c, const char *text) {
  fprintf(stderr, c->colour ? "\033[2m%s\033[0m\n" : "%s\n", text);
}

/* The conversation as tokens, with room left for an answer; old turns are dropped where needed. */
static bool fitting_tokens(chat *c, int32_t **ids, size_t *n_ids, wick_error *error) {
  size_t reserve = (size_t)(c->n_context / 4 < 256 ? c->n_context / 4 : 256), n_dropped = 0;
  for (;;) {
    if (!conversation_tokens(c, ids, n_ids, error)) return false;
    if (*n_ids + reserve <= (size_t)c->n_context) break;
    free(*ids);
    *ids = NULL;
    if (c->n_turns < 3) {
      wick_fail(error, WICK_ERROR_FULL,
                "expected a message of at most %zu tokens with its frame, found %zu (-c sets the "
                "context)",
                (size_t)c->n_context - reserve, *n_ids);
      return false;
    }
    drop_oldest(c, 2);
    n_dropped += 2;
  }
  if (n_dropped > 0) {
    char line[120];
    snprintf(line, sizeof line, "(context full: the oldest %zu messages are forgotten)", n_dropped);
    note(c, line);
  }
  return true;
}

/* ---- answering ------------------------------------------------------------------------------- */

typedef struct reply {
  char *text; /* owned */
  size_t n, capacity;
  bool terminal, failed;
  int failure; /* errno of a write that failed, or 0 */
} reply;

static bool on_event(void *context, const wick_event *event) {
  reply *r = context;
  if (event->n_bytes == 0) return !r->failed;
  if (r->n + event->n_bytes + 1 > r->capacity) {
    size_t capacity = 2 * (r->capacity + event->n_bytes + 256);
    char *larger = realloc(r->text, capacity);
    if (!larger) {
      r->failed = true;
      return false;
    }
    r->text = larger;
    r->capacity = capacity;
  }
  memcpy(r->text + r->n, event->text, event->n_bytes);
  r->n += event->n_bytes;
  r->text[r->n] = '\0';
  r->failure = cli_write_text(event->text, event->n_bytes, r->terminal);
  r->failed |= r->failure != 0;
  return !r->failed;
}

/* Answer the conversation's last message, which is forgotten again if there can be no answer. */
static int answer(chat *c) {
  wick_error error;
  int32_t *ids;
  size_t n_ids;
  reply r = {.terminal = isatty(STDOUT_FILENO) != 0};
  cli_answer got = {0};
  bool good = fitting_tokens(c, &ids, &n_ids, &error);
  if (good) {
    wick_request request = cli_request(&c->sampling, ids, n_ids);
    good = cli_generate(c->session.engine, &request, c->interrupt, on_event, &r, &got, &error);
    free(ids);
    if (r.n == 0 || r.text[r.n - 1] != '\n') cli_write_text("\n", 1, r.terminal);
  }
  if (!good) {
    free(r.text);
    free(c->turns[--c->n_turns].text);
    return cli_fail_with(&error);
  }
  if (r.failed) {
    free(r.text);
    return r.failure ? cli_fail_stdout(r.failure) : cli_fail("no memory for the answer");
  }
  if (isatty(STDERR_FILENO)) {
    char line[240], text[200];
    cli_describe(&got, text, sizeof text);
    snprintf(line, sizeof line, "(%s%s%s)", got.finish == WICK_FINISH_CANCELLED ? "stopped; " : "",
             got.finish == WICK_FINISH_LENGTH ? "cut at the limit; " : "", text);
    note(c, line);
  }
  char *text = r.text ? r.text : calloc(1, 1);
  if (text && add_turn(c, "assistant", text)) return CLI_OK;
  free(text);
  return cli_fail("no memory for the answer");
}

/* ---- what is typed --------------------------------------------------------------------------- */

/* whole + "\n" + line; takes and returns owned strings. */
static char *join(char *whole, char *line) {
  size_t n = whole ? strlen(whole) : 0, m = strlen(line);
  if (!whole) return line;
  char *larger = realloc(whole, n + m + 2);
  if (!larger) {
    free(whole);
    free(line);
    return NULL;
  }
  larger[n] = '\n';
  memcpy(larger + n + 1, line, m + 1);
  free(line);
  return larger;
}

/* One message: a line; lines that end in a backslash and the next; lines between """ and """; lines
 * that were pasted together. NULL at the end of input. */
static char *read_message(chat *c) {
  static const char quotes[] = "\"\"\"";
  bool quoted = false, more = true;
  char *message = NULL;
  while (more) {
    char *line = cli_lines_next(c->lines, message || quoted ? "... " : "> ");
    if (!line) break;
    size_t n = strlen(line);
    if (!quoted && !message && strncmp(line, quotes, 3) == 0) {
      quoted = true;
      memmove(line, line + 3, n - 2);
      n -= 3;
    }
    bool closes = quoted && n >= 3 && strcmp(line + n - 3, quotes) == 0;
    bool goes_on = !quoted && n > 0 && line[n - 1] == '\\';
    if (closes) line[n - 3] = '\0';
    if (goes_on) line[n - 1] = '\0';
    more = (quoted && !closes) || goes_on || (!quoted && cli_lines_pending(c->lines));
    if (quoted && !message && *line == '\0' && !closes) {
      free(line); /* the opening quotes stood alone */
      continue;
    }
    message = join(message, line);
    if (!message) break;
  }
  if (message && *message) cli_lines_remember(c->lines, message);
  return message;
}

static void set_system(chat *c, const char *text) {
  while (*text == ' ') text++;
  free(c->system);
  c->system = *text ? strdup(text) : NULL;
  note(c, c->system ? "(new system prompt)" : "(the model's own system prompt)");
}

/* A line that begins with "/". False: leave. */
static bool obey(chat *c, const char *line) {
  if (strcmp(line, "/quit") == 0 || strcmp(line, "/exit") == 0) return false;
  if (strcmp(line, "/reset") == 0) {
    drop_oldest(c, c->n_turns);
    note(c, "(a new conversation)");
  } else if (strcmp(line, "/system") == 0 || strncmp(line, "/system ", 8) == 0) {
    set_system(c, line + 7);
  } else if (strcmp(line, "/help") == 0) {
    note(c, "/system TEXT  set the system prompt (without TEXT: the model's own)\n"
            "/reset        forget the conversation\n"
            "/quit         leave (or Ctrl-D)\n"
            "Ctrl-C        stop an answer\n"
            "A line that ends in \\ goes on in the next; \"\"\" begins and ends a block of lines;\n"
            "lines pasted together are one message. A message that begins with / needs a space\n"
            "before it.");
  } else {
    note(c, "(expected /system, /reset, /help or /quit)");
  }
  return true;
}

static int converse(chat *c) {
  bool terminal = cli_lines_is_terminal(c->lines);
  if (terminal) note(c, "(/help lists what can be typed; Ctrl-C stops an answer, Ctrl-D leaves)");
  int status = CLI_OK;
  for (;;) {
    cli_interrupt_ignore(c->interrupt, terminal);
    char *message = read_message(c);
    cli_interrupt_ignore(c->interrupt, false);
    if (!message) break;
    if (message[0] == '/') {
      bool stay = obey(c, message);
      free(message);
      if (!stay) return CLI_OK;
      continue;
    }
    if (message[strspn(message, " \t\n")] == '\0') {
      free(message);
      continue;
    }
    if (!add_turn(c, "user", message)) {
      free(message);
      return cli_fail("no memory for the message");
    }
    status = answer(c);
    if (status != CLI_OK && !terminal) return status;
  }
  if (terminal) cli_write_text("\n", 1, true);
  return CLI_OK;
}

static int start(chat *c) {
  const wick_model_info *info = c->session.info;
  if (!info->chat_format) {
    return cli_fail("%s: expected a known chat template, found another or none (wick run --raw "
                    "completes text)",
                    info->name);
  }
  int usual = info->n_context < USUAL_CONTEXT ? info->n_context : USUAL_CONTEXT;
  c->n_context = c->options.n_context ? c->options.n_context : usual;
  int status = cli_session_start(&c->session, c->n_context, 1, 1);
  if (status != CLI_OK) return status;
  c->lines = cli_lines_new();
  if (c->system_option) c->system = strdup(c->system_option);
  if (!c->lines || (c->system_option && !c->system)) return cli_fail("no memory to chat");
  return converse(c);
}

int wick_command_chat(int argc, char **argv) {
  chat c = {.sampling = cli_sampling_default()};
  const cli_option options[] = {
      {"--system", CLI_TEXT, &c.system_option, 0, 0, "TEXT", "the system prompt"},
      CLI_SAMPLING_OPTIONS(&c.sampling),
      CLI_MODEL_OPTIONS(&c.options),
      CLI_ENGINE_OPTIONS(&c.options)};
  const cli_syntax syntax = {.command = "chat",
                             .synopsis = "chat MODEL [options]",
                             .summary = "A conversation. Nothing of it is kept.",
                             .options = options,
                             .n_options = sizeof options / sizeof *options,
                             .positional = &c.model,
                             .n_positional = 1};
  int status;
  if (!cli_parse(&syntax, argc, argv, &status)) return status;
  status = cli_sampling_finish("chat", &c.sampling);
  if (status != CLI_OK) return status;
  const char *term = getenv("TERM"), *no_colour = getenv("NO_COLOR");
  c.colour =
      isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0 && !(no_colour && *no_colour);
  c.interrupt = cli_interrupt_new();
  status = cli_session_open("chat", c.model, &c.options, &c.session);
  if (status == CLI_OK) status = cli_sampling_check("chat", &c.sampling, c.session.info);
  if (status == CLI_OK) status = start(&c);
  drop_oldest(&c, c.n_turns);
  free(c.turns);
  free(c.system);
  cli_lines_free(c.lines);
  cli_session_close(&c.session);
  cli_interrupt_free(c.interrupt);
  return status;
}
