#!/usr/bin/env python3
"""Checks that PyTorch, ONNX Runtime and Fettle agree on exported files: agreement.py PICTURES [MODEL.onnx...]

PICTURES is a picture or a folder of them; without files, those of models/ are taken. Each runs on the halved luma of
every picture. A comparison passes where no element of an fp32 file differs by more than 1e-5, and no element of an int8
file by more than one step of the output (1/255) on 99.9 % of the elements. ONNX Runtime is what the others are compared
with. An engine that is not installed is a counted skip.
"""

import argparse
import pathlib
import sys

import luma

ROOT = pathlib.Path(__file__).resolve().parents[2]
FLOAT_BOUND = 1e-5
STEP = 1 / 255
STEP_SHARE = 0.999


def torch_network(path):
    """A function of the low resolution that computes the file's nodes with PyTorch."""
    import onnx
    import torch
    import torch.nn.functional as F
    from onnx import helper, numpy_helper

    def per_channel(scale, value, axis=1):
        return scale.view([-1 if i == axis else 1 for i in range(value.dim())]) if scale.dim() else scale

    def dequantize(value, scale, zero, axis=1):
        return (value.float() - per_channel(zero, value, axis).float()) * per_channel(scale, value, axis)

    def quantize(value, scale, zero):
        return ((value / scale).round() + zero.float()).clamp(0, 255).to(torch.uint8)

    operators = {
        "Conv": lambda x, w, b, kernel_shape, pads: F.conv2d(x, w, b, padding=pads[0]),
        "Relu": F.relu,
        "Add": torch.add,
        "DepthToSpace": lambda x, blocksize, mode: F.pixel_shuffle(x, blocksize),
        "Clip": lambda x, low, high: x.clamp(low.item(), high.item()),
        "QuantizeLinear": quantize,
        "DequantizeLinear": dequantize,
    }
    graph = onnx.load(str(path)).graph
    constants = {c.name: torch.from_numpy(numpy_helper.to_array(c).copy()) for c in graph.initializer}

    def run(low):
        values = dict(constants, luma=torch.from_numpy(low).float()[None, None])
        with torch.no_grad():
            for node in graph.node:
                attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
                inputs = [values[name] for name in node.input]
                values[node.output[0]] = operators[node.op_type](*inputs, **attributes)
        return values["enhanced"][0, 0].numpy()

    return run


def networks_of(path, fettle):
    """(the function of ONNX Runtime, the others by name, skips): an engine that is missing is left out."""
    from evaluate import Model

    model = Model(path)
    others, skips = {}, []
    if fettle.exists():
        others["Fettle"] = lambda low: model.run_fettle(str(fettle), low)
    else:
        skips.append(f"{fettle}: not built")
    try:
        others["PyTorch"] = torch_network(path)
    except ImportError as error:
        skips.append(str(error))
    return model.run, others, skips


class Difference:
    """Between two engines over all pictures."""

    def __init__(self):
        self.worst, self.apart, self.elements = 0.0, 0, 0

    def add(self, a, b):
        difference = abs(a - b)
        self.worst = max(self.worst, float(difference.max()))
        self.apart += int((difference > 1.01 * STEP).sum())
        self.elements += difference.size

    def ok(self, quantised):
        if quantised:
            return self.apart <= (1 - STEP_SHARE) * self.elements
        return self.worst <= FLOAT_BOUND


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pictures", type=pathlib.Path)
    parser.add_argument("models", nargs="*", type=pathlib.Path)
    parser.add_argument("--fettle", type=pathlib.Path, default=ROOT / "build/release/bin/fettle")
    args = parser.parse_args()
    pictures = sorted(args.pictures.glob("*.png")) if args.pictures.is_dir() else [args.pictures]
    lows = [luma.low_and_high(path)[1] for path in pictures]
    passed = failed = skipped = 0
    for path in args.models or sorted((ROOT / "models").glob("*.onnx")):
        try:
            expected, others, skips = networks_of(path, args.fettle)
        except ImportError as error:
            others, skips = {}, [str(error)]
        for reason in skips:
            print(f"{path.name}: skipped: {reason}")
        differences = {name: Difference() for name in others}
        for low in lows if others else []:
            reference = expected(low)
            for name, run in others.items():
                differences[name].add(run(low), reference)
        for name, difference in differences.items():
            ok = difference.ok("int8" in path.stem)
            print(f"{path.name}: {name} and ONNX Runtime differ by at most {difference.worst:.1e}, by more than a step "
                  f"of 1/255 in {difference.apart} of {difference.elements} elements: {'ok' if ok else 'FAILED'}")
            passed, failed = passed + ok, failed + (not ok)
        skipped += len(skips)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
