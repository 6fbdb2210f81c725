/* Error lines: what a file's strings may put into them. Source: Unicode 15, the control characters
 * (general category Cc) and table 3-7. */
#include "core/status.h"

#include <string.h>

#include "tap.h"

static void check(tap *t, const char *given, const char *expected) {
  wick_error error;
  wick_status status = wick_fail(&error, WICK_ERROR_FORMAT, "%s", given);
  CHECK(t,
        status == WICK_ERROR_FORMAT && error.status == status &&
            strcmp(error.message, expected) == 0,
        expected);
}

int main(void) {
  tap t = {0};
  check(&t,
        "plain, gr\xc3\xb6\xc3\x9f"
        "er, \xe6\x97\xa5, \xf0\x9f\x99\x82",
        "plain, gr\xc3\xb6\xc3\x9f"
        "er, \xe6\x97\xa5, \xf0\x9f\x99\x82");
  check(&t, "a\nb\tc\x1b[2J\x7f", "a?b?c?[2J?");
  check(&t, "\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0", "???\xc2\xa0");
  check(&t,
        "a\x9b"
        "b\xff"
        "c\xe6\x97",
        "a?b?c?");
  CHECK(&t, wick_ends_with("a.gguf", ".gguf") && wick_ends_with(".gguf", ".gguf"), "endings");
  CHECK(&t, !wick_ends_with("gguf", ".gguf") && !wick_ends_with("a.gguf2", ".gguf"), "no endings");
  return tap_done(&t);
}
