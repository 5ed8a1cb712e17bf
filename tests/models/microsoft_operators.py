"""More functions for random_operators.py: operators of com.microsoft that quantised and fused models have."""

import numpy as np

base = None  # random_operators, which has the functions that draw
MICROSOFT = "com.microsoft"


def scale(*dims):
    return base.data(dims, "f4", 0.01, 0.06)


def zero(kind, *dims):
    return base.data(dims, kind, 0, 9)


def qlinear_binary():
    kind, dims = base.pick("u1", "i1"), base.shape()
    a, b = base.data(dims, kind, 0, 99), base.data(base.broadcastable(dims), kind, 0, 99)
    if base.R.random() < 0.4:
        a, b = b, a
    return base.Case(base.pick("QLinearAdd", "QLinearMul"), [a, scale(), zero(kind), b, scale(), zero(kind), scale(), zero(kind)],
                     domain=MICROSOFT, const=[1, 2, 4, 5, 6, 7] + base.pick([], [3]))


def qlinear_unary():
    kind, op = base.pick("u1", "i1"), base.pick("QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax")
    dims = base.shape()
    attributes = {"QLinearSigmoid": {}, "QLinearLeakyRelu": {"alpha": base.pick(None, 0.1)},
                  "QLinearSoftmax": {"axis": base.n(-len(dims), len(dims) - 1), "opset": base.pick(12, 13)}}[op]
    to = [np.array(1 / 256, np.float32), np.array(0 if kind == "u1" else -128, kind)] if op != "QLinearLeakyRelu" else [scale(), zero(kind)]
    return base.Case(op, [base.data(dims, kind, 0, 99), scale(), zero(kind), *to], domain=MICROSOFT, const=[1, 2, 3, 4], **attributes)


def qlinear_matmul():
    m, k, c = base.n(1, 6), base.n(1, 20), base.n(1, 9)
    batch, kind, other = base.shape(base.n(0, 2), 1, 3), base.pick("u1", "i1"), base.pick("u1", "i1")
    per = () if base.R.random() < 0.5 or batch else (c,)
    rows = [base.data((*batch, m, k), kind, 0, 99), scale(), zero(kind)]
    columns = [base.data((*(batch if base.R.random() < 0.5 else ()), k, c), other, 0 if other == "u1" else -63, 63), scale(*per), zero(other, *per)]
    return base.Case("QLinearMatMul", [*rows, *columns, scale(), zero(kind)], const=[1, 2, 4, 5, 6, 7] + base.pick([], [3]))


def qgemm():
    m, k, c = base.n(1, 6), base.n(1, 20), base.n(1, 9)
    flip, kind, other = [base.n(0, 1), base.n(0, 1)], base.pick("u1", "i1"), base.pick("u1", "i1")
    per = () if base.R.random() < 0.5 else (c,)
    a, b = base.data((k, m) if flip[0] else (m, k), kind, 0, 99), base.data((c, k) if flip[1] else (k, c), other, 0, 63)
    bias = base.pick(None, base.data(base.pick((c,), (1, c)), "i4", -999, 999))
    to = base.pick([], [scale(), zero(kind)])
    return base.Case("QGemm", [a, scale(), zero(kind), b, scale(*per), zero(other, *per), bias, *to], domain=MICROSOFT, transA=flip[0],
                     transB=flip[1], alpha=base.pick(None, 0.5), const=[1, 2, 3, 4, 5, 6, 7, 8])


def contrib_quantise():
    dims, kind = base.shape(), base.pick("u1", "i1", "u2", "i2")
    axis = base.n(-len(dims), len(dims) - 1)
    per = () if base.R.random() < 0.5 else (dims[axis],)
    x, op = base.pick((base.data(dims), "QuantizeLinear"), (base.data(dims, kind, 0, 99), "DequantizeLinear"))
    return base.Case(op, [x, scale(*per), zero(kind, *per)], domain=MICROSOFT, axis=axis if per else None, const=base.pick([], [1, 2]))


def contrib_twins():
    """Operators that ONNX has, too."""
    op = base.pick("GatherND", "Gelu", "GridSample", "Trilu")
    dims = base.shape(base.n(2, 4))
    if op == "GatherND":
        width = base.n(1, len(dims))
        lead = base.shape(base.n(1, 2), 1, 3)
        index = np.stack([base.data(lead, "i8", 0, dims[i] - 1) for i in range(width)], -1)
        return base.Case(op, [base.data(dims), index], domain=MICROSOFT)
    if op == "Gelu":
        return base.Case(op, [base.data(dims, "f4", -4, 4)], domain=MICROSOFT)
    if op == "Trilu":
        return base.Case(op, [base.data(dims, base.pick("f4", "i8")), base.pick(None, np.array(base.n(-4, 4), np.int64))], domain=MICROSOFT,
                         upper=base.n(0, 1))
    return base.Case(op, [base.data((2, base.n(1, 3), base.n(2, 5), base.n(2, 5))), base.data((2, base.n(1, 4), base.n(1, 4), 2), "f4", -1.2, 1.2)],
                     domain=MICROSOFT, mode=base.pick("bilinear", "nearest", "bicubic"), padding_mode=base.pick("zeros", "border", "reflection"),
                     align_corners=base.n(0, 1))


def quantised_embedding():
    batch, length, hidden, kind = base.n(1, 2), base.n(1, 4), base.n(2, 8), base.pick("u1", "i1")
    tables = [base.data(dims, kind, 0, 99) for dims in ((9, hidden), (6, hidden), (2, hidden), (hidden,), (hidden,))]
    operands = [base.data((batch, length), "i4", 0, 8), base.data((batch, length), "i4", 0, 1), *tables, base.pick(None, base.data((batch, length), "i4", 0, 1)),
                *(scale() for _ in tables), *(zero(kind) for _ in tables)]
    if base.R.random() < 0.3:  # no segments
        operands[1] = operands[4] = operands[10] = operands[15] = None
    return base.Case("QEmbedLayerNormalization", operands, outputs=2, domain=MICROSOFT, epsilon=base.pick(None, 1e-5),
                     const=[2, 3, 4, 5, 6, *range(8, 18)])


def makers(module):
    """The functions above, which draw by those of `module`: random_operators, whatever its name."""
    global base
    base = module
    return [qlinear_binary, qlinear_unary, qlinear_matmul, qgemm, contrib_quantise, contrib_twins, quantised_embedding]
