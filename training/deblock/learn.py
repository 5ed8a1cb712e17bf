#!/usr/bin/env python3
"""Trains deblock and denoise: learn.py PAIRS.npz STATE [--deblock 200] [--denoise 80] [--int8 40] [--steps N]

The numbers are seconds; with --steps every stage takes N steps instead. STATE receives NAME.npz, the collapsed weights that
to_onnx.py reads, and NAME_int8.npz. What is printed as `held out` is measured on the runs that training leaves out.
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
    "deblock_18k": dict(channels=16, depth=7),
    "deblock_10k": dict(channels=16, depth=4),
    "deblock_wide": dict(channels=32, depth=1),
}
DENOISE = {"denoise_18k": dict(channels=16, depth=7)}


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
                out = net(packed(luma[part], level[part]))
                gains.append(decibels(out, original[part]) - decibels(luma[part], original[part]))
            parts[kind] = torch.cat(gains).cpu().numpy()
        bands = mean.cpu().numpy()
        text = []
        for low, high in ((0, 22), (22, 28), (28, 34), (34, 40), (40, 60)):
            chosen = (codec == "libx264") & (bands >= low) & (bands < high)
            if chosen.any():
                text.append(f"{low}..{high}: " + "/".join(f"{p[chosen].mean():+.3f}" for p in parts.values()))
        for other in ("mpeg4", "libx265"):
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
            out = net(packed(noisy / 255, torch.tensor(float(sigma), device=clean.device).view(1, 1, 1, 1)))
            before, after = decibels(noisy / 255, clean / 255).mean(), decibels(out, clean / 255).mean()
            text.append(f"sigma {sigma}: {before:.2f} -> {after:.2f}")
        print(f"held out {name:16}", ", ".join(text), flush=True)


def train(nets, patches, batch, rate, steps, seconds, report, switch=0.6):
    run = Run(nets, patches, batch, amp=False)
    run.train(rate, steps, seconds, report=report, switch=switch)
    report()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pairs", type=pathlib.Path)
    parser.add_argument("state", type=pathlib.Path)
    parser.add_argument("--deblock", type=float, default=200)
    parser.add_argument("--denoise", type=float, default=80)
    parser.add_argument("--int8", type=float, default=40)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rate", type=float, default=2e-3)
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

    deblock = {name: Restorer(**shape).to(device) for name, shape in DEBLOCK.items()}
    train(deblock, DeblockPatches(learnt), args.batch, args.rate, args.steps, args.deblock, lambda: held_out_deblock(deblock, held))  # fmt: skip
    for name, net in deblock.items():
        np.savez(args.state / f"{name}.npz", **net.plain())

    denoise = {name: Restorer(**shape).to(device) for name, shape in DENOISE.items()}
    train(denoise, DenoisePatches(learnt), args.batch, args.rate, args.steps, args.denoise, lambda: held_out_denoise(denoise, held))  # fmt: skip
    for name, net in denoise.items():
        np.savez(args.state / f"{name}.npz", **net.plain())

    small = {name: QuantisedRestorer(deblock[name].plain(), deblock[name].depth).to(device) for name in DEBLOCK}
    batch, _, _ = DeblockPatches(learnt).draw(args.batch)
    for net in small.values():
        net.calibrate(batch)
    train(small, DeblockPatches(learnt), args.batch, 2e-4, args.steps, args.int8, lambda: held_out_deblock(small, held), 0)
    for name, net in small.items():
        np.savez(args.state / f"{name}_int8.npz", **net.plain())


if __name__ == "__main__":
    main()
