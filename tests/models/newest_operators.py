"""More functions for random_operators.py: operators of the newest opsets, most of which other engines lack yet."""

import ml_dtypes
import numpy as np
from onnx import helper

base = None  # random_operators, which has the functions that draw


def bit_cast():
    kinds = base.pick(("f4", "i4", "u4"), ("f2", "i2", "u2", ml_dtypes.bfloat16), ("u1", "i1"), ("f8", "i8", "u8"))
    source, to = base.pick(*kinds), base.pick(*kinds)
    x = np.asarray(base.data(base.shape(), "f4", 0.1, 2) if np.dtype(source).kind in "fV" else base.data(base.shape(), source)).astype(source)
    return base.Case("BitCast", [x], opset=26, to=helper.np_dtype_to_tensor_dtype(np.dtype(to)), const=base.pick([], [], [0]))


def causal_conv():
    batch, channels, length, taps = base.n(1, 3), base.n(1, 9), base.n(1, 9), base.n(1, 5)
    return base.Case("CausalConvWithState", [base.data((batch, channels, length)), base.data((channels, 1, taps)),
                                             base.pick(None, base.data((channels,))), base.pick(None, base.data((batch, channels, taps - 1)))],
                     outputs=base.n(1, 2), opset=27, activation=base.pick(None, "none", "silu", "swish"), const=base.pick([], [1, 2]))


def linear_attention():
    batch, length, heads, shared, size, width = base.n(1, 2), base.n(1, 6), base.n(1, 3), base.n(1, 2), base.n(1, 9), base.n(1, 9)
    rule = base.pick("linear", "gated", "delta", "gated_delta", None)
    gates = rule is None or "gated" in rule
    corrects = rule is None or "delta" in rule
    key = base.data((batch, length, heads, size))
    if corrects:
        key /= np.maximum(np.linalg.norm(key, axis=-1, keepdims=True), 1e-3)
    decay = base.data((batch, length, heads * base.pick(1, size)), "f4", -2, 0) if gates else None
    beta = base.data((batch, length, base.pick(1, heads)), "f4", 0, 1) if corrects else None
    return base.Case("LinearAttention", [base.data((batch, length, heads * shared * size)), key.reshape(batch, length, -1),
                                         base.data((batch, length, heads * width)), base.pick(None, base.data((batch, heads, size, width))),
                                         decay, beta], outputs=base.n(1, 2), opset=27, q_num_heads=heads * shared, kv_num_heads=heads,
                     update_rule=rule, scale=base.pick(None, 0.0, 0.4), chunk_size=base.pick(None, 1, 64))


def swiglu():
    dims = base.shape()
    return base.Case("SwiGLU", [base.data(dims, "f4", -4, 4), base.data(dims)], opset=28, alpha=base.pick(None, 1.702, 0.5))


def rotary_embedding():
    batch, heads, length, size, most = base.n(1, 2), base.n(1, 3), base.n(1, 5), 2 * base.n(1, 4), 9
    part = base.pick(None, None, 2 * base.n(1, size // 2))
    half = (part or size) // 2
    positions = base.pick(None, base.data((batch, length), "i8", 0, most - 1))
    angles = [base.data((batch, length, half) if positions is None else (most, half)) for _ in range(2)]
    flat = base.R.random() < 0.5
    x = base.data((batch, length, heads * size) if flat else (batch, heads, length, size))
    return base.Case("RotaryEmbedding", [x, *angles, positions], opset=23, num_heads=heads if flat else None, rotary_embedding_dim=part,
                     interleaved=base.pick(None, 0, 1), const=base.pick([], [1, 2]))


def newer_attention():
    """Operands of rank 4 or 3, shared heads, masks, a past, lengths of keys and windows, as the opset has them."""
    opset = base.pick(23, 24, 25)
    batch, heads, shared, size, width = base.n(1, 2), base.n(1, 2), base.n(1, 3), base.n(1, 9), base.n(1, 9)
    queries, keys, past = base.n(1, 5), base.n(1, 6), base.pick(0, 0, base.n(1, 4))
    flat = base.R.random() < 0.4
    total = past + keys

    def rows(count, length, each):
        return base.data((batch, length, count * each) if flat else (batch, count, length, each))

    lead = base.pick((), (1, 1), (batch, 1), (batch, heads * shared), (1, heads * shared))
    mask = base.pick(None, None, base.data((*lead, queries, total)), base.data((*lead, queries, total), bool))
    if mask is not None and mask.dtype == bool:
        mask[..., 0] = True  # a row that sees nothing is nowhere described
    cache = [base.data((batch, heads, past, size)), base.data((batch, heads, past, width))] if past else []
    operands = [rows(heads * shared, queries, size), rows(heads, keys, size), rows(heads, keys, width), mask, *cache]
    if opset > 23 and not past and base.R.random() < 0.4:
        operands += [None, None, base.data((batch,), "i8", 1, keys)]
    windows = {"left_window_size": base.pick(None, -1, base.n(0, 3)), "right_window_size": base.pick(None, -1, base.n(0, 3))} if opset > 24 else {}
    return base.Case("Attention", operands, outputs=base.pick(1, 3 if past else 1, 4 if past else 1), opset=opset,
                     q_num_heads=heads * shared if flat else None, kv_num_heads=heads if flat else None, is_causal=base.pick(None, 0, 1),
                     scale=base.pick(None, 0.3), softcap=base.pick(None, None, 2.0), qk_matmul_output_mode=base.pick(None, 0, 1, 2, 3), **windows)


def makers(module):
    """The functions above, which draw by those of `module`: random_operators, whatever its name."""
    global base
    base = module
    return [bit_cast, causal_conv, linear_attention, swiglu, rotary_embedding, newer_attention]
