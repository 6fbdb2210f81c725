/* The two dialects of tensor names, in one place: Hugging Face's
 * ("model.layers.3.self_attn.q_proj.weight") and GGUF's ("blk.3.attn_q.weight"), which is the one
 * that wick's model code uses and calls canonical. Source: the GGUF specification, "Standardized
 * tensor names". Chapter 9. */
#ifndef WICK_FORMATS_NAMES_H
#define WICK_FORMATS_NAMES_H

#include "core/status.h"

enum { WICK_NAME_BYTES = 80 }; /* holds every known name of either dialect, and its end */

/* Write the canonical form of a name in either dialect to out, terminated, at most n > 0 bytes.
 * true when the name is known; an unknown one is copied (cut to n - 1 bytes) and false. */
bool wick_canonical_name(char *out, size_t n, wick_string file_name);

/* The same, to Hugging Face's form. */
bool wick_hugging_face_name(char *out, size_t n, wick_string file_name);

#endif
