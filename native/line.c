/* See line.h. libedit: the NetBSD editline library, BSD licence. */
#define _POSIX_C_SOURCE 200809L /* poll, getline */
#include "line.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(WICK_LIBEDIT)
#include <histedit.h>
#endif

enum { N_HISTORY = 200, PASTE_MS = 20 };

struct cli_lines {
  bool terminal;
  const char *prompt;
#if defined(WICK_LIBEDIT)
  EditLine *editor; /* NULL: plain lines */
  History *history;
#endif
};

#if defined(WICK_LIBEDIT)

static char *get_prompt(EditLine *editor) {
  cli_lines *lines;
  el_get(editor, EL_CLIENTDATA, &lines);
  return (char *)lines->prompt;
}

static void editor_new(cli_lines *lines) {
  lines->editor = el_init("wick", stdin, stdout, stderr);
  lines->history = history_init();
  if (!lines->editor || !lines->history) return;
  HistEvent event;
  history(lines->history, &event, H_SETSIZE, N_HISTORY);
  el_set(lines->editor, EL_CLIENTDATA, lines);
  el_set(lines->editor, EL_PROMPT, get_prompt);
  el_set(lines->editor, EL_EDITOR, "emacs");
  el_set(lines->editor, EL_HIST, history, lines->history);
  /* Ctrl-C comes as a key and clears the line. */
  el_set(lines->editor, EL_SETTY, "-d", "-isig", NULL);
  el_set(lines->editor, EL_BIND, "^C", "em-kill-line", NULL);
  el_source(lines->editor, NULL); /* the user's ~/.editrc */
}

static void editor_free(cli_lines *lines) {
  if (lines->history) history_end(lines->history);
  if (lines->editor) el_end(lines->editor);
}

static char *editor_next(cli_lines *lines) {
  int n;
  const char *line = el_gets(lines->editor, &n);
  if (!line || n <= 0) return NULL;
  char *copy = malloc((size_t)n + 1);
  if (!copy) return NULL;
  memcpy(copy, line, (size_t)n);
  copy[n] = '\0';
  copy[strcspn(copy, "\n")] = '\0';
  return copy;
}

#endif

cli_lines *cli_lines_new(void) {
  cli_lines *lines = calloc(1, sizeof *lines);
  if (!lines) return NULL;
  lines->terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
#if defined(WICK_LIBEDIT)
  if (lines->terminal) editor_new(lines);
#endif
  return lines;
}

void cli_lines_free(cli_lines *lines) {
  if (!lines) return;
#if defined(WICK_LIBEDIT)
  editor_free(lines);
#endif
  free(lines);
}

bool cli_lines_is_terminal(const cli_lines *lines) {
  return lines->terminal;
}

static char *plain_next(const cli_lines *lines) {
  if (lines->terminal) {
    fputs(lines->prompt, stdout);
    fflush(stdout);
  }
  char *line = NULL;
  size_t capacity = 0;
  if (getline(&line, &capacity, stdin) < 0) {
    free(line);
    return NULL;
  }
  line[strcspn(line, "\n")] = '\0';
  return line;
}

char *cli_lines_next(cli_lines *lines, const char *prompt) {
  lines->prompt = prompt;
#if defined(WICK_LIBEDIT)
  if (lines->editor) return editor_next(lines);
#endif
  return plain_next(lines);
}

bool cli_lines_pending(cli_lines *lines) {
  struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
  return lines->terminal && poll(&input, 1, PASTE_MS) > 0 && (input.revents & POLLIN);
}

void cli_lines_remember(cli_lines *lines, const char *message) {
#if defined(WICK_LIBEDIT)
  HistEvent event;
  if (lines->history) history(lines->history, &event, H_ENTER, message);
#else
  (void)lines, (void)message;
#endif
}
