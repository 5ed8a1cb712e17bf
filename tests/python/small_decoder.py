#!/usr/bin/env python3
"""A language model of random weights in a GGUF file of a few kilobytes: small_decoder.py FILE [ARCHITECTURE [TYPE]]

Its tokens are the printable characters of ASCII, a space, and an end; architectures are llama, qwen2, qwen3 and gemma,
types f32, q4_0, q4_1 and q8_0.
"""

import pathlib
import random
import struct
import sys

TYPES = {"f32": 0, "q4_0": 2, "q4_1": 3, "q8_0": 8}
LAYERS, WIDTH, HIDDEN, HEADS, KEY_HEADS, TOKENS, CONTEXT = 2, 64, 96, 4, 2, 97, 128


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def typed(value):
    """A value of the metadata with its type: bool, int (u32), float, str, or a list of str or of int (i32)."""
    if isinstance(value, bool):
        return struct.pack("<IB", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + text(value)
    if value and isinstance(value[0], int):
        return struct.pack(f"<IIQ{len(value)}i", 9, 5, len(value), *value)
    return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(text, value))


def vector(size, middle, spread, rng):
    return struct.pack(f"<{size}f", *(rng.uniform(middle - spread, middle + spread) for _ in range(size)))


def matrix(kind, size, rng):
    """Blocks of 32: their steps (and minima) are small, their codes random."""
    if kind == "f32":
        return vector(size, 0, 0.3, rng)
    head = {"q4_0": struct.pack("<e", 0.03), "q4_1": struct.pack("<ee", 0.03, -0.22), "q8_0": struct.pack("<e", 0.002)}[kind]
    return b"".join(head + rng.randbytes(32 if kind == "q8_0" else 16) for _ in range(size // 32))


def metadata(name):
    tokens = [chr(c) for c in range(0x21, 0x7F)] + ["\u0120", "a\u0120", "<|end|>"]
    return {
        "general.architecture": name, f"{name}.block_count": LAYERS, f"{name}.context_length": CONTEXT,
        f"{name}.embedding_length": WIDTH, f"{name}.feed_forward_length": HIDDEN, f"{name}.attention.head_count": HEADS,
        f"{name}.attention.head_count_kv": KEY_HEADS, f"{name}.attention.layer_norm_rms_epsilon": 1e-5,
        "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "gpt-2", "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [1] * (TOKENS - 1) + [3], "tokenizer.ggml.merges": ["a \u0120"],
        "tokenizer.ggml.eos_token_id": TOKENS - 1,
        "tokenizer.chat_template": "{% for m in messages %}<|im_start|>{{ m.role }}{% endfor %}",
    }  # fmt: skip


def tensors(name, kind, rng):
    """(name, type, extents with the innermost first, bytes)"""
    size, keys = WIDTH // HEADS, KEY_HEADS * (WIDTH // HEADS)

    def weights(tensor, k, n):
        return f"{tensor}.weight", TYPES[kind], (k, n), matrix(kind, k * n, rng)

    def floats(tensor, k, middle):
        return tensor, 0, (k,), vector(k, middle, 0.2, rng)

    yield weights("token_embd", WIDTH, TOKENS)
    yield floats("output_norm.weight", WIDTH, 1)
    for layer in range(LAYERS):
        at = f"blk.{layer}."
        yield floats(at + "attn_norm.weight", WIDTH, 1)
        yield floats(at + "ffn_norm.weight", WIDTH, 1)
        for part, k, n in (("attn_q", WIDTH, WIDTH), ("attn_k", WIDTH, keys), ("attn_v", WIDTH, keys),
                           ("attn_output", WIDTH, WIDTH), ("ffn_gate", WIDTH, HIDDEN), ("ffn_up", WIDTH, HIDDEN),
                           ("ffn_down", HIDDEN, WIDTH)):  # fmt: skip
            yield weights(at + part, k, n)
        if name == "qwen2":
            yield floats(at + "attn_q.bias", WIDTH, 0)
            yield floats(at + "attn_k.bias", keys, 0)
        if name == "qwen3":
            yield floats(at + "attn_q_norm.weight", size, 1)
            yield floats(at + "attn_k_norm.weight", size, 1)


def gguf_file(values, parts):
    """The bytes of a file of these values, without those that are None, and tensors as `tensors` gives them."""
    values = {key: value for key, value in values.items() if value is not None}
    infos, data, count = b"", b"", 0
    for tensor, number, extents, content in parts:
        infos += text(tensor) + struct.pack(f"<I{len(extents)}QIQ", len(extents), *extents, number, len(data))
        data += content + bytes(-len(content) % 32)
        count += 1
    head = b"GGUF" + struct.pack("<IQQ", 3, count, len(values))
    head += b"".join(text(key) + typed(value) for key, value in values.items()) + infos
    return head + bytes(-len(head) % 32) + data


def small_decoder(name="llama", kind="q4_1", changes=None):
    """The bytes of the file; `changes` of the metadata, None takes a key away."""
    return gguf_file({**metadata(name), **(changes or {})}, tensors(name, kind, random.Random(7)))


if __name__ == "__main__":
    pathlib.Path(sys.argv[1]).write_bytes(small_decoder(*sys.argv[2:]))
