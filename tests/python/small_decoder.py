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
#: of all its matrices. `centred` norms have biases (or are "plain"), others are `bare`; `alone` is a feed-forward part without a gate, `all_biases` are
#: those of all matrices. Besides there are norms of the embedding (`embedded`), `positions`, and `latent` attention. The name is the `architecture` where none is given, and `feed_norm` that of the norm before the feed-forward part.
MIXTURE = {"expert_count": 8, "expert_used_count": 3, "expert_feed_forward_length": 32}
SHARED = {**MIXTURE, "expert_shared_count": 2, "expert_shared_feed_forward_length": 64}
LATER = {"leading_dense_block_count": 1, "expert_weights_norm": True, "expert_weights_scale": 2.5, "expert_gating_func": 2}
CENTRED = {"centred": True, "alone": True, "joined": ("qkv",), "all_biases": True}
#: `whole` are values whose names do not begin with the architecture's. With `inner` norms before the last product of each part of a layer.
#: Layers that keep a state are of a `recurrent` kind: "conv", "scan" (without a feed-forward part), "heads" or "delta", all of them, or where some
#: have `attention`, those of even numbers; where it is "beside", all layers have both. Names of `short` norms are whole. Gates of attention that are `passed` have a matrix.
STATES = {"ssm.conv_kernel": 4, "ssm.inner_size": 128, "ssm.state_size": 16, "ssm.time_step_rank": 8, "ssm.group_count": 2}
#: A head's key and value as they are made, whatever is kept of them.
LATENT = {"attention.kv_lora_rank": 32, "attention.q_lora_rank": 32, "attention.key_length": 48, "attention.value_length": 32, "rope.dimension_count": 16}
KEPT = {"attention.head_count_kv": 1, "attention.key_length_mla": 48, "attention.value_length_mla": 32}  # rank + turned is 48, too
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
    "bloom": {**CENTRED, "embedded": True, "values": {"attention.head_count_kv": HEADS}},
    "chatglm": {"joined": ("qkv", "up"), "output": True, "values": {"rope.dimension_count": 8}},
    "codeshell": {**CENTRED, "output": True},
    "command-r": {"centred": "plain", "parallel": True, "values": {"logit_scale": 0.5}},
    "deepseek2": {"latent": "made", "output": True, "experts": {**SHARED, **LATER}, "parts": ("shared", "bias"),
                  "values": {**LATENT, "attention.head_count_kv": HEADS}},
    "deepseek2_absorbed": {"architecture": "deepseek2", "latent": "kept", "output": True, "experts": {**SHARED, **LATER}, "parts": ("shared", "bias"),
                           "values": {**LATENT, **KEPT}},
    "falcon": {**CENTRED, "all_biases": False, "parallel": True, "values": {"attention.head_count_kv": 1}},
    "gpt2": {**CENTRED, "positions": True, "values": {"attention.head_count_kv": HEADS}},
    "gptneox": {**CENTRED, "output": True, "values": {"attention.head_count_kv": HEADS, "use_parallel_residual": True, "rope.dimension_count": 8}},
    "hunyuan-dense": {"norms": "head"},
    "minicpm3": {"latent": "made", "values": {**LATENT, "attention.head_count_kv": HEADS}},
    "mistral3": {"output": True, "values": {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0, "rope.scaling.original_context_length": 16,
                                            "rope.scaling.yarn_log_multiplier": 1.0, "attention.temperature_scale": 0.3}},
    "mpt": {"centred": "plain", "alone": True, "joined": ("qkv",), "values": {"attention.head_count_kv": HEADS, "attention.max_alibi_bias": 6.0,
                                                                              "attention.clamp_kqv": 0.8}},
    "olmo": {"bare": True, "values": {"attention.clamp_kqv": 0.8}},
    "orion": {"centred": True, "output": True},
    "phi2": {**CENTRED, "parallel": True, "output": "biased", "values": {"rope.dimension_count": 8, "attention.head_count_kv": HEADS}},
    "plamo": {"parallel": True, "output": True},
    "refact": {"values": {"attention.head_count_kv": 1}},
    "stablelm": {"centred": True, "norms": "heads", "parallel": True, "output": True, "values": {"rope.dimension_count": 8}},
    "starcoder": {**CENTRED, "positions": True, "values": {"attention.head_count_kv": 1}},
    "starcoder2": {**CENTRED, "joined": ()},
    "xverse": {"output": True},
    "apertus": {"alone": True, "norms": "head", "output": True, "whole": {"xielu.alpha_p": [0.3, 0.8], "xielu.alpha_n": [0.4, -0.7], "xielu.beta": [0.5, 0.5],
                                                                          "xielu.eps": [-1e-6, -1e-6]}},
    "bitnet": {"inner": True},
    "llama4": {"output": True, "experts": {"expert_count": 4, "expert_used_count": 1, "expert_feed_forward_length": 32, "interleave_moe_layer_step": 2},
               "parts": ("shared",), "values": {"block_count": 5}},
    "falcon-h1": {"recurrent": "heads", "attention": "beside", "output": True, "short": ("ffn_norm",), "values": STATES},
    "granitehybrid": {"recurrent": "heads", "attention": "listed", "values": {**STATES, "embedding_scale": 12.0, "logit_scale": 8.0, "residual_scale": 0.22,
                                                                             "attention.scale": 0.11, "rope.scaling.finetuned": False}},
    "lfm2": {"recurrent": "conv", "attention": "listed", "norms": "head", "last_norm": "token_embd_norm", "values": {"shortconv.l_cache": 3}},
    "mamba": {"recurrent": "scan", "values": {**STATES, "ssm.time_step_rank": 32, "feed_forward_length": 0}},
    "mamba2": {"recurrent": "heads", "values": {**STATES, "feed_forward_length": 0}},
    "qwen35": {"recurrent": "delta", "attention": "interval", "norms": "head", "gated": True, "feed_norm": "post_attention_norm",
               "values": {**STATES, "rope.dimension_sections": [4, 2, 2, 0], "full_attention_interval": 2}},
    "qwen3next": {"recurrent": "delta", "attention": "interval", "norms": "head", "gated": True, "feed_norm": "post_attention_norm", "output": True,
                  "experts": {**MIXTURE, "expert_shared_feed_forward_length": 64}, "parts": ("shared", "gate"),
                  "values": {**STATES, "full_attention_interval": 2}},
    "afmoe": {"norms": "head", "after": "too", "output": True, "passed": True, "experts": {**SHARED, **LATER}, "parts": ("shared", "bias"),
              "values": {"block_count": 5, "attention.sliding_window": 8}},
    "dbrx": {"centred": "plain", "joined": ("qkv",), "output": True, "feed_norm": "attn_output_norm",
             "experts": {"expert_count": 8, "expert_used_count": 3}, "values": {"attention.clamp_kqv": 0.8}},
    "exaone-moe": {"norms": "head", "output": True, "experts": {**SHARED, **LATER}, "parts": ("shared", "bias"),
                   "values": {"block_count": 5, "attention.sliding_window": 8}},
    "jamba": {"recurrent": "scan", "attention": "listed", "output": True,
              "experts": {"expert_count": 4, "expert_used_count": 2, "interleave_moe_layer_step": 2}, "values": {**STATES, "ssm.time_step_rank": 32}},
    "maincoder": {"norms": "head", "output": True},
}  # fmt: skip


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def typed(value):
    """A value of the metadata with its type: bool, int (u32, or u64), float, str, or a list of str, of int (i32) or of float."""
    if isinstance(value, bool):
        return struct.pack("<IB", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value) if value < 1 << 32 else struct.pack("<IQ", 10, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + text(value)
    if value and isinstance(value[0], float):
        return struct.pack(f"<IIQ{len(value)}f", 9, 6, len(value), *value)
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
        "attention.head_count": HEADS, "attention.head_count_kv": KEY_HEADS, "attention.layer_norm_rms_epsilon": 1e-5, "attention.layer_norm_epsilon": 1e-5,
        **FORMS[name].get("experts", {}), **FORMS[name].get("values", {}),
    }  # fmt: skip
    values["attention.head_count_kv"] = key_heads(FORMS[name], values["attention.head_count_kv"], values["block_count"])
    kind = architecture(name)
    return {
        "general.architecture": kind, **FORMS[name].get("whole", {}), **{f"{kind}.{key}": value for key, value in values.items()},
        "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "gpt-2", "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [1] * (TOKENS - 1) + [3], "tokenizer.ggml.merges": ["a \u0120"],
        "tokenizer.ggml.eos_token_id": TOKENS - 1,
        "tokenizer.chat_template": "{% for m in messages %}<|im_start|>{{ m.role }}{% endfor %}",
    }  # fmt: skip


