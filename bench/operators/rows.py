"""Single operators as networks: rows() gives the cases of the table, each a Row with its operands.

Letters of types: f, h, d: float32, float16, float64; b: bool; i8, u8, i32, u32, i64.
"""

import itertools

import numpy as np
import onnx
from onnx import helper, numpy_helper

TYPES = {"f": np.float32, "h": np.float16, "d": np.float64, "b": np.bool_, "i8": np.int8, "u8": np.uint8, "i32": np.int32,
         "u32": np.uint32, "i64": np.int64}
MICROSOFT = {"GroupQueryAttention", "FusedMatMul", "MatMulNBits", "SkipLayerNormalization", "BiasGelu", "FastGelu",
             "QuickGelu", "QLinearAdd", "DynamicQuantizeMatMul", "DynamicQuantizeLSTM", "GatherBlockQuantized",
             "MultiHeadAttention", "CDist", "MatMulIntegerToFloat", "QAttention", "QLinearMul", "QLinearSigmoid",
             "QLinearLeakyRelu"}
RANDOM = np.random.default_rng(1)
TOKENS = (8, 196, 768)
PLANES = (1, 64, 128, 128)


def data(letter, shape, low=None, high=None):
    kind = TYPES[letter]
    if letter == "b":
        return RANDOM.integers(0, 2, shape).astype(kind)
    if letter in "fhd":
        return RANDOM.uniform(-2 if low is None else low, 2 if high is None else high, shape).astype(kind)
    least = 0 if np.iinfo(kind).min == 0 else -9
    return RANDOM.integers(least if low is None else low, (9 if high is None else high) + 1, shape).astype(kind)


