#!/usr/bin/env python3
"""A language model of random weights in a GGUF file, to measure speed with: random_model.py FILE [--type f16|q4_0|q4_1|q8_0]

--architecture is one of the forms of tests/python/small_decoder.py (llama). Mixtures have --experts networks of --expert-hidden, of which each token
goes through --used. By default it has the shape of Llama 3.2 1B: 1.24 billion weights, of which 0.26 billion are the embedding that answers
share. Weights repeat a pattern of 1 MiB, from another block on in each matrix, as equal matrices would be packed once. Needs
Python alone.
"""

import argparse
import math
import pathlib
import random
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/python"))
from small_decoder import FORMS, architecture, is_float, is_mixture, metadata, mixture, text, typed  # noqa: E402

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


def form_of(o):
    """The architecture's form with the options' experts."""
    form = FORMS[o.architecture]
    if "experts" not in form:
        return form
    counts = {"expert_count": o.experts, "expert_used_count": o.used, "expert_feed_forward_length": o.expert_hidden}
    shared = {key: o.expert_hidden for key in form["experts"] if key == "expert_shared_feed_forward_length"}
    return {**form, "experts": {**form["experts"], **counts, **shared}}


def matrices(o, form, layer):
    """(name, depth, rows) of a layer; without those of a mixture."""
    queries, keys, joined = o.heads * o.head, o.key_heads * o.head, form.get("joined", ())
    if "qkv" in joined:
        yield "attn_qkv", o.width, queries + 2 * keys
    else:
        yield from (("attn_q", o.width, queries), ("attn_k", o.width, keys), ("attn_v", o.width, keys))
    yield "attn_output", queries, o.width
    if is_mixture(form, layer):
        return
    if "up" not in joined:
        yield "ffn_gate", o.width, o.hidden
    yield from (("ffn_up", o.width, o.hidden * (2 if "up" in joined else 1)), ("ffn_down", o.hidden, o.width))


def vectors(o, form):
    """(name, elements) of a layer; biases and norms of queries and keys among them."""
    if form.get("after") != "only":
        yield from (("attn_norm.weight", o.width), (f"{form.get('feed_norm', 'ffn_norm')}.weight", o.width))
    if "after" in form:
        yield from (("post_attention_norm.weight", o.width), ("post_ffw_norm.weight", o.width))
    for part, heads in (("attn_q", o.heads), ("attn_k", o.key_heads)):
        if form.get("biases"):
            yield f"{part}.bias", heads * o.head
        if "norms" in form:
            yield f"{part}_norm.weight", o.head if form["norms"] == "head" else heads * o.head


def shapes(o):
    """(name, extents with the innermost first); vectors have one."""
    form = form_of(o)
    yield "token_embd.weight", (o.width, o.tokens)
    yield "output_norm.weight", (o.width,)
    if form.get("output"):
        yield "output.weight", (o.width, o.tokens)
    for layer in range(o.layers):
        for part, size in vectors(o, form):
            yield f"blk.{layer}.{part}", (size,)
        for part, depth, rows in matrices(o, form, layer):
            yield f"blk.{layer}.{part}.weight", (depth, rows)
        for part, extents in mixture(form, o.width, o.hidden) if is_mixture(form, layer) else ():
            yield f"blk.{layer}.{part}", extents
        if "sinks" in form.get("parts", ()):
            yield f"blk.{layer}.attn_sinks.weight", (o.heads,)


def values(o):
    found = metadata(o.architecture)
    tokens = found["tokenizer.ggml.tokens"]
    found["tokenizer.ggml.tokens"] = tokens[:-1] + [f"w{i}" for i in range(o.tokens - len(tokens))] + tokens[-1:]
    found["tokenizer.ggml.token_type"] = [1] * (o.tokens - 1) + [3]
    found["tokenizer.ggml.eos_token_id"] = o.tokens - 1
    sizes = {"block_count": o.layers, "context_length": 131072, "embedding_length": o.width, "feed_forward_length": o.hidden,
             "attention.head_count": o.heads, "attention.head_count_kv": o.key_heads, "attention.key_length": o.head,
             "attention.value_length": o.head, "rope.freq_base": 500000.0, "rope.dimension_count": o.head}  # fmt: skip
    if "attention.sliding_window" in FORMS[o.architecture].get("values", {}):
        sizes["attention.sliding_window"] = 512
    sizes.update(form_of(o).get("experts", {}))
    found.update({f"{architecture(o.architecture)}.{key}": value for key, value in sizes.items()})
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file")
    parser.add_argument("--type", choices=list(TYPES), default="q4_0")
    parser.add_argument("--architecture", choices=list(FORMS), default="llama")
    for name, usual in (("width", 2048), ("layers", 16), ("hidden", 8192), ("heads", 32), ("key-heads", 8), ("tokens", 128256), ("head", 0),
                        ("experts", 64), ("used", 8), ("expert-hidden", 1024)):  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=usual, help="width / heads where it is 0" if usual == 0 else None)
    o = parser.parse_args()
    o.head = o.head or o.width // o.heads
    kind, elements, block = TYPES[o.type]
    head = b"".join(text(key) + typed(value) for key, value in values(o).items())
    infos, parts, at = b"", [], 0
    for name, extents in shapes(o):
        is_vector = len(extents) == 1 or is_float(name)
        size = math.prod(extents) * 4 if is_vector else math.prod(extents) // elements * block
        infos += text(name) + struct.pack(f"<I{len(extents)}QIQ", len(extents), *extents, 0 if is_vector else kind, at)
        parts.append((is_vector, "norm" in name, size))
        at += -(-size // 32) * 32
    front = b"GGUF" + struct.pack("<IQQ", 3, len(parts), len(values(o))) + head + infos
    rng = random.Random(0)
    weights = pattern(o.type, rng)
    with open(o.file, "wb") as file:
        file.write(front + bytes(-len(front) % 32))
        for index, (is_vector, is_norm, size) in enumerate(parts):
            if is_vector:
                floats = (1.0,) if is_norm else [rng.uniform(-0.05, 0.05) for _ in range(1000)]
                whole = struct.pack(f"<{len(floats)}f", *floats) * (size // 4 // len(floats) + 1)
                file.write(whole[:size])
            first = index * block % len(weights)
            turned = weights[first:] + weights[:first]
            for begin in range(0, 0 if is_vector else size, len(turned)):
                file.write(turned[: size - begin])
            file.write(bytes(-size % 32))


if __name__ == "__main__":
    main()
