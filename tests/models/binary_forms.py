"""Small ONNX files, one for each form in which networks of signs are written, and what becomes of their products.

forms() gives (name, model, reference, on_bits): reference is the same network in operators that ONNX Runtime has (the model
itself mostly), on_bits whether the product runs on bits.
"""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

RNG = np.random.default_rng(11)
SHAPE = (1, 32, 9, 8)


def pair(shape, low=-1.0, high=1.0):
    """Weights of two values; `low` and `high` may be lists, one for each output."""
    low, high = (np.reshape(np.float32(v), (-1,) + (1,) * (len(shape) - 1)) for v in (low, high))
    return np.where(RNG.random(shape) < 0.5, low, high).astype(np.float32)


class Graph:
    def __init__(self, shape=SHAPE):
        self.shape, self.nodes, self.constants = shape, [], []

    def const(self, value):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def op(self, kind, *inputs, domain="", **attributes):
        inputs = [i if isinstance(i, str) else self.const(np.asarray(i, np.float32)) for i in inputs]
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], domain=domain, **attributes))
        return name

    def sign(self, x):
        return self.op("Where", self.op("GreaterOrEqual", x, 0.0), 1.0, -1.0)

    def model(self, result):
        self.nodes[[n.output[0] for n in self.nodes].index(result)].output[0] = "y"
        source = helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)
        target = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "form", [source], [target], self.constants)
        domains = {node.domain for node in self.nodes} - {""}
        opsets = [helper.make_opsetid("", 17)] + [helper.make_opsetid(domain, 1) for domain in domains]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def signs():
    """How two values are written before a convolution."""
    clipped = lambda g, low, high: g.op("Clip", "x", np.float32(low), np.float32(high))

    def estimator(g, sign, bounded):
        return g.op("Add", g.op("Sub", sign, bounded), bounded)

    def polynomial(g, x="x"):
        """What Bi-Real Net and ReActNet subtract and add again."""
        mask = lambda bound: g.op("Cast", g.op("Less", x, bound), to=TensorProto.FLOAT)
        choose = lambda m, a, b: g.op("Add", g.op("Mul", a, m), g.op("Mul", b, g.op("Sub", 1.0, m)))
        square, twice = g.op("Mul", x, x), g.op("Mul", x, 2.0)
        left = choose(mask(-1.0), -1.0, g.op("Add", square, twice))
        right = g.op("Add", g.op("Mul", g.op("Neg", x), x), twice)
        return choose(mask(1.0), choose(mask(0.0), left, right), 1.0)

    def fake(g):
        c = clipped(g, -0.7, 0.9)
        share = g.op("Round", g.op("Div", g.op("Sub", c, -0.7), np.float32(0.9) - np.float32(-0.7)))
        return g.op("Add", g.op("Mul", share, 1.5), -0.5)

    custom = lambda g: g.op("FakeQuantize", "x", -0.7, 0.9, -0.5, 1.0, domain="org.openvinotoolkit", levels=2)
    to_float = {"to": TensorProto.FLOAT}
    less = lambda g: g.op("Cast", g.op("Less", "x", 0.25), **to_float)
    return {
        "where": lambda g: g.sign("x"),
        "cast": less,
        "not": lambda g: g.op("Cast", g.op("Not", g.op("Less", "x", 0.25)), **to_float),
        "twice cast less one": lambda g: g.op("Sub", g.op("Mul", less(g), 2.0), 1.0),
        "sign": lambda g: g.op("Sign", "x"),
        "sign of relu": lambda g: g.op("Sign", g.op("Relu", "x")),
        "scaled": lambda g: g.op("Mul", g.sign("x"), 0.37),
        "estimator with clip": lambda g: estimator(g, g.sign("x"), clipped(g, -1, 1)),
        "estimator of sign with tanh": lambda g: estimator(g, g.op("Sign", "x"), g.op("Tanh", "x")),
        "estimator with polynomial": lambda g: estimator(g, g.sign("x"), polynomial(g)),
        "round of clip": lambda g: g.op("Round", clipped(g, 0, 1)),
        "fake quantiser": (custom, fake),
        "bipolar": (lambda g: g.op("BipolarQuant", "x", 0.5, domain="qonnx.custom_op.general"),
                    lambda g: g.op("Where", g.op("GreaterOrEqual", "x", 0.0), 0.5, -0.5)),
        "transposed": lambda g: g.op("Transpose", g.op("Transpose", g.sign("x"), perm=[0, 2, 3, 1]), perm=[0, 3, 1, 2]),
        "padded with one": lambda g: g.op("Pad", g.sign("x"), g.const(np.int64([0, 0, 1, 1, 0, 0, 1, 1])), 1.0),
        "joined": lambda g: g.op("Concat", *[g.op("Slice", g.sign("x"), g.const(np.int64([b])), g.const(np.int64([b + 16])),
                                                  g.const(np.int64([1]))) for b in (16, 0)], axis=1),
        "pooled": lambda g: g.op("MaxPool", g.sign("x"), kernel_shape=[2, 2]),
    }


