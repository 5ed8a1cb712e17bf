"""More functions for random_operators.py: operators of com.microsoft on quantised constants."""

import numpy as np

base = None  # random_operators, which has the functions that draw


def gather_quantised():
    width, block, rows, blocks = base.pick(4, 8), 16, base.n(1, 9), base.n(1, 4)
    columns = block * blocks * width // 8
    zeros = base.pick(None, base.data((rows, (blocks * width + 7) // 8), "u1", 0, 255))
    table, indices = base.data((rows, columns), "u1", 0, 255), base.data(base.shape(base.n(0, 2)), "i8", 0, rows - 1)
    return base.Case("GatherBlockQuantized", [table, indices, base.data((rows, blocks), "f4", 0.01, 0.1), zeros],
                     domain="com.microsoft", bits=width, block_size=block, gather_axis=0, quantize_axis=1, const=[0, 2, 3])


def quantised_lstm():
    # One step from a state of zeros, of numbers that bytes hold: ONNX Runtime rounds nothing then.
    ways, batch, size, hidden = base.n(1, 2), base.n(1, 3), base.n(1, 9), base.n(1, 9)
    x = base.R.integers(0, 256, (1, batch, size)).astype(np.float32)
    x[0, 0, 0] = 255
    kind = base.pick("u1", "i1")
    scales = [base.data((ways,) if base.R.random() < 0.5 else (ways, 4 * hidden), "f4", 0.0001, 0.0004) for _ in range(2)]
    zeros = [np.full(s.shape, 128 if kind == "u1" else 0, kind) for s in scales]
    # Pairs of products with larger int8 saturate in ONNX Runtime on processors without VNNI.
    low, high = (0, 99) if kind == "u1" else (-63, 63)
    weights = [base.data((ways, rows, 4 * hidden), kind, low, high) for rows in (size, hidden)]
    bias = base.data((ways, 8 * hidden))
    return base.Case("DynamicQuantizeLSTM", [x, *weights, bias, None, None, None, None, scales[0], zeros[0], scales[1], zeros[1]],
                     outputs=3, domain="com.microsoft", hidden_size=hidden, const=[1, 2, 3, 8, 9, 10, 11],
                     direction="forward" if ways == 1 else "bidirectional")


def pack(codes, width):
    """Bytes of the numbers along the last axis, the first in the low bits; that axis is filled up with zeros."""
    per = 8 // width
    codes = np.pad(codes, [(0, 0)] * (codes.ndim - 1) + [(0, -codes.shape[-1] % per)])
    codes = codes.reshape(*codes.shape[:-1], -1, per)
    return np.bitwise_or.reduce(codes << (width * np.arange(per, dtype=np.uint8)), -1).astype(np.uint8)


def matmul_nbits_groups():
    """Float zero points, and groups of rows. What ONNX Runtime does with both in 2 and 8 bits is another thing, or nothing."""
    width, block = base.pick(4, 4, 2), base.pick(16, 32)
    k, c = base.n(1, 70), base.n(1, 5)
    blocks = (k + block - 1) // block
    zeros = [None, base.data((c * blocks,), "f4", 0, 2**width - 1), base.data((c * blocks,), "i4", 0, 2**width - 1).astype("f4")]
    groups, form = None, base.n(0, 2) if width == 4 else 0
    if form == 1:
        groups = base.R.permutation(np.arange(k) // block).astype("i4")
    elif form == 2 and blocks > 1:
        groups, zeros = base.data((k,), "i4", 0, blocks - 1), [None]
    return base.Case("MatMulNBits", [base.data((base.n(1, 3), k)), base.data((c, blocks, block * width // 8), "u1", 0, 255),
                                     base.data((c * blocks,), "f4", 0.01, 0.1), base.pick(*zeros), groups], domain="com.microsoft",
                     K=k, N=c, bits=width, block_size=block, const=[1, 2, 3, 4])


def matmul_bnb4():
    block, k, c = base.pick(16, 32, 64), base.n(1, 90), base.n(1, 6)
    return base.Case("MatMulBnb4", [base.data((base.n(1, 3), k)), base.data(((k * c + 1) // 2,), "u1", 0, 255),
                                    base.data(((k * c + block - 1) // block,), "f4", 0.1, 2)], domain="com.microsoft",
                     K=k, N=c, block_size=block, quant_type=base.n(0, 1), const=[1, 2])


def expert_shapes():
    """Attributes of both, rows and routers [rows, experts], and how many outputs the first layers have for one of the second."""
    experts, kind = base.n(1, 5), base.pick("relu", "gelu", "silu", "identity", "swiglu")
    attributes = {"activation_type": kind, "k": base.n(1, experts), "normalize_routing_weights": base.n(0, 1)}
    if kind == "swiglu":
        attributes.update(swiglu_fusion=1, activation_alpha=base.pick(None, 1.702), activation_beta=base.pick(None, 1.0),
                          swiglu_limit=base.pick(None, 0.5))
    return attributes, experts, base.n(1, 4), 2 if kind == "swiglu" else 1


def mixture():
    attributes, experts, rows, both = expert_shapes()
    hidden, inter = base.n(1, 9), base.n(1, 9)
    x = base.data(base.pick((rows, hidden), (1, rows, hidden)))
    return base.Case("MoE", [x, base.data((rows, experts)), base.data((experts, both * inter, hidden)),
                             base.pick(None, base.data((experts, both * inter))), base.data((experts, hidden, inter)),
                             base.pick(None, base.data((experts, hidden)))], domain="com.microsoft", const=[2, 3, 4, 5], **attributes)


def quantised_mixture():
    """Not of 8 bits in blocks, for which ONNX Runtime rounds rows to bytes."""
    attributes, experts, rows, both = expert_shapes()
    width = base.pick(2, 4, 8)
    block = base.pick(None, 16, 32) if width != 8 else None
    hidden, inter = 32 * base.n(1, 2), 32 * base.n(1, 2)

    def layer(outputs, inputs):
        blocks = (experts, outputs, inputs // block) if block else (experts, outputs)
        codes = base.data((experts, outputs, inputs), "u1", 0, 2**width - 1)
        return pack(codes, width), base.data(blocks, "f4", 0.001, 0.01), pack(base.data(blocks, "u1", 0, 2**width - 1), width)

    first, second = layer(both * inter, hidden), layer(hidden, inter)
    zeros = [None, first[2], second[2]] if base.R.random() < 0.5 else []
    return base.Case("QMoE", [base.data((rows, hidden)), base.data((rows, experts)), *first[:2],
                              base.pick(None, base.data((experts, both * inter))), *second[:2], base.pick(None, base.data((experts, hidden))),
                              *([None, None, *zeros] if zeros else [])], domain="com.microsoft", expert_weight_bits=width, block_size=block,
                     const=[2, 3, 4, 5, 6, 7, 11, 12], **attributes)


def group_query_sinks():
    case = base.group_query()
    if base.R.random() < 0.5:
        case.attributes["smooth_softmax"] = 1
    else:
        case.operands += [None] * (11 - len(case.operands)) + [base.data((case.attributes["num_heads"],), "f4", -2, 4)]
    return case


def makers(module):
    """The functions above, which draw by those of `module`: random_operators, whatever its name."""
    global base
    base = module
    return [gather_quantised, quantised_lstm, matmul_nbits_groups, matmul_bnb4, mixture, quantised_mixture,
            group_query_sinks]
