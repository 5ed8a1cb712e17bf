"""Random models for the attack: single operators, networks, and spellings of what Fettle fuses, each changed a little afterwards.

The makers of tests/models give operators and networks that ONNX Runtime takes. Here they meet what nobody exports: extents of 0
and 1, other types, outputs left out, near misses of fusions. Many of the changed ones are refused, by both.
"""

import pathlib
import sys

import ml_dtypes
import numpy as np
import onnx
from onnx import helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "models"))
import microsoft_operators  # noqa: E402
import newest_operators  # noqa: E402
import random_graphs  # noqa: E402
import random_operators  # noqa: E402
import random_quantised  # noqa: E402
import rarer_operators  # noqa: E402
import spellings  # noqa: E402
import trained_quantisers  # noqa: E402
from random_operators import n, pick  # noqa: E402

# Attributes that say yes or no: what others than 0 and 1 mean is nowhere said.
FLAGS = {"align_corners", "ceil_mode", "channels_last", "count_include_pad", "do_rotary", "exclude_outside", "exclusive", "fmod",
         "interleaved", "inverse", "is_causal", "keepdims", "largest", "linear_before_reset", "narrow", "normalize_routing_weights", "noop_with_empty_axes",
         "onesided", "reverse", "rotary_interleaved", "select_last_index", "signed", "smooth_softmax", "sorted", "training_mode",
         "transA", "transB", "transBatchA", "transBatchB", "unidirectional", "upper"}
SIBLINGS = [("Add", "Sub", "Mul", "Div", "Max", "Min", "Pow", "PRelu"), ("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL2"),
            ("Relu", "Sigmoid", "Tanh", "Erf", "Sqrt", "Neg", "Abs", "Identity", "Reciprocal", "HardSwish", "Softplus", "Exp"),
            ("MaxPool", "AveragePool"), ("GlobalMaxPool", "GlobalAveragePool"), ("Softmax", "LogSoftmax", "Hardmax"),
            ("Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Equal"), ("And", "Or", "Xor"), ("MatMul", "Add")]
# Which operands are scales.
SCALES = {"QuantizeLinear": (1,), "DequantizeLinear": (1,), "QLinearConv": (1, 4, 6), "QLinearMatMul": (1, 4, 6), "QLinearAdd": (1, 4, 6),
          "QLinearMul": (1, 4, 6), "QLinearSigmoid": (1, 3), "QLinearLeakyRelu": (1, 3), "QLinearSoftmax": (1, 3), "QGemm": (1, 4, 7),
          "QLinearGlobalAveragePool": (1, 3), "QLinearAveragePool": (1, 3)}
FLOATS = {np.dtype(np.float32), np.dtype(np.float16), np.dtype(np.float64), np.dtype(ml_dtypes.bfloat16)}


class Built:
    """A model and what it is fed; changes keep the two together."""

    def __init__(self, model, feed):
        self.model, self.feed = model, dict(feed)

    @property
    def graph(self):
        return self.model.graph

    def constants(self):
        return {tensor.name: numpy_helper.to_array(tensor) for tensor in self.graph.initializer}

    def set_constant(self, name, value):
        for tensor in self.graph.initializer:
            if tensor.name == name:
                tensor.CopyFrom(numpy_helper.from_array(value, name))

    def set_input(self, name, value):
        self.feed[name] = value
        for info in self.graph.input:
            if info.name == name:
                info.CopyFrom(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape))

    def replace(self, values):
        """Of inputs and constants by name."""
        for name, value in values.items():
            (self.set_input if name in self.feed else self.set_constant)(name, value)

    def operands(self):
        return {**self.constants(), **self.feed}

    def made(self):
        return [name for node in self.graph.node for name in node.output if name]

    def shown(self):
        return [value.name for value in self.graph.output]

    def show(self, name):
        if name not in self.shown():
            self.graph.output.append(onnx.ValueInfoProto(name=name))


OPERATORS = [*random_operators.MAKERS, *(maker for module in (random_quantised, rarer_operators, newest_operators, microsoft_operators,
                                                              trained_quantisers) for maker in module.makers(random_operators))]


def choose(names):
    """Leaves the makers of operators and the patterns of these names alone."""
    for makers in (OPERATORS, spellings.PATTERNS):
        makers[:] = [maker for maker in makers if maker.__name__ in names]


def operator():
    case = pick(*OPERATORS)()
    if random_operators.R.random() < 0.5 and case.opset <= 23:  # what is newer would be refused
        case.opset = n(13, 23)
    return Built(case.model(), case.feed())


def network():
    net = random_graphs.Network()
    built = Built(net.model(), net.feed())
    if random_operators.R.random() < 0.3:
        built.model.opset_import[0].version = n(13, 23)
    return built


