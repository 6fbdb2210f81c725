/* Tensor names against pairs read off the two ecosystems' published files. */
#include "formats/names.h"
#include "tap.h"

typedef struct pair {
  const char *hugging_face, *gguf;
} pair;

static wick_string string(const char *s) {
  return (wick_string){s, strlen(s)};
}

int main(void) {
  tap t = {0};
  static const pair pairs[] = {
      {"model.embed_tokens.weight", "token_embd.weight"},
      {"model.norm.weight", "output_norm.weight"},
      {"lm_head.weight", "output.weight"},
      {"model.layers.0.input_layernorm.weight", "blk.0.attn_norm.weight"},
      {"model.layers.29.self_attn.q_proj.weight", "blk.29.attn_q.weight"},
      {"model.layers.1.self_attn.k_proj.bias", "blk.1.attn_k.bias"},
      {"model.layers.7.self_attn.v_proj.weight", "blk.7.attn_v.weight"},
      {"model.layers.7.self_attn.o_proj.weight", "blk.7.attn_output.weight"},
      {"model.layers.120.self_attn.q_norm.weight", "blk.120.attn_q_norm.weight"},
      {"model.layers.2.self_attn.k_norm.weight", "blk.2.attn_k_norm.weight"},
      {"model.layers.2.post_attention_layernorm.weight", "blk.2.ffn_norm.weight"},
      {"model.layers.2.mlp.gate_proj.weight", "blk.2.ffn_gate.weight"},
      {"model.layers.2.mlp.up_proj.weight", "blk.2.ffn_up.weight"},
      {"model.layers.9999.mlp.down_proj.weight", "blk.9999.ffn_down.weight"},
  };
  char out[WICK_NAME_BYTES];
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    const pair *p = &pairs[i];
    bool ok = wick_canonical_name(out, sizeof out, string(p->hugging_face));
    CHECK(&t, ok && strcmp(out, p->gguf) == 0, p->gguf);
    ok = wick_hugging_face_name(out, sizeof out, string(p->gguf));
    CHECK(&t, ok && strcmp(out, p->hugging_face) == 0, p->hugging_face);
    ok = wick_canonical_name(out, sizeof out, string(p->gguf));
    CHECK(&t, ok && strcmp(out, p->gguf) == 0, "a canonical name stays");
  }
  static const char *const unknown[] = {
      "",
      "blk.",
      "blk.1",
      "blk.x.attn_q.weight",
      "weight",
      ".weight",
      "blk.00.attn_q.weight",
      "blk.12345.attn_q.weight",
      "blk.1.attn_q",
      "blk.1.output.weight",
      "attn_q.weight",
      "rope_freqs.weight",
  };
  for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
    CHECK(&t,
          !wick_canonical_name(out, sizeof out, string(unknown[i])) && strcmp(out, unknown[i]) == 0,
          "an unknown name is copied and said to be unknown");
  CHECK(&t, !wick_canonical_name(out, 8, string("blk.1.attn_q.weight")) && strlen(out) == 7,
        "a buffer too small is not overrun");
  return tap_done(&t);
}
