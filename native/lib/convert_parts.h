/* Private to the convert_*.c files: an opened source, and the steps of a conversion. */
#ifndef WICK_NATIVE_CONVERT_PARTS_H
#define WICK_NATIVE_CONVERT_PARTS_H

#include "convert.h"
#include "file_map.h"
#include "formats/names.h"
#include "model/config.h"
#include "output.h"
#include "path.h"

typedef struct convert_tensor {
  char name[WICK_NAME_BYTES]; /* canonical */
  wick_tensor_entry entry;
  const uint8_t *data; /* its first byte */
} convert_tensor;

typedef struct convert_source {
  char path[WICK_PATH_BYTES];   /* the file or folder, as given */
  char folder[WICK_PATH_BYTES]; /* not is_gguf: where the files lie; "" is the working folder */
  wick_arena arena;
  wick_file_map *maps; /* n_maps, all of them open */
  size_t n_maps, maps_capacity;
  bool is_gguf;
  wick_config config;
  wick_gguf gguf;                 /* is_gguf */
  cJSON *json, *tokenizer_config; /* a folder's config.json; the second may be NULL */
  char tokenizer_path[WICK_PATH_BYTES];
  wick_string tokenizer_json, chat_template; /* a folder's; the second may be empty */
  convert_tensor *tensors;                   /* n_tensors, known names only */
  size_t n_tensors;
  const float *rope_factors; /* a GGUF file's rope_freqs.weight [head_dim / 2], or NULL */
} convert_source;

wick_status convert_open(convert_source *source, const char *path, wick_error *error);
void convert_close(convert_source *source);
const convert_tensor *convert_find(const convert_source *source, const char *name);

/* The type that a tensor is written in. */
typedef struct convert_target {
  bool to_gguf;
  bool has_type;
  wick_dtype type;            /* has_type */
  wick_rope_style rope_style; /* order of Q and K rows in what is written */
} convert_target;

wick_status convert_read_type(const char *name, bool to_gguf, convert_target *out,
                              wick_error *error);
wick_dtype convert_tensor_type(const convert_source *source, const convert_target *target,
                               const convert_tensor *tensor);
/* The tensor's bytes in their target type and row order. */
wick_status convert_write_tensor(const convert_source *source, const convert_target *target,
                                 const convert_tensor *tensor, const wick_sink *sink,
                                 wick_error *error);

/* Llama 3's frequency scaling from the factors that GGUF keeps in its place. */
bool convert_fit_rope_factors(const float *factors, wick_config *config);
/* The other way: factors [head_dim / 2]. */
void convert_rope_factors(const wick_config *config, float *factors);

wick_status convert_write_tokenizer(FILE *file, const convert_source *source, wick_error *error);
wick_status convert_to_folder(convert_source *source, const convert_target *target,
                              wick_output *output, wick_error *error);
wick_status convert_to_gguf(convert_source *source, const convert_target *target,
                            wick_output *output, wick_error *error);

#endif