def spelling():
    net = spellings.Spelling(pick(n(13, 23), n(13, 28)))
    return Built(net.model(), net.feed())


# --- changes: each takes a Built and changes it in place ---

def collapse(built):
    """All axes of one extent, or one axis alone, become 0, 1 or another."""
    operands = built.operands()
    sized = [(name, axis) for name, value in operands.items() for axis in range(value.ndim)]
    if not sized:
        return
    name, axis = pick(*sized)
    extent, to = operands[name].shape[axis], pick(0, 0, 1, 1, 2, n(1, 9))
    alone, changed = random_operators.R.random() < 0.3, {}
    for other, value in operands.items():
        dims = [to if (other, i) == (name, axis) or (not alone and d == extent) else d for i, d in enumerate(value.shape)]
        if value.ndim == 1 and value.dtype == np.int64 and other != name:  # a shape, not data
            changed[other] = np.where(value == extent, to, value) if not alone else value
        elif dims != list(value.shape):
            changed[other] = np.resize(value, dims) if value.size else np.zeros(dims, value.dtype)
    built.replace({other: np.asarray(value).astype(operands[other].dtype) for other, value in changed.items()})


def retype(built):
    """All floats, or all integers of one type, in another type."""
    operands = built.operands()
    kinds = sorted({value.dtype for value in operands.values()}, key=str)
    source = pick(*kinds) if kinds else None
    if source is None:
        return
    to = np.dtype(pick(*([np.float16, np.float16, np.float64, ml_dtypes.bfloat16, np.float32]
                         if source in FLOATS and random_operators.R.random() < 0.8 else
                         [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.int64, np.uint32, np.uint64, np.bool_])))
    built.replace({name: value.astype(to) for name, value in operands.items()
                   if value.dtype == source and (source in FLOATS or random_operators.R.random() < 0.8)})
    numbers = helper.np_dtype_to_tensor_dtype(source), helper.np_dtype_to_tensor_dtype(to)
    for node in built.graph.node:
        for attribute in node.attribute:
            if attribute.name == "to" and attribute.i == numbers[0]:
                attribute.i = numbers[1]
    for value in built.graph.output:
        value.ClearField("type")


def outputs(built):
    """Of one node: optional ones are asked for, one that was is left out, or is there and used by nobody."""
    if not built.graph.node:  # a change before took the last one out
        return
    node = pick(*built.graph.node)
    try:
        most = onnx.defs.get_schema(node.op_type, built.model.opset_import[0].version, node.domain).max_output
    except onnx.defs.SchemaError:
        return
    while len(node.output) < min(most, 5) and random_operators.R.random() < 0.7:
        name = f"{node.output[0] or 'left'}_more{len(node.output)}"
        node.output.append(name)
        built.show(name)
    if node.op_type == "BatchNormalization" and len(node.output) > 1:
        node.attribute.append(helper.make_attribute("training_mode", 1))
        del node.output[3:]
    if len(node.output) > 1:
        left = pick(0, n(0, len(node.output) - 1))
        name = node.output[left]
        kept = [value for value in built.graph.output if value.name != name]
        if kept and not any(name in other.input for other in built.graph.node):
            del built.graph.output[:]
            built.graph.output.extend(kept)
            if random_operators.R.random() < 0.5:
                node.output[left] = ""


def constant(built):
    """A small constant is a little off: an epsilon, a scale, an axis, a shape."""
    small = [(name, value) for name, value in built.constants().items() if 0 < value.size <= 4]
    if not small:
        return
    name, value = pick(*small)
    value = np.array(value)
    at = n(0, value.size - 1)
    if value.dtype in FLOATS:
        value.flat[at] = pick(0, 1, -1, 2, 0.5, 1e-5, 1e-3, float(value.flat[at]) * 1.001, -float(value.flat[at]))
    elif value.dtype != np.bool_:
        value.flat[at] = (int(value.flat[at]) + pick(-1, 1, -2, 2)) % 128
    built.set_constant(name, value)


def attribute(built):
    given = [(node, a) for node in built.graph.node for a in node.attribute if a.type in (1, 2, 7) and a.name != "to"]
    if not given:
        return
    node, a = pick(*given)
    if a.type == onnx.AttributeProto.FLOAT:
        a.f = pick(0.0 if node.op_type != "Celu" else 1.0, 1.0, 2 * a.f, a.f + 0.001, -a.f if a.name != "epsilon" else 1e-3)
    elif a.type == onnx.AttributeProto.INT:
        a.i = 1 - a.i if a.name in FLAGS else a.i + 1 if a.name == "p" else pick(a.i + 1, a.i - 1, 1 - a.i, -a.i)
    elif a.ints:
        if a.name == "perm":
            order = random_operators.R.permutation(len(a.ints)).tolist()
            a.ints[:] = order
        else:
            at = n(0, len(a.ints) - 1)
            a.ints[at] = max(0, a.ints[at] + pick(-1, 1, 1, 2))


