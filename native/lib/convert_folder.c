/* GGUF to a Hugging Face folder: config.json, generation_config.json, tokenizer.json,
 * tokenizer_config.json, model.safetensors. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "convert_parts.h"
#include "escape.h"
#include "formats/safetensors_write.h"

/* A float32's shortest decimal, so that 1e-5 does not become 9.99999974738e-06. */
static void write_float(FILE *file, float value) {
  char text[64];
  if (value == floorf(value) && fabsf(value) < 1e9f) {
    fprintf(file, "%.1f", (double)value);
    return;
  }
  for (int digits = 1; digits <= 9; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, (double)value);
    if (strtof(text, NULL) == value) break;
  }
  fputs(text, file);
}

static const char *torch_type(const convert_source *source, const convert_target *target) {
  const convert_tensor *embedding = convert_find(source, "token_embd.weight");
  wick_dtype type = convert_tensor_type(source, target, embedding);
  return type == WICK_DTYPE_F32 ? "float32" : type == WICK_DTYPE_F16 ? "float16" : "bfloat16";
}

/* A token's id by its metadata key, and its text. */
static bool find_token(const convert_source *source, const char *key, uint64_t *id,
                       wick_string *text) {
  const wick_gguf_value *tokens = wick_gguf_find(&source->gguf, "tokenizer.ggml.tokens");
  if (!wick_gguf_get_u64(&source->gguf, key, id) || !tokens || *id >= tokens->n) return false;
  uint64_t at = 0;
  for (uint64_t i = 0; i <= *id; i++)
    if (!wick_gguf_next_string(tokens, &at, text)) return false;
  return true;
}

static const char *const special_tokens[][2] = {
    {"bos", "tokenizer.ggml.bos_token_id"},
    {"eos", "tokenizer.ggml.eos_token_id"},
    {"pad", "tokenizer.ggml.padding_token_id"},
    {"unk", "tokenizer.ggml.unknown_token_id"},
};

/* "bos_token_id": 1 and so on, a comma before each. eot: a second end, where there is one. */
static void write_token_ids(FILE *file, const convert_source *source, bool with_eot) {
  for (size_t i = 0; i < 3; i++) {
    uint64_t id, eot;
    wick_string text;
    if (!find_token(source, special_tokens[i][1], &id, &text)) continue;
    fprintf(file, ",\n  \"%s_token_id\": ", special_tokens[i][0]);
    if (with_eot && strcmp(special_tokens[i][0], "eos") == 0 &&
        find_token(source, "tokenizer.ggml.eot_token_id", &eot, &text) && eot != id) {
      fprintf(file, "[%" PRIu64 ", %" PRIu64 "]", id, eot);
    } else {
      fprintf(file, "%" PRIu64, id);
    }
  }
}

static void write_rope_scaling(FILE *file, const wick_config *config) {
  if (config->rope_scaling == WICK_ROPE_SCALING_NONE) {
    fputs("null", file);
    return;
  }
  bool llama3 = config->rope_scaling == WICK_ROPE_SCALING_LLAMA3;
  fprintf(file, "{\"rope_type\": \"%s\", \"factor\": ", llama3 ? "llama3" : "linear");
  write_float(file, (float)config->rope_factor);
  if (llama3)
    fprintf(file,
            ", \"low_freq_factor\": %.6g, \"high_freq_factor\": %.6g, "
            "\"original_max_position_embeddings\": %d",
            config->rope_low, config->rope_high, config->rope_original_context);
  fputc('}', file);
}

static void write_config(FILE *file, const convert_source *source, const convert_target *target) {
  const wick_config *c = &source->config;
  bool qwen2 = strcmp(c->architecture, "qwen2") == 0, qwen3 = strcmp(c->architecture, "qwen3") == 0;
  fprintf(file, "{\n  \"architectures\": [\"%s\"],\n  \"model_type\": \"%s\",\n",
          qwen2   ? "Qwen2ForCausalLM"
          : qwen3 ? "Qwen3ForCausalLM"
                  : "LlamaForCausalLM",
          c->architecture);
  wick_string name;
  if (wick_gguf_get_string(&source->gguf, "general.name", &name)) {
    fputs("  \"_name_or_path\": ", file);
    wick_print_quoted(file, name, SIZE_MAX);
    fputs(",\n", file);
  }
  fprintf(file,
          "  \"vocab_size\": %d,\n  \"hidden_size\": %d,\n  \"intermediate_size\": %d,\n"
          "  \"num_hidden_layers\": %d,\n  \"num_attention_heads\": %d,\n"
          "  \"num_key_value_heads\": %d,\n  \"head_dim\": %d,\n"
          "  \"max_position_embeddings\": %d,\n  \"rms_norm_eps\": ",
          c->n_vocab, c->n_embd, c->n_ffn, c->n_layers, c->n_heads, c->n_kv_heads, c->head_dim,
          c->n_context);
  write_float(file, c->norm_epsilon);
  fputs(",\n  \"rope_theta\": ", file);
  write_float(file, (float)c->rope_theta);
  fputs(",\n  \"rope_scaling\": ", file);
  write_rope_scaling(file, c);
  fprintf(file, ",\n  \"hidden_act\": \"silu\",\n  \"tie_word_embeddings\": %s,\n",
          c->tied_head ? "true" : "false");
  if (!qwen2) fputs("  \"attention_bias\": false,\n", file); /* Qwen 2 always has it, unsaid */
  if (!qwen2 && !qwen3) fputs("  \"mlp_bias\": false,\n", file);
  fprintf(file, "  \"torch_dtype\": \"%s\"", torch_type(source, target));
  write_token_ids(file, source, false);
  fputs("\n}\n", file);
}

