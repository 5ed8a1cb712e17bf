#!/usr/bin/env python3
"""Writes the ONNX file from trained weights: to_onnx.py NAME.npz|NAME.onnx ... OUT.onnx

Of several networks it writes one, whose branches share the last convolution: its planes are the means of theirs.

It takes `luma` [1, 1, height, width] and `chroma` [1, 2, height / 2, width / 2] of 0..1, both sides multiples of 4, and gives
`finds` [1, 5, height / 4, width / 4] as detector.py describes them.
"""

import pathlib
import sys

import numpy as np
import onnx

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "superres"))
from export import Writer  # noqa: E402


def conv(writer, value, arrays, index, output, dilation=1, stride=1, name=""):
    kernel, bias = (arrays[f"{kind}{index}"].astype(np.float32) for kind in "wb")
    inputs = [value, writer.constant(f"{name}w{index}", kernel), writer.constant(f"{name}b{index}", bias)]
    side = kernel.shape[2]
    return writer.node("Conv", inputs, output, kernel_shape=[side, side], pads=[dilation * (side // 2)] * 4, strides=[stride] * 2,
                       dilations=[dilation] * 2)  # fmt: skip


def branch(writer, value, arrays, name):
    """A network but for its last convolution."""
    dilations = [1, 1, *(int(d) for d in arrays["dilations"])]
    for i, dilation in enumerate(dilations):
        value = conv(writer, value, arrays, i, f"{name}conv{i}", dilation, 2 if i == 1 else 1, name)
        value = writer.node("Relu", [value], f"{name}act{i}")
    return value


def build(networks, name):
    writer = Writer()
    writer.node("SpaceToDepth", ["luma"], "phases", blocksize=2)
    value = writer.node("Concat", ["phases", "chroma"], "planes", axis=1)
    value = writer.node("Sub", [value, writer.constant("half", np.float32(0.5))], "centred")
    names = [""] if len(networks) == 1 else [chr(ord("a") + i) for i in range(len(networks))]
    features = [branch(writer, value, arrays, name) for arrays, name in zip(networks, names)]
    if len(features) > 1:
        features = [writer.node("Concat", features, "features", axis=1)]
    lasts = [(arrays[f"w{len(arrays['dilations']) + 2}"], arrays[f"b{len(arrays['dilations']) + 2}"]) for arrays in networks]
    head = {"w": np.concatenate([w for w, _ in lasts], 1) / len(lasts), "b": np.mean([b for _, b in lasts], 0)}
    conv(writer, features[0], head, "", "finds")
    sources = [("luma", (1, 1, "height", "width")), ("chroma", (1, 2, "half_height", "half_width"))]
    return writer.model(name, sources, ("finds", (1, 5, "quarter_height", "quarter_width")))


def read(name):
    """Arrays as detector.py's `plain` gives them, also of a file of one network that was written here."""
    if not name.endswith(".onnx"):
        return dict(np.load(name))
    graph = onnx.load(name).graph
    values = {one.name: onnx.numpy_helper.to_array(one) for one in graph.initializer}
    convs = [node for node in graph.node if node.op_type == "Conv"]
    arrays = {f"{kind}{i}": values[node.input[place]] for i, node in enumerate(convs) for place, kind in ((1, "w"), (2, "b"))}
    dilations = [list(attribute.ints)[0] for node in convs[2:-1] for attribute in node.attribute if attribute.name == "dilations"]
    return arrays | {"dilations": np.array(dilations)}


def main():
    networks, target = [read(name) for name in sys.argv[1:-1]], pathlib.Path(sys.argv[-1])
    onnx.save(build(networks, target.stem), target)
    print(f"{target}: {sum(a.size for arrays in networks for key, a in arrays.items() if key != 'dilations')} weights")


if __name__ == "__main__":
    main()