QONNX = "qonnx.custom_op.general"


def quantisers():
    """Operators of QONNX beside the same in ONNX: (model, reference, whether a product behind them runs on bits)."""
    custom = lambda bits, **attributes: lambda g: g.op("Quant", "x", 0.75, 1.0, float(bits), domain=QONNX, **attributes)

    def of(low, high, rounding):
        """x / 0.75 + 1, clipped and rounded, back."""
        def write(g):
            clipped = g.op("Clip", g.op("Add", g.op("Div", "x", 0.75), 1.0), np.float32(low), np.float32(high))
            return g.op("Mul", g.op("Sub", rounding(g, clipped), 1.0), 0.75)
        return write

    even, down = lambda g, x: g.op("Round", x), lambda g, x: g.op("Mul", g.op("Sign", x), g.op("Floor", g.op("Abs", x)))
    up = lambda g, x: g.op("Mul", g.op("Sign", x), g.op("Ceil", g.op("Abs", x)))
    half_up = lambda g, x: g.op("Mul", g.op("Sign", x), g.op("Floor", g.op("Add", g.op("Abs", x), 0.5)))
    bit = lambda g, least, scale, low: g.op("Where", g.op("GreaterOrEqual", "x", np.float32(least)), low + scale, low)
    sums = lambda g: g.op("Add", g.op("Add", bit(g, -1, 1, 0), bit(g, 0, 1, 0)), bit(g, 0.5, 1, 0))
    return {
        "one signed bit": (custom(1, signed=1, narrow=0), lambda g: bit(g, -0.75, 1.5, -1.5), True),
        "one bit": (custom(1, signed=0, narrow=0), of(0, 1, even), True),
        "four bits": (custom(4, signed=1, narrow=0), of(-8, 7, even), False),
        "narrow": (custom(2, signed=1, narrow=1), of(-1, 1, even), False),
        "unsigned, narrow": (custom(2, signed=0, narrow=1), of(0, 2, even), False),
        "rounded down": (custom(4, signed=1, narrow=1, rounding_mode="DOWN"), of(-7, 7, down), False),
        "rounded up": (custom(4, signed=1, narrow=1, rounding_mode="UP"), of(-7, 7, up), False),
        "halves up": (custom(4, signed=1, narrow=1, rounding_mode="half_up"), of(-7, 7, half_up), False),
        "a threshold": (lambda g: g.op("MultiThreshold", "x", np.float32([[0.5]]), domain=QONNX, out_scale=2.0, out_bias=-1.0,
                                       out_dtype="BIPOLAR"), lambda g: bit(g, 0.5, 2, -1), True),
        "three thresholds": (lambda g: g.op("MultiThreshold", "x", np.float32([[-1, 0, 0.5]]), domain=QONNX), sums, False),
        "thresholds of channels": (
            lambda g: g.op("MultiThreshold", "x", np.float32(np.arange(32)[:, None] / 8 - 2), domain=QONNX),
            lambda g: g.op("Where", g.op("GreaterOrEqual", "x", np.float32(np.arange(32)[:, None, None] / 8 - 2)), 1.0, 0.0), True),
        "thresholds of channels behind another layer": (
            lambda g: g.op("MultiThreshold", g.op("Neg", "x"), np.float32(np.arange(32)[:, None] / 8 - 2), domain=QONNX),
            lambda g: g.op("Where", g.op("GreaterOrEqual", g.op("Neg", "x"), np.float32(np.arange(32)[:, None, None] / 8 - 2)), 1.0, 0.0), True),
    }


