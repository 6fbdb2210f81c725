/* Reading whole inputs and finishing outputs, with errors in words. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

enum { MAX_INPUT_BYTES = 1 << 30 };

/* Append what file still holds. */
static bool read_all(FILE *file, const char *name, cli_bytes *out, wick_error *error) {
  size_t capacity = 1 << 16;
  out->n = 0;
  out->data = malloc(capacity);
  while (out->data) {
    size_t n = fread(out->data + out->n, 1, capacity - 1 - out->n, file);
    out->n += n;
    if (n == 0) break;
    if (out->n > MAX_INPUT_BYTES) {
      wick_fail(error, WICK_ERROR_ARGUMENT, "%s: expected at most %d bytes, found more", name,
                (int)MAX_INPUT_BYTES);
      return false;
    }
    if (out->n + 1 < capacity) continue;
    capacity *= 2;
    char *larger = realloc(out->data, capacity);
    if (!larger) free(out->data);
    out->data = larger;
  }
  if (!out->data) {
    wick_fail(error, WICK_ERROR_MEMORY, "%s: no memory for its bytes", name);
    return false;
  }
  out->data[out->n] = '\0';
  if (!ferror(file)) return true;
  wick_fail(error, WICK_ERROR_IO, "%s: %s", name, strerror(errno));
  return false;
}

bool cli_read(const char *path, cli_bytes *out, wick_error *error) {
  *out = (cli_bytes){0};
  if (strcmp(path, "-") == 0) return read_all(stdin, "stdin", out, error);
  FILE *file = fopen(path, "rb");
  if (!file) {
    wick_fail(error, WICK_ERROR_IO, "%s: %s", path, strerror(errno));
    return false;
  }
  bool good = read_all(file, path, out, error);
  fclose(file);
  return good;
}

bool cli_read_text(const char *text, cli_bytes *out, wick_error *error) {
  if (strcmp(text, "-") == 0) return cli_read("-", out, error);
  *out = (cli_bytes){.n = strlen(text)};
  out->data = malloc(out->n + 1);
  if (!out->data) {
    wick_fail(error, WICK_ERROR_MEMORY, "no memory for %zu bytes of text", out->n);
    return false;
  }
  memcpy(out->data, text, out->n + 1);
  return true;
}

void cli_bytes_free(cli_bytes *bytes) {
  free(bytes->data);
  *bytes = (cli_bytes){0};
}

static const char unwritten[] = "stdout: expected to write it all, found: %s";

int cli_fail_stdout(int reason) {
  return cli_fail(unwritten, strerror(reason));
}

bool cli_finish_stdout(wick_error *error) {
  int before = errno; /* of an earlier write that failed, whose bytes are gone */
  errno = 0;
  bool failed = ferror(stdout) != 0;
  failed |= fflush(stdout) != 0;
  if (!failed) return true;
  int reason = errno ? errno : before;
  wick_fail(error, WICK_ERROR_IO, unwritten, reason ? strerror(reason) : "an earlier write failed");
  return false;
}
