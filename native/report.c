/* The one way to fail: one line on stderr and an exit status. */
#include <stdarg.h>

#include "cli.h"

static void print_line(const char *prefix, const char *format, va_list arguments) {
  char line[1024];
  vsnprintf(line, sizeof line, format, arguments);
  wick_clean_line(line);
  fprintf(stderr, "wick: %s%s%s\n", prefix ? prefix : "", prefix ? ": " : "", line);
}

int cli_fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print_line(NULL, format, arguments);
  va_end(arguments);
  return CLI_FAILED;
}

int cli_usage(const char *command, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print_line(command, format, arguments);
  va_end(arguments);
  return CLI_USAGE;
}

int cli_fail_with(const wick_error *error) {
  return cli_fail("%s", error->message);
}
