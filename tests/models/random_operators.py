"""Writes random instances of single operators with what ONNX Runtime, unoptimised, computes from them.

    random_operators.py DIR COUNT SEED     then: fettle test DIR --atol 1e-4

In the layout of the ONNX node tests. Instances that ONNX Runtime refuses are left out and counted.
"""

import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
import random_quantised
from onnx import helper, numpy_helper

R = np.random.default_rng()
FLOATS, NUMBERS = ["f4"], ["f4", "i4", "i8"]


def pick(*choices):
    return choices[R.integers(len(choices))]


def n(low, high):
    return int(R.integers(low, high + 1))


def shape(rank=None, low=1, high=5):
    return tuple(n(low, high) for _ in range(n(1, 4) if rank is None else rank))


def data(dims, kind="f4", low=None, high=None):
    kind = np.dtype(kind)
    if kind == bool:
        return R.integers(0, 2, dims).astype(bool)
    if kind.kind == "f":
        return R.uniform(-2 if low is None else low, 2 if high is None else high, dims).astype(kind)
    limits = np.iinfo(kind)
    low = max(limits.min, -9) if low is None else low
    high = min(limits.max, 9) if high is None else high
    return R.integers(low, high + 1, dims).astype(kind)


def ints(*values):
    return np.array(values, np.int64)


def broadcastable(dims):
    out = tuple(1 if R.random() < 0.3 else d for d in dims)
    return out[n(0, len(dims) - 1):] if R.random() < 0.3 else out


class Case:
    """One node: operands are arrays (a graph input, or an initialiser where `const`), or None where left out."""

    def __init__(self, op, operands, outputs=1, domain="", opset=None, const=(), **attributes):
        self.op, self.operands, self.outputs, self.domain = op, operands, outputs, domain
        self.opset, self.const = opset or n(18, 21), set(const)
        self.attributes = {k: v for k, v in attributes.items() if v is not None}

    def model(self):
        names = ["" if v is None else f"x{i}" for i, v in enumerate(self.operands)]
        values = [(name, v) for name, v in zip(names, self.operands) if name]
        inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
                  for name, v in values if int(name[1:]) not in self.const]
        constants = [numpy_helper.from_array(v, name) for name, v in values if int(name[1:]) in self.const]
        outputs = [f"y{i}" for i in range(self.outputs)]
        node = helper.make_node(self.op, names, outputs, domain=self.domain, **self.attributes)
        graph = helper.make_graph([node], self.op, inputs, [onnx.ValueInfoProto(name=o) for o in outputs], constants)
        opsets = [helper.make_opsetid("", self.opset)]
        if self.domain:
            opsets.append(helper.make_opsetid(self.domain, 1))
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)

    def feed(self):
        return {f"x{i}": v for i, v in enumerate(self.operands) if v is not None and i not in self.const}


# --- one function for each kind of operator: a Case with random types, shapes and attributes ---

def unary():
    op = pick("Abs", "Acos", "Asin", "Atan", "Ceil", "Cos", "Cosh", "Erf", "Exp", "Floor", "Neg", "Reciprocal", "Relu",
              "Round", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Tan", "Tanh", "HardSwish",
              "Log", "Mish", "Asinh", "Identity", "IsNaN", "IsInf")
    low = 0.1 if op in ("Sqrt", "Log", "Reciprocal") else -0.99 if op in ("Acos", "Asin") else None
    kind = pick(*NUMBERS) if op in ("Abs", "Neg", "Sign", "Identity") else "f4"
    high = 0.99 if op in ("Acos", "Asin") else 1.4 if op == "Tan" else None
    return Case(op, [data(shape(), kind, low if kind == "f4" else None, high if kind == "f4" else None)])


def unary_attributes():
    alpha = float(np.float32(R.uniform(0.05, 2)))
    op, attributes = pick(("Elu", {"alpha": alpha}), ("Celu", {"alpha": alpha}), ("LeakyRelu", {"alpha": alpha}),
                          ("ThresholdedRelu", {"alpha": alpha}), ("HardSigmoid", {"alpha": alpha, "beta": 0.3}),
                          ("Selu", {"alpha": alpha}), ("Shrink", {"lambd": alpha, "bias": 0.2}))
    return Case(op, [data(shape())], **attributes)


def gelu():
    return Case("Gelu", [data(shape())], opset=20, approximate=pick("none", "tanh"))


