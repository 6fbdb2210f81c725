"""Write the tiny model as GGUF, as llama.cpp's converter would: matrices Q4_1, embedding Q8_0, norms F32,
rows of Q and K permuted for interleaved RoPE."""

import json

import gguf
from gguf import GGMLQuantizationType as Type

from corpus import CHAT_TEMPLATE


def permute(weight, n_heads):
    """Half-split rotary pairs (i, i + head_dim / 2) become neighbours (2i, 2i + 1)."""
    rows, cols = weight.shape
    return weight.reshape(n_heads, 2, rows // n_heads // 2, cols).swapaxes(1, 2).reshape(rows, cols)


def add_tokenizer(writer, tokenizer):
    parts = json.loads(tokenizer.to_str())["model"]
    vocabulary = sorted(parts["vocab"], key=parts["vocab"].get)
    special = {t.content for t in tokenizer.get_added_tokens_decoder().values()}
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(vocabulary)
    writer.add_token_types([gguf.TokenType.CONTROL if t in special else gguf.TokenType.NORMAL for t in vocabulary])
    writer.add_token_merges([" ".join(pair) for pair in parts["merges"]])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_pad_token_id(2)
    writer.add_add_bos_token(False)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(CHAT_TEMPLATE)


def write_gguf(path, model, tokenizer):
    c = model.c
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_type("model")
    writer.add_name("wick tiny")
    writer.add_description("A tiny chat and story model, trained for the wick inference engine")
    writer.add_license("MIT OR Apache-2.0")
    writer.add_languages(["en"])
    writer.add_block_count(c.n_layers)
    writer.add_context_length(c.n_context)
    writer.add_embedding_length(c.n_embd)
    writer.add_feed_forward_length(c.n_ffn)
    writer.add_head_count(c.n_heads)
    writer.add_head_count_kv(c.n_kv_heads)
    writer.add_rope_freq_base(c.rope_theta)
    writer.add_layer_norm_rms_eps(c.norm_eps)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q4_1)
    writer.add_vocab_size(c.n_vocab)
    writer.add_rope_dimension_count(c.head_dim)
    add_tokenizer(writer, tokenizer)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)

    def add(name, weight, dtype):
        values = weight.detach().numpy()
        writer.add_tensor(name, values if dtype == Type.F32 else gguf.quants.quantize(values, dtype), raw_dtype=dtype)

    add("token_embd.weight", model.embedding, Type.Q8_0)
    for i, layer in enumerate(model.layers):
        add(f"blk.{i}.attn_norm.weight", layer.norm1, Type.F32)
        add(f"blk.{i}.attn_q.weight", permute(layer.q, c.n_heads), Type.Q4_1)
        add(f"blk.{i}.attn_k.weight", permute(layer.k, c.n_kv_heads), Type.Q4_1)
        add(f"blk.{i}.attn_v.weight", layer.v, Type.Q4_1)
        add(f"blk.{i}.attn_output.weight", layer.o, Type.Q4_1)
        add(f"blk.{i}.ffn_norm.weight", layer.norm2, Type.F32)
        add(f"blk.{i}.ffn_gate.weight", layer.gate, Type.Q4_1)
        add(f"blk.{i}.ffn_up.weight", layer.up, Type.Q4_1)
        add(f"blk.{i}.ffn_down.weight", layer.down, Type.Q4_1)
    add("output_norm.weight", model.norm, Type.F32)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