def second_user(built):
    name = pick(*built.made())
    extra = f"extra{len(built.graph.node)}"
    built.graph.node.append(helper.make_node(pick("Identity", "Relu", "Neg", "Abs", "Shape"), [name], [extra]))
    built.show(extra)


def inside_output(built):
    built.show(pick(*built.made()))


def input_of_constant(built):
    values = [(name, value) for name, value in built.constants().items() if value.ndim or random_operators.R.random() < 0.5]
    if values:
        name, value = pick(*values)
        kept = [tensor for tensor in built.graph.initializer if tensor.name != name]
        del built.graph.initializer[:]
        built.graph.initializer.extend(kept)
        built.feed[name] = value
        built.graph.input.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape))


def operand(built):
    """Two operands change places, or one becomes the other."""
    nodes = [node for node in built.graph.node if sum(bool(name) for name in node.input) > 1]
    if nodes:
        node = pick(*nodes)
        a, b = random_operators.R.choice(len(node.input), 2, replace=False)
        node.input[a], node.input[b] = node.input[b], node.input[a] if random_operators.R.random() < 0.6 else node.input[b]


def absent(built):
    """An operand is left out, required or not."""
    if not built.graph.node:  # a change before took the last one out
        return
    node = pick(*built.graph.node)
    if node.input:
        node.input[n(0, len(node.input) - 1)] = ""


def sibling(built):
    if not built.graph.node:  # a change before took the last one out
        return
    node = pick(*built.graph.node)
    for family in SIBLINGS:
        if node.op_type in family:
            node.op_type = pick(*family)
            return


def bypass(built):
    nodes = [node for node in built.graph.node if node.input and node.input[0] and node.output[0] not in built.shown()]
    if not nodes:
        return
    gone = pick(*nodes)
    for node in built.graph.node:
        for i, name in enumerate(node.input):
            if name == gone.output[0]:
                node.input[i] = gone.input[0]


def open_shapes(built):
    for value in built.graph.input:
        for i, dim in enumerate(value.type.tensor_type.shape.dim):
            if random_operators.R.random() < 0.7:
                dim.dim_param = f"{value.name}_{i}"


CHANGES = [collapse] * 5 + [retype] * 2 + [outputs] * 3 + [constant] * 3 + [attribute] * 2 + [second_user, second_user, inside_output,
           inside_output, input_of_constant, operand, absent, sibling, bypass, open_shapes]

# What leaves a pattern nearly what it was: another epsilon, number or axis, a second reader or an output inside, an operand elsewhere.
NEAR_MISSES = [constant] * 4 + [attribute] * 4 + [second_user, inside_output] * 3 + [input_of_constant, operand, sibling, bypass, open_shapes]


def whole_scales(built):
    """No scale of a quantisation is 0, as given or as rounded to its type: x / 0 is not a number that a byte stands for."""
    operands = built.operands()
    for node in built.graph.node:
        for i, name in enumerate(node.input):
            value = operands.get(name)
            if i in SCALES.get(node.op_type, ()) and value is not None and value.dtype in FLOATS and (value == 0).any():
                built.replace({name: np.where(value == 0, np.asarray(1, value.dtype), value)})


def reduced(built):
    """Without nodes that nothing shown is made of, and with something shown."""
    if not built.graph.output and built.made():
        built.show(built.made()[-1])
    return built


def make(seed, near_misses=False):
    """(what it is, model, feed), the same for the same seed. `near_misses`: what passes find, changed in one thing or two."""
    random_operators.R = random_graphs.R = np.random.default_rng(seed)
    makers = [operator, operator, network, spelling, spelling]
    if not OPERATORS or not spellings.PATTERNS:  # some were chosen
        makers = [operator] if OPERATORS else [spelling]
    maker = spelling if near_misses else pick(*makers)
    built, told = maker(), [maker.__name__]
    for _ in range(pick(1, 1, 2) if near_misses else pick(0, 1, 1, 2, 3)):
        change = pick(*(NEAR_MISSES if near_misses else CHANGES))
        change(built)
        told.append(change.__name__)
    whole_scales(built)
    reduced(built)
    ops = "+".join(node.op_type for node in built.graph.node)
    return f"{' '.join(told)}: {ops if len(ops) < 120 else ops[:117] + '...'}", built.model.SerializeToString(), built.feed
