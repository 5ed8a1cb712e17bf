#!/usr/bin/env python3
"""Trains the wide network of deblock from the narrow one: widen.py PAIRS.npz NARROW.npz STATE [--seconds 190] [--steps N]

It begins as the narrow network's function: its channels first, identities for the layers that it has more of, and new channels
that tell the old ones nothing yet (Chen, Goodfellow, Shlens: Net2Net, 2016). So no layer has to find out of nothing what lower rates
learn too slowly and higher ones lose. STATE receives deblock_58k.npz, the weights that to_onnx.py reads. `held out` is as in learn.py.
"""

import argparse
import math
import pathlib
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from learn import held_out_deblock
from pairs import HELD_OUT, Crops, DeblockPatches

NAME, SHAPE = "deblock_58k", dict(channels=32, depth=6)
BLOCK = 2
# What the step leaves alone is not learnt.
LEAST_LEVEL = 23
CLIP = 0.2


class WideRestorer(nn.Module):
    """Restorer's function by plain convolutions, begun from arrays of to_onnx.py's names."""

    block = BLOCK

    def __init__(self, narrow, channels, depth):
        super().__init__()
        widths = [BLOCK**2 + 1] + [channels] * (depth + 1) + [BLOCK**2]
        self.convs = nn.ModuleList(nn.Conv2d(a, b, 3, padding=1) for a, b in zip(widths, widths[1:]))
        has = sum(name.startswith("w") for name in narrow)
        for i, conv in enumerate(self.convs):
            nn.init.kaiming_normal_(conv.weight, nonlinearity="relu")
            nn.init.zeros_(conv.bias)
            last = i == len(self.convs) - 1
            at = has - 1 if last else i if i < has - 1 else None
            self.begin(conv, *((narrow[f"w{at}"], narrow[f"b{at}"]) if at is not None else identity(len(narrow["b0"]))))

    @torch.no_grad()
    def begin(self, conv, kernel, bias):
        outputs, inputs = kernel.shape[:2]
        conv.weight[:outputs, inputs:] = 0
        conv.weight[:outputs, :inputs] = torch.from_numpy(np.asarray(kernel, np.float32))
        conv.bias[:outputs] = torch.from_numpy(np.asarray(bias, np.float32))

    def forward(self, x, clip=True):
        value = x
        for conv in self.convs[:-1]:
            value = F.relu(conv(value))
        out = F.pixel_shuffle(self.convs[-1](value).float() + x[:, :-1], self.block)
        return out.clamp(0, 1) if clip else out

    def plain(self):
        named = [(f"{kind}{i}", tensor) for i, conv in enumerate(self.convs) for kind, tensor in (("w", conv.weight), ("b", conv.bias))]
        return {name: tensor.detach().cpu().numpy() for name, tensor in named}


def identity(channels):
    """A layer that passes what ReLU has passed."""
    kernel = np.zeros((channels, channels, 3, 3), np.float32)
    kernel[range(channels), range(channels), 1, 1] = 1
    return kernel, np.zeros(channels, np.float32)


def coarse(crops):
    """The crops without those whose level is below LEAST_LEVEL."""
    chosen = crops.mean_level >= LEAST_LEVEL
    for name in ("decoded", "levels", "mean_level", "owner"):
        setattr(crops, name, getattr(crops, name)[chosen])
    return crops


def loss_of(out, target, absolute):
    if absolute:
        return (out - target).abs().mean()
    return ((out - target).square().mean((1, 2, 3)) + 1e-6).sqrt().mean()


def train(net, patches, args, report):
    """Absolute differences for three tenths of the time, then the root mean square; what is kept is a mean of the weights."""
    cuda = patches.device.type == "cuda"
    optimiser = torch.optim.Adam(net.parameters(), args.rate, betas=(0.9, 0.99), fused=cuda)
    mean = [p.detach().clone() for p in net.parameters()]
    start, step = time.time(), 0
    while True:
        done = step / args.steps if args.steps else (time.time() - start) / args.seconds
        if done >= 1:
            break
        for group in optimiser.param_groups:
            group["lr"] = args.rate * min(1, (step + 1) / 300) * (0.005 + 0.995 * 0.5 * (1 + math.cos(math.pi * done)))
        planes, target, _ = patches.draw(args.batch)
        with torch.autocast(patches.device.type, dtype=torch.bfloat16, enabled=cuda):
            out = net(planes.contiguous(memory_format=torch.channels_last), clip=False)
        loss = loss_of(out, target, done < 0.3)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), CLIP)
        optimiser.step()
        torch._foreach_lerp_(mean, [p.detach() for p in net.parameters()], max(0.002, 1 / (step + 1)))
        step += 1
    with torch.no_grad():
        for parameter, kept in zip(net.parameters(), mean):
            parameter.copy_(kept)
    print(f"{step} steps, {time.time() - start:.0f} s, loss {loss.item():.5f}", flush=True)
    report()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=pathlib.Path)
    parser.add_argument("narrow", type=pathlib.Path)
    parser.add_argument("state", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=190)
    parser.add_argument("--steps", type=int, help="instead of seconds")
    parser.add_argument("--batch", type=int, default=48)
    parser.add_argument("--rate", type=float, default=6e-4)
    args = parser.parse_args()
    args.state.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(1)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    archive = dict(np.load(args.pairs))
    patches = DeblockPatches(coarse(Crops(archive, lambda i: i % HELD_OUT != 0, device)), BLOCK)
    held, narrow = Crops(archive, lambda i: i % HELD_OUT == 0, device), dict(np.load(args.narrow))
    net = WideRestorer(narrow, **SHAPE).to(device)
    train(net, patches, args, lambda: held_out_deblock({NAME: net}, held))
    np.savez(args.state / f"{NAME}.npz", **net.plain())


if __name__ == "__main__":
    main()