def binary():
    op = pick("Add", "Sub", "Mul", "Div", "Max", "Min", "Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual",
              "PRelu", "Pow", "Mod")
    kind = pick(*NUMBERS)
    dims = shape()
    a, b = data(dims, kind), data(broadcastable(dims), kind)
    if op in ("Div", "Mod"):
        b[b == 0] = 1
    if op == "Pow":
        a, b = data(dims, "f4", 0.2, 2), data(broadcastable(dims), "f4")
    fmod = None if op != "Mod" else 1 if kind == "f4" else n(0, 1)
    return Case(op, [a, b] if op in ("PRelu", "Pow") or R.random() < 0.5 or a.shape == b.shape else [b, a], fmod=fmod) \
        if op not in ("Div", "Mod") else Case(op, [a, b], fmod=fmod)


def logic():
    op = pick("And", "Or", "Xor", "Not")
    dims = shape()
    return Case(op, [data(dims, bool)] if op == "Not" else [data(dims, bool), data(broadcastable(dims), bool)])


def bits():
    kind = pick("i4", "i8", "u1", "i1")
    dims = shape()
    op = pick("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot")
    return Case(op, [data(dims, kind)] if op == "BitwiseNot" else [data(dims, kind), data(broadcastable(dims), kind)])


def shift():
    kind = pick("u1", "u4", "u8")
    dims = shape()
    return Case("BitShift", [data(dims, kind), data(dims, kind, 0, 7)], direction=pick("LEFT", "RIGHT"))


def variadic():
    dims = shape()
    return Case(pick("Sum", "Mean", "Max", "Min"), [data(broadcastable(dims)) for _ in range(n(1, 4))] + [data(dims)])


def clip():
    kind = pick(*NUMBERS)
    low, high = np.array(-1, kind), np.array(1, kind)
    return Case("Clip", [data(shape(), kind), pick(low, None), pick(high, None)])


def cast():
    kinds = ["f4", "f8", "i4", "i8", "u1", "i1", "i2", bool, "f2"]
    source, to = pick(*kinds), pick(*kinds)
    x = data(shape(), source, 0) if source != bool else data(shape(), bool)
    return Case("Cast", [x], to=helper.np_dtype_to_tensor_dtype(np.dtype(to)))


def where():
    dims = shape()
    kind = pick(*NUMBERS)
    return Case("Where", [data(broadcastable(dims), bool), data(dims, kind), data(broadcastable(dims), kind)])


def reduction():
    op = pick("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
              "ReduceProd", "ReduceSum", "ReduceSumSquare")
    dims = shape()
    axes = sorted(R.choice(len(dims), n(1, len(dims)), replace=False) - pick(0, len(dims)))
    x = data(dims, "f4", 0.1, 2) if op == "ReduceLogSum" else data(dims)
    return Case(op, [x, pick(ints(*axes), None)], keepdims=n(0, 1), noop_with_empty_axes=pick(0, 0, 1), const=[1])


def arg():
    dims = shape()
    return Case(pick("ArgMax", "ArgMin"), [data(dims, pick("f4", "i4"))], axis=n(-len(dims), len(dims) - 1),
                keepdims=n(0, 1), select_last_index=n(0, 1))


def cumsum():
    dims = shape()
    return Case("CumSum", [data(dims, pick(*NUMBERS)), np.array(n(-len(dims), len(dims) - 1), pick("i4", "i8"))],
                exclusive=n(0, 1), reverse=n(0, 1))


def concat():
    dims = list(shape())
    axis = n(-len(dims), len(dims) - 1)
    kind, parts = pick("f4", "i8", bool), []
    for _ in range(n(1, 4)):
        dims[axis] = n(0, 4)
        parts.append(data(dims, kind))
    return Case("Concat", parts, axis=axis)


def split():
    dims = list(shape())
    axis = n(-len(dims), len(dims) - 1)
    sizes = [n(0, 4) for _ in range(n(1, 4))]
    dims[axis] = sum(sizes)
    if R.random() < 0.5:
        return Case("Split", [data(dims), ints(*sizes)], outputs=len(sizes), axis=axis, const=[1])
    dims[axis] = n(2, 9)
    outputs = n(1, dims[axis])
    return Case("Split", [data(dims)], outputs=outputs, axis=axis, num_outputs=outputs)


