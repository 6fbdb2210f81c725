/* See logits_file.h. */
#include "logits_file.h"

#include <errno.h>
#include <string.h>

#include "core/cursor.h"

enum { HEADER_BYTES = 32 };
static const char magic[] = "WICKLOG1";

uint64_t cli_hash_ids(const int32_t *ids, size_t n) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < n; i++) {
    for (int shift = 0; shift < 32; shift += 8) {
      hash = (hash ^ ((uint32_t)ids[i] >> shift & 0xff)) * 0x100000001b3u;
    }
  }
  return hash;
}

static uint32_t scored(const cli_logits_header *header) {
  return header->window - 1 - header->window / 2;
}

static bool io_error(const char *path, wick_error *error) {
  wick_fail(error, WICK_ERROR_IO, "%s: %s", path, strerror(errno));
  return false;
}

/* "PATH: expected 49152 NAME, found 1000" unless they are equal. */
static bool same(const char *path, const char *what, uint64_t expected, uint64_t found,
                 wick_error *error) {
  if (expected == found) return true;
  wick_fail(error, WICK_ERROR_FORMAT, "%s: expected %llu %s, found %llu", path,
            (unsigned long long)expected, what, (unsigned long long)found);
  return false;
}

static bool check_header(const char *path, const uint8_t *bytes, size_t n,
                         const cli_logits_header *expected, wick_error *error) {
  wick_cursor cursor = {.data = bytes, .n = n};
  const uint8_t *start = wick_cursor_take(&cursor, 8);
  if (n != HEADER_BYTES || memcmp(start, magic, 8) != 0) {
    wick_fail(error, WICK_ERROR_FORMAT, "%s: expected a file by --save-logits, found another",
              path);
    return false;
  }
  if (!same(path, "tokens in its vocabulary", expected->n_vocab, wick_cursor_u32(&cursor), error) ||
      !same(path, "tokens in a window", expected->window, wick_cursor_u32(&cursor), error) ||
      !same(path, "windows", expected->n_windows, wick_cursor_u32(&cursor), error) ||
      !same(path, "scored positions", scored(expected), wick_cursor_u32(&cursor), error)) {
    return false;
  }
  if (wick_cursor_u64(&cursor) == expected->ids_hash) return true;
  wick_fail(error, WICK_ERROR_FORMAT, "%s: expected logits of the same text, found another's",
            path);
  return false;
}

bool cli_logits_file_open(const char *path, const cli_logits_header *expected, cli_logits_file *out,
                          wick_error *error) {
  *out = (cli_logits_file){.file = fopen(path, "rb"), .name = path, .n_vocab = expected->n_vocab};
  if (!out->file) return io_error(path, error);
  uint8_t header[HEADER_BYTES];
  size_t n = fread(header, 1, sizeof header, out->file);
  return check_header(path, header, n, expected, error);
}

static void put(uint8_t *out, uint64_t value, int n_bytes) {
  for (int i = 0; i < n_bytes; i++) out[i] = (uint8_t)(value >> (8 * i));
}

static bool write_bytes(cli_logits_file *file, const void *bytes, size_t n, wick_error *error) {
  wick_sink sink = wick_output_sink(&file->output);
  return wick_sink_write(&sink, bytes, n, error) == WICK_OK;
}

bool cli_logits_file_create(const char *path, const cli_logits_header *header, cli_logits_file *out,
                            wick_error *error) {
  *out = (cli_logits_file){.name = path, .n_vocab = header->n_vocab};
  if (wick_output_begin(&out->output, path, false, true, error) != WICK_OK) return false;
  out->writing = true;
  if (wick_output_open(&out->output, NULL, error) != WICK_OK) return false;
  uint8_t bytes[HEADER_BYTES];
  memcpy(bytes, magic, 8);
  put(bytes + 8, header->n_vocab, 4);
  put(bytes + 12, header->window, 4);
  put(bytes + 16, header->n_windows, 4);
  put(bytes + 20, scored(header), 4);
  put(bytes + 24, header->ids_hash, 8);
  return write_bytes(out, bytes, sizeof bytes, error);
}

bool cli_logits_file_read(cli_logits_file *file, float *row, wick_error *error) {
  size_t n = fread(row, sizeof *row, file->n_vocab, file->file);
  if (n == file->n_vocab) return true;
  wick_fail(error, WICK_ERROR_FORMAT, "%s: expected %u logits, found the file's end after %zu",
            file->name, (unsigned)file->n_vocab, n);
  return false;
}

bool cli_logits_file_write(cli_logits_file *file, const float *row, wick_error *error) {
  return write_bytes(file, row, file->n_vocab * sizeof *row, error);
}

bool cli_logits_file_finish(cli_logits_file *file, wick_error *error) {
  if (wick_output_close(&file->output, error) != WICK_OK) return false;
  if (wick_output_commit(&file->output, error) != WICK_OK) return false;
  file->writing = false;
  return true;
}

void cli_logits_file_close(cli_logits_file *file) {
  if (file->file) fclose(file->file);
  if (file->writing) wick_output_discard(&file->output);
  file->file = NULL;
  file->writing = false;
}
