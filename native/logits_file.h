/* Logits kept in a file, for comparing two runs of wick ppl. Little-endian:
 *   0  8 bytes  "WICKLOG1"
 *   8  u32      vocabulary
 *  12  u32      tokens of a window
 *  16  u32      windows
 *  20  u32      scored positions of a window: window - 1 - window / 2
 *  24  u64      FNV-1a hash of the windows' token ids, each as four bytes
 *  32  float32  [windows][scored][vocabulary] */
#ifndef WICK_NATIVE_LOGITS_FILE_H
#define WICK_NATIVE_LOGITS_FILE_H

#include "cli.h"
#include "lib/output.h"

typedef struct cli_logits_header {
  uint32_t n_vocab, window, n_windows;
  uint64_t ids_hash;
} cli_logits_header;

typedef struct cli_logits_file {
  FILE *file;         /* that is read; NULL: closed */
  wick_output output; /* that is written */
  bool writing;
  const char *name;
  uint32_t n_vocab;
} cli_logits_file;

uint64_t cli_hash_ids(const int32_t *ids, size_t n);

/* Open a file whose header must say what is expected. */
bool cli_logits_file_open(const char *path, const cli_logits_header *expected, cli_logits_file *out,
                          wick_error *error);
bool cli_logits_file_create(const char *path, const cli_logits_header *header, cli_logits_file *out,
                            wick_error *error);
/* The next row, float32 [n_vocab]. */
bool cli_logits_file_read(cli_logits_file *file, float *row, wick_error *error);
bool cli_logits_file_write(cli_logits_file *file, const float *row, wick_error *error);
/* Give a file that was written its name; false when something did not reach it. */
bool cli_logits_file_finish(cli_logits_file *file, wick_error *error);
/* Harmless when closed; what was written but not finished goes. */
void cli_logits_file_close(cli_logits_file *file);

#endif