def slices():
    dims = shape(low=1, high=7)
    axes = sorted(R.choice(len(dims), n(1, len(dims)), replace=False))
    starts, ends = [n(-9, 9) for _ in axes], [n(-9, 9) for _ in axes]
    steps = [pick(-3, -2, -1, 1, 1, 2, 3) for _ in axes]
    return Case("Slice", [data(dims, pick("f4", "i8")), ints(*starts), ints(*ends), ints(*axes), ints(*steps)],
                const=pick([1, 2, 3, 4], []))


def gather():
    dims = shape()
    axis = n(-len(dims), len(dims) - 1)
    return Case("Gather", [data(dims, pick("f4", "i8")), data(shape(n(0, 2)), pick("i4", "i8"), -dims[axis], dims[axis] - 1)],
                axis=axis)


def gather_elements():
    dims = shape()
    axis = n(-len(dims), len(dims) - 1)
    index = list(n(1, d) for d in dims)
    return Case("GatherElements", [data(dims), data(index, "i8", -dims[axis], dims[axis] - 1)], axis=axis)


def gather_nd():
    dims = shape(n(2, 4))
    batch = n(0, 1)
    width = n(1, len(dims) - batch)
    lead = dims[:batch] + shape(n(1, 2))
    index = np.stack([data(lead, "i8", -dims[batch + i], dims[batch + i] - 1) for i in range(width)], -1)
    return Case("GatherND", [data(dims), index], batch_dims=batch)


def scatter_elements():
    dims = shape()
    axis = n(-len(dims), len(dims) - 1)
    reduction_kind = pick("none", "add", "mul", "max", "min")
    index = [n(1, d) for d in dims]
    if reduction_kind == "none":  # the order of equal indices is not defined
        index[axis] = 1
    return Case("ScatterElements", [data(dims), data(index, "i8", -dims[axis], dims[axis] - 1), data(index)], axis=axis,
                reduction=reduction_kind)


def scatter_nd():
    dims = shape(n(1, 3))
    width = n(1, len(dims))
    index = ints(*[n(0, d - 1) for d in dims[:width]]).reshape(1, width)
    return Case("ScatterND", [data(dims), index, data((1,) + dims[width:])],
                reduction=pick("none", "add", "mul", "max", "min"))


def pad():
    dims = shape(low=2, high=5)
    mode = pick("constant", "edge", "reflect", "wrap")
    limit = 1 if mode == "reflect" else 3
    pads = [n(-1 if mode == "constant" else 0, limit) for _ in range(2 * len(dims))]
    fill = np.array(0.5, np.float32) if mode == "constant" and R.random() < 0.5 else None
    return Case("Pad", [data(dims), ints(*pads), fill], mode=mode, opset=19, const=[1])


def resize():
    spatial = n(1, 2)
    dims = (1, n(1, 3)) + shape(spatial, 2, 6)
    mode = pick("nearest", "linear", "cubic") if spatial == 2 else pick("nearest", "linear")
    transformation = pick("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")
    sizes = ints(*dims[:2], *[n(1, 9) for _ in range(spatial)])
    nearest = pick("round_prefer_floor", "round_prefer_ceil", "floor", "ceil") if mode == "nearest" else None
    exclude = n(0, 1) if mode == "cubic" else None
    return Case("Resize", [data(dims), None, None, sizes], mode=mode, coordinate_transformation_mode=transformation,
                nearest_mode=nearest, exclude_outside=exclude, opset=18, const=[3])


def window(spatial, big):
    kernel = [n(1, 3) for _ in range(spatial)]
    attributes = {"kernel_shape": kernel, "strides": [n(1, 3) for _ in range(spatial)]}
    if R.random() < 0.3:
        attributes["auto_pad"] = pick("SAME_UPPER", "SAME_LOWER", "VALID")
        # ONNX does not say what SAME means where strides pass the kernel.
        attributes["strides"] = [min(s, k) for s, k in zip(attributes["strides"], kernel)]
    else:
        attributes["pads"] = [n(0, k - 1) if not big else n(0, 2) for k in kernel] * 2
    return kernel, attributes


