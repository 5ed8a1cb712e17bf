#!/usr/bin/env python3
"""Writes the ONNX files from collapsed weights: export.py STATE/NAME.npz OUT.onnx

Arrays w0, b0, w1, ... are the chain; s0, ... slopes of PReLU where the chain has them; `scales`, where present,
makes an int8 file with QuantizeLinear and DequantizeLinear around every step (unsigned bytes for activations,
signed bytes for each output channel of the kernels). The file takes luma [1, 1, height, width] of 0..1 and gives
[1, 1, 2*height, 2*width] of 0..1.
"""

import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17


class Writer:
    def __init__(self):
        self.nodes, self.constants, self.names = [], [], set()

    def constant(self, name, array):
        if name not in self.names:
            self.names.add(name)
            self.constants.append(numpy_helper.from_array(np.array(array), name))
        return name

    def node(self, kind, inputs, output, **attributes):
        self.nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output

    def bytes_of(self, value, scale, zero, name):
        """value -> its bytes -> the float they stand for."""
        parameters = [self.constant(f"{name}_scale", np.float32(scale)), self.constant(f"{name}_zero", np.uint8(zero))]
        data = self.node("QuantizeLinear", [value, *parameters], f"{name}_bytes")
        return self.node("DequantizeLinear", [data, *parameters], f"{name}_float")

    def model(self, name, sources, result):
        """The checked file of all nodes: `sources` and `result` are (name, extents) of float tensors."""
        sources, results = ([helper.make_tensor_value_info(value, TensorProto.FLOAT, list(extents)) for value, extents in values]
                            for values in (sources, [result]))  # fmt: skip
        graph = helper.make_graph(self.nodes, name, sources, results, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
        model.producer_name = "fettle"
        onnx.checker.check_model(model, full_check=True)
        return model


def float_chain(writer, arrays, steps):
    value = "luma"
    for i in range(steps):
        inputs = [value, writer.constant(f"w{i}", arrays[f"w{i}"]), writer.constant(f"b{i}", arrays[f"b{i}"])]
        value = writer.node("Conv", inputs, f"conv{i}", kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        if i < steps - 1 and f"s{i}" in arrays:
            value = writer.node("PRelu", [value, writer.constant(f"s{i}", arrays[f"s{i}"])], f"act{i}")
        elif i < steps - 1:
            value = writer.node("Relu", [value], f"act{i}")
    value = writer.node("Add", [value, "luma"], "sum")
    value = writer.node("DepthToSpace", [value], "large", blocksize=2, mode="CRD")
    low, high = writer.constant("zero", np.float32(0)), writer.constant("one", np.float32(1))
    writer.node("Clip", [value, low, high], "enhanced")


def int8_chain(writer, arrays, steps):
    scales = arrays["scales"].astype(np.float32)
    luma = value = writer.bytes_of("luma", 1 / 255, 0, "input")
    input_scale = np.float32(1 / 255)
    for i in range(steps):
        kernel, bias = arrays[f"w{i}"].astype(np.float32), arrays[f"b{i}"].astype(np.float32)
        scale = np.maximum(np.abs(kernel).max(axis=(1, 2, 3)) / 127, 1e-8).astype(np.float32)
        data = np.clip(np.rint(kernel / scale[:, None, None, None]), -127, 127).astype(np.int8)
        bias_scale = (scale * input_scale).astype(np.float32)
        bias_data = np.rint(bias.astype(np.float64) / bias_scale).astype(np.int32)
        zeros = writer.constant(f"w{i}_zero", np.zeros(len(scale), np.int8))
        inputs = [writer.constant(f"w{i}", data), writer.constant(f"w{i}_scale", scale), zeros]
        weights = writer.node("DequantizeLinear", inputs, f"w{i}_float", axis=0)
        zeros = writer.constant(f"b{i}_zero", np.zeros(len(scale), np.int32))
        inputs = [writer.constant(f"b{i}", bias_data), writer.constant(f"b{i}_scale", bias_scale), zeros]
        biases = writer.node("DequantizeLinear", inputs, f"b{i}_float", axis=0)
        value = writer.node("Conv", [value, weights, biases], f"conv{i}", kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        if i < steps - 1:
            value = writer.node("Relu", [value], f"act{i}")
        input_scale = scales[i]
        value = writer.bytes_of(value, input_scale, 0 if i < steps - 1 else 128, f"q{i}")
    value = writer.node("Add", [value, luma], "sum")
    # The bytes of 0..1 saturate, which is the clipping of the output.
    value = writer.bytes_of(value, 1 / 255, 0, "clipped")
    writer.node("DepthToSpace", [value], "enhanced", blocksize=2, mode="CRD")


def build(arrays, name=""):
    """`name` of blocks.VARIANTS, or else a chain."""
    steps = sum(1 for name in arrays if name.startswith("w"))
    writer = Writer()
    if "w0" in arrays:
        (int8_chain if "scales" in arrays else float_chain)(writer, arrays, steps)
    else:
        import blocks

        blocks.write(writer, name, arrays)
    return writer.model("super_resolution_x2", [("luma", (1, 1, "height", "width"))],
                        ("enhanced", (1, 1, "height_x2", "width_x2")))  # fmt: skip


def main():
    arrays = dict(np.load(sys.argv[1]))
    name = pathlib.Path(sys.argv[1]).stem
    onnx.save(build(arrays, name), sys.argv[2])
    if "w0" in arrays:
        macs = sum(array.size for name, array in arrays.items() if name.startswith("w"))
    else:
        import blocks

        macs = blocks.multiply_adds(name)
    print(f"{sys.argv[2]}: {macs} multiply-adds for an input pixel")


if __name__ == "__main__":
    main()
