#!/usr/bin/env python3
"""Writes the ONNX file of a trained state: to_onnx.py STATE/best.pt OUT.onnx

The file takes `luma` [1, 1, height, width] and `chroma` [1, 2, height / 2, width / 2] of 0..1 (255), both sides multiples
of 16, and gives `masks` [1, 2, height, width]: the shares of person and head in each pixel. Batch norms are folded away.
"""

import pathlib
import sys

import numpy as np
import onnx
import torch

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "superres"))
from export import Writer  # noqa: E402
from matting import Matting, folded  # noqa: E402


class Graph(Writer):
    def conv(self, value, kernel, bias, name, stride=1):
        size = kernel.shape[-1]
        inputs = [value, self.constant(f"{name}.w", kernel), self.constant(f"{name}.b", bias)]
        pads = [size // 2] * 4
        return self.node("Conv", inputs, name, kernel_shape=[size, size], pads=pads, strides=[stride, stride])

    def block(self, value, layer, name):
        """A `Conv` of matting.py."""
        kernel, bias = (array.detach().numpy().astype(np.float32) for array in folded(layer[0], layer[1]))
        value = self.conv(value, kernel, bias, name, layer[0].stride[0])
        return self.node("Relu", [value], f"{name}.relu") if len(layer) > 2 else value

    def residual(self, value, layer, name):
        more = self.block(self.block(value, layer.first, f"{name}.first"), layer.second, f"{name}.second")
        return self.node("Relu", [self.node("Add", [value, more], f"{name}.sum")], f"{name}.relu")

    def twice(self, value, name):
        inputs = [value, "", self.constant("twice", np.array([1, 1, 2, 2], np.float32))]
        how = dict(mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
        return self.node("Resize", inputs, name, **how)


def build(net, name):
    graph = Graph()
    planes = graph.node("SpaceToDepth", ["luma"], "planes", blocksize=2)
    half = graph.block(graph.node("Concat", [planes, "chroma"], "input", axis=1), net.stem, "stem")
    skips, value = [half], half
    for part, label in ((net.down4, "down4"), (net.down8, "down8"), (net.down16, "down16")):
        for i, layer in enumerate(part):
            add = graph.block if isinstance(layer, torch.nn.Sequential) else graph.residual
            value = add(value, layer, f"{label}.{i}")
        skips.append(value)
    for label, skip in (("8", skips[2]), ("4", skips[1]), ("2", skips[0])):
        up = graph.block(value, getattr(net, f"up{label}"), f"up{label}")
        value = graph.node("Add", [skip, graph.twice(up, f"twice{label}")], f"sum{label}")
        value = graph.node("Relu", [value], f"sum{label}.relu")
        value = graph.block(value, getattr(net, f"join{label}"), f"join{label}")
    kernel, bias = (array.detach().numpy() for array in (net.head.weight, net.head.bias))
    value = graph.conv(value, kernel, bias, "head")
    value = graph.node("DepthToSpace", [value], "logits", blocksize=2, mode="CRD")
    graph.node("Sigmoid", [value], "masks")

    sources = [("luma", (1, 1, "height", "width")), ("chroma", (1, 2, "half_height", "half_width"))]
    return graph.model(name, sources, ("masks", (1, 2, "height", "width")))


def main():
    target = pathlib.Path(sys.argv[2])
    net = Matting()
    net.load_state_dict(torch.load(sys.argv[1], map_location="cpu"))
    model = build(net.eval(), target.stem)
    onnx.save(model, target)
    print(f"{target}: {sum(np.prod(c.dims) for c in model.graph.initializer)} parameters, {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
