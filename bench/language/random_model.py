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
from small_decoder import FORMS, HEADS, architecture, is_float, key_heads, metadata, shapes, text, typed  # noqa: E402

PATTERN, CONTEXT = 1 << 20, 131072
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


def sizes_of(o):
    """What the metadata says of the form's sizes: those of the options, and DeepSeek V2's of latent attention."""
    found = {"attention.head_count_kv": o.key_heads, "attention.key_length": o.head, "attention.value_length": o.head, "rope.dimension_count": o.head}
    own = FORMS[o.architecture].get("values", {})
    if own.get("attention.head_count_kv") in (1, HEADS):  # one for all heads, or each its own
        found["attention.head_count_kv"] = 1 if own["attention.head_count_kv"] == 1 else o.heads
    kind = FORMS[o.architecture].get("recurrent")
    if kind == "conv":
        found["shortconv.l_cache"] = 3
    elif kind:
        size, inner = (16 if kind == "scan" else 128), 2 * o.width
        heads = o.width // 16 if kind == "scan" else inner // (64 if kind == "heads" else 128)
        found |= {"ssm.conv_kernel": 4, "ssm.inner_size": inner, "ssm.state_size": size, "ssm.time_step_rank": heads,
                  "ssm.group_count": heads // 2 if kind == "delta" else 1}  # fmt: skip
    if "latent" in FORMS[o.architecture]:
        found |= {"attention.kv_lora_rank": 512, "attention.q_lora_rank": 768, "attention.key_length": 192, "attention.value_length": 128,
                  "rope.dimension_count": 64}  # fmt: skip
    return found


def tensors(o):
    """(name, extents with the innermost first)"""
    found = sizes_of(o)
    sizes = (o.width, o.head, o.hidden, o.heads, found["attention.head_count_kv"])
    return shapes(form_of(o), o.layers, o.tokens, CONTEXT, sizes, found)


def values(o):
    found = metadata(o.architecture)
    tokens = found["tokenizer.ggml.tokens"]
    found["tokenizer.ggml.tokens"] = tokens[:-1] + [f"w{i}" for i in range(o.tokens - len(tokens))] + tokens[-1:]
    found["tokenizer.ggml.token_type"] = [1] * (o.tokens - 1) + [3]
    found["tokenizer.ggml.eos_token_id"] = o.tokens - 1
    sizes = {"block_count": o.layers, "context_length": CONTEXT, "embedding_length": o.width, "feed_forward_length": o.hidden,
             "attention.head_count": o.heads, "rope.freq_base": 500000.0, **sizes_of(o)}  # fmt: skip
    if FORMS[o.architecture].get("latent") == "kept":  # one head of what is kept
        sizes |= {"attention.head_count_kv": 1, "attention.key_length": 576, "attention.value_length": 512, "attention.key_length_mla": 192,
                  "attention.value_length_mla": 128}  # fmt: skip
    if "attention.sliding_window" in FORMS[o.architecture].get("values", {}):
        sizes["attention.sliding_window"] = 512
    sizes.update(form_of(o).get("experts", {}))
    sizes["attention.head_count_kv"] = key_heads(FORMS[o.architecture], sizes["attention.head_count_kv"], o.layers)
    sizes |= {key: value for key, value in FORMS[o.architecture].get("values", {}).items() if key in ("feed_forward_length", "full_attention_interval", "rope.dimension_sections")}
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
    for name, extents in tensors(o):
        is_vector = len(extents) == 1 or is_float(name)
        size = math.prod(extents) * 4 if is_vector else math.prod(extents) // elements * block
        infos += text(name) + struct.pack(f"<I{len(extents)}QIQ", len(extents), *extents, 0 if is_vector else kind, at)
        parts.append((is_vector, "norm" in name, name.endswith("ssm_a"), size))
        at += -(-size // 32) * 32
    front = b"GGUF" + struct.pack("<IQQ", 3, len(parts), len(values(o))) + head + infos
    rng = random.Random(0)
    weights = pattern(o.type, rng)
    with open(o.file, "wb") as file:
        file.write(front + bytes(-len(front) % 32))
        for index, (is_vector, is_norm, is_decay, size) in enumerate(parts):
            if is_vector:
                floats = (1.0,) if is_norm else (-0.5,) if is_decay else [rng.uniform(-0.05, 0.05) for _ in range(1000)]
                whole = struct.pack(f"<{len(floats)}f", *floats) * (size // 4 // len(floats) + 1)
                file.write(whole[:size])
            first = index * block % len(weights)
            turned = weights[first:] + weights[:first]
            for begin in range(0, 0 if is_vector else size, len(turned)):
                file.write(turned[: size - begin])
            file.write(bytes(-size % 32))


if __name__ == "__main__":
    main()
