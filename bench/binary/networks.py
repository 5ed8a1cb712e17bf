#!/usr/bin/env python3
"""Writes residual binary networks with seeded weights as canonical ONNX, and the same with Relu and floats in their place.

    networks.py OUT [--side 224] [NAME...]     OUT/NAME.onnx and OUT/NAME_fp32.onnx

Latency does not depend on what the weights are. Signs are Where(x >= 0, 1, -1), weights of binary convolutions are -1 and 1.
bireal18: Bi-Real Net 18 (Liu et al. 2018); bireal18_stem: behind the stem of PeleeNet (Wang et al. 2018) in place of its 7x7
convolution, as daBNN has it; quicknet, quicknet_small, quicknet_large: QuickNet of Larq's zoo (Bannink et al. 2021), padded with
ones; reactnet_a: ReActNet-A (Liu et al. 2020), shifted signs and PReLU.
"""

import argparse
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
CLASSES = 1000


class Writer:
    """A network under construction; each method appends nodes behind a value and returns the result's name."""

    def __init__(self, is_binary):
        self.is_binary = is_binary
        self.rng = np.random.default_rng(1)
        self.nodes, self.constants, self.channels = [], [], {}

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, kind, inputs, channels, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        self.channels[name] = channels
        return name

    def conv(self, x, outputs, kernel=3, stride=1, groups=1, pads=None):
        inputs = self.channels[x]
        pads = (kernel - 1) // 2 if pads is None else pads
        w = self.rng.standard_normal((outputs, inputs // groups, kernel, kernel)) * (2 / (kernel**2 * inputs // groups)) ** 0.5
        return self.node("Conv", [x, self.constant(w.astype(np.float32))], outputs, kernel_shape=[kernel] * 2,
                         strides=[stride] * 2, pads=[pads] * 4, group=groups)

    def norm(self, x, variance=1):
        c = self.channels[x]
        uniform = lambda low, high: self.constant(self.rng.uniform(low, high, c).astype(np.float32))
        return self.node("BatchNormalization", [x, uniform(0.5, 1.5), uniform(-0.3, 0.3), uniform(-0.3, 0.3),
                                                uniform(0.5 * variance, 1.5 * variance)], c)

    def relu(self, x):
        return self.node("Relu", [x], self.channels[x])

    def add(self, x, y):
        return self.node("Add", [x, y], self.channels[x])

    def shift(self, x):
        c = self.channels[x]
        return self.node("Add", [x, self.constant(self.rng.uniform(-0.3, 0.3, (c, 1, 1)).astype(np.float32))], c)

    def prelu(self, x):
        c = self.channels[x]
        slopes = self.constant(self.rng.uniform(0.1, 0.4, (c, 1, 1)).astype(np.float32))
        return self.shift(self.node("PRelu", [self.shift(x), slopes], c))

    def average(self, x):
        return self.node("AveragePool", [x], self.channels[x], kernel_shape=[2, 2], strides=[2, 2])

    def sign(self, x):
        if not self.is_binary:
            return self.relu(x)
        zero, one, minus = (self.constant(np.float32(v)) for v in (0, 1, -1))
        c = self.channels[x]
        return self.node("Where", [self.node("GreaterOrEqual", [x, zero], c), one, minus], c)

    def binary(self, x, outputs, kernel=3, stride=1, fill=0):
        """A convolution of signs, whose sums have a variance of as many as they are. fill: what padding is."""
        if not self.is_binary:
            return self.norm(self.conv(x, outputs, kernel, stride))
        inputs, pads = self.channels[x], (kernel - 1) // 2
        if fill and pads:
            edges = self.constant(np.array([0, 0, pads, pads] * 2, np.int64))
            x, pads = self.node("Pad", [x, edges, self.constant(np.float32(fill))], inputs), 0
        w = np.where(self.rng.random((outputs, inputs, kernel, kernel)) < 0.5, np.float32(-1), np.float32(1))
        y = self.node("Conv", [x, self.constant(w)], outputs, kernel_shape=[kernel] * 2, strides=[stride] * 2,
                      pads=[pads] * 4)
        return self.norm(y, kernel**2 * inputs)

    def head(self, x):
        c = self.channels[x]
        flat = self.node("Flatten", [self.node("GlobalAveragePool", [x], c)], c)
        w = self.rng.standard_normal((CLASSES, c)).astype(np.float32) / np.float32(c**0.5)
        return self.node("Gemm", [flat, self.constant(w), self.constant(np.zeros(CLASSES, np.float32))], CLASSES, transB=1)


def bireal_stages(w, x):
    for stage, width in enumerate((64, 128, 256, 512)):
        for i in range(4):
            halves = stage > 0 and i == 0
            shortcut = w.norm(w.conv(w.average(x), width, 1)) if halves else x
            x = w.add(w.binary(w.sign(x), width, stride=2 if halves else 1), shortcut)
    return w.head(x)


def bireal18(w, x):
    x = w.relu(w.norm(w.conv(x, 64, 7, 2)))
    return bireal_stages(w, w.node("MaxPool", [x], 64, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4))


def bireal18_stem(w, x):
    part = lambda x, *shape: w.relu(w.norm(w.conv(x, *shape)))
    x = part(x, 32, 3, 2)
    pooled = w.node("MaxPool", [x], 32, kernel_shape=[2, 2], strides=[2, 2])
    x = w.node("Concat", [part(part(x, 16, 1), 32, 3, 2), pooled], 64, axis=1)
    return bireal_stages(w, part(x, 64, 1))


def quicknet(w, x, widths=(64, 128, 256, 512), blocks=(4, 4, 4, 4)):
    first = widths[0] // 4
    x = w.relu(w.norm(w.conv(x, first, 3, 2)))
    x = w.norm(w.conv(w.conv(x, first, 3, 2, groups=first), widths[0], 1))
    for before, width, count in zip((None,) + widths, widths, blocks):
        if before:
            x = w.node("MaxPool", [w.relu(x)], before, kernel_shape=[3, 3], strides=[1, 1], pads=[1] * 4)
            x = w.norm(w.conv(w.conv(x, before, 3, 2, groups=before), width, 1))
        for _ in range(count):
            x = w.add(w.binary(w.sign(x), width, fill=1), x)
    return w.head(w.relu(x))


def quicknet_small(w, x):
    return quicknet(w, x, widths=(32, 64, 256, 512))


def quicknet_large(w, x):
    return quicknet(w, x, blocks=(6, 8, 12, 6))


def reactnet_a(w, x):
    x = w.norm(w.conv(x, 32, 3, 2))
    plan = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)] + [(512, 1)] * 5 + [(1024, 2), (1024, 1)]
    for width, stride in plan:
        shortcut = w.average(x) if stride == 2 else x
        x = w.prelu(w.add(w.binary(w.sign(w.shift(x)), w.channels[x], stride=stride), shortcut))
        signs = w.sign(w.shift(x))
        halves = [w.add(w.binary(signs, w.channels[x], 1), x) for _ in range(width // w.channels[x])]
        x = w.prelu(halves[0] if len(halves) == 1 else w.node("Concat", halves, width, axis=1))
    return w.head(x)


NETWORKS = {network.__name__: network for network in
            (bireal18, bireal18_stem, quicknet_small, quicknet, quicknet_large, reactnet_a)}


def model_of(network, name, is_binary, source_shape, result_shape):
    """network(writer, input) appends nodes and returns the output's name."""
    writer = Writer(is_binary)
    writer.channels["image"] = source_shape[1]
    writer.nodes.append(helper.make_node("Identity", [network(writer, "image")], ["scores"], name="scores"))
    source = helper.make_tensor_value_info("image", TensorProto.FLOAT, source_shape)
    result = helper.make_tensor_value_info("scores", TensorProto.FLOAT, result_shape)
    graph = helper.make_graph(writer.nodes, name, [source], [result], writer.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    onnx.checker.check_model(model)
    return model


def build(name, is_binary, side):
    return model_of(NETWORKS[name], name, is_binary, [1, 3, side, side], [1, CLASSES])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("names", nargs="*", default=list(NETWORKS))
    parser.add_argument("--side", type=int, default=224)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.names:
        onnx.save(build(name, True, arguments.side), arguments.out / f"{name}.onnx")
        onnx.save(build(name, False, arguments.side), arguments.out / f"{name}_fp32.onnx")


if __name__ == "__main__":
    main()
