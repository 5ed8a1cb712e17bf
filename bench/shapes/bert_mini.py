"""Writes BERT-mini (4 layers, 4 heads, 256 wide) for any length of text, with weights of noise: bench/shapes/bert_mini.py OUT.onnx"""

import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

LAYERS, HEADS, WIDTH, INNER, WORDS, LONGEST = 4, 4, 256, 1024, 1000, 512


class Builder:
    def __init__(self):
        self.nodes, self.weights = [], []
        self.random = numpy.random.default_rng(39)

    def constant(self, value):
        name = f"c{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(numpy.asarray(value), name))
        return name

    def noise(self, *shape):
        return self.constant(self.random.normal(0, 0.02, shape).astype(numpy.float32))

    def add(self, op, *inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def dense(self, x, rows, columns):
        return self.add("Add", self.add("MatMul", x, self.noise(rows, columns)), self.noise(columns))

    def norm(self, x):
        ones = self.constant(numpy.ones(WIDTH, numpy.float32))
        return self.add("LayerNormalization", x, ones, self.noise(WIDTH), axis=-1, epsilon=1e-12)

    def heads(self, x, perm):
        split = self.constant(numpy.array([0, 0, HEADS, WIDTH // HEADS]))
        return self.add("Transpose", self.add("Reshape", self.dense(x, WIDTH, WIDTH), split), perm=perm)

    def attention(self, x):
        q, k, v = (self.heads(x, perm) for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
        scale = self.constant(numpy.float32((WIDTH // HEADS) ** -0.5))
        weights = self.add("Softmax", self.add("Mul", self.add("MatMul", q, k), scale), axis=-1)
        joined = self.add("Transpose", self.add("MatMul", weights, v), perm=[0, 2, 1, 3])
        merged = self.add("Reshape", joined, self.constant(numpy.array([0, 0, WIDTH])))
        return self.dense(merged, WIDTH, WIDTH)

    def gelu(self, x):
        erf = self.add("Erf", self.add("Div", x, self.constant(numpy.float32(2**0.5))))
        half = self.add("Mul", x, self.constant(numpy.float32(0.5)))
        return self.add("Mul", half, self.add("Add", erf, self.constant(numpy.float32(1))))

    def model(self):
        length = self.add("Gather", self.add("Shape", "ids"), self.constant(numpy.array([1])))
        zero = self.constant(numpy.array([0]))
        places = self.add("Slice", self.noise(LONGEST, WIDTH), zero, length, zero)
        x = self.norm(self.add("Add", self.add("Gather", self.noise(WORDS, WIDTH), "ids"), places))
        for _ in range(LAYERS):
            x = self.norm(self.add("Add", x, self.attention(x)))
            inner = self.gelu(self.dense(x, WIDTH, INNER))
            x = self.norm(self.add("Add", x, self.dense(inner, INNER, WIDTH)))
        self.nodes[-1].output[0] = "y"
        ids = helper.make_tensor_value_info("ids", TensorProto.INT64, ["batch", "length"])
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", "length", WIDTH])
        graph = helper.make_graph(self.nodes, "bert_mini", [ids], [y], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


if __name__ == "__main__":
    onnx.save(Builder().model(), sys.argv[1])
