/* Text that came from a file, on its way to a terminal or into JSON. */
#ifndef WICK_NATIVE_ESCAPE_H
#define WICK_NATIVE_ESCAPE_H

#include <stdio.h>

#include "core/status.h"

/* Print at most limit bytes of text as a JSON string, quotes included. Control characters (C0, DEL,
 * C1: they steer terminals) are written as \uXXXX, bytes that are no UTF-8 as \ufffd. A text that
 * was cut ends in "..." inside the quotes. */
void wick_print_quoted(FILE *file, wick_string text, size_t limit);

#endif
