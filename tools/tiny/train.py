"""Train the tiny model on the generated text and write it as GGUF. Some 13 minutes of one CPU core.

    python train.py ../../web/models/tiny.gguf [--steps N]

The seed fixes the text, the tokenizer, the first weights and the order; equal versions of PyTorch on equal
hardware give the same file.
"""

import argparse
import random
import time

import numpy
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch.nn import functional as F

import corpus
from export import write_gguf
from model import Config, Model

SEED = 20240
HELD_OUT_SEED = 7
N_DOCUMENTS = 60000
TOKENS_PER_STEP = 4096
LONG_ROWS_FROM = 0.8  # share of the steps after which rows have the whole context's length
ROUNDED_FROM = 0.4  # share of the steps after which weights pass through their stored form
PEAK_RATE = 6e-3  # constant after a short warm-up, then straight to zero over the second half
PROMPT_WEIGHT = 0.1  # of a token's loss outside answers: the model answers, it need not ask


def train_tokenizer(texts, n_vocab):
    """Byte-level BPE with SmolLM's pre-tokenizer. All 256 bytes are tokens."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=n_vocab, special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
                                  initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def answer_weights(ids, answer_opening):
    """1 for the tokens of answers (their end too) and of plain stories, PROMPT_WEIGHT for the rest."""
    if ids[0] != 1:
        return [1.0] * len(ids)
    weights, inside = [], False
    for i, token in enumerate(ids):
        weights.append(1.0 if inside else PROMPT_WEIGHT)
        if token == 2:
            inside = False
        elif ids[i - 2:i + 1] == answer_opening:
            inside = True
    return weights


def packed_rows(documents, length):
    """Rows of length + 1 tokens, each beginning with a document's beginning; what sticks out is dropped."""
    rows, weights, row, weight = [], [], [], []
    for ids, w in documents:
        row, weight = row + ids, weight + w
        if len(row) > length:
            rows.append(row[:length + 1])
            weights.append(weight[:length + 1])
            row, weight = [], []
    return numpy.array(rows, numpy.int64), numpy.array(weights, numpy.float32)


def batches(documents, length, generator):
    n_rows = TOKENS_PER_STEP // length
    while True:
        generator.shuffle(documents)
        rows, weights = packed_rows(documents, length)
        for i in range(0, len(rows) - n_rows + 1, n_rows):
            yield torch.from_numpy(rows[i:i + n_rows]), torch.from_numpy(weights[i:i + n_rows])


def loss_of(model, rows, weights, rounded):
    logits = model(rows[:, :-1], rounded)
    losses = F.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten(), reduction="none")
    weights = weights[:, 1:].flatten()
    return (losses * weights).sum() / weights.sum()


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("out")
    arguments.add_argument("--steps", type=int, default=1400)
    arguments = arguments.parse_args()
    torch.manual_seed(SEED)
    torch.set_num_threads(1)  # one order of sums, and no waiting for a busy neighbour
    generator = random.Random(SEED)

    texts = corpus.documents(SEED, N_DOCUMENTS)
    held_texts = corpus.documents(HELD_OUT_SEED, 150)
    config = Config()
    tokenizer = train_tokenizer(texts[:20000], config.n_vocab)
    opening = tokenizer.encode("<|im_start|>assistant\n").ids
    assert tokenizer.get_vocab_size() == config.n_vocab and len(opening) == 3

    def encoded(some):
        all_ids = [e.ids for e in tokenizer.encode_batch(some)]
        return [(ids, answer_weights(ids, opening)) for ids in all_ids]

    documents = encoded(texts)
    held = [torch.from_numpy(a) for a in packed_rows(encoded(held_texts), 512)]
    model = Model(config)
    print(f"{sum(len(d[0]) for d in documents)} tokens, {sum(p.numel() for p in model.parameters())} parameters", flush=True)
    matrices = [p for layer in model.layers for p in layer.parameters() if p.ndim == 2]
    others = [model.embedding] + [p for p in model.parameters() if p.ndim == 1]
    optimizers = [torch.optim.Muon(matrices, lr=PEAK_RATE, weight_decay=0.05, adjust_lr_fn="match_rms_adamw"),
                  torch.optim.AdamW(others, lr=PEAK_RATE, betas=(0.9, 0.95), weight_decay=0.0)]
    short, long = batches(documents, 256, generator), batches(documents, config.n_context, generator)
    start = time.time()
    for step in range(arguments.steps):
        done = step / arguments.steps
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = PEAK_RATE * min(1, (step + 1) / 50, (1 - done) / 0.5)
        rows, weights = next(long if done >= LONG_ROWS_FROM else short)
        loss = loss_of(model, rows, weights, done >= ROUNDED_FROM)
        model.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
        if step % 100 == 0 or step == arguments.steps - 1:
            with torch.no_grad():
                held_loss = loss_of(model, held[0], held[1], True)
            print(f"step {step} loss {loss:.4f} held out {held_loss:.4f} {time.time() - start:.0f} s", flush=True)
    write_gguf(arguments.out, model, tokenizer)


if __name__ == "__main__":
    main()