static void write_generation_config(FILE *file, const convert_source *source) {
  fputs("{\n  \"_from_model_config\": true", file);
  write_token_ids(file, source, true);
  fputs("\n}\n", file);
}

static void write_tokenizer_config(FILE *file, const convert_source *source) {
  fprintf(file,
          "{\n  \"tokenizer_class\": \"PreTrainedTokenizerFast\",\n"
          "  \"clean_up_tokenization_spaces\": false,\n  \"model_max_length\": %d",
          source->config.n_context);
  for (size_t i = 0; i < sizeof special_tokens / sizeof *special_tokens; i++) {
    uint64_t id;
    wick_string text;
    if (!find_token(source, special_tokens[i][1], &id, &text)) continue;
    fprintf(file, ",\n  \"%s_token\": ", special_tokens[i][0]);
    wick_print_quoted(file, text, SIZE_MAX);
  }
  wick_string template_text;
  if (wick_gguf_get_string(&source->gguf, "tokenizer.chat_template", &template_text)) {
    fputs(",\n  \"chat_template\": ", file);
    wick_print_quoted(file, template_text, SIZE_MAX);
  }
  fputs("\n}\n", file);
}

/* The target's table: wider types first, which keeps every tensor aligned; order[i] is the tensor
 * of entry i. */
static wick_status plan_tensors(convert_source *source, const convert_target *target,
                                wick_tensor_table *table, size_t *order, wick_error *error) {
  for (int pass = 0; pass < 2; pass++)
    for (size_t i = 0; i < source->n_tensors; i++) {
      const convert_tensor *tensor = &source->tensors[i];
      wick_tensor_entry entry = tensor->entry;
      entry.dtype = convert_tensor_type(source, target, tensor);
      if ((entry.dtype != WICK_DTYPE_F32) != pass) continue;
      char name[WICK_NAME_BYTES];
      wick_string canonical = {tensor->name, strlen(tensor->name)};
      wick_hugging_face_name(name, sizeof name, canonical);
      entry.name.n = strlen(name);
      entry.name.data = wick_arena_copy_string(&source->arena, name, entry.name.n);
      if (!entry.name.data || !wick_dtype_row_bytes(entry.dtype, entry.dims[0], &entry.n_bytes))
        return wick_fail(error, WICK_ERROR_MEMORY, "%s: out of memory", source->path);
      for (int d = 1; d < WICK_MAX_DIMS; d++)
        if (!wick_multiply_u64(entry.n_bytes, entry.dims[d], &entry.n_bytes))
          return wick_fail(error, WICK_ERROR_UNSUPPORTED, "%s: tensor %s: too large", source->path,
                           tensor->name);
      order[table->n] = i;
      table->entries[table->n++] = entry;
    }
  return WICK_OK;
}

static wick_status write_weights(convert_source *source, const convert_target *target,
                                 const wick_sink *sink, wick_error *error) {
  wick_tensor_table table = {WICK_ARENA_ARRAY(&source->arena, wick_tensor_entry, source->n_tensors),
                             0};
  size_t *order = WICK_ARENA_ARRAY(&source->arena, size_t, source->n_tensors);
  if (!table.entries || !order)
    return wick_fail(error, WICK_ERROR_MEMORY, "%s: out of memory", source->path);
  WICK_TRY(plan_tensors(source, target, &table, order, error));
  WICK_TRY(wick_safetensors_write_header(sink, &table, &source->arena, error));
  for (size_t i = 0; i < table.n; i++)
    WICK_TRY(convert_write_tensor(source, target, &source->tensors[order[i]], sink, error));
  return WICK_OK;
}

wick_status convert_to_folder(convert_source *source, const convert_target *target,
                              wick_output *output, wick_error *error) {
  if (source->rope_factors && !convert_fit_rope_factors(source->rope_factors, &source->config))
    return wick_fail(error, WICK_ERROR_UNSUPPORTED,
                     "%s: rope_freqs.weight: expected Llama 3's frequency scaling, found another",
                     source->path);
  WICK_TRY(wick_output_open(output, "config.json", error));
  write_config(output->file, source, target);
  WICK_TRY(wick_output_close(output, error));
  WICK_TRY(wick_output_open(output, "generation_config.json", error));
  write_generation_config(output->file, source);
  WICK_TRY(wick_output_close(output, error));
  WICK_TRY(wick_output_open(output, "tokenizer.json", error));
  WICK_TRY(convert_write_tokenizer(output->file, source, error));
  WICK_TRY(wick_output_close(output, error));
  WICK_TRY(wick_output_open(output, "tokenizer_config.json", error));
  write_tokenizer_config(output->file, source);
  WICK_TRY(wick_output_close(output, error));
  WICK_TRY(wick_output_open(output, "model.safetensors", error));
  wick_sink sink = wick_output_sink(output);
  WICK_TRY(write_weights(source, target, &sink, error));
  return wick_output_close(output, error);
}
