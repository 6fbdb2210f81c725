/* Lines from whoever types: with history and editing where libedit was found and stdin is a
 * terminal, plain otherwise. */
#ifndef WICK_NATIVE_LINE_H
#define WICK_NATIVE_LINE_H

#include <stdbool.h>

typedef struct cli_lines cli_lines;

/* NULL when there is no memory. */
cli_lines *cli_lines_new(void);
void cli_lines_free(cli_lines *lines);
bool cli_lines_is_terminal(const cli_lines *lines);

/* The next line without its newline, owned (free); NULL at the end of input. */
char *cli_lines_next(cli_lines *lines, const char *prompt);
/* Whether more was typed or pasted that has not been asked for. */
bool cli_lines_pending(cli_lines *lines);
/* Let the arrow keys find a message again. */
void cli_lines_remember(cli_lines *lines, const char *message);

#endif
