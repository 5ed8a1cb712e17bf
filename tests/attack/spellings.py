"""Networks as exporters spell what Fettle finds and fuses: normalisations, activations, attention, quantised layers, moves."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import random_operators
import rewritten
import trained
from random_operators import data, n, pick

TYPES = {"f4": TensorProto.FLOAT, "u1": TensorProto.UINT8, "i1": TensorProto.INT8, "b1": TensorProto.BOOL}


class Spelling:
    """One or two of the patterns below, one after the other, over one input."""

    def __init__(self, opset):
        self.opset, self.nodes, self.constants, self.inputs = opset, [], [], []
        rank = pick(2, 3, 3, 4, 4, 4)
        dims = (n(1, 3), *(n(1, 9) for _ in range(rank - 1)))
        if random_operators.R.random() < 0.5:  # what blocks and pairs want
            dims = (*dims[:1], pick(4, 8, 16, dims[1]), *(2 * d for d in dims[2:]))
        x, self.dims = self.input(dims), dims
        for _ in range(pick(1, 1, 2, 3)):
            made = pick(*PATTERNS)(self, x, self.dims)
            if made is not None:
                x, self.dims = made
            if len(self.dims) < 2:
                self.dims = (1, *self.dims) if self.dims else (1, 1)
                x = self.reshape(x, *self.dims)
        if not self.nodes:
            x = self.node("Relu", x)
        self.result = x

    def input(self, dims, kind="f4"):
        name = f"x{len(self.inputs)}"
        self.inputs.append((name, data(dims, kind)))
        return name

    def constant(self, value, kind="f4"):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(value, kind), name))
        return name

    def weights(self, *dims, kind="f4", low=-1, high=1):
        return self.constant(data(dims, kind, low, high), kind)

    def node(self, op, *operands, count=1, **attributes):
        """Operands are names, or numbers, which become constants of f32."""
        names = [f"v{len(self.nodes)}_{i}" for i in range(count)]
        operands = [o if isinstance(o, str) else self.constant(o) for o in operands]
        self.nodes.append(helper.make_node(op, operands, names, f"{op}_{len(self.nodes)}",
                                           **{key: value for key, value in attributes.items() if value is not None}))
        return names[0] if count == 1 else names

    def commuted(self, op, a, b):
        return self.node(op, a, b) if random_operators.R.random() < 0.5 else self.node(op, b, a)

    def reduce(self, op, x, axes):
        if self.opset >= 18 or (op == "ReduceSum" and self.opset >= 13):
            return self.node(op, x, self.constant(axes, "i8"), keepdims=1)
        return self.node(op, x, axes=axes, keepdims=1)

    def reshape(self, x, *dims):
        return self.node("Reshape", x, self.constant(dims, "i8"))

    def model(self):
        graph = helper.make_graph(self.nodes, "spelling", [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
                                                           for name, v in self.inputs],
                                  [helper.make_empty_tensor_value_info(self.result)], self.constants)
        opsets = [helper.make_opsetid("", self.opset)] + [helper.make_opsetid(name, 1) for name in sorted({node.domain for node in self.nodes} - {""})]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)

    def feed(self):
        return dict(self.inputs)


# --- each takes (the spelling, a value, its extents) and returns the same of its result, or None where extents forbid it ---

def layer_norm(s, x, dims):
    axes = pick([-1], [len(dims) - 1], list(range(1, len(dims))), [1])
    centred = s.node("Sub", x, s.reduce("ReduceMean", x, axes))
    square = s.node("Pow", centred, 2) if random_operators.R.random() < 0.5 else s.node("Mul", centred, centred)
    spread = s.node("Sqrt", s.commuted("Add", s.reduce("ReduceMean", square, axes), s.constant(pick(1e-5, 1e-12, 0.1))))
    y = s.node("Div", centred, spread)
    tail = (dims[-1],) if axes[0] in (-1, len(dims) - 1) else dims[1:]
    if axes == [1] and len(dims) > 2:
        tail = (dims[1],) + (1,) * (len(dims) - 2)
    y = s.commuted("Mul", y, s.weights(*tail))
    return (s.commuted("Add", y, s.weights(*tail)) if random_operators.R.random() < 0.8 else y), dims


def rms_norm(s, x, dims):
    mean = s.reduce("ReduceMean", s.node("Pow", x, 2) if random_operators.R.random() < 0.5 else s.node("Mul", x, x), [-1])
    root = s.node("Sqrt", s.node("Add", mean, 1e-6))
    y = s.node("Mul", x, s.node("Reciprocal", root)) if random_operators.R.random() < 0.5 else s.node("Div", x, root)
    return s.commuted("Mul", y, s.weights(dims[-1])), dims


def group_norm(s, x, dims):
    groups = pick(*[g for g in range(1, dims[1] + 1) if dims[1] % g == 0])
    y = s.node("InstanceNormalization", s.reshape(x, 0, groups, -1), s.constant(np.ones(groups)), s.constant(np.zeros(groups)), epsilon=1e-5)
    ones = (dims[1],) + (1,) * (len(dims) - 2)
    return s.node("Add", s.node("Mul", s.reshape(y, *dims), s.weights(*ones)), s.weights(*ones)), dims


def gelu(s, x, dims):
    if random_operators.R.random() < 0.6:
        inner = s.node("Erf", s.node("Div", x, 2 ** 0.5) if random_operators.R.random() < 0.5 else s.node("Mul", x, 0.5 ** 0.5))
    else:
        cube = s.commuted("Mul", s.node("Pow", x, 3), s.constant(0.044715))
        inner = s.node("Tanh", s.commuted("Mul", s.commuted("Add", x, cube), s.constant(0.7978845608)))
    gate = s.commuted("Add", inner, s.constant(1))
    if random_operators.R.random() < 0.5:
        return s.commuted("Mul", s.commuted("Mul", x, gate), s.constant(0.5)), dims
    return s.commuted("Mul", s.node("Mul", x, 0.5), gate), dims


def activation(s, x, dims):
    form = n(0, 6)
    if form == 0:
        return s.commuted("Mul", x, s.node("Sigmoid", x)), dims
    if form == 1:
        clipped = s.node("Clip", s.node("Add", x, 3), s.constant(0), s.constant(6))
        return s.node("Div", s.commuted("Mul", x, clipped), 6), dims
    if form == 2:
        return s.commuted("Mul", x, s.node("Tanh", s.node("Softplus", x))), dims
    if form == 3:  # PReLU
        slope = s.weights(*((dims[1],) + (1,) * (len(dims) - 2)))
        negative = s.node("Mul", s.node("Sub", x, s.node("Abs", x)), 0.5)
        return s.node("Add", s.node("Relu", x), s.node("Mul", negative, slope)), dims
    if form == 4:
        return s.node("Min", s.node("Max", x, -0.5), 0.75), dims
    if form == 5:
        return s.commuted("Mul", x, s.node("HardSigmoid", x, alpha=pick(0.2, 1 / 6), beta=0.5)), dims
    return s.node("Where", s.node("Greater", x, 0.0), x, s.node("Mul", x, 0.1)), dims


def softmax(s, x, dims):
    axis = pick(-1, n(0, len(dims) - 1))
    e = s.node("Exp", s.node("Sub", x, s.reduce("ReduceMax", x, [axis])))
    return s.node("Div", e, s.reduce("ReduceSum", e, [axis])), dims


def normalise(s, x, dims):
    axis = pick(-1, 1)
    if random_operators.R.random() < 0.5:
        return s.node("Div", x, s.node("Clip", s.reduce("ReduceL2", x, [axis]), s.constant(1e-12))), dims
    return s.node("Div", x, s.node("Sqrt", s.reduce("ReduceSum", s.node("Mul", x, x), [axis]))), dims


def conv(s, x, dims):
    if len(dims) < 3:
        return None
    spatial = len(dims) - 2
    kernel, out = [pick(1, 1, 3, 2) for _ in range(spatial)], pick(n(1, 9), 8, 16, dims[1])
    group = dims[1] if out == dims[1] and random_operators.R.random() < 0.6 else 1
    pads = [k // 2 for k in kernel]
    if random_operators.R.random() < 0.3:
        x = s.node("Pad", x, s.constant([0, 0, *pads] * 2, "i8"))
        pads = [0] * spatial
    y = s.node("Conv", x, s.weights(out, dims[1] // group, *kernel), *([s.weights(out)] if random_operators.R.random() < 0.6 else []),
               group=group, pads=pads * 2)
    if any(k == 2 for k in kernel):
        return s.node("Relu", y), (dims[0], out, *(d + 1 if k == 2 else d for d, k in zip(dims[2:], kernel)))
    done = (dims[0], out, *dims[2:])
    ones = (out,) + (1,) * spatial
    tail = n(0, 5)
    if tail == 0:
        y = s.node("BatchNormalization", y, *(s.constant(data((out,), "f4", 0.5, 1.5)) for _ in range(4)))
    elif tail == 1:
        y = s.node("Add", s.commuted("Mul", y, s.weights(*ones)), s.weights(*ones))
    elif tail == 2 and done == tuple(dims):
        y = s.commuted("Add", y, x) if pads[0] == kernel[0] // 2 else y
    elif tail == 3:
        y = s.node("Mul", y, s.node("Sigmoid", s.reduce("ReduceMean", y, list(range(2, len(dims))))))
    return (s.node(pick("Relu", "HardSwish", "Sigmoid", "Tanh"), y) if random_operators.R.random() < 0.6 else y), done


def product(s, x, dims):
    out = n(1, 17)
    if len(dims) == 2 and random_operators.R.random() < 0.5:
        return s.node("Gemm", x, s.weights(out, dims[1]), s.weights(out), transB=1), (dims[0], out)
    y = s.node("MatMul", x, s.weights(dims[-1], out))
    if random_operators.R.random() < 0.7:
        y = s.commuted("Add", y, s.weights(out))
    return (s.node("Relu", y) if random_operators.R.random() < 0.5 else y), (*dims[:-1], out)


def attention(s, x, dims):
    if len(dims) != 3:
        return None
    batch, length, size = dims
    heads = pick(*[h for h in range(1, size + 1) if size % h == 0])
    parts = []
    for _ in range(3):
        y = s.node("Add", s.node("MatMul", x, s.weights(size, size)), s.weights(size))
        parts.append(s.node("Transpose", s.reshape(y, batch, length, heads, size // heads), perm=[0, 2, 1, 3]))
    scores = s.node("MatMul", parts[0], s.node("Transpose", parts[1], perm=[0, 1, 3, 2]))
    scores = s.node("Div", scores, 2.0) if random_operators.R.random() < 0.5 else s.node("Mul", scores, 0.5)
    if random_operators.R.random() < 0.4:
        scores = s.node("Add", scores, s.constant(np.triu(np.full((length, length), -1e4), 1)))
    y = s.node("MatMul", s.node("Softmax", scores, axis=pick(-1, 3)), parts[2])
    return s.reshape(s.node("Transpose", y, perm=[0, 2, 1, 3]), batch, length, size), dims


def shuffle(s, x, dims):
    if len(dims) != 4:
        return None
    batch, channels, height, width = dims
    groups = pick(*[g for g in range(1, channels + 1) if channels % g == 0])
    form = n(0, 2)
    if form == 0:
        y = s.node("Transpose", s.reshape(x, batch, groups, channels // groups, height, width), perm=[0, 2, 1, 3, 4])
        return s.reshape(y, *dims), dims
    if form == 1 and height % 2 == 0 and width % 2 == 0:
        y = s.node("Transpose", s.reshape(x, batch, channels, height // 2, 2, width // 2, 2), perm=pick([0, 1, 3, 5, 2, 4], [0, 3, 5, 1, 2, 4]))
        return s.reshape(y, batch, 4 * channels, height // 2, width // 2), (batch, 4 * channels, height // 2, width // 2)
    order = pick([0, 2, 3, 1], [0, 3, 1, 2], [0, 1, 3, 2])
    y = s.node("Transpose", x, perm=order)
    if random_operators.R.random() < 0.6:
        return s.node("Transpose", s.node(pick("Relu", "Sigmoid"), y), perm=np.argsort(order).tolist()), dims
    return y, tuple(dims[i] for i in order)


def split_join(s, x, dims):
    axis = pick(1, -1)
    if dims[axis] % 2 or not dims[axis]:
        return None
    half = dims[axis] // 2
    if random_operators.R.random() < 0.5:
        parts = s.node("Split", x, s.constant([half, half], "i8"), count=2, axis=axis)
    else:
        parts = [s.node("Slice", x, *(s.constant([v], "i8") for v in row)) for row in ((0, half, axis), (half, pick(2 * half, 1 << 40), axis))]
    form = n(0, 2)
    if form == 0:  # rotary positions
        turned = s.node("Concat", s.node("Neg", parts[1]), parts[0], axis=axis)
        return s.node("Add", s.node("Mul", x, s.weights(dims[-1])), s.node("Mul", turned, s.weights(dims[-1]))), dims
    if form == 1:  # a gate
        made = list(dims)
        made[axis] = half
        return s.node("Mul", parts[0], s.node("Sigmoid", parts[1])), tuple(made)
    return s.node("Concat", s.node("Relu", parts[0]), parts[1], axis=axis), dims


def resize(s, x, dims):
    if len(dims) != 4 or max(dims[2:]) > 9:
        return None
    y = s.node("Resize", x, "", s.constant([1, 1, 2, 2]), mode=pick("nearest", "linear"),
               coordinate_transformation_mode=pick("asymmetric", "half_pixel"), nearest_mode="floor")
    return y, (*dims[:2], 2 * dims[2], 2 * dims[3])


def quantised(s, x, dims):
    kind = pick("u1", "i1")
    zero = s.constant(pick(0, 3, 120 if kind == "u1" else -5), kind)
    scale = s.constant(pick(0.02, 0.013, 0.1))
    q = s.node("QuantizeLinear", x, scale, zero)
    form = n(0, 5)
    if form == 0:
        return s.node("DequantizeLinear", q, scale, zero), dims
    d = s.node("DequantizeLinear", q, scale, zero)
    if form == 1:
        y = s.node(pick("Relu", "Sigmoid", "Neg", "HardSwish"), d)
    elif form == 2:
        out = n(1, 9)
        y, dims = s.node("MatMul", d, s.byte_weights(dims[-1], out)), (*dims[:-1], out)
    elif form == 3 and len(dims) == 4:
        out = n(1, 9)
        y, dims = s.node("Conv", d, s.byte_weights(out, dims[1], 3, 3), pads=[1] * 4), (dims[0], out, *dims[2:])
        y = s.node("Relu", y) if random_operators.R.random() < 0.5 else y
    elif form == 4:
        other = s.node("DequantizeLinear", s.node("QuantizeLinear", s.node("Abs", x), scale, zero), scale, zero)
        y = s.node(pick("Add", "Mul", "Concat"), d, other) if random_operators.R.random() < 0.8 else s.node("Add", d, d)
        if s.nodes[-1].op_type == "Concat":
            s.nodes[-1].attribute.append(helper.make_attribute("axis", 1))
            dims = (dims[0], 2 * dims[1], *dims[2:])
    else:
        where = s.node("Greater", x, 0.1)
        y = s.node("Where", where, d, d if random_operators.R.random() < 0.5 else s.node("Neg", d))
    again = scale if random_operators.R.random() < 0.5 else s.constant(0.05)
    return s.node("DequantizeLinear", s.node("QuantizeLinear", y, again, zero), again, zero), dims


def byte_weights(s, *dims):
    """Constants of int8 with their scales, per tensor or per channel of the last axis (of convolutions, the first)."""
    axis = 0 if len(dims) == 4 else 1
    per = (dims[axis],) if random_operators.R.random() < 0.5 else ()
    zero = s.constant(np.zeros(per, np.int8), "i1")
    return s.node("DequantizeLinear", s.weights(*dims, kind="i1", low=-60, high=60), s.constant(data(per, "f4", 0.01, 0.05)), zero, axis=axis)


Spelling.byte_weights = byte_weights


def shown_shape(s, x, dims):
    """Shape arithmetic as traced code has it."""
    shape = s.node("Shape", x)
    first = s.node("Unsqueeze", s.node("Gather", shape, s.constant(0, "i8")), s.constant([0], "i8"))
    return s.node("Reshape", x, s.node("Concat", first, s.constant([-1], "i8"), axis=0)), (dims[0], int(np.prod(dims[1:])))


PATTERNS = [layer_norm, rms_norm, group_norm, gelu, activation, activation, softmax, normalise, conv, conv, conv, product, attention, attention,
            shuffle, shuffle, split_join, split_join, resize, quantised, quantised, quantised, shown_shape, *rewritten.PATTERNS, *trained.PATTERNS]
