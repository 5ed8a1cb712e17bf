"""Makes a small BERT with random weights, as PyTorch's exporter writes one, for check_contrib.py."""

import numpy
from onnx import TensorProto, helper, numpy_helper

HIDDEN, HEADS, LAYERS, VOCABULARY, POSITIONS = 32, 4, 2, 50, 24


class Graph:
    def __init__(self, seed):
        self.random = numpy.random.default_rng(seed)
        self.nodes, self.initializers, self.count = [], [], 0

    def add(self, op, *inputs, outputs=1, domain="", **attributes):
        names = [f"{op}_{self.count}_{i}" for i in range(outputs)]
        self.count += 1
        self.nodes.append(helper.make_node(op, list(inputs), names, domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, value):
        name = f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(numpy.asarray(value), name))
        return name

    def weights(self, *shape, scale=0.2):
        return self.constant((self.random.standard_normal(shape) * scale).astype(numpy.float32))

    def scalar(self, value):
        return self.constant(numpy.float32(value))

    def layer_norm(self, x):
        mean = self.add("ReduceMean", x, axes=[-1])
        centred = self.add("Sub", x, mean)
        variance = self.add("ReduceMean", self.add("Pow", centred, self.scalar(2)), axes=[-1])
        deviation = self.add("Sqrt", self.add("Add", variance, self.scalar(1e-12)))
        normal = self.add("Div", centred, deviation)
        scaled = self.add("Mul", normal, self.constant(self.random.uniform(0.5, 1.5, HIDDEN).astype(numpy.float32)))
        return self.add("Add", scaled, self.weights(HIDDEN))

    def linear(self, x, rows, columns):
        return self.add("Add", self.add("MatMul", x, self.weights(rows, columns)), self.weights(columns))

    def heads(self, x, perm):
        shape = self.constant(numpy.array([0, 0, HEADS, HIDDEN // HEADS], numpy.int64))
        return self.add("Transpose", self.add("Reshape", x, shape), perm=perm)

    def attention(self, x, mask):
        q = self.heads(self.linear(x, HIDDEN, HIDDEN), [0, 2, 1, 3])
        k = self.heads(self.linear(x, HIDDEN, HIDDEN), [0, 2, 3, 1])
        v = self.heads(self.linear(x, HIDDEN, HIDDEN), [0, 2, 1, 3])
        scores = self.add("Div", self.add("MatMul", q, k), self.scalar((HIDDEN // HEADS) ** 0.5))
        weights = self.add("Softmax", self.add("Add", scores, mask), axis=-1)
        context = self.add("Transpose", self.add("MatMul", weights, v), perm=[0, 2, 1, 3])
        joined = self.add("Reshape", context, self.constant(numpy.array([0, 0, HIDDEN], numpy.int64)))
        return self.linear(joined, HIDDEN, HIDDEN)

    def gelu(self, x):
        erf = self.add("Erf", self.add("Div", x, self.scalar(2**0.5)))
        return self.add("Mul", self.add("Mul", x, self.add("Add", erf, self.scalar(1))), self.scalar(0.5))


def bert(seed):
    g = Graph(seed)
    words = g.add("Gather", g.weights(VOCABULARY, HIDDEN, scale=1), "input_ids")
    types = g.add("Gather", g.weights(2, HIDDEN, scale=1), "token_type_ids")
    length = g.add("Gather", g.add("Shape", "input_ids"), g.constant(numpy.array(1, numpy.int64)))
    end = g.add("Unsqueeze", length, g.constant(numpy.array([0], numpy.int64)))
    zero = g.constant(numpy.array([0], numpy.int64))
    all_positions = g.constant(numpy.arange(POSITIONS, dtype=numpy.int64).reshape(1, POSITIONS))
    one = g.constant(numpy.array([1], numpy.int64))
    ids = g.add("Slice", all_positions, zero, end, one, one)
    positions = g.add("Gather", g.weights(POSITIONS, HIDDEN, scale=1), ids)
    x = g.layer_norm(g.add("Add", g.add("Add", words, types), positions))
    mask = g.add("Unsqueeze", "attention_mask", g.constant(numpy.array([1], numpy.int64)))
    mask = g.add("Unsqueeze", mask, g.constant(numpy.array([2], numpy.int64)))
    mask = g.add("Cast", mask, to=TensorProto.FLOAT)
    mask = g.add("Mul", g.add("Sub", g.scalar(1), mask), g.scalar(-10000))
    for _ in range(LAYERS):
        x = g.layer_norm(g.add("Add", g.attention(x, mask), x))
        inner = g.gelu(g.linear(x, HIDDEN, 4 * HIDDEN))
        x = g.layer_norm(g.add("Add", g.linear(inner, 4 * HIDDEN, HIDDEN), x))
    g.nodes.append(helper.make_node("Identity", [x], ["hidden"]))
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"])
              for name in ("input_ids", "token_type_ids", "attention_mask")]
    outputs = [helper.make_tensor_value_info("hidden", TensorProto.FLOAT, ["batch", "length", HIDDEN])]
    graph = helper.make_graph(g.nodes, "bert", inputs, outputs, g.initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
