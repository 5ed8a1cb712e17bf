#!/usr/bin/env python3
"""Writes the ONNX file from trained weights: to_onnx.py STATE/NAME.npz OUT.onnx

It takes `luma` [1, 1, height, width] and `chroma` [1, 2, height / 2, width / 2] of 0..1, both sides multiples of 4, and gives
`finds` [1, 5, height / 4, width / 4] as detector.py describes them.
"""

import pathlib
import sys

import numpy as np
import onnx

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "superres"))
from export import Writer  # noqa: E402


def conv(writer, value, arrays, index, output, dilation=1, stride=1):
    kernel, bias = (arrays[f"{kind}{index}"].astype(np.float32) for kind in "wb")
    inputs = [value, writer.constant(f"w{index}", kernel), writer.constant(f"b{index}", bias)]
    side = kernel.shape[2]
    return writer.node("Conv", inputs, output, kernel_shape=[side, side], pads=[dilation * (side // 2)] * 4, strides=[stride] * 2,
                       dilations=[dilation] * 2)  # fmt: skip


def build(arrays, name):
    writer = Writer()
    writer.node("SpaceToDepth", ["luma"], "phases", blocksize=2)
    value = writer.node("Concat", ["phases", "chroma"], "planes", axis=1)
    value = writer.node("Sub", [value, writer.constant("half", np.float32(0.5))], "centred")
    dilations = [1, 1, *(int(d) for d in arrays["dilations"])]
    for i, dilation in enumerate(dilations):
        value = conv(writer, value, arrays, i, f"conv{i}", dilation, 2 if i == 1 else 1)
        value = writer.node("Relu", [value], f"act{i}")
    conv(writer, value, arrays, len(dilations), "finds")
    sources = [("luma", (1, 1, "height", "width")), ("chroma", (1, 2, "half_height", "half_width"))]
    return writer.model(name, sources, ("finds", (1, 5, "quarter_height", "quarter_width")))


def main():
    arrays = dict(np.load(sys.argv[1]))
    target = pathlib.Path(sys.argv[2])
    onnx.save(build(arrays, target.stem), target)
    print(f"{target}: {sum(a.size for key, a in arrays.items() if key != 'dilations')} weights")


if __name__ == "__main__":
    main()
