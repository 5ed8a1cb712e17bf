#!/usr/bin/env python3
"""A chain of tables as a network of ordinary operators: table_network.py TABLES.onnx [--axes 2|3] [--width 640] [--height 480]

Luma of 0..1 in and out. One table lifts dark pixels where it is dark around, one enlarges what a pixel differs from its 3x3 by. With
two axes they have (pixel, light around) and (difference, light around), as `fettle enhance` has them; with three one table has all, and
the chain two of those. The light is that of means of 64x64, interpolated; GridSample reads tables between their nearest knots.
Tables are inputs, as scenes have their own; this scene's are written beside the network, NAME.npy each. `fettle plan`, `tune`, `run` and
`bench` take the file like any other, on any device. Needs NumPy and ONNX.
"""

import argparse
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

KNOTS, CELL = 17, 64


def lift(pixel, mean, difference=0.0):
    """A power that brings the light around to 0.45, where it is below; differences follow."""
    power = np.clip(np.log(0.45) / np.log(np.clip(mean, 0.02, 0.99)), 0.3, 1)
    return np.clip(pixel**power + 0.5 * difference * (1 - power), 0, 1)


def enlarged(difference, mean):
    return 0.5 * np.sign(difference) * np.clip(np.abs(difference) - 0.01, 0, 0.05) * np.minimum(1, 4 * mean)


def sharpen(pixel, mean, difference):
    return np.clip(pixel + enlarged(difference, mean), 0, 1)


def table(formula, least):
    """Knots of the last axis first; each axis is from its `least` on, 1 long."""
    axes = np.meshgrid(*(np.linspace(0, 1, KNOTS) + low for low in reversed(least)), indexing="ij")
    return formula(*reversed(axes)).astype(np.float32)[None, None]


class Chain:
    def __init__(self, width, height, axes):
        self.nodes, self.constants, self.axes, self.tables = [], [], axes, {}
        self.constant("size", np.array([1, 1, height, width], np.int64))
        self.constant("grid", np.array([1, *[1] * (axes - 2), height, width, axes], np.int64))
        for name, value in (("half", 0.5), ("one", 1.0), ("two", 2.0)):
            self.constant(name, np.float32(value))

    def constant(self, name, value):
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(self, kind, *inputs, output=None, **attributes):
        output = output or f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def light(self, luma):
        cells = self.node("AveragePool", luma, kernel_shape=[CELL, CELL], strides=[CELL, CELL], ceil_mode=1)
        return self.node("Resize", cells, "", "", "size", mode="linear")

    def difference(self, luma):
        """Of 0..1, none is 0.5."""
        around = self.node("AveragePool", luma, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        return self.node("Add", self.node("Sub", luma, around), "half")

    def look_up(self, formula, least, *places, output=None):
        place = self.node("Concat", *places, axis=1)  # of 0..1
        place = self.node("Sub", self.node("Mul", place, "two"), "one")  # of -1..1
        grid = self.node("Reshape", self.node("Transpose", place, perm=[0, 2, 3, 1]), "grid")
        self.tables[formula.__name__] = table(formula, least)
        found = self.node("GridSample", formula.__name__, grid, mode="linear", padding_mode="border",
                          align_corners=1, output=output if self.axes == 2 else None)  # fmt: skip
        return found if self.axes == 2 else self.node("Reshape", found, "size", output=output)


def tables(width, height, axes):
    chain = Chain(width, height, axes)
    if axes == 2:
        light = chain.light("luma")
        lifted = chain.look_up(lift, (0, 0), "luma", light)
        detail = chain.look_up(enlarged, (-0.5, 0), chain.difference(lifted), chain.light(lifted))
        chain.node("Add", lifted, detail, output="result")
    else:
        lifted = chain.look_up(lift, (0, 0, -0.5), "luma", chain.light("luma"), chain.difference("luma"))
        chain.look_up(sharpen, (0, 0, -0.5), lifted, chain.light(lifted), chain.difference(lifted), output="result")
    return chain


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--axes", type=int, choices=(2, 3), default=2)
    parser.add_argument("--width", type=int, default=640)
    parser.add_argument("--height", type=int, default=480)
    args = parser.parse_args()
    chain = tables(args.width, args.height, args.axes)
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 1, args.height, args.width]) for name in ("luma", "result")]
    for name, values in chain.tables.items():
        np.save(args.output.with_name(f"{name}.npy"), values)
        ends.insert(1, helper.make_tensor_value_info(name, TensorProto.FLOAT, values.shape))
    graph = helper.make_graph(chain.nodes, "tables", ends[:-1], ends[-1:], chain.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, args.output)


if __name__ == "__main__":
    main()
