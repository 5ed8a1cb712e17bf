#!/usr/bin/env python3
"""A llama of random weights in a GGUF file, to measure speed with: random_model.py FILE [--type f16|q4_0|q4_1|q8_0]

By default it has the shape of Llama 3.2 1B: 1.24 billion weights, of which 0.26 billion are the embedding that answers
share. Weights repeat a pattern of 1 MiB, from another block on in each matrix, as equal matrices would be packed once. Needs
Python alone.
"""

import argparse
import pathlib
import random
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/python"))
from small_decoder import metadata, text, typed  # noqa: E402

PATTERN = 1 << 20
TYPES = {"f16": (1, 1, 2), "q4_0": (2, 32, 18), "q4_1": (3, 32, 20), "q8_0": (8, 32, 34)}  # id, elements, bytes of a block
HEADS_OF_BLOCKS = {"q4_0": struct.pack("<e", 0.004), "q4_1": struct.pack("<ee", 0.004, -0.03), "q8_0": struct.pack("<e", 0.0003)}


def pattern(kind, rng):
    """A run of whole blocks whose weights are small and lie around 0."""
    bytes_of_block = TYPES[kind][2]
    count = PATTERN // bytes_of_block
    if kind == "f16":
        return struct.pack(f"<{count}H", *(rng.getrandbits(16) & 0x83FF | 9 << 10 for _ in range(count)))
    head = HEADS_OF_BLOCKS[kind]
    return b"".join(head + rng.randbytes(bytes_of_block - len(head)) for _ in range(count))


def shapes(o):
    """(name, extents with the innermost first); vectors have one."""
    keys = o.width // o.heads * o.key_heads
    yield "token_embd.weight", (o.width, o.tokens)
    yield "output_norm.weight", (o.width,)
    for layer in range(o.layers):
        for part, extents in (("attn_norm", (o.width,)), ("ffn_norm", (o.width,)), ("attn_q", (o.width, o.width)),
                              ("attn_k", (o.width, keys)), ("attn_v", (o.width, keys)), ("attn_output", (o.width, o.width)),
                              ("ffn_gate", (o.width, o.hidden)), ("ffn_up", (o.width, o.hidden)),
                              ("ffn_down", (o.hidden, o.width))):  # fmt: skip
            yield f"blk.{layer}.{part}.weight", extents


def values(o):
    found = metadata("llama")
    tokens = found["tokenizer.ggml.tokens"]
    found["tokenizer.ggml.tokens"] = tokens[:-1] + [f"w{i}" for i in range(o.tokens - len(tokens))] + tokens[-1:]
    found["tokenizer.ggml.token_type"] = [1] * (o.tokens - 1) + [3]
    found["tokenizer.ggml.eos_token_id"] = o.tokens - 1
    found.update({"llama.block_count": o.layers, "llama.context_length": 131072, "llama.embedding_length": o.width,
                  "llama.feed_forward_length": o.hidden, "llama.attention.head_count": o.heads,
                  "llama.attention.head_count_kv": o.key_heads, "llama.rope.freq_base": 500000.0})  # fmt: skip
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file")
    parser.add_argument("--type", choices=list(TYPES), default="q4_0")
    for name, usual in (("width", 2048), ("layers", 16), ("hidden", 8192), ("heads", 32), ("key-heads", 8), ("tokens", 128256)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    o = parser.parse_args()
    kind, elements, block = TYPES[o.type]
    head = b"".join(text(key) + typed(value) for key, value in values(o).items())
    infos, parts, at = b"", [], 0
    for name, extents in shapes(o):
        is_vector = len(extents) == 1
        size = extents[0] * 4 if is_vector else extents[0] * extents[1] // elements * block
        infos += text(name) + struct.pack(f"<I{len(extents)}QIQ", len(extents), *extents, 0 if is_vector else kind, at)
        parts.append((is_vector, size))
        at += -(-size // 32) * 32
    front = b"GGUF" + struct.pack("<IQQ", 3, len(parts), len(values(o))) + head + infos
    weights = pattern(o.type, random.Random(0))
    with open(o.file, "wb") as file:
        file.write(front + bytes(-len(front) % 32))
        for index, (is_vector, size) in enumerate(parts):
            if is_vector:
                file.write(struct.pack("<f", 1.0) * (size // 4))
            first = index * block % len(weights)
            turned = weights[first:] + weights[:first]
            for begin in range(0, 0 if is_vector else size, len(turned)):
                file.write(turned[: size - begin])
            file.write(bytes(-size % 32))


if __name__ == "__main__":
    main()