def conv():
    spatial, group = n(1, 3), pick(1, 1, 2, 4)
    kernel, attributes = window(spatial, True)
    ci, co = group * n(1, 3), group * n(1, 4)
    if "auto_pad" not in attributes:
        attributes["dilations"] = [n(1, 2) for _ in range(spatial)]
    return Case("Conv", [data((n(1, 2), ci) + shape(spatial, 5, 9)), data([co, ci // group] + kernel),
                         pick(data((co,)), None)], group=group, const=pick([1, 2], []), **attributes)


def conv_transpose():
    spatial, group = n(1, 2), pick(1, 1, 2)
    kernel, attributes = window(spatial, False)
    ci, co = group * n(1, 3), group * n(1, 3)
    if "auto_pad" not in attributes:
        attributes["output_padding"] = [n(0, s - 1) for s in attributes["strides"]]
    return Case("ConvTranspose", [data((n(1, 2), ci) + shape(spatial, 3, 6)), data([ci, co // group] + kernel),
                                  pick(data((co,)), None)], group=group, const=pick([1, 2], []), **attributes)


def pool():
    spatial = n(1, 3)
    op = pick("MaxPool", "AveragePool", "LpPool")
    kernel, attributes = window(spatial, False)
    if "auto_pad" not in attributes and op != "LpPool":
        attributes["ceil_mode"] = n(0, 1)
    if op == "AveragePool":
        attributes["count_include_pad"] = n(0, 1)
    if op == "LpPool":
        attributes["p"] = n(1, 3)
    return Case(op, [data((n(1, 2), n(1, 4)) + shape(spatial, 4, 8))], outputs=1, **attributes)


def global_pool():
    return Case(pick("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"), [data((n(1, 2), n(1, 4)) + shape(n(1, 3)))])


def matmul():
    m, k, c = n(1, 6), n(1, 9), n(1, 9)
    batch = shape(n(0, 2), 1, 3)
    a, b = batch + (m, k), (broadcastable(batch) if batch and R.random() < 0.5 else ()) + (k, c)
    form = n(0, 3)
    if form == 1:
        a = (k,)
    if form == 2:
        b = (k,)
    return Case("MatMul", [data(a), data(b)], const=pick([], [1]))


def gemm():
    m, k, c = n(1, 6), n(1, 9), n(1, 9)
    ta, tb = n(0, 1), n(0, 1)
    bias = pick(None, data((m, c)), data((1, c)), data((c,)), data((m, 1)), data(()))
    return Case("Gemm", [data((k, m) if ta else (m, k)), data((c, k) if tb else (k, c)), bias], transA=ta, transB=tb,
                alpha=pick(1.0, 0.5), beta=pick(1.0, 2.0), const=pick([], [1, 2]))


def einsum():
    equation, dims = pick(("ij,jk->ik", [(3, 4), (4, 5)]), ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
                          ("ij->ji", [(3, 4)]), ("ii->i", [(4, 4)]), ("...ij->...ji", [(2, 3, 4)]),
                          ("bhwc,hkc->bhwk", [(2, 3, 4, 5), (3, 6, 5)]), ("i,j->ij", [(3,), (4,)]),
                          ("ijk->k", [(2, 3, 4)]), ("ij,ij->", [(3, 4), (3, 4)]))
    return Case("Einsum", [data(d) for d in dims], equation=equation)


def softmax():
    dims = shape()
    return Case(pick("Softmax", "LogSoftmax", "Hardmax"), [data(dims)], axis=n(-len(dims), len(dims) - 1),
                opset=pick(11, 13, 18))


def layer_norm():
    dims = shape(low=2, high=6)
    axis = n(-len(dims), len(dims) - 1)
    tail = dims[axis:] if axis < 0 else dims[axis:]
    return Case("LayerNormalization", [data(dims), data(tail), pick(data(tail), None)], axis=axis)


def batch_norm():
    c = n(1, 5)
    dims = (n(1, 3), c) + shape(n(0, 3))
    return Case("BatchNormalization", [data(dims), data((c,)), data((c,)), data((c,)), data((c,), "f4", 0.1, 2)],
                const=pick([], [1, 2, 3, 4]))


def other_norm():
    c = n(2, 6)
    dims = (n(1, 2), c) + shape(n(1, 2), 2, 5)
    if R.random() < 0.5:
        return Case("InstanceNormalization", [data(dims), data((c,)), data((c,))])
    return Case("LRN", [data((n(1, 2), c, 3, 4))], size=pick(1, 3, 5), alpha=0.1, beta=0.7, bias=1.5)


def lp_norm():
    dims = shape()
    return Case("LpNormalization", [data(dims)], axis=n(-len(dims), len(dims) - 1), p=n(1, 2))


def transpose():
    dims = shape()
    return Case("Transpose", [data(dims, pick("f4", "i8", bool, "u1"))],
                perm=pick(None, [int(i) for i in R.permutation(len(dims))]))


def reshape():
    dims = shape()
    flat = int(np.prod(dims))
    target = pick(ints(-1), ints(1, flat), ints(0, -1), ints(flat, 1, 1), ints(*dims[::-1]))
    return Case("Reshape", [data(dims), target], const=pick([1], []))


def squeeze():
    dims = list(shape())
    at = n(0, len(dims))
    if R.random() < 0.5:
        return Case("Unsqueeze", [data(dims), ints(pick(at, at - len(dims) - 1))], const=[1])
    dims.insert(at, 1)
    return Case("Squeeze", [data(dims), pick(ints(at), ints(at - len(dims)), None)], const=[1])


def expand():
    dims = shape()
    start = broadcastable(dims)
    return Case(*pick(("Expand", [data(start), ints(*dims)]),
                      ("Tile", [data(dims), ints(*[n(0, 3) for _ in dims])])), const=pick([1], []))


def flatten():
    dims = shape()
    return Case("Flatten", [data(dims)], axis=n(-len(dims), len(dims)))


def depth_space():
    block = n(1, 3)
    if R.random() < 0.5:
        return Case("DepthToSpace", [data((n(1, 2), block * block * n(1, 3), n(1, 4), n(1, 4)))], blocksize=block,
                    mode=pick("DCR", "CRD"))
    return Case("SpaceToDepth", [data((n(1, 2), n(1, 3), block * n(1, 3), block * n(1, 3)))], blocksize=block)


def one_hot():
    dims = shape(n(1, 3))
    return Case("OneHot", [data(dims, "i8", -4, 5), np.array(4, np.int64), data((2,))],
                axis=n(-len(dims) - 1, len(dims)))


def top_k():
    dims = shape(low=2, high=7)
    axis = n(-len(dims), len(dims) - 1)
    x = R.permutation(int(np.prod(dims))).reshape(dims).astype(np.float32)
    return Case("TopK", [x, ints(n(1, dims[axis]))], outputs=2, axis=axis, largest=n(0, 1), const=[1])


def unique():
    dims = shape(n(1, 3))
    axis = pick(None, n(-len(dims), len(dims) - 1))
    return Case("Unique", [data(dims, pick("f4", "i8"), 0, 3).round()], outputs=4, axis=axis, sorted=n(0, 1))


def select():
    dims = shape()
    if R.random() < 0.3:
        return Case("NonZero", [data(dims, pick("i8", bool), *(() if R.random() < 2 else ()))])
    axis = pick(None, n(-len(dims), len(dims) - 1))
    return Case("Compress", [data(dims), data((int(np.prod(dims)) if axis is None else dims[axis],), bool)], axis=axis)


def trilu():
    dims = shape(n(2, 4))
    return Case("Trilu", [data(dims, pick("f4", "i8")), pick(None, np.array(n(-4, 4), np.int64))], upper=n(0, 1))


def span():
    kind = pick(*NUMBERS)
    return Case("Range", [np.array(n(-5, 5), kind), np.array(n(-9, 9), kind), np.array(pick(-2, -1, 1, 3), kind)])


def quantise():
    dims = shape(n(1, 3))
    kind = pick("u1", "i1")
    axis = n(-len(dims), len(dims) - 1)
    per = () if R.random() < 0.5 else (dims[axis],)
    scale, zero = data(per, "f4", 0.01, 0.1), pick(data(per, kind, 0, 9), None)
    if R.random() < 0.5:
        if zero is None:
            kind = "u1"
        return Case("QuantizeLinear", [data(dims), scale, zero], axis=axis)
    return Case("DequantizeLinear", [data(dims, kind, 0, 100), scale, zero], axis=axis)


def dynamic_quantise():
    return Case("DynamicQuantizeLinear", [data(shape())], outputs=3)


def integer_products():
    m, k, c = n(1, 6), n(1, 9), n(1, 9)
    kind = pick("u1", "i1")
    if R.random() < 0.5:
        return Case("MatMulInteger", [data((m, k), "u1", 0, 127), data((k, c), kind, 0, 63), np.array(5, np.uint8),
                                      np.array(3, kind)])
    ci, co = n(1, 3), n(1, 4)
    return Case("ConvInteger", [data((1, ci, 6, 5), "u1", 0, 127), data((co, ci, 3, 2), "u1", 0, 63),
                                np.array(5, np.uint8)], pads=[1, 0, 1, 1])


def qlinear():
    ci, co = n(1, 4), n(1, 4)
    scale = lambda *d: data(d, "f4", 0.01, 0.05)
    zero = np.array(n(0, 9), np.uint8)
    kernel = [n(1, 3), n(1, 3)]
    last = n(0, 1)
    x = (1, 6, 5, ci) if last else (1, ci, 6, 5)
    return Case("QLinearConv", [data(x, "u1", 0, 127), scale(), zero, data([co, ci] + kernel, "i1", -63, 63), scale(co),
                                np.zeros(co, np.int8), scale(), zero, pick(None, data((co,), "i4", -99, 99))],
                domain="com.microsoft" if last else "", channels_last=last or None, kernel_shape=kernel,
                const=[1, 2, 3, 4, 5, 6, 7, 8])


def qlinear_pool():
    last = n(0, 1)
    x = data((1, 6, 5, 3) if last else (1, 3, 6, 5), "u1", 0, 127)
    # Of no ratio that makes halves, which the two round in different ways.
    scales = [np.array(0.0513, np.float32), np.array(4, np.uint8), np.array(0.0371, np.float32), np.array(7, np.uint8)]
    if R.random() < 0.5:
        return Case("QLinearGlobalAveragePool", [x] + scales, domain="com.microsoft", channels_last=last, const=[1, 2, 3, 4])
    return Case("QLinearAveragePool", [x] + scales, domain="com.microsoft", channels_last=last, kernel_shape=[2, 2],
                const=[1, 2, 3, 4])


def grid_sample():
    c = n(1, 3)
    return Case("GridSample", [data((1, c, n(2, 5), n(2, 5))), data((1, n(1, 4), n(1, 4), 2), "f4", -1.2, 1.2)],
                mode=pick("linear", "nearest", "cubic"), padding_mode=pick("zeros", "border", "reflection"),
                align_corners=n(0, 1), opset=20)


def roi_align():
    boxes = np.sort(data((n(1, 3), 2, 2), "f4", 0, 6), axis=1).reshape(-1, 4)
    return Case("RoiAlign", [data((1, 2, 7, 7)), boxes, np.zeros(len(boxes), np.int64)], output_height=n(1, 3),
                output_width=n(1, 3), sampling_ratio=n(0, 2), spatial_scale=pick(1.0, 0.5),
                coordinate_transformation_mode=pick("half_pixel", "output_half_pixel"), mode="avg")


def reverse_sequence():
    dims = shape(n(2, 3))
    time = n(0, 1)
    return Case("ReverseSequence", [data(dims), data((dims[1 - time],), "i8", 1, dims[time])], time_axis=time,
                batch_axis=1 - time)


def recurrent():
    op, gates = pick(("LSTM", 4), ("GRU", 3), ("RNN", 1))
    direction = pick("forward", "reverse", "bidirectional")
    d, steps, batch, size, hidden = 2 if direction == "bidirectional" else 1, n(1, 4), n(1, 3), n(1, 5), n(1, 4)
    operands = [data((steps, batch, size)), data((d, gates * hidden, size)), data((d, gates * hidden, hidden)),
                pick(None, data((d, 2 * gates * hidden))), pick(None, data((batch,), "i4", 1, steps))]
    reset = n(0, 1) if op == "GRU" else None
    return Case(op, operands, outputs=3 if op == "LSTM" else 2, hidden_size=hidden, direction=direction,
                linear_before_reset=reset, opset=14, const=pick([1, 2, 3], []))


def dft():
    dims = (n(1, 2), n(2, 9), pick(1, 2))
    inverse = n(0, 1)
    return Case("DFT", [data(dims), None, ints(1).reshape(())], inverse=inverse,
                onesided=1 if dims[2] == 1 and not inverse and R.random() < 0.5 else 0, opset=20, const=[2])


def space_shapes():
    dims = shape()
    return Case(pick("Shape", "Size"), [data(dims)])


# com.microsoft

def fused_matmul():
    b, m, k, c = n(1, 3), n(1, 5), n(1, 6), n(1, 5)
    ta, tb, ba, bb = (n(0, 1) for _ in range(4))
    a = (b, k, m) if ta else (b, m, k)
    w = (b, c, k) if tb else (b, k, c)
    a = (a[1], a[0], a[2]) if ba else a
    w = (w[1], w[0], w[2]) if bb else w
    return Case("FusedMatMul", [data(a), data(w)], domain="com.microsoft", alpha=pick(1.0, 0.5), transA=ta, transB=tb,
                transBatchA=ba, transBatchB=bb)


def distances():
    k = n(1, 40)
    return Case("CDist", [data((n(1, 5), k)), data((n(1, 9), k))], domain="com.microsoft",
                metric=pick("euclidean", "sqeuclidean"), const=pick([1], []))


def matmul_nbits():
    width, block = pick(2, 4, 8), pick(16, 32)
    k, c = n(1, 70), n(1, 5)
    blocks = (k + block - 1) // block
    zeros = pick(None, data((c * ((blocks * width + 7) // 8),), "u1", 0, 255))
    return Case("MatMulNBits", [data((n(1, 3), k)), data((c, blocks, block * width // 8), "u1", 0, 255),
                                data((c * blocks,), "f4", 0.01, 0.1), zeros], domain="com.microsoft", K=k, N=c,
                bits=width, block_size=block, const=[1, 2, 3])


def group_query():
    batch, kv, shared, size = n(1, 2), n(1, 2), n(1, 3), pick(16, 32)
    heads, fresh, past = kv * shared, pick(n(1, 4), n(1, 90)), pick(0, n(1, 5), n(1, 90))
    if past:
        fresh = 1
    total = past + fresh
    rotary, packed = n(0, 1), R.random() < 0.3
    q = data((batch, fresh, (heads + 2 * kv) * size if packed else heads * size))
    k, v = (None, None) if packed else (data((batch, fresh, kv * size)), data((batch, fresh, kv * size)))
    cache = [data((batch, kv, past, size)), data((batch, kv, past, size))]
    lengths = np.full(batch, total - 1, np.int32)
    angles = [data((99, size // 2)), data((99, size // 2))] if rotary else [None, None]
    return Case("GroupQueryAttention", [q, k, v] + cache + [lengths, np.array(total, np.int32)] + angles, outputs=3,
                domain="com.microsoft", num_heads=heads, kv_num_heads=kv, do_rotary=rotary,
                rotary_interleaved=n(0, 1) if rotary else None, local_window_size=pick(None, n(1, 4), n(1, 40)),
                softcap=pick(None, 2.0), scale=pick(None, 0.3), const=[6, 7, 8])


def seen(mask):
    """Where no key is seen, the sums near -10000 that ONNX Runtime takes the exponents of are coarse."""
    if mask is not None and mask.ndim > 1:
        mask[..., 0] = 1
    return mask


def contrib_attention():
    batch, length, heads, size = n(1, 3), n(1, 5), n(1, 3), pick(2, 4)
    hidden, past = heads * size, pick(0, n(1, 3))
    total = length + past
    mask = pick(None, data((batch, total), "i4", 0, 1), data((batch,), "i4", 1, total),
                data((batch, length, total), "i4", 0, 1))
    cache = data((2, batch, heads, past, size)) if past else None
    bias = pick(None, data((1, heads, length, total))) if not past else None
    return Case("Attention", [data((batch, length, 5)), data((5, 3 * hidden)), data((3 * hidden,)), seen(mask), cache, bias],
                outputs=2 if past else 1, domain="com.microsoft", num_heads=heads, unidirectional=n(0, 1),
                scale=pick(None, 0.4), const=[1, 2])


def q_attention():
    batch, length, heads, size = n(1, 3), n(1, 5), n(1, 3), 4
    hidden = heads * size
    mask = pick(None, data((batch, length), "i4", 0, 1), data((batch,), "i4", 1, length))
    return Case("QAttention", [data((batch, length, 5), "u1", 0, 127), data((5, 3 * hidden), "i1", -60, 60),
                               data((3 * hidden,)), np.array(0.02, np.float32), np.array(0.01, np.float32), seen(mask),
                               np.array(60, np.uint8), np.array(2, np.int8)], domain="com.microsoft", num_heads=heads,
                unidirectional=n(0, 1), const=[1, 2, 3, 4, 6, 7])


def multi_head():
    batch, length, other, heads, size = n(1, 3), n(1, 4), n(1, 5), n(1, 3), 4
    hidden = heads * size
    mask = pick(None, data((batch, other), "i4", 0, 1), data((batch,), "i4", 1, other))
    return Case("MultiHeadAttention", [data((batch, length, hidden)), data((batch, other, hidden)),
                                       data((batch, other, hidden)), pick(None, data((3 * hidden,))), seen(mask),
                                       pick(None, data((1, heads, length, other)))], domain="com.microsoft",
                num_heads=heads)


def contrib_rotary():
    batch, length, heads, size = n(1, 2), n(1, 4), n(1, 3), 8
    positions = pick(ints(n(0, 5)), data((batch, length), "i8", 0, 9))
    return Case("RotaryEmbedding", [data((batch, length, heads * size)), positions, data((12, size // 2)),
                                    data((12, size // 2))], domain="com.microsoft", interleaved=n(0, 1),
                num_heads=heads, const=[2, 3])


def contrib_products():
    m, k, c = n(1, 6), n(1, 9), n(1, 9)
    w, scale = data((k, c), "i1", -60, 60), data(pick((), (c,)), "f4", 0.01, 0.05)
    zero, bias = np.zeros(scale.shape, np.int8), pick(None, data((c,)))
    if R.random() < 0.5:
        return Case("DynamicQuantizeMatMul", [data((m, k)), w, scale, pick(None, zero), bias], domain="com.microsoft",
                    const=[1, 2, 3, 4])
    return Case("MatMulIntegerToFloat", [data((m, k), "u1", 0, 127), w, np.array(0.02, np.float32), scale,
                                         np.array(9, np.uint8), pick(None, zero), bias], domain="com.microsoft",
                const=[1, 2, 3, 4, 5, 6])


def contrib_moves():
    dims = shape(n(1, 3), 2, 5)
    form = n(0, 2)
    if form == 0:
        return Case("ExpandDims", [data(dims), np.array(n(-len(dims) - 1, len(dims)), np.int32)], domain="com.microsoft",
                    const=[1])
    if form == 1:
        return Case("Pad", [data(dims), ints(*[n(0, 2) for _ in range(2 * len(dims))])], domain="com.microsoft",
                    mode="constant", const=pick([1], []))
    return Case("NhwcMaxPool", [data((1, 7, 6, n(1, 4)), "u1", 0, 255)], domain="com.microsoft", kernel_shape=[3, 2],
                strides=[n(1, 2), n(1, 2)], pads=[n(0, 1), 0, n(0, 1), 0])


def inverse():
    size = n(1, 5)
    return Case("Inverse", [data(shape(n(0, 2)) + (size, size)) + 4 * np.eye(size, dtype=np.float32)],
                domain="com.microsoft")


def contrib_norm():
    batch, length, hidden = n(1, 2), n(1, 4), n(2, 8)
    x = data((batch, length, hidden))
    if R.random() < 0.5:
        return Case("SkipLayerNormalization", [x, data(x.shape), data((hidden,)), pick(None, data((hidden,))),
                                               pick(None, data((hidden,)))], domain="com.microsoft", epsilon=1e-5)
    words = [data((9, hidden)), data((6, hidden)), data((2, hidden)), data((hidden,)), data((hidden,))]
    return Case("EmbedLayerNormalization", [data((batch, length), "i4", 0, 8), data((batch, length), "i4", 0, 1)] +
                words + [pick(None, data((batch, length), "i4", 0, 1))], outputs=2, domain="com.microsoft",
                const=[2, 3, 4, 5, 6])


MAKERS = [value for name, value in list(globals().items())
          if callable(value) and getattr(value, "__module__", "") == __name__
          and name not in ("seen", "pick", "n", "shape", "data", "ints", "broadcastable", "window", "Case")]


def write(case, folder):
    model = case.model()
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    feed = case.feed()
    results = session.run(None, feed)
    sets = folder / "test_data_set_0"
    sets.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    for kind, values in (("input", list(feed.items())), ("output", [(f"y{i}", v) for i, v in enumerate(results)])):
        for i, (name, value) in enumerate(values):
            (sets / f"{kind}_{i}.pb").write_bytes(numpy_helper.from_array(np.asarray(value), name).SerializeToString())


def main():
    global R
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    root, count, seed = pathlib.Path(sys.argv[1]) / "node", int(sys.argv[2]), int(sys.argv[3])
    R = np.random.default_rng(seed)
    makers, refused = MAKERS + random_quantised.makers(sys.modules[__name__]), {}
    for i in range(count):
        make = makers[i % len(makers)]
        case = make()
        try:
            write(case, root / f"test_{make.__name__}_{i}")
        except Exception as error:  # what ONNX Runtime refuses is nothing to compare with
            refused.setdefault(make.__name__, []).append(str(error))
    total = sum(map(len, refused.values()))
    print(f"{count - total} cases in {root}, {total} refused by ONNX Runtime")
    for name, errors in refused.items():
        print(f"  {name}: {len(errors)}, as: {errors[0].splitlines()[0][:160]}")


if __name__ == "__main__":
    main()
