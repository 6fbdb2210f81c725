/* wick convert IN OUT: GGUF or model folder to model folder or GGUF. */
#include "lib/convert.h"
#include "cleanup.h"
#include "cli.h"
#include "commands.h"

int wick_command_convert(int argc, char **argv) {
  const char *paths[2] = {NULL, NULL};
  wick_convert_options convert = {0};
  const cli_option options[] = {
      {"--type", CLI_TEXT, &convert.type, 0, 0, "T",
       "f32, f16, bf16; for GGUF also q8_0, q4_0, q4_1 (default: as in IN)"},
      {"--force", CLI_FLAG, &convert.force, 0, 0, NULL, "replace OUT where it exists"}};
  const cli_syntax syntax = {
      .command = "convert",
      .synopsis = "convert IN OUT [--type T] [--force]",
      .summary = "IN, a .gguf file or a model folder, to OUT: a .gguf file, or a model folder in\n"
                 "Hugging Face's layout (bf16 where IN is quantized).",
      .options = options,
      .n_options = sizeof options / sizeof *options,
      .positional = paths,
      .n_positional = 2};
  int exit_status;
  if (!cli_parse(&syntax, argc, argv, &exit_status)) return exit_status;
  wick_error error = {0};
  if (!wick_convert_accepts(convert.type, paths[1], &error)) {
    return cli_usage("convert", "%s", error.message);
  }
  wick_output output = {0};
  cli_guard_outputs(&output, 1);
  wick_status status = wick_convert(paths[0], paths[1], &convert, &output, &error);
  cli_guard_outputs(NULL, 0);
  return status == WICK_OK ? CLI_OK : cli_fail_with(&error);
}
