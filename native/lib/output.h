/* Files that appear whole or not at all: written under a temporary name beside the final one, then
 * renamed. */
#ifndef WICK_NATIVE_OUTPUT_H
#define WICK_NATIVE_OUTPUT_H

#include <stdio.h>

#include "formats/sink.h"
#include "path.h"

enum { WICK_OUTPUT_FILES = 8 };

/* One file, or a folder of up to WICK_OUTPUT_FILES files. */
typedef struct wick_output {
  char path[WICK_PATH_BYTES];    /* final */
  char partial[WICK_PATH_BYTES]; /* until commit */
  bool is_folder, exists;
  bool in_place; /* a device or pipe: written as it is, never replaced */
  int failure;   /* errno of the first write that failed, where it is known */
  const char *names[WICK_OUTPUT_FILES]; /* of a folder's files; borrowed, static */
  int n_names;
  FILE *file; /* open now, or NULL */
} wick_output;

/* Prepare to write path. WICK_ERROR_ARGUMENT when it exists and force is false, when the kinds
 * differ, when an existing folder is neither empty nor a model's, or when it holds weights under
 * other names (they would be mixed). */
wick_status wick_output_begin(wick_output *output, const char *path, bool is_folder, bool force,
                              wick_error *error);
/* Open the file (folder: its next file, called name) for writing. */
wick_status wick_output_open(wick_output *output, const char *name, wick_error *error);
/* Close it; says so if any write before failed. */
wick_status wick_output_close(wick_output *output, wick_error *error);
wick_sink wick_output_sink(wick_output *output); /* into the open file */
/* Put everything in its final place. */
wick_status wick_output_commit(wick_output *output, wick_error *error);
/* Remove what was written; harmless before a beginning and after a commit. */
void wick_output_discard(wick_output *output);
/* The same for a signal handler, in a program that ends with it: closes nothing, and calls only
 * what POSIX lets handlers call. */
void wick_output_remove(const wick_output *output);

#endif