def agreement():
    """XnorPopcountMatMul beside what it counts."""
    bits = lambda g: g.op("Where", g.op("GreaterOrEqual", "x", 0.0), 1.0, 0.0)
    weights = np.float32(np.random.default_rng(3).random((100, 24)) < 0.5)
    twice = lambda g, a, b: g.op("Mul", g.op("Add", g.op("MatMul", a, b), 100.0), 0.5)
    return (lambda g: g.op("XnorPopcountMatMul", bits(g), g.const(weights), domain=QONNX),
            lambda g: twice(g, g.sign("x"), g.const(2 * weights - 1)))


def products():
    """Products of signs by their shape."""
    conv = lambda shape, **attributes: lambda g: g.op("Conv", g.sign("x"), g.const(pair(shape)), **attributes)
    per_output = [-0.3 - 0.1 * i for i in range(6)], [0.3 + 0.1 * i for i in range(6)]
    any_pair = [0.25] * 6, [7.0, 1.0, 2.0, 3.0, 4.0, -5.0]
    up = dict(strides=[2, 2], pads=[1, 1, 1, 1])
    return {
        "padded": (conv((6, 32, 3, 3), pads=[1, 1, 1, 1]), SHAPE),
        "strides": (conv((6, 32, 3, 3), strides=[2, 3], pads=[0, 1, 2, 1]), SHAPE),
        "dilations": (conv((6, 32, 3, 3), dilations=[3, 2], pads=[3, 2, 3, 2]), SHAPE),
        "groups": (conv((8, 16, 3, 3), group=2, pads=[1, 1, 1, 1]), SHAPE),
        "line": (conv((5, 70, 4), pads=[2, 1]), (2, 70, 11)),
        "volume": (conv((5, 17, 2, 2, 2), pads=[1, 0, 1, 0, 1, 0]), (1, 17, 4, 5, 3)),
        "a scale for each output": (lambda g: g.op("Conv", g.sign("x"), g.const(pair((6, 32, 3, 3), *per_output)),
                                                   pads=[1, 1, 1, 1]), SHAPE),
        "any pair for each output": (lambda g: g.op("Conv", g.sign("x"), g.const(pair((6, 32, 3, 3), *any_pair)),
                                                    pads=[1, 1, 1, 1]), SHAPE),
        "transposed": (lambda g: g.op("ConvTranspose", g.sign("x"), g.const(pair((32, 5, 4, 4))), **up), SHAPE),
        "transposed, groups": (lambda g: g.op("ConvTranspose", g.sign("x"), g.const(pair((32, 3, 3, 3))), group=2, **up,
                                              output_padding=[1, 1]), SHAPE),
        "matrix": (lambda g: g.op("MatMul", g.sign("x"), g.const(pair((100, 7)))), (5, 100)),
        "gemm": (lambda g: g.op("Gemm", g.sign("x"), g.const(pair((7, 100))), [0.5] * 7, transB=1), (5, 100)),
        "depthwise": (conv((32, 1, 3, 3), group=32, pads=[1, 1, 1, 1]), SHAPE, False),
        "almost two values": (lambda g: g.op("Conv", g.sign("x"),
                                             g.const(pair((6, 32, 3, 3)) + np.float32(1e-6) * np.eye(3, dtype=np.float32))),
                              SHAPE, False),
    }


def forms():
    for name, (*writers, on_bits) in quantisers().items():
        models, weights = [], pair((24, 32, 3, 3))
        for write in writers:
            g = Graph()
            models.append(g.model(g.op("Conv", write(g), g.const(weights))))
        yield "quantiser: " + name, *models, on_bits
    graphs = [Graph((5, 100)) for _ in range(2)]
    yield "xnor", *[g.model(write(g)) for g, write in zip(graphs, agreement())], True
    for name, write in signs().items():
        models = []
        for one in write if isinstance(write, tuple) else (write,):
            g = Graph()
            global RNG
            RNG = np.random.default_rng(12)
            models.append(g.model(g.op("Conv", one(g), g.const(pair((24, 32, 3, 3))), pads=[0, 0, 0, 0])))
        yield name, models[0], models[-1], True
    for name, (write, shape, *on_bits) in products().items():
        g = Graph(shape)
        model = g.model(write(g))
        yield "product: " + name, model, model, not on_bits
