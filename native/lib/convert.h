/* Converting models between GGUF and Hugging Face folders. What differs between the two: names
 * (names.h), the order of Q and K rows (llama only), where the configuration and the tokenizer
 * stand. Tensors stream through one row's worth of memory. Chapter 9. */
#ifndef WICK_NATIVE_CONVERT_H
#define WICK_NATIVE_CONVERT_H

#include "core/memory.h"
#include "output.h"

typedef struct wick_convert_options {
  const char *type; /* "f32", "f16", "bf16", "q8_0", "q4_0", "q4_1"; NULL: as in the source */
  bool force;       /* replace an existing output */
} wick_convert_options;

/* Whether out can be of that type (NULL: as in the source); else an error that says which can. */
bool wick_convert_accepts(const char *type, const char *out, wick_error *error);

/* in: a .gguf file, a .safetensors file (its folder is meant) or a model folder. out: a GGUF file
 * when it ends in .gguf, else a folder (from GGUF only). Nothing is left behind on failure.
 * output: NULL, or where writing stands, zeroed by the caller, who may wick_output_remove it when a
 * signal ends the program. */
wick_status wick_convert(const char *in, const char *out, const wick_convert_options *options,
                         wick_output *output, wick_error *error);

#endif
