/* See convert.h: open the source, write the target, put it in place. */
#include <string.h>

#include "convert_parts.h"

static wick_status convert_source_to(convert_source *source, convert_target *target,
                                     wick_output *output, wick_error *error) {
  if (!target->to_gguf && !source->is_gguf)
    return wick_fail(error, WICK_ERROR_UNSUPPORTED,
                     "%s: expected an output that ends in .gguf for a model folder, found %s",
                     source->path, output->path);
  if (!target->to_gguf) {
    target->rope_style = WICK_ROPE_HALF;
    return convert_to_folder(source, target, output, error);
  }
  bool is_llama = strcmp(source->config.architecture, "llama") == 0;
  target->rope_style = is_llama ? WICK_ROPE_INTERLEAVED : WICK_ROPE_HALF;
  return convert_to_gguf(source, target, output, error);
}

bool wick_convert_accepts(const char *type, const char *out, wick_error *error) {
  convert_target target;
  return convert_read_type(type, wick_ends_with(out, ".gguf"), &target, error) == WICK_OK;
}

wick_status wick_convert(const char *in, const char *out, const wick_convert_options *options,
                         wick_output *output, wick_error *error) {
  convert_target target;
  WICK_TRY(convert_read_type(options->type, wick_ends_with(out, ".gguf"), &target, error));
  convert_source source;
  wick_output unseen = {0};
  if (!output) output = &unseen;
  wick_status status = convert_open(&source, in, error);
  if (status == WICK_OK)
    status = wick_output_begin(output, out, !target.to_gguf, options->force, error);
  if (status == WICK_OK) {
    status = convert_source_to(&source, &target, output, error);
    if (status == WICK_OK) status = wick_output_commit(output, error);
    if (status != WICK_OK) wick_output_discard(output);
  }
  convert_close(&source);
  return status;
}
