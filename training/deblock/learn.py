#!/usr/bin/env python3
"""Trains deblock and denoise: learn.py PAIRS.npz STATE [--denoise 40 40] [--deblock 70 15] [--steps N]

The numbers are seconds, of training in floats and of fine-tuning in bytes; with --steps every stage takes N steps instead.
0 seconds leave a stage out; bytes are then those of what STATE holds. STATE receives NAME.npz, the collapsed weights that to_onnx.py
reads, and NAME_int8.npz. What is printed as `held out` is measured on the runs that training leaves out.
"""

import argparse
import pathlib
import time

import numpy as np
import torch

from pairs import HELD_OUT, Crops, DeblockPatches, DenoisePatches
from restorer import QuantisedRestorer, Restorer, packed
from train import Run  # of training/superres

DEBLOCK = {
    "deblock_18k": dict(channels=16, depth=7, block=2),
    "deblock_10k": dict(channels=16, depth=4, block=2),
    "deblock_wide": dict(channels=32, depth=1, block=2),
}
DENOISE = {
    "denoise_37k": dict(channels=32, depth=3, block=4),
    "denoise_97k": dict(channels=48, depth=4, block=4),
}


def decibels(a, b):
    return -10 * torch.log10((a - b).square().mean((1, 2, 3)) + 1e-9)


@torch.no_grad()
def held_out_deblock(nets, crops):
    """The mean gain over what was decoded, by codec and level."""
    luma = crops.decoded[:, None].float() / 255
    original = crops.original[crops.owner][:, None].float() / 255
    levels = crops.levels.repeat_interleave(8, 1).repeat_interleave(8, 2)[:, None]
    mean = crops.mean_level
    codec = np.array(crops.coding)
    for name, net in nets.items():
        parts = {}
        for kind, level in (("map", levels), ("mean", mean.view(-1, 1, 1, 1))):
            gains = []
            for i in range(0, len(luma), 64):
                part = slice(i, i + 64)
                out = net(packed(luma[part], level[part], net.block))
                gains.append(decibels(out, original[part]) - decibels(luma[part], original[part]))
            parts[kind] = torch.cat(gains).cpu().numpy()
        bands = mean.cpu().numpy()
        text = []
        for low, high in ((0, 22), (22, 28), (28, 34), (34, 40), (40, 60)):
            chosen = (codec == "libx264") & (bands >= low) & (bands < high)
            if chosen.any():
                text.append(f"{low}..{high}: " + "/".join(f"{p[chosen].mean():+.3f}" for p in parts.values()))
        for other in sorted(set(codec) - {"libx264"}):
            text.append(f"{other}: {parts['map'][codec == other].mean():+.3f}")
        print(f"held out {name:16}", ", ".join(text), flush=True)


@torch.no_grad()
def held_out_denoise(nets, crops):
    torch.manual_seed(1)
    clean = crops.original[:, None].float()
    for name, net in nets.items():
        text = []
        for sigma in (2, 5, 10, 15, 25):
            noisy = (clean + sigma * torch.randn_like(clean)).round().clamp(0, 255)
            out = net(packed(noisy / 255, torch.tensor(float(sigma), device=clean.device).view(1, 1, 1, 1), net.block))
            before, after = decibels(noisy / 255, clean / 255).mean(), decibels(out, clean / 255).mean()
            text.append(f"sigma {sigma}: {before:.2f} -> {after:.2f}")
        print(f"held out {name:16}", ", ".join(text), flush=True)


def train(nets, patches, batch, rate, steps, seconds, report, switch=0.6):
    run = Run(nets, patches, batch, clip=0.5)
    run.train(rate, steps, seconds, report=report, switch=switch)
    report()


def save(nets, state):
    for name, net in nets.items():
        np.savez(state / f"{name}.npz", **net.plain())


def in_bytes(shapes, patches, args):
    """The networks of STATE in bytes, to be fine-tuned."""
    nets = {}
    batch, _, _ = patches.draw(args.batch)
    for name, shape in shapes.items():
        plain = dict(np.load(args.state / f"{name}.npz"))
        nets[f"{name}_int8"] = net = QuantisedRestorer(plain, shape["depth"], shape["block"]).to(patches.device)
        net.calibrate(batch)
    return nets


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pairs", type=pathlib.Path)
    parser.add_argument("state", type=pathlib.Path)
    parser.add_argument("--denoise", type=float, nargs=2, default=(40, 40))
    parser.add_argument("--deblock", type=float, nargs=2, default=(70, 15))
    parser.add_argument("--steps", type=int)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    args.state.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(args.seed)
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = True
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    start = time.time()
    archive = {name: array for name, array in np.load(args.pairs).items()}
    learnt = Crops(archive, lambda i: i % HELD_OUT != 0, device)
    held = Crops(archive, lambda i: i % HELD_OUT == 0, device)
    print(f"{len(learnt.decoded)} crops, {len(held.decoded)} held out, {time.time() - start:.0f} s", flush=True)

    stages = [
        (DEBLOCK, DeblockPatches(learnt, 2), args.deblock, held_out_deblock),
        (DENOISE, DenoisePatches(learnt, 4), args.denoise, held_out_denoise),
    ]
    for shapes, patches, (floats, in_int8), held_out in stages:
        if floats:
            nets = {name: Restorer(**shape).to(device) for name, shape in shapes.items()}
            train(nets, patches, args.batch, args.rate, args.steps, floats, lambda: held_out(nets, held))
            save(nets, args.state)
        if not in_int8:
            continue
        small = in_bytes(shapes, patches, args)
        train(small, patches, args.batch, 2e-4, args.steps, in_int8, lambda: held_out(small, held), 0)
        save(small, args.state)


if __name__ == "__main__":
    main()