class Row:
    """A node of `op`: operands are arrays, or None where left out; those named in `const` are constants."""

    def __init__(self, op, case, operands, outputs=1, const=(), opset=21, **attributes):
        self.op, self.case, self.operands, self.outputs = op, case, operands, outputs
        self.const, self.opset, self.attributes = set(const), opset, attributes

    def model(self):
        domain = "com.microsoft" if self.op in MICROSOFT else ""
        names = ["" if value is None else f"x{i}" for i, value in enumerate(self.operands)]
        inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
                  for i, (name, value) in enumerate(zip(names, self.operands)) if name and i not in self.const]
        constants = [numpy_helper.from_array(self.operands[i], f"x{i}") for i in sorted(self.const)]
        results = [f"y{i}" for i in range(self.outputs)]
        node = helper.make_node(self.op, names, results, domain=domain, **self.attributes)
        graph = helper.make_graph([node], self.op, inputs, [onnx.ValueInfoProto(name=name) for name in results], constants)
        opsets = [helper.make_opsetid("", self.opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)

    def feeds(self):
        return {f"x{i}": value for i, value in enumerate(self.operands) if value is not None and i not in self.const}


def ints(*values):
    return np.array(values, np.int64)


def unary():
    for op in ("Abs Acos Acosh Asin Asinh Atan Atanh Ceil Celu Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid HardSwish LeakyRelu "
               "Log Mish Neg Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Tan Tanh "
               "ThresholdedRelu").split():
        low, high = {"Acos": (-.99, .99), "Asin": (-.99, .99), "Atanh": (-.99, .99), "Acosh": (1.01, 9), "Log": (.01, 9),
                     "Sqrt": (0, 9)}.get(op, (None, None))
        for t in "fh":
            yield Row(op, f"{t} {TOKENS}", [data(t, TOKENS, low, high)])
    for op, types in (("Abs", "i8 i32 i64"), ("Neg", "i8 i32 i64"), ("Sign", "i8 i32 i64"), ("Relu", "i8 i32"), ("Not", "b"),
                      ("BitwiseNot", "i32"), ("IsNaN", "f"), ("IsInf", "f")):
        for t in types.split():
            yield Row(op, t, [data(t, TOKENS)])
    for t in "f h i8 i32 i64".split():
        yield Row("Clip", t, [data(t, TOKENS), np.array(-1, TYPES[t]), np.array(2, TYPES[t])], const=(1, 2))
    for op, size in itertools.product(("Exp", "Erf"), (100_000, 10_000_000)):
        yield Row(op, f"{size / 1e6:g}M", [data("f", (size,))])


def binary():
    shapes = {"same": TOKENS, "scalar": (1,), "row": (768,), "col": (8, 196, 1), "mid": (1, 196, 1), "batch": (8, 1, 1)}
    for t, (name, shape) in itertools.product("f h d i8 u8 i32 i64".split(), shapes.items()):
        yield Row("Add", f"{t} {name}", [data(t, TOKENS), data(t, shape)])
    for t in "f h d i8 u8 i32 i64".split():
        yield Row("Add", f"{t} outer", [data(t, (1000, 1)), data(t, (1, 1000))])
        yield Row("Sub", f"{t} outer4", [data(t, (1000, 1, 4)), data(t, (1, 300, 4))])
        for op in ("Sub", "Mul", "Div", "Max", "Min"):
            yield Row(op, f"{t} same", [data(t, TOKENS), data(t, TOKENS, 1, 9)])
        yield Row("Mul", f"{t} chan", [data(t, PLANES), data(t, (1, 64, 1, 1))])
        for op in ("Equal", "Greater", "LessOrEqual"):
            yield Row(op, f"{t} same", [data(t, TOKENS), data(t, TOKENS)])
            yield Row(op, f"{t} scalar", [data(t, TOKENS), data(t, ())])
    for t in "f h d i32 i64".split():
        yield Row("Pow", f"{t} sq", [data(t, TOKENS), np.array(2, TYPES[t])], const=(1,))
    for t in "fh":
        yield Row("Pow", f"{t} same", [data(t, TOKENS, .1, 2), data(t, TOKENS)])
        yield Row("PRelu", f"{t} chan", [data(t, PLANES), data(t, (64, 1, 1))])
    for op in ("And", "Or", "Xor"):
        yield Row(op, "b same", [data("b", TOKENS), data("b", TOKENS)])
        yield Row(op, "b bcast", [data("b", TOKENS), data("b", (1, 196, 1))])
    for op, t in itertools.product(("BitwiseAnd", "BitwiseXor"), "u8 i32 i64".split()):
        yield Row(op, t, [data(t, TOKENS), data(t, TOKENS)])
    for t in "u8 u32".split():
        yield Row("BitShift", t, [data(t, TOKENS), data(t, TOKENS, 0, 7)], direction="LEFT")
    for t in "f h i8 i64 b".split():
        x, y = data(t, TOKENS), data(t, TOKENS)
        yield Row("Where", f"{t} same", [data("b", TOKENS), x, y], opset=16)
        yield Row("Where", f"{t} scalar", [data("b", TOKENS), x, data(t, ())], opset=16)
        yield Row("Where", f"{t} mask", [data("b", (8, 1, 768)), x, data(t, ())], opset=16)
        yield Row("Where", f"{t} scalars", [data("b", TOKENS), data(t, ()), data(t, ())], opset=16)
    for a, b in itertools.permutations("f h d i8 u8 i32 i64 b".split(), 2):
        x = data(a, TOKENS, *((0, 9) if a in "fhd" else (0, 9)))
        yield Row("Cast", f"{a}->{b}", [x], to=helper.np_dtype_to_tensor_dtype(np.dtype(TYPES[b])))


def index():
    for t in "f h i8 i64".split():
        for shape, indices, axis in (((30000, 768), (8, 128), 0), (TOKENS, (50,), 1), ((8, 12, 196, 64), (), 2), ((100000,), (100000,), 0),
                                     ((1000, 1000), (500,), 1), ((8, 1000, 64), (200,), 2)):
            yield Row("Gather", f"{t} {shape} ix{indices} ax{axis}", [data(t, shape), data("i64", indices, 0, shape[axis] - 1)],
                      const=(0,) if shape[0] == 30000 else (), axis=axis)
        for shape, axis in (((1000, 1000), 0), ((1000, 1000), 1), (TOKENS, -1), ((1, 8400, 80), 1)):
            yield Row("GatherElements", f"{t} {shape} ax{axis}",
                      [data(t, shape), data("i64", shape, 0, shape[axis] - 1)], axis=axis)
        for shape, indices, batch, top in (((1000, 1000), (100000, 2), 0, 999), ((1000, 64), (5000, 1), 0, 999),
                                           ((8, 1000, 64), (8, 500, 1), 1, 999)):
            yield Row("GatherND", f"{t} {shape} ix{indices} bd{batch}", [data(t, shape), data("i64", indices, 0, top)],
                      batch_dims=batch)
    for t, reduction, axis in itertools.product("f h i8 i64".split(), ("none", "add", "mul", "max"), (0, 1)):
        if reduction != "none" and t == "h":
            continue
        x = data(t, (1000, 1000))
        yield Row("ScatterElements", f"{t} {reduction} ax{axis}", [x, data("i64", x.shape, 0, 999), data(t, x.shape)],
                  reduction=reduction, axis=axis, opset=18)
    for t, reduction in itertools.product("f h i8 i64".split(), ("none", "add", "mul", "max")):
        if reduction != "none" and t == "h":
            continue
        x, rows = data(t, (1000, 1000)), ints(*RANDOM.permutation(1000)[:100]).reshape(-1, 1)
        yield Row("ScatterND", f"{t} {reduction} rows", [x, rows, data(t, (100, 1000))], reduction=reduction, opset=18)
        yield Row("ScatterND", f"{t} {reduction} points", [x, data("i64", (100000, 2), 0, 999), data(t, (100000,))],
                  reduction=reduction, opset=18)
    for t, (shape, k, axis) in itertools.product("f h i64".split(), (
            ((1000, 1000), 1, -1), ((1000, 1000), 5, -1), ((1000, 1000), 3, 0), ((8, 1000, 100), 5, 1), ((1, 50257), 50, -1),
            ((1, 8400), 300, -1), ((1, 100000), 100, -1), ((100, 1000), 500, -1), ((1, 1000000), 1000, -1))):
        size = int(np.prod(shape))
        x = RANDOM.permutation(size).reshape(shape).astype(TYPES[t]) if t != "h" else data(t, shape)
        yield Row("TopK", f"{t} {shape} k{k} ax{axis}", [x, ints(k)], outputs=2, const=(1,), axis=axis)
    for op, t, (shape, axis) in itertools.product(("ArgMax", "ArgMin"), "f h i8 i32 i64".split(), (
            (TOKENS, 1), (TOKENS, 2), ((1, 50257), 1), ((1, 21, 256, 256), 1))):
        yield Row(op, f"{t} {shape} ax{axis}", [data(t, shape, -100, 100)], axis=axis)
    yield Row("OneHot", "f", [data("i64", (1000,), 0, 999), ints(1000), np.array([0, 1], np.float32)], const=(1,))


def reduce():
    for op in "ReduceMax ReduceMin ReduceSum ReduceMean ReduceProd ReduceL1 ReduceL2 ReduceLogSumExp ReduceSumSquare".split():
        types = "f h i8 i32 i64" if op in ("ReduceMax", "ReduceMin") else "f h i32 i64" if op in ("ReduceSum", "ReduceMean") else "f h"
        for t, (shape, axes) in itertools.product(types.split(), (
                (TOKENS, (2,)), (TOKENS, (1,)), (TOKENS, (0,)), (PLANES, (2, 3)), (PLANES, (1,)), (PLANES, (0, 2, 3)))):
            yield Row(op, f"{t} {shape} ax{axes}", [data(t, shape), ints(*axes)], const=(1,), opset=20)


def pools():
    volume = (1, 32, 16, 56, 56)
    for op, t, (shape, attributes) in itertools.product(("MaxPool", "AveragePool"), "fh", (
            ((1, 64, 112, 112), dict(kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)),
            ((1, 64, 112, 112), dict(kernel_shape=[2, 2], strides=[2, 2])),
            ((1, 64, 56, 56), dict(kernel_shape=[3, 3], pads=[1] * 4)),
            ((1, 1, 512, 512), dict(kernel_shape=[3, 3], pads=[1] * 4)),
            ((1, 1, 512, 512), dict(kernel_shape=[2, 2], strides=[2, 2])),
            ((1, 3, 256, 256), dict(kernel_shape=[7, 7], pads=[3] * 4)),
            ((1, 64, 16000), dict(kernel_shape=[25], pads=[12] * 2)),
            ((8, 128, 1000), dict(kernel_shape=[3], strides=[2])),
            (volume, dict(kernel_shape=[2] * 3, strides=[2] * 3)),
            (volume, dict(kernel_shape=[3] * 3, pads=[1] * 6)),
            ((1, 1, 32, 112, 112), dict(kernel_shape=[3] * 3, pads=[1] * 6)))):
        yield Row(op, f"{t} {shape} {attributes}", [data(t, shape)], **attributes)
    for t in "fh":
        yield Row("MaxPool", f"{t} idx", [data(t, (1, 64, 112, 112))], outputs=2, kernel_shape=[2, 2], strides=[2, 2])
        for op, (name, shape) in itertools.product(("GlobalAveragePool", "GlobalMaxPool"), (
                ("3d", volume), ("8x2048x7x7", (8, 2048, 7, 7)), ("M1", PLANES))):
            yield Row(op, f"{t} {name}", [data(t, shape)])
        yield Row("InstanceNormalization", f"{t} 3d", [data(t, (1, 32, 16, 64, 64)), data(t, (32,)), data(t, (32,))], const=(1, 2))
    features = data("f", (1, 256, 50, 68))
    corners = data("f", (300, 4), 0, 400)
    corners[:, 2:] += corners[:, :2] + 16
    for ratio in (0, 2):
        yield Row("RoiAlign", f"f 300x7x7 ratio{ratio}", [features, corners, np.zeros(300, np.int64)], output_height=7, output_width=7,
                  sampling_ratio=ratio, spatial_scale=1 / 16)
    yield Row("MaxRoiPool", "f 300x7x7", [features, np.concatenate([np.zeros((300, 1), np.float32), corners], 1)], pooled_shape=[7, 7],
              spatial_scale=1 / 16)
    for t in ("i8", "u8"):
        yield Row("MaxPool", t, [data(t, PLANES)], kernel_shape=[3, 3], pads=[1] * 4)


def resize():
    for t, mode, (x, y) in itertools.product("fh", ("nearest", "linear", "cubic"), (
            ((1, 64, 64, 64), (1, 64, 128, 128)), ((1, 3, 720, 1280), (1, 3, 224, 224)), ((1, 32, 60, 80), (1, 32, 224, 224)),
            ((1, 1, 256, 256), (1, 1, 512, 512)), ((1, 16, 16, 32, 32), (1, 16, 32, 64, 64)),
            ((1, 1, 32, 64, 64), (1, 1, 64, 128, 128)))):
        for form in ("half_pixel", "align_corners", "asymmetric"):
            yield Row("Resize", f"{t} {mode} {form} {x}->{y}", [data(t, x), None, None, ints(*y)], const=(3,), mode=mode,
                      coordinate_transformation_mode=form, nearest_mode="floor" if form == "asymmetric" else "round_prefer_floor")
    for t in ("i8", "u8"):
        yield Row("Resize", f"{t} near", [data(t, PLANES), None, None, ints(1, 64, 256, 256)], const=(3,), mode="nearest")


def quantised():
    for t in ("i8", "u8"):
        x = data(t, (1024, 1024), 0 if t == "u8" else -128, 127)
        for case, shape, attributes in (("tensor", (), {}), ("axis", (1024,), dict(axis=0)), ("last axis", (1024,), dict(axis=1)),
                                        ("blocked last", (1024, 32), dict(axis=1, block_size=32)),
                                        ("blocked first", (8, 1024), dict(axis=0, block_size=128))):
            scale, zero = data("f", shape, .01, .1), data(t, shape)
            yield Row("DequantizeLinear", f"{t} {case}", [x, scale, zero], **attributes)
            yield Row("QuantizeLinear", f"{t} {case}", [data("f", x.shape), scale, zero], **attributes)
        y = data("i8", (512, 512), -127, 127)
        yield Row("MatMulInteger", f"{t} dyn", [x[:512, :512].copy(), y])
        yield Row("MatMulInteger", f"{t} dyn batch", [data(t, (8, 12, 128, 64)), data("i8", (8, 12, 64, 128), -127, 127)])
        yield Row("MatMulInteger", f"{t} const", [x[:512, :512].copy(), y], const=(1,))
    for batch, length, size in ((1, 100, 256), (8, 50, 256)):
        weights = [data("f", (length, batch, size)), data("i8", (1, size, 4 * size), -127, 127), data("i8", (1, size, 4 * size), -127, 127)]
        rest = [data("f", (1, 8 * size)), None, None, None, None, data("f", (1,), .001, .002), data("i8", (1,), 0, 0),
                data("f", (1,), .001, .002), data("i8", (1,), 0, 0)]
        yield Row("DynamicQuantizeLSTM", f"b{batch} s{length} h{size}", weights + rest, const=(1, 2, 3, 8, 9, 10, 11), hidden_size=size)
    table, codes = data("u8", (30000, 384), 0, 255), data("i64", (8, 128), 0, 29999)
    yield Row("GatherBlockQuantized", "u8 bits4 blk32", [table, codes, data("f", (30000, 24), .01, .1)], const=(0, 2), bits=4,
              block_size=32, gather_axis=0, quantize_axis=1)


def attention():
    for t, (name, length, past) in itertools.product("fh", (("prompt", 256, 0), ("step", 1, 511), ("chunk", 64, 448))):
        operands = [data(t, (1, length, 1024)), data(t, (1, length, 256)), data(t, (1, length, 256))]
        cache = [data(t, (1, 4, past, 64)) for _ in range(2)]
        total = length + past
        operands += cache + [np.array([total - 1], np.int32), np.array(total, np.int32)]
        for rotary in (0, 1):
            angles = [data(t, (4096, 32)) for _ in range(2)] if rotary else []
            yield Row("GroupQueryAttention", f"{t} {name}{' rotary' * rotary}", operands + angles, outputs=3,
                      const=(6,) + ((7, 8) if rotary else ()), num_heads=16, kv_num_heads=4, do_rotary=rotary)
    q, k, v = (data("f", (1, 12, 196, 64)) for _ in range(3))
    yield Row("Attention", "f causal", [q, k, v], opset=23, is_causal=1)


def rows():
    for family in (unary, binary, index, reduce, pools, resize, quantised, attention):
        yield from family()
