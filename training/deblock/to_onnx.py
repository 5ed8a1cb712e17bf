#!/usr/bin/env python3
"""Writes the ONNX files from collapsed weights: to_onnx.py STATE/NAME.npz OUT.onnx

The file takes `luma` [1, 1, height, width] of 0..1, sides multiples of B, 2 or 4, and `level` [1, 1, height / B, width / B], in 51sts;
it gives `restored` of luma's shape, within 0..1. `scales` among the arrays makes an int8 file, as training/superres/export.py does.
"""

import math
import pathlib
import sys

import numpy as np
import onnx

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "superres"))
from export import Writer  # noqa: E402


def conv(writer, value, kernel, bias, index):
    return writer.node("Conv", [value, kernel, bias], f"conv{index}", kernel_shape=[3, 3], pads=[1, 1, 1, 1])


def float_residual(writer, arrays, steps):
    """(the planes of luma, what is added to them)."""
    value = writer.node("Concat", ["planes", "level"], "packed", axis=1)
    for i in range(steps):
        kernel, bias = writer.constant(f"w{i}", arrays[f"w{i}"]), writer.constant(f"b{i}", arrays[f"b{i}"])
        value = conv(writer, value, kernel, bias, i)
        if i < steps - 1:
            value = writer.node("Relu", [value], f"act{i}")
    return "planes", value


def dequantised(writer, name, data, scale, kind):
    inputs = [writer.constant(name, data), writer.constant(f"{name}_scale", scale)]
    inputs.append(writer.constant(f"{name}_zero", np.zeros(len(scale), kind)))
    return writer.node("DequantizeLinear", inputs, f"{name}_float", axis=0)


def int8_residual(writer, arrays, steps):
    planes, level = writer.bytes_of("planes", 1 / 255, 0, "source"), writer.bytes_of("level", 1 / 255, 0, "amount")
    value = writer.node("Concat", [planes, level], "packed", axis=1)
    value = writer.bytes_of(value, 1 / 255, 0, "input")
    input_scale = np.float32(1 / 255)
    for i in range(steps):
        kernel, bias = arrays[f"w{i}"].astype(np.float32), arrays[f"b{i}"].astype(np.float64)
        scale = np.maximum(np.abs(kernel).max(axis=(1, 2, 3)) / 127, 1e-8).astype(np.float32)
        data = np.clip(np.rint(kernel / scale[:, None, None, None]), -127, 127).astype(np.int8)
        bias_scale = (scale * input_scale).astype(np.float32)
        weights = dequantised(writer, f"w{i}", data, scale, np.int8)
        biases = dequantised(writer, f"b{i}", np.rint(bias / bias_scale).astype(np.int32), bias_scale, np.int32)
        value = conv(writer, value, weights, biases, i)
        last = i == steps - 1
        if not last:
            value = writer.node("Relu", [value], f"act{i}")
        input_scale = np.float32(arrays["scales"][i])
        value = writer.bytes_of(value, input_scale, 128 if last else 0, f"q{i}")
    return planes, value


def block_of(arrays):
    """Of restorer.py: the first layer takes a block's pixels and the level."""
    return math.isqrt(arrays["w0"].shape[1] - 1)


def build(arrays, name):
    steps = sum(1 for name in arrays if name.startswith("w"))
    block = block_of(arrays)
    writer = Writer()
    writer.node("SpaceToDepth", ["luma"], "planes", blocksize=block)
    exact = "scales" not in arrays
    planes, residual = (float_residual if exact else int8_residual)(writer, arrays, steps)
    value = writer.node("Add", [residual, planes], "sum")
    if exact:
        value = writer.node("DepthToSpace", [value], "large", blocksize=block, mode="CRD")
        limits = [writer.constant("zero", np.float32(0)), writer.constant("one", np.float32(1))]
        writer.node("Clip", [value, *limits], "restored")
    else:  # the bytes of 0..1 saturate, which is the clipping
        value = writer.bytes_of(value, 1 / 255, 0, "clipped")
        writer.node("DepthToSpace", [value], "restored", blocksize=block, mode="CRD")
    sources = [("luma", (1, 1, "height", "width")), ("level", (1, 1, "blocks_down", "blocks_across"))]
    return writer.model(name, sources, ("restored", (1, 1, "height", "width")))


def main():
    arrays = dict(np.load(sys.argv[1]))
    target = pathlib.Path(sys.argv[2])
    onnx.save(build(arrays, target.stem), target)
    weights = sum(array.size for name, array in arrays.items() if name[0] in "wb")
    macs = sum(array.size for name, array in arrays.items() if name[0] == "w")
    print(f"{target}: {weights} parameters, {macs // block_of(arrays) ** 2} multiply-adds for a pixel")


if __name__ == "__main__":
    main()
