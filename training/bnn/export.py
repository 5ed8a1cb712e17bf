#!/usr/bin/env python3
"""Writes the ONNX files of what train.py left: export.py STATE OUT    OUT/digits_bnn.onnx and OUT/digits_fp32.onnx

The binary network in the form that Fettle recognises: the forward pass alone, torch.where(x >= 0, 1, -1) for signs, weights
of -1 and 1, batch normalisation as a scale and a shift behind the sum. Nothing of the straight-through estimator is left.
What else it computes before its last sign is exact (exact.py).
"""

import argparse
import io
import pathlib

import onnx
import torch
from torch import nn
from torch.nn import functional

import exact
import net
import pack_signs
import pictures

OPSET = 17
CALIBRATION_SEED, CALIBRATION_PICTURES = 2, 512


class Forward(nn.Module):
    """A binary Block without gradients."""

    def __init__(self, block):
        super().__init__()
        norm, self.stride, self.shortcut = block.norm, block.stride, block.shortcut
        scale = norm.weight / torch.sqrt(norm.running_var + norm.eps)
        self.register_buffer("weight", torch.where(block.conv.weight >= 0, 1.0, -1.0))
        self.register_buffer("scale", scale.reshape(-1, 1, 1))
        self.register_buffer("shift", (norm.bias - norm.running_mean * scale).reshape(-1, 1, 1))

    def forward(self, x):
        sums = functional.conv2d(torch.where(x >= 0, 1.0, -1.0), self.weight, None, self.stride, 1)
        return self.shortcut(x) + (sums * self.scale + self.shift)


def load(state, bits):
    model = net.Net(bits)
    model.load_state_dict(torch.load(state))
    return model.eval()


def forward_form(model):
    for i, block in enumerate(model.blocks):
        model.blocks[i] = Forward(block)
    return model.requires_grad_(False)


def to_onnx(model):
    file = io.BytesIO()
    x = torch.zeros(2, 1, pictures.SIDE, pictures.SIDE)
    torch.onnx.export(model, (x,), file, dynamo=False, opset_version=OPSET, input_names=["pictures"],
                      output_names=["scores"], dynamic_axes={"pictures": {0: "count"}, "scores": {0: "count"}})
    exported = onnx.load_from_string(file.getvalue())
    exported.producer_name = "fettle"
    return exported


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("state", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    arguments = parser.parse_args()
    binary = to_onnx(forward_form(load(arguments.state / "binary.pt", "xw")))
    calibration, _ = pictures.draw(CALIBRATION_SEED, CALIBRATION_PICTURES)
    print(f"sums of at most {exact.make_exact(binary, pictures.as_input(calibration))} bits")
    print(f"{pack_signs.pack(binary)} weights are bits")
    onnx.save(binary, arguments.out / "digits_bnn.onnx")
    onnx.save(to_onnx(load(arguments.state / "teacher.pt", "").requires_grad_(False)), arguments.out / "digits_fp32.onnx")


if __name__ == "__main__":
    main()
