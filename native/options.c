/* Command-line arguments: a table of options per command, strict numbers, one-line errors. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* strtol and strtod also take white space before a number, hexadecimal, "nan" and "inf"; a user who
 * types those has made a mistake. */
static bool begins_decimal(const char *text) {
  if (*text == '-' || *text == '+') text++;
  return (*text >= '0' && *text <= '9') || *text == '.';
}

static bool is_decimal(const char *text) {
  return begins_decimal(text) && strspn(text, "0123456789+-.eE") == strlen(text);
}

bool cli_parse_int(const char *text, double least, double most, int *out) {
  char *end;
  errno = 0;
  long value = is_decimal(text) ? strtol(text, &end, 10) : 0;
  if (!is_decimal(text) || errno || *end || (double)value < least || (double)value > most) {
    return false;
  }
  *out = (int)value;
  return true;
}

bool cli_parse_float(const char *text, double least, double most, float *out) {
  char *end;
  double value = is_decimal(text) ? strtod(text, &end) : 0;
  if (!is_decimal(text) || *end || !(value >= least && value <= most)) return false;
  *out = (float)value;
  return true;
}

bool cli_parse_u64(const char *text, uint64_t *out) {
  char *end;
  errno = 0;
  if (*text == '\0' || strspn(text, "0123456789") != strlen(text)) return false;
  *out = strtoull(text, &end, 10);
  return errno == 0 && *end == '\0';
}

/* Store value; on failure what was expected stands in expected. */
static bool store(const cli_option *option, const char *value, char *expected, size_t capacity) {
  bool good = true;
  switch (option->kind) {
  case CLI_FLAG:
    *(bool *)option->target = true;
    break;
  case CLI_TEXT:
    *(const char **)option->target = value;
    break;
  case CLI_PATH:
    *(const char **)option->target = value;
    good = *value != '\0';
    snprintf(expected, capacity, "a path");
    break;
  case CLI_INT:
    good = cli_parse_int(value, option->least, option->most, option->target);
    snprintf(expected, capacity, "a whole number from %.0f to %.0f", option->least, option->most);
    break;
  case CLI_FLOAT:
    good = cli_parse_float(value, option->least, option->most, option->target);
    snprintf(expected, capacity, "a number from %g to %g", option->least, option->most);
    break;
  case CLI_LIST: {
    cli_list *list = option->target;
    good = list->n < CLI_MAX_LIST;
    if (good) list->items[list->n++] = value;
    snprintf(expected, capacity, "at most %d of them", (int)CLI_MAX_LIST);
    break;
  }
  }
  return good;
}

static void print_help(const cli_syntax *syntax) {
  printf("usage: wick %s\n\n%s\n", syntax->synopsis, syntax->summary);
  for (size_t i = 0; i < syntax->n_options; i++) {
    const cli_option *option = &syntax->options[i];
    char left[40];
    snprintf(left, sizeof left, "%s %s", option->name, option->argument ? option->argument : "");
    printf("%s  %-26s %s\n", i == 0 ? "\n" : "", left, option->help);
  }
}

/* The option that argument names, by itself or as "--name=value" (*value is then set). */
static const cli_option *find(const cli_syntax *syntax, const char *argument, const char **value) {
  for (size_t i = 0; i < syntax->n_options; i++) {
    const char *name = syntax->options[i].name;
    size_t n = strlen(name);
    if (strcmp(argument, name) == 0) return &syntax->options[i];
    if (name[1] == '-' && strncmp(argument, name, n) == 0 && argument[n] == '=') {
      *value = argument + n + 1;
      return &syntax->options[i];
    }
  }
  return NULL;
}

/* Handle argv[*i] as an option, moving *i past its value; CLI_OK or CLI_USAGE. */
static int parse_option(const cli_syntax *syntax, int argc, char **argv, int *i) {
  const char *value = NULL, *argument = argv[*i];
  const cli_option *option = find(syntax, argument, &value);
  if (!option) {
    return cli_usage(syntax->command, "expected one of its options (wick %s --help), found %s",
                     syntax->command, argument);
  }
  if (option->kind == CLI_FLAG && value) {
    return cli_usage(syntax->command, "%s: expected no value, found %s", option->name, value);
  }
  if (option->kind != CLI_FLAG && !value) {
    if (*i + 1 >= argc) {
      return cli_usage(syntax->command, "%s: expected %s after it, found nothing", option->name,
                       option->argument);
    }
    value = argv[++*i];
  }
  char expected[100];
  if (!store(option, value, expected, sizeof expected)) {
    return cli_usage(syntax->command, "%s: expected %s, found %s", option->name, expected,
                     *value ? value : "an empty one");
  }
  return CLI_OK;
}

bool cli_parse(const cli_syntax *syntax, int argc, char **argv, int *status) {
  size_t n = 0;
  bool only_positional = false;
  for (int i = 1; i < argc; i++) {
    const char *argument = argv[i];
    if (!only_positional && strcmp(argument, "--") == 0) {
      only_positional = true;
    } else if (!only_positional &&
               (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0)) {
      print_help(syntax);
      *status = CLI_OK;
      return false;
    } else if (!only_positional && argument[0] == '-' && argument[1] != '\0') {
      *status = parse_option(syntax, argc, argv, &i);
      if (*status != CLI_OK) return false;
    } else if (argument[0] == '\0') {
      *status =
          cli_usage(syntax->command, "expected wick %s, found an empty argument", syntax->synopsis);
      return false;
    } else if (n < syntax->n_positional) {
      syntax->positional[n++] = argument;
    } else {
      *status =
          cli_usage(syntax->command, "expected wick %s, found %s too", syntax->synopsis, argument);
      return false;
    }
  }
  if (n == syntax->n_positional) return true;
  *status = cli_usage(syntax->command, "expected wick %s, found %zu argument%s", syntax->synopsis,
                      n, n == 1 ? "" : "s");
  return false;
}