def key_heads(form, count, layers):
    """Of all layers, or where some have none, of each."""
    return [layer % 2 * count for layer in range(layers)] if form.get("attention") == "listed" else count


def recurs(form, layer):
    return "recurrent" in form and (form.get("attention", "beside") == "beside" or layer % 2 == 0)


def recurrent(form, width, values):
    """(name, extents) of what keeps a state."""
    kind = form["recurrent"]
    if kind == "conv":
        yield from (("shortconv.in_proj.weight", (width, 3 * width)), ("shortconv.conv.weight", (values["shortconv.l_cache"], width)),
                    ("shortconv.out_proj.weight", (width, width)))  # fmt: skip
        return
    taps, inner, size, heads, groups = (values[key] for key in STATES)
    channels = inner if kind == "scan" else inner + 2 * groups * size
    yield from (("ssm_conv1d.weight", (taps, channels)), ("ssm_out.weight", (inner, width)))
    if kind == "scan":
        yield from (("ssm_in.weight", (width, 2 * inner)), ("ssm_x.weight", (inner, heads + 2 * size)), ("ssm_dt.weight", (heads, inner)),
                    ("ssm_dt.bias", (inner,)), ("ssm_a", (size, inner)), ("ssm_d", (inner,)), ("ssm_conv1d.bias", (channels,)))  # fmt: skip
        yield from ((f"ssm_{part}_norm.weight", (count,)) for part, count in (("dt", heads), ("b", size), ("c", size)) if "attention" in form)
        return
    yield from (("ssm_dt.bias", (heads,)), ("ssm_a", (1, heads) if kind == "heads" else (heads,)))
    if kind == "heads":
        yield from (("ssm_in.weight", (width, inner + channels + heads)), ("ssm_d", (1, heads)), ("ssm_conv1d.bias", (channels,)),
                    ("ssm_norm.weight", (inner // groups, groups)))  # fmt: skip
        return
    yield from (("attn_qkv.weight", (width, channels)), ("attn_gate.weight", (width, inner)), ("ssm_norm.weight", (inner // heads,)))
    if "experts" in form:
        yield "ssm_ba.weight", (width, 2 * heads)
    else:
        yield from (("ssm_alpha.weight", (width, heads)), ("ssm_beta.weight", (width, heads)))


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
        shared = experts.get("expert_shared_feed_forward_length", hidden)
        yield from (("ffn_gate_shexp.weight", (width, shared)), ("ffn_up_shexp.weight", (width, shared)), ("ffn_down_shexp.weight", (shared, width)))
    if "gate" in parts:
        yield "ffn_gate_inp_shexp.weight", (width,)


def is_float(name):
    return name.endswith(".bias") or "_gate_inp" in name or "norm" in name or "position_embd" in name or "sinks" in name or "conv" in name and "proj" not in name or name.endswith(("ssm_a", "ssm_d"))


def latent(form, width, heads, values):
    """(name, extents) of attention to latent rows."""
    rank, query_rank, turned, made = (values[key] for key in ("attention.kv_lora_rank", "attention.q_lora_rank", "rope.dimension_count", "attention.value_length"))
    size = values["attention.key_length"]
    yield from (("attn_q_a.weight", (width, query_rank)), ("attn_q_a_norm.weight", (query_rank,)), ("attn_q_b.weight", (query_rank, heads * size)),
                ("attn_kv_a_mqa.weight", (width, rank + turned)), ("attn_kv_a_norm.weight", (rank,)))  # fmt: skip
    if form["latent"] == "made":
        yield "attn_kv_b.weight", (rank, heads * (size - turned + made))
    else:
        yield from (("attn_k_b.weight", (size - turned, rank, heads)), ("attn_v_b.weight", (rank, made, heads)))
    yield "attn_output.weight", (heads * made, width)


def norms(form, name, size):
    """(name, extents) of a norm of rows."""
    if form.get("bare"):
        return
    yield name if name in form.get("short", ()) else f"{name}.weight", (size,)
    if form.get("centred") is True:
        yield f"{name}.bias", (size,)


def attention(form, width, size, heads, keys):
    """(name, extents) of queries, keys and values, their norms and biases."""
    queries, joined = heads * size, form.get("joined", ())
    parts = (("attn_qkv", queries + 2 * keys * size),) if "qkv" in joined else (("attn_q", queries), ("attn_k", keys * size), ("attn_v", keys * size))
    for name, rows in (*parts, ("attn_output", width)):
        rows *= 2 if name == "attn_q" and form.get("gated") else 1
        yield f"{name}.weight", (queries if name == "attn_output" else width, rows)
        if form.get("all_biases") or (form.get("biases") and name in ("attn_q", "attn_k")):
            yield f"{name}.bias", (rows,)
    shapes = {"head": lambda count: (size,), "heads": lambda count: (size, count), "all": lambda count: (count * size,)}
    for name, count in (("attn_q", heads), ("attn_k", keys)) if "norms" in form else ():
        yield f"{name}_norm.weight", shapes[form["norms"]](count)
    yield from (("attn_gate.weight", (width, queries)),) if form.get("passed") else ()
    if "sinks" in form.get("parts", ()):
        yield "attn_sinks.weight", (heads,)


def feed_forward(form, width, hidden):
    """(name, extents) of a network."""
    both = "up" in form.get("joined", ())
    for name, extents in (("gate", (width, hidden)), ("up", (width, hidden * (2 if both else 1))), ("down", (hidden, width))):
        if name == "gate" and (both or form.get("alone")):
            continue
        yield f"ffn_{name}.weight", extents
        if form.get("all_biases"):
            yield f"ffn_{name}.bias", extents[1:]


def layer_shapes(form, layer, sizes, values):
    """(name, extents) of a layer: `sizes` are its width, of a head, of the hidden rows, heads and those of keys."""
    width, size, hidden, heads, keys = sizes
    feeds = form.get("recurrent") not in ("scan", "heads") or "attention" in form
    before = ["attn_norm"] if not feeds else [] if form.get("after") == "only" else ["attn_norm", *([] if form.get("parallel") else [form.get("feed_norm", "ffn_norm")])]
    for name in [*before, *(["post_attention_norm", "post_ffw_norm"] if "after" in form else [])]:
        yield from norms(form, name, width)
    if recurs(form, layer):
        yield from recurrent(form, width, values)
    if not recurs(form, layer) or form.get("attention") == "beside":
        yield from latent(form, width, heads, values) if "latent" in form else attention(form, width, size, heads, keys)
    if form.get("inner"):
        yield from (("attn_sub_norm.weight", (heads * size,)), ("ffn_sub_norm.weight", (hidden,)))
    if not feeds:
        return
    yield from mixture(form, width, hidden) if is_mixture(form, layer) else feed_forward(form, width, hidden)


def shapes(form, layers, tokens, positions, sizes, values):
    """(name, extents, the innermost first) of a model's tensors."""
    width = sizes[0]
    yield "token_embd.weight", (width, tokens)
    yield from norms(form, "token_embd_norm", width) if form.get("embedded") else ()
    yield from norms(form, form.get("last_norm", "output_norm"), width)
    if form.get("positions"):
        yield "position_embd.weight", (width, positions)
    if form.get("output"):
        yield "output.weight", (width, tokens)
    if form.get("output") == "biased":
        yield "output.bias", (tokens,)
    for layer in range(layers):
        for name, extents in layer_shapes(form, layer, sizes, values):
            yield f"blk.{layer}.{name}", extents


def tensors(name, kind, rng):
    """(name, type, extents with the innermost first, bytes)"""
    form = FORMS[name]
    values = form.get("values", {})
    sizes = (WIDTH, WIDTH // HEADS, HIDDEN, HEADS, values.get("attention.head_count_kv", KEY_HEADS))
    for tensor, extents in shapes(form, values.get("block_count", LAYERS), TOKENS, CONTEXT, sizes, values):
        of, size = "f32" if is_float(tensor) else kind, math.prod(extents)
        is_norm = "norm" in tensor and not tensor.endswith(".bias")
        small = len(extents) == 1 or is_norm
        decays = tensor.endswith("ssm_a")
        content = vector(size, -1 if decays else int(is_norm), 0.2, rng) if small or decays else matrix(of, size, rng)
        yield tensor, TYPES[of], extents, content


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
