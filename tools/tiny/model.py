"""A Llama-style transformer (RMSNorm, RoPE, grouped-query attention, SwiGLU, tied embedding) that trains on
the weights it will be stored with: every matrix passes through the rounding of its GGUF type, and the
gradient passes straight through (quantization-aware training, arXiv:1712.05877).

Names and layouts are Hugging Face's: half-split RoPE, weights [out, in].
"""

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F


@dataclass
class Config:
    n_vocab: int = 1024
    n_layers: int = 4
    n_embd: int = 128
    n_heads: int = 4
    n_kv_heads: int = 2
    head_dim: int = 32
    n_ffn: int = 288
    n_context: int = 1024
    rope_theta: float = 10000.0
    norm_eps: float = 1e-5


def round_q4_1(weight):
    """16 steps from each 32-block's minimum to its maximum, scale and minimum in float16."""
    blocks = weight.reshape(-1, 32)
    low = blocks.amin(1, keepdim=True)
    step = (blocks.amax(1, keepdim=True) - low) / 15
    codes = ((blocks - low) / step.clamp(min=1e-12) + 0.5).floor().clamp(0, 15)
    return (codes * step.half().float() + low.half().float()).reshape(weight.shape)


def round_q8_0(weight):
    """255 steps, symmetric, one float16 scale for each 32-block."""
    blocks = weight.reshape(-1, 32)
    step = blocks.abs().amax(1, keepdim=True) / 127
    return ((blocks / step.clamp(min=1e-12)).round() * step.half().float()).reshape(weight.shape)


def stored(weight, rounding, on):
    if not on:
        return weight
    with torch.no_grad():
        difference = rounding(weight) - weight
    return weight + difference


class Layer(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        self.norm1 = nn.Parameter(torch.ones(c.n_embd))
        self.norm2 = nn.Parameter(torch.ones(c.n_embd))

        def matrix(rows, cols, scale=1.0):
            return nn.Parameter(torch.randn(rows, cols) * scale * cols**-0.5)

        residual = (2 * c.n_layers) ** -0.5
        self.q = matrix(c.n_heads * c.head_dim, c.n_embd)
        self.k = matrix(c.n_kv_heads * c.head_dim, c.n_embd)
        self.v = matrix(c.n_kv_heads * c.head_dim, c.n_embd)
        self.o = matrix(c.n_embd, c.n_heads * c.head_dim, residual)
        self.gate = matrix(c.n_ffn, c.n_embd)
        self.up = matrix(c.n_ffn, c.n_embd)
        self.down = matrix(c.n_embd, c.n_ffn, residual)

    def forward(self, x, cos, sin, rounded):
        c = self.c
        rows, n, _ = x.shape

        def w(weight):
            return stored(weight, round_q4_1, rounded)

        def heads(t, n_heads):
            return t.view(rows, n, n_heads, c.head_dim).transpose(1, 2)

        def rope(t):
            first, second = t.chunk(2, -1)
            return torch.cat((first * cos - second * sin, second * cos + first * sin), -1)

        h = F.rms_norm(x, (c.n_embd,), self.norm1, c.norm_eps)
        q = rope(heads(F.linear(h, w(self.q)), c.n_heads))
        k = rope(heads(F.linear(h, w(self.k)), c.n_kv_heads))
        v = heads(F.linear(h, w(self.v)), c.n_kv_heads)
        group = c.n_heads // c.n_kv_heads
        k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + F.linear(a.transpose(1, 2).reshape(rows, n, -1), w(self.o))
        h = F.rms_norm(x, (c.n_embd,), self.norm2, c.norm_eps)
        return x + F.linear(F.silu(F.linear(h, w(self.gate))) * F.linear(h, w(self.up)), w(self.down))


class Model(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        self.embedding = nn.Parameter(torch.randn(c.n_vocab, c.n_embd) * c.n_embd**-0.5)
        self.layers = nn.ModuleList(Layer(c) for _ in range(c.n_layers))
        self.norm = nn.Parameter(torch.ones(c.n_embd))

    def forward(self, ids, rounded=True):
        """ids [rows, n] -> logits [rows, n, n_vocab]."""
        c = self.c
        embedding = stored(self.embedding, round_q8_0, rounded)
        frequencies = c.rope_theta ** (-torch.arange(0, c.head_dim, 2).float() / c.head_dim)
        angles = torch.outer(torch.arange(ids.shape[1]).float(), frequencies)
        x = F.embedding(ids, embedding)
        for layer in self.layers:
            x = layer(x, angles.cos(), angles.sin(), rounded)
        return F.linear(F.rms_norm(x, (c.n_embd,), self.norm, c.norm_eps), embedding)
