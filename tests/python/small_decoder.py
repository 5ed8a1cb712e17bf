#!/usr/bin/env python3
"""A language model of random weights in a GGUF file of a few kilobytes: small_decoder.py FILE [ARCHITECTURE [TYPE]]

Its tokens are the printable characters of ASCII, a space, and an end; architectures are those of FORMS, types f32, q4_0, q4_1, q8_0 and mxfp4.
"""

import math
import pathlib
import random
import struct
import sys

TYPES = {"f32": 0, "q4_0": 2, "q4_1": 3, "q8_0": 8, "mxfp4": 39}
LAYERS, WIDTH, HIDDEN, HEADS, KEY_HEADS, TOKENS, CONTEXT = 2, 64, 96, 4, 2, 97, 128
#: What a file of an architecture has besides: `values` of its metadata, `biases` of queries and keys, `norms` of them by head or of all heads,
#: norms `after` each part of a layer, too or only there, matrices that hold several (`joined`), and an `output` that is not the embedding.
#: `experts` are the mixture's numbers in the metadata; `parts` what it has besides: a `shared` network, its `gate`, a `bias` of the scores, `biases`
#: of all its matrices. The name is the `architecture` where none is given, and `feed_norm` that of the norm before the feed-forward part.
MIXTURE = {"expert_count": 8, "expert_used_count": 3, "expert_feed_forward_length": 32}
SHARED = {**MIXTURE, "expert_shared_count": 2, "expert_shared_feed_forward_length": 64}
LATER = {"leading_dense_block_count": 1, "expert_weights_norm": True, "expert_weights_scale": 2.5, "expert_gating_func": 2}
FORMS = {
    "ernie4_5": {}, "exaone": {}, "gemma": {}, "internlm2": {"output": True}, "llama": {},
    "exaone4": {"norms": "head", "after": "only"},
    "gemma2": {"after": "too", "values": {"block_count": 4, "attention.sliding_window": 8}},
    "gemma3": {"norms": "head", "after": "too", "values": {"block_count": 7, "attention.sliding_window": 8}},
    "glm4": {"biases": True, "after": "too", "joined": ("up",), "values": {"rope.dimension_count": 8}},
    "granite": {"values": {"embedding_scale": 12.0, "logit_scale": 8.0, "residual_scale": 0.22, "attention.scale": 0.11}},
    "olmo2": {"norms": "all", "after": "only", "output": True, "values": {"block_count": 5, "attention.sliding_window": 8}},
    "phi3": {"joined": ("qkv", "up"), "values": {"rope.dimension_count": 12}},
    "qwen2": {"biases": True}, "qwen3": {"norms": "head"},
    "smollm3": {"values": {"block_count": 5}},
    "mixtral": {"architecture": "llama", "experts": {"expert_count": 4, "expert_used_count": 2}},
    "qwen3moe": {"norms": "head", "output": True, "experts": MIXTURE},
    "qwen2moe": {"biases": True, "output": True, "experts": SHARED, "parts": ("shared", "gate")},
    "olmoe": {"norms": "all", "output": True, "experts": {"expert_count": 8, "expert_used_count": 2}, "values": {"attention.head_count_kv": HEADS}},
    "granitemoe": {"experts": {"expert_count": 8, "expert_used_count": 3, "expert_shared_feed_forward_length": 64}, "parts": ("shared",),
                   "values": {"embedding_scale": 12.0, "logit_scale": 8.0, "residual_scale": 0.22, "attention.scale": 0.11}},
    "bailingmoe": {"output": True, "experts": {**SHARED, "expert_weights_norm": True}, "parts": ("shared",)},
    "deepseek": {"output": True, "experts": {**SHARED, "leading_dense_block_count": 1}, "parts": ("shared",)},
    "dots1": {"norms": "head", "output": True, "experts": {**SHARED, **LATER}, "parts": ("shared", "bias"),
              "values": {"attention.head_count_kv": HEADS}},
    "ernie4_5-moe": {"experts": {**SHARED, "interleave_moe_layer_step": 1, "leading_dense_block_count": 1}, "parts": ("shared", "bias")},
    "glm4moe": {"biases": True, "experts": {**SHARED, **LATER}, "parts": ("shared", "bias"), "feed_norm": "post_attention_norm",
                "values": {"rope.dimension_count": 8}},
    "gpt-oss": {"biases": True, "output": True, "experts": MIXTURE, "parts": ("biases", "sinks"), "feed_norm": "post_attention_norm",
                "values": {"attention.sliding_window": 8}},
}  # fmt: skip


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def typed(value):
    """A value of the metadata with its type: bool, int (u32, or u64), float, str, or a list of str or of int (i32)."""
    if isinstance(value, bool):
        return struct.pack("<IB", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value) if value < 1 << 32 else struct.pack("<IQ", 10, value)
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
    head = {"q4_0": struct.pack("<e", 0.03), "q4_1": struct.pack("<ee", 0.03, -0.22), "q8_0": struct.pack("<e", 0.002), "mxfp4": bytes((122,))}[kind]
    return b"".join(head + rng.randbytes(32 if kind == "q8_0" else 16) for _ in range(size // 32))


def architecture(name):
    return FORMS[name].get("architecture", name)


def metadata(name):
    tokens = [chr(c) for c in range(0x21, 0x7F)] + ["\u0120", "a\u0120", "<|end|>"]
    values = {
        "block_count": LAYERS, "context_length": CONTEXT, "embedding_length": WIDTH, "feed_forward_length": HIDDEN,
        "attention.head_count": HEADS, "attention.head_count_kv": KEY_HEADS, "attention.layer_norm_rms_epsilon": 1e-5,
        **FORMS[name].get("experts", {}), **FORMS[name].get("values", {}),
    }  # fmt: skip
    kind = architecture(name)
    return {
        "general.architecture": kind, **{f"{kind}.{key}": value for key, value in values.items()},
        "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "gpt-2", "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [1] * (TOKENS - 1) + [3], "tokenizer.ggml.merges": ["a \u0120"],
        "tokenizer.ggml.eos_token_id": TOKENS - 1,
        "tokenizer.chat_template": "{% for m in messages %}<|im_start|>{{ m.role }}{% endfor %}",
    }  # fmt: skip


def is_mixture(form, layer):
    experts = form.get("experts")
    return experts is not None and layer >= experts.get("leading_dense_block_count", 0) and (layer + 1) % experts.get("interleave_moe_layer_step", 1) == 0


def mixture(form, width, hidden):
    """(name, extents) of a layer's matrices; those of one extent, and the router's, are floats whatever the others are."""
    experts, parts = form["experts"], form.get("parts", ())
    count, hidden = experts["expert_count"], experts.get("expert_feed_forward_length", hidden)
    yield "ffn_gate_inp.weight", (width, count)
    for name, k, n in (("gate", width, hidden), ("up", width, hidden), ("down", hidden, width)):
        yield f"ffn_{name}_exps.weight", (k, n, count)
        if "biases" in parts:
            yield f"ffn_{name}_exps.bias", (n, count)
    if "biases" in parts:
        yield from (("ffn_gate_inp.bias", (count,)), ("attn_output.bias", (width,)))
    if "bias" in parts:
        yield "exp_probs_b.bias", (count,)
    if "shared" in parts:
        shared = experts["expert_shared_feed_forward_length"]
        yield from (("ffn_gate_shexp.weight", (width, shared)), ("ffn_up_shexp.weight", (width, shared)), ("ffn_down_shexp.weight", (shared, width)))
    if "gate" in parts:
        yield "ffn_gate_inp_shexp.weight", (width,)


def is_float(name):
    return name.endswith(".bias") or "_gate_inp" in name


def matrices(form, keys, layer=0):
    """(name, depth, rows) of a layer, in the file's order; without those of a mixture."""
    joined = form.get("joined", ())
    if "qkv" in joined:
        yield "attn_qkv", WIDTH, WIDTH + 2 * keys
    else:
        yield from (("attn_q", WIDTH, WIDTH), ("attn_k", WIDTH, keys), ("attn_v", WIDTH, keys))
    yield "attn_output", WIDTH, WIDTH
    if is_mixture(form, layer):
        return
    if "up" not in joined:
        yield "ffn_gate", WIDTH, HIDDEN
    yield "ffn_up", WIDTH, HIDDEN * (2 if "up" in joined else 1)
    yield "ffn_down", HIDDEN, WIDTH


def tensors(name, kind, rng):
    """(name, type, extents with the innermost first, bytes)"""
    size, form = WIDTH // HEADS, FORMS[name]
    keys = form.get("values", {}).get("attention.head_count_kv", KEY_HEADS) * size

    def weights(tensor, k, n):
        return f"{tensor}.weight", TYPES[kind], (k, n), matrix(kind, k * n, rng)

    def floats(tensor, k, middle):
        return tensor, 0, (k,), vector(k, middle, 0.2, rng)

    yield weights("token_embd", WIDTH, TOKENS)
    yield floats("output_norm.weight", WIDTH, 1)
    if form.get("output"):
        yield weights("output", WIDTH, TOKENS)
    before = [] if form.get("after") == "only" else ["attn_norm", form.get("feed_norm", "ffn_norm")]
    after = ["post_attention_norm", "post_ffw_norm"] if "after" in form else []
    for layer in range(form.get("values", {}).get("block_count", LAYERS)):
        at = f"blk.{layer}."
        for norm in before + after:
            yield floats(f"{at}{norm}.weight", WIDTH, 1)
        for part, k, n in matrices(form, keys, layer):
            yield weights(at + part, k, n)
        for part, extents in mixture(form, WIDTH, HIDDEN) if is_mixture(form, layer) else ():
            of = "f32" if is_float(part) else kind
            yield at + part, TYPES[of], extents, matrix(of, math.prod(extents), rng)
        if "sinks" in form.get("parts", ()):
            yield floats(f"{at}attn_sinks.weight", HEADS, 0)
        for part, n in (("attn_q", WIDTH), ("attn_k", keys)):
            if form.get("biases"):
                yield floats(f"{at}{part}.bias", n, 0)
            if "norms" in form:
                yield floats(f"{at}{part}_norm.weight", size if form["norms"] == "head" else n, 1)


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
