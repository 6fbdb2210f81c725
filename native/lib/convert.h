/* Converting models between GGUF and Hugging Face folders. What differs between the two: names
 * (names.h), the order of Q and K rows (llama only), where the configuration and the tokenizer
 * stand. Tensors stream through one row's worth of memory. Chapter 9. */
#ifndef WICK_NATIVE_CONVERT_H
#define WICK_NATIVE_CONVERT_H

#include "core/memory.h"

typedef struct wick_convert_options {
  const char *type; /* "f32", "f16", "bf16", "q8_0", "q4_0", "q4_1"; NULL: as in the source */
  bool force;       /* replace an existing output */
} wick_convert_options;

/* in: a .gguf file, a .safetensors file (its folder is meant) or a model folder. out: a GGUF file
 * when it ends in .gguf, else a folder (from GGUF only). Nothing is left behind on failure. */
wick_status wick_convert(const char *in, const char *out, const wick_convert_options *options,
                         wick_error *error);

#endif
