#!/usr/bin/env python3
"""Takes channels out of a chain: trim.py SOURCE OUT.npz --widths 8,16,... | --advice ADVICE.json [--number N] [--data DATA]

SOURCE is a plain ReLU chain, NAME.npz of train.py or an exported ONNX file of floats. The hidden layers get the given
widths, or those of a trim that `fettle advise SOURCE.onnx --json` measured. Which channels go: with --data those without which the loss
on DATA/train rises least, found one by one; without it those of least weight, as advise ranks them. What stays
keeps its weights: variants.py --start fine-tunes it, and export.py writes the file.
"""

import argparse
import json
import pathlib
import sys

import numpy as np


def chain_of(path):
    """w0, b0, w1, ... of a chain, from either kind of file."""
    if path.suffix == ".npz":
        return dict(np.load(path))
    import onnx
    from onnx import numpy_helper

    arrays = {c.name: numpy_helper.to_array(c) for c in onnx.load(str(path)).graph.initializer}
    chain = {name: array for name, array in arrays.items() if name[0] in "wb" and name[1:].isdigit()}
    if not chain or any(array.dtype != np.float32 for array in chain.values()):
        sys.exit(f"{path}: not a chain of floats that export.py wrote")
    return chain


def hidden(arrays):
    return sum(name.startswith("w") for name in arrays) - 1


def weight_scores(arrays):
    """What each channel of each hidden layer carries by its weights: the norm of its kernel and bias times the norm of what
    the next layer reads it by."""
    scores = []
    for index in range(hidden(arrays)):
        own = np.square(arrays[f"w{index}"]).sum(axis=(1, 2, 3)) + np.square(arrays[f"b{index}"])
        readers = np.square(arrays[f"w{index + 1}"]).sum(axis=(0, 2, 3))
        scores.append(np.sqrt(own * readers))
    return scores


def keep_by_weight(arrays, widths):
    return [np.sort(np.argsort(-score, kind="stable")[:width]) for score, width in zip(weight_scores(arrays), widths)]


def keep_by_loss(arrays, widths, low, target):
    """Drops, one after the other, the channel whose loss hurts least among the layers that are still too wide."""
    import torch
    import torch.nn.functional as F

    kernels, biases = ([torch.tensor(arrays[f"{part}{i}"], device=low.device) for i in range(hidden(arrays) + 1)]
                       for part in "wb")  # fmt: skip
    kept = [list(range(len(arrays[f"b{index}"]))) for index in range(hidden(arrays))]
    values = [low]  # before each layer, as it is now

    def loss_from(layer, value):
        for index in range(layer, len(kernels)):
            value = F.conv2d(value, kernels[index], biases[index], padding=1)
            if index < len(kernels) - 1:
                value = F.relu(value)
        out = F.pixel_shuffle(value + low, 2)
        return float((out - target).square().mean(dim=(1, 2, 3)).add(1e-6).sqrt().mean())

    with torch.no_grad():
        while any(len(channels) > width for channels, width in zip(kept, widths)):
            del values[1:]
            for kernel, bias in zip(kernels[:-1], biases):
                values.append(F.relu(F.conv2d(values[-1], kernel, bias, padding=1)))
            best = None
            for layer, channels in enumerate(kept):
                for channel in channels if len(channels) > widths[layer] else []:
                    column = kernels[layer + 1][:, channel].clone()
                    kernels[layer + 1][:, channel] = 0
                    loss = loss_from(layer + 1, values[layer + 1])
                    kernels[layer + 1][:, channel] = column
                    if best is None or loss < best[0]:
                        best = loss, layer, channel
            loss, layer, channel = best
            kernels[layer + 1][:, channel] = 0
            kept[layer].remove(channel)
            print(f"layer {layer} without channel {channel}: loss {loss:.5f}", flush=True)
    return [np.array(channels) for channels in kept]


def cut(arrays, kept):
    """The chain of the kept channels alone."""
    result, inputs = {}, np.array([0])
    for index in range(len(kept) + 1):
        kernel, bias = arrays[f"w{index}"], arrays[f"b{index}"]
        outputs = kept[index] if index < len(kept) else np.arange(len(bias))
        result[f"w{index}"] = np.ascontiguousarray(kernel[outputs][:, inputs])
        result[f"b{index}"] = bias[outputs].copy()
        inputs = outputs
    return result


def widths_of_advice(path, arrays, number):
    """Those of the trim with that number, from 1, as `fettle advise` lists them."""
    widths = [len(arrays[f"b{index}"]) for index in range(hidden(arrays))]
    trim = json.loads(path.read_text())["trims"][number - 1]
    print(f"{trim['change']}: {100 * trim['gain']:.1f} % faster")
    for place in trim["places"]:
        for name in place["writers"]:
            widths[int(name.removeprefix("conv"))] = trim["channels"]
    return widths


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--widths", help="of the hidden layers, with commas")
    parser.add_argument("--advice", type=pathlib.Path, help="the result of fettle advise --json")
    parser.add_argument("--number", type=int, default=1, help="of a trim there; 1 is the fastest")
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--limit", type=int, help="the first pictures only")
    args = parser.parse_args()
    arrays = chain_of(args.source)
    if args.widths:
        widths = [int(width) for width in args.widths.split(",")]
    else:
        widths = widths_of_advice(args.advice, arrays, args.number)
    if args.data:
        import torch

        from patches import Patches

        torch.manual_seed(1)
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        low, high, _ = Patches(args.data / "train", device, 64, args.limit).draw(64)
        kept = keep_by_loss(arrays, widths, low, high)
    else:
        kept = keep_by_weight(arrays, widths)
    np.savez(args.out, **cut(arrays, kept))
    for index, channels in enumerate(kept):
        print(f"layer {index}: {len(arrays[f'b{index}'])} to {len(channels)}, kept {' '.join(map(str, channels))}")


if __name__ == "__main__":
    main()
