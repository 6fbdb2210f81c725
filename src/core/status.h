/* Failing with one line that names what was expected and what was found. Source: style.md's rule
 * that fallible functions return a status and fill an error. */
#ifndef WICK_CORE_STATUS_H
#define WICK_CORE_STATUS_H

#include "wick.h"

#if defined(__GNUC__)
#define WICK_PRINTF(at, first) __attribute__((__format__(__printf__, at, first)))
#else
#define WICK_PRINTF(at, first)
#endif

/* Fill *error (may be NULL) from a printf format and return status. The message goes through
 * wick_clean_line, so that a file's strings cannot break the line. */
wick_status wick_fail(wick_error *error, wick_status status, const char *format, ...)
    WICK_PRINTF(3, 4);

/* In place: control characters (C0, DEL, C1: they steer terminals) and bytes that are no UTF-8
 * become '?'. */
void wick_clean_line(char *text);

#define WICK_TRY(expression)                                                                       \
  do {                                                                                             \
    wick_status wick_try_status_ = (expression);                                                   \
    if (wick_try_status_ != WICK_OK) return wick_try_status_;                                      \
  } while (0)

/* A borrowed run of bytes, not terminated. */
typedef struct wick_string {
  const char *data;
  size_t n;
} wick_string;

/* For "%.*s": at most 80 bytes of a string that a file gave. */
#define WICK_STRING_ARGS(s) (int)((s).n < 80 ? (s).n : 80), ((s).n ? (s).data : "")

bool wick_string_equal(wick_string a, const char *b);

/* Whether text ends in ending, which may be all of it. */
bool wick_ends_with(const char *text, const char *ending);

#endif
