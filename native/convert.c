/* wick convert IN OUT [--type T] [--force]: GGUF or model folder to model folder or GGUF. */
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "lib/convert.h"

int wick_command_convert(int argc, char **argv) {
  const char *paths[2] = {NULL, NULL};
  int n_paths = 0;
  bool usage = false;
  wick_convert_options options = {0};
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--force") == 0) {
      options.force = true;
    } else if (strcmp(argv[i], "--type") == 0 && i + 1 < argc) {
      options.type = argv[++i];
    } else if (argv[i][0] == '-' || n_paths == 2) {
      usage = true;
    } else {
      paths[n_paths++] = argv[i];
    }
  }
  if (usage || n_paths != 2) {
    fputs("usage: wick convert IN OUT [--type f32|f16|bf16|q8_0|q4_0|q4_1] [--force]\n"
          "IN: a .gguf file or a model folder; OUT: a new .gguf file, or a new folder\n",
          stderr);
    return 2;
  }
  wick_error error = {0};
  if (wick_convert(paths[0], paths[1], &options, &error) == WICK_OK) return 0;
  fprintf(stderr, "wick: %s\n", error.message);
  return 1;
}
