"""Random networks with open extents: one session at ten shapes each, beside onnxruntime. open_extents.py [COUNT [SEED]]

What a session keeps of one shape serves the next (decisions 134 and 147), so wrong values show only where several
shapes follow each other. Extents of 1, shapes that repeat others' extents, and inputs that are broadcast are frequent.
A network that onnxruntime refuses is skipped and counted. The last line counts runs.
"""

import random
import sys

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import fettle
from shape_arithmetic import ShapeArithmetic

SHAPES = 10
EXTENTS = (1, 1, 2, 3, 5, 7, 8, 9, 12, 16, 17, 20, 24, 31)
ACTIVATIONS = ("Relu", "Sigmoid", "Tanh", "HardSwish", "HardSigmoid", "Elu", "Abs", "Neg")


class Network(ShapeArithmetic):
    """A graph under construction: `value` is its last value, of `channels` channels."""

    def __init__(self, seed):
        self.random, self.numbers = random.Random(seed), numpy.random.default_rng(seed)
        self.nodes, self.constants, self.names = [], [], 0
        self.kind = self.any("pictures", "rows", "rows", "signals", "pairs", "pairs")
        self.channels = self.any(3, 8, 12, 16)
        self.inputs = {"x": self.shape_of_first()}
        if self.kind == "pairs":
            self.inputs["y"] = (self.any("B", "D", 1), self.any("T", "S", 1), self.any(self.channels, 1))
        self.value = "x"

    def any(self, *choices):
        return self.random.choice(choices)

    def shape_of_first(self):
        c = self.channels
        return {"pictures": ("B", c, "H", "W"), "signals": ("B", c, "T")}.get(self.kind, ("B", "T", c))

    def constant(self, *shape, scale=1.0):
        return self.keep((self.numbers.standard_normal(shape) * scale).astype(numpy.float32))

    def integers(self, *values):
        return self.keep(numpy.array(values, numpy.int64))

    def keep(self, array):
        self.names += 1
        self.constants.append(numpy_helper.from_array(numpy.asarray(array), f"c{self.names}"))
        return f"c{self.names}"

    def node(self, op, *inputs, **attributes):
        self.names += 1
        self.nodes.append(helper.make_node(op, inputs, [f"v{self.names}"], **attributes))
        return f"v{self.names}"

    def activated(self, value):
        return self.node(self.any(*ACTIVATIONS), value)

    def conv(self, value, outputs, kernel, groups=1, **attributes):
        weights = self.constant(outputs, self.channels // groups, *kernel, scale=0.3)
        if "auto_pad" not in attributes:
            attributes["pads"] = [k // 2 for k in kernel] * 2
        return self.node("Conv", value, weights, self.constant(outputs), group=groups, **attributes)

    # Steps on pictures and signals, channels in the second place.
    def convolution(self):
        axes = 2 if self.kind == "pictures" else 1
        outputs, kernel = self.any(4, 8, 16, 17), [self.any(1, 1, 2, 3, 5) for _ in range(axes)]
        padding = {"auto_pad": self.any("SAME_UPPER", "SAME_LOWER")} if self.random.random() < 0.3 else {}
        self.value = self.activated(
            self.conv(self.value, outputs, kernel, strides=[self.any(1, 1, 2) for _ in range(axes)], **padding))
        self.channels = outputs

    def groups(self):
        axes = 2 if self.kind == "pictures" else 1
        groups = self.any(*[g for g in (1, 2, 4, self.channels) if self.channels % g == 0])
        padding = {"auto_pad": self.any("SAME_UPPER", "SAME_LOWER")} if self.random.random() < 0.3 else {}
        strides = [self.any(1, 1, 2) for _ in range(axes)]
        self.value = self.conv(self.value, self.channels, [3] * axes, groups, strides=strides, **padding)

    def winograd(self):
        self.value, self.channels = self.conv(self.value, 16, [3, 3]), 16

    def spelt_prelu(self):
        """As exporters spell it: the positive part and a share of the negative one."""
        rank = len(self.inputs["x"]) - 2
        x = self.conv(self.value, self.channels, [1] * rank)
        negative = self.node("Mul", self.constant(1, self.channels, *[1] * rank), self.node("Sub", x, self.node("Abs", x)))
        self.value = self.node("Add", self.node("Relu", x), negative)

    def gates_of_images(self):
        """Of batches, each with a gate of its own, from what nothing else computes at the same place."""
        axes = self.integers(*range(2, len(self.inputs["x"])))
        scale = self.node("Sigmoid", self.node("ReduceMax", self.value, axes, keepdims=1))
        self.value = self.node("Relu", self.node(self.any("Mul", "Add"), self.activated(self.value), scale))

    def wider(self):
        """Reflected, wrapped, repeated or constant borders; the first need an axis that is as long."""
        after = self.any(0, 1, 2)
        pads = [0, 0, 1, 0, 0, after] if self.kind == "signals" else [0, 0, 1, 0, 0, 0, after, 1]
        self.value = self.node("Pad", self.value, self.integers(*pads), mode=self.any("reflect", "wrap", "edge", "constant"))

    def recurrent(self):
        """Over time, from a state that follows from the batch."""
        hidden, gates = self.any(4, 8), {"LSTM": 4, "GRU": 3}
        op = self.any(*gates)
        x = self.node("Transpose", self.value, perm=[1, 0, 2])
        batch = self.node("Shape", self.value, start=0, end=1)
        shape = self.node("Concat", self.integers(1), batch, self.integers(hidden), axis=0)
        state = self.node("Expand", self.keep(numpy.float32(0.3)), shape)
        weights = (self.constant(1, gates[op] * hidden, size, scale=0.3) for size in (self.channels, hidden))
        states = [state, state] if op == "LSTM" else [state]
        y = self.node(op, x, *weights, "", "", *states, hidden_size=hidden)
        y = self.node("Squeeze", y, self.integers(1))
        self.value, self.channels = self.node("Transpose", y, perm=[1, 0, 2]), hidden

    def transposed(self):
        axes = 2 if self.kind == "pictures" else 1
        groups, kernel = self.any(1, self.channels), self.any(1, 2, 2, 3)
        strides = [self.any(2, 2, kernel, kernel + 1) for _ in range(axes)]
        outputs = self.channels if groups > 1 else self.any(self.channels, 24)
        weights = self.constant(self.channels, outputs // groups, *[kernel] * axes, scale=0.3)
        self.value, self.channels = self.node("ConvTranspose", self.value, weights, group=groups, strides=strides), outputs

    def pool(self):
        padding = {"auto_pad": self.any("SAME_UPPER", "SAME_LOWER")} if self.random.random() < 0.4 else {"pads": [1] * 4}
        self.value = self.node(self.any("MaxPool", "AveragePool"), self.value, kernel_shape=[3, 3],
                               strides=[self.any(1, 2)] * 2, **padding)

    def gate(self):
        mean = self.node("ReduceMean", self.value, self.integers(2, 3), keepdims=1)
        scale = self.activated(self.conv(mean, self.channels, [1, 1]))
        self.value = self.node(self.any("Mul", "Add"), self.value, scale)

    def affine(self):
        rank = len(self.inputs["x"]) - 2
        self.value = self.node("Mul", self.value, self.constant(1, self.channels, *[1] * rank))
        self.value = self.node("Add", self.value, self.constant(self.channels, *[1] * rank))

    def shortcut(self):
        axes = 2 if self.kind == "pictures" else 1
        self.value = self.activated(self.node("Add", self.conv(self.value, self.channels, [3] * axes), self.value))

    def larger(self):
        scales = self.keep(numpy.float32([1, 1, 2, 2]))
        self.value = self.node("Resize", self.value, "", scales, mode=self.any("nearest", "linear"),
                               coordinate_transformation_mode="asymmetric", nearest_mode="floor")

    def double(self):
        axis = 1 if self.kind in ("pictures", "signals") else 2
        self.value = self.node("Concat", self.value, self.activated(self.value), axis=axis)
        self.channels *= 2

    def cut(self):
        begin, end, axis, step = (self.integers(number) for number in (0, 1000, 2, self.any(1, 2)))
        self.value = self.node("Slice", self.value, begin, end, axis, step)

    def whole(self):
        end = self.any(2**31 - 1, 2**63 - 1)
        operands = (self.integers(number) for number in (0, end, self.any(0, 2), 1))
        self.value = self.node("Slice", self.activated(self.value), *operands)

    def group_norm(self):
        """As exporters spell it, at times with more or fewer groups than channels divide into."""
        groups = self.any(1, 2, 4, 8)
        rank = len(self.inputs["x"]) - 2
        rows = self.node("Reshape", self.value, self.integers(0, groups, -1))
        ones, zeros = (self.keep(numpy.full(groups, number, numpy.float32)) for number in (1, 0))
        rows = self.node("InstanceNormalization", rows, ones, zeros, epsilon=self.any(1e-5, 1e-3))
        whole = self.node("Reshape", rows, self.node("Shape", self.value))
        scaled = self.node("Mul", whole, self.constant(self.channels, *[1] * rank))
        self.value = self.node("Add", scaled, self.constant(self.channels, *[1] * rank))

    def flat_softmax(self):
        shape = self.node("Shape", self.value)
        flat = self.node("Softmax", self.node("Reshape", self.value, self.integers(0, self.channels, -1)), axis=2)
        self.value = self.node("Reshape", flat, shape)

    # Steps on rows.
    def product(self):
        outputs = self.any(8, 12, 16)
        self.value = self.node("MatMul", self.value, self.constant(self.channels, outputs, scale=0.3))
        self.value = self.activated(self.node("Add", self.value, self.constant(outputs)))
        self.channels = outputs

    def norm(self):
        scale, bias = self.constant(self.channels), self.constant(self.channels)
        self.value = self.node("LayerNormalization", self.value, scale, bias, axis=-1)

    def mean_square_norm(self):
        """As exporters spell it, at times of rows and columns that changed places."""
        turns = self.random.random() < 0.4
        x = self.node("Transpose", self.activated(self.value), perm=[1, 0, 2]) if turns else self.value
        mean = self.node("ReduceMean", self.node("Pow", x, self.keep(numpy.float32(2))), self.integers(-1), keepdims=1)
        root = self.node("Sqrt", self.node("Add", mean, self.keep(numpy.float32(1e-3))))
        y = self.node("Mul", self.node("Div", x, root), self.constant(self.channels))
        self.value = self.node("Transpose", y, perm=[1, 0, 2]) if turns else y

    def attention(self):
        q, k = (self.node("MatMul", self.value, self.constant(self.channels, 8, scale=0.1)) for _ in range(2))
        scores = self.node("MatMul", q, self.node("Transpose", k, perm=[0, 2, 1]))
        self.value = self.node("MatMul", self.node("Softmax", scores, axis=-1), self.value)

    def softmax(self):
        self.value = self.node("Softmax", self.value, axis=self.any(1, 2))

    def beside_mean(self):
        axes = (1, 2) if self.kind == "signals" else (0, 1, 2)
        op, axis = self.any("ReduceMean", "ReduceMax", "ReduceMin"), self.integers(self.any(*axes))
        folded = self.node(op, self.value, axis, keepdims=1)
        self.value = self.node(self.any("Add", "Sub"), self.value, folded)

    def sums(self):
        self.value = self.node("CumSum", self.value, self.keep(numpy.array(1, numpy.int64)))

    def turned(self):
        turned = self.node("Add", self.node("Transpose", self.value, perm=[0, 2, 1]), self.constant(self.channels, 1))
        self.value = self.node("Transpose", turned, perm=[0, 2, 1])

    def chosen(self):
        high = self.node("Greater", self.value, self.keep(numpy.float32(0.1)))
        self.value = self.node("Where", high, self.value, self.node("Mul", self.value, self.keep(numpy.float32(0.2))))

    STEPS = {
        "pictures": (convolution, convolution, groups, transposed, pool, gate, affine, shortcut, larger, double, cut,
                     whole, group_norm, flat_softmax, winograd, spelt_prelu, gates_of_images, wider),
        "signals": (convolution, convolution, groups, transposed, affine, shortcut, double, beside_mean, group_norm,
                    spelt_prelu, gates_of_images, wider),
        "rows": (product, product, norm, mean_square_norm, attention, softmax, beside_mean, sums, turned, chosen, double,
                 whole, recurrent),
    }

    ARITHMETIC = {
        "pictures": ShapeArithmetic.EVERYWHERE + ShapeArithmetic.ON_PICTURES,
        "signals": ShapeArithmetic.EVERYWHERE,
        "rows": ShapeArithmetic.EVERYWHERE + ShapeArithmetic.ON_ROWS,
    }

    def build(self):
        computes = self.random.random() < 0.5
        kind = "rows" if self.kind == "pairs" else self.kind
        steps = self.STEPS[kind] + (2 * self.ARITHMETIC[kind] if computes else ())
        if self.kind == "pairs":
            self.value = self.node(self.any("Add", "Mul", "Sub"), "x", "y")
        for _ in range(self.random.randint(3, 9)):
            self.any(*steps)(self)
        self.nodes.append(helper.make_node("Identity", [self.value], ["out"]))
        inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
                  for name, shape in self.inputs.items()]
        out = helper.make_tensor_value_info("out", TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "open", inputs, [out], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
        return model.SerializeToString()

    def feed(self):
        extents = {name: self.any(*EXTENTS) for name in "THW"}
        extents["B"] = self.any(1, 1, 2, 3, 4)
        extents["D"], extents["S"] = self.any(1, extents["B"]), self.any(1, extents["T"])
        shapes = {name: [extents.get(extent, extent) for extent in shape] for name, shape in self.inputs.items()}
        return {name: self.numbers.standard_normal(shape).astype(numpy.float32) for name, shape in shapes.items()}

    def nearly(self, feed):
        """The inputs a rounding away."""
        signs = {name: self.numbers.choice([-1, 1], array.shape) for name, array in feed.items()}
        return {name: (array * (1 + 2.0**-23 * signs[name])).astype(numpy.float32) for name, array in feed.items()}


def differ(got, want, again):
    """Sums are in another order: what is wrong is larger than a few roundings of the greatest, and than what the reference
    itself makes of inputs that are a rounding away (`again()`): norms of rows that cancel to zero make much of it."""
    if got.shape != want.shape:
        return f"shape {got.shape} in place of {want.shape}"
    finite = numpy.isfinite(want)
    if not numpy.array_equal(finite, numpy.isfinite(got)):
        return "other numbers are finite"
    error = numpy.abs(got - want)[finite].max(initial=0)
    most = max(1e-2, numpy.abs(want)[finite].max(initial=0))
    if error <= 5e-4 * most:
        return ""
    other = again()
    moved = numpy.abs(other - want)[finite & numpy.isfinite(other)].max(initial=0) if other.shape == want.shape else numpy.inf
    return "" if error <= 10 * moved else f"{error} of {most}, where the reference moves by {moved}"


def check(seed):
    """Passed, failed and skipped runs."""
    network = Network(seed)
    model = network.build()
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    # Its fusions take a Pad of zeros for MaxPool's own padding (1.31).
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        reference = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # of whichever kind
        print(f"seed {seed}: onnxruntime: {str(error)[:120]}")
        return 0, 0, SHAPES
    passed = skipped = 0
    with fettle.Session(fettle.Model(data=model), threads=network.any(1, 2)) as session:
        for _ in range(SHAPES):
            feed = network.feed()
            try:
                want = reference.run(None, feed)[0]
            except Exception:  # an extent that is too small for a step
                skipped += 1
                continue
            why = differ(numpy.asarray(session.run(feed)["out"]), want, lambda: reference.run(None, network.nearly(feed))[0])
            if why:
                print(f"FAIL seed {seed}: {dict((name, array.shape) for name, array in feed.items())}: {why}")
                return passed, 1, skipped
            passed += 1
    return passed, 0, skipped


def main():
    count, seed = (int(text) for text in (sys.argv[1:] + ["100", "1"][len(sys.argv) - 1:]))
    sums = numpy.sum([check(seed + i) for i in range(count)], axis=0)
    print("{} passed, {} failed, {} skipped".format(*sums))
    sys.exit(1 if sums[1] else 0)


if __name__ == "__main__":
    main()
