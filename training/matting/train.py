#!/usr/bin/env python3
"""Trains the matting network on what prepare.py drew: train.py POOL STATE [--minutes 35] [--steps N]

POOL holds learn.npz and checked.npz. STATE receives last.pt and best.pt (the mean of the weights, decayed, whose overlap
with the teachers' masks in checked.npz is the best so far). One thread, no GPU; with --steps and --seed it is reproducible.
"""

import argparse
import copy
import math
import pathlib
import time

import numpy as np
import torch
import torch.nn.functional as F

from matting import Matting


class Pool:
    def __init__(self, path):
        data = np.load(path)
        self.luma, self.chroma, self.masks = (torch.from_numpy(data[name]) for name in ("luma", "chroma", "masks"))

    def __len__(self):
        return len(self.luma)

    def batch(self, rows):
        return self.luma[rows][:, None].float() / 255, self.chroma[rows].float() / 255, self.masks[rows].float() / 255


def varied(luma, chroma, masks):
    """Mirrored, in another light, without colour."""
    if torch.rand(()) < 0.5:
        luma, chroma, masks = luma.flip(-1), chroma.flip(-1), masks.flip(-1)
    count = len(luma)
    gain, offset = 1 + 0.15 * torch.randn(count, 1, 1, 1), 0.04 * torch.randn(count, 1, 1, 1)
    colour = torch.rand(count, 1, 1, 1).mul(1.4).clamp(0, 1.3) * (torch.rand(count, 1, 1, 1) > 0.05)
    chroma = 0.5 + (chroma - 0.5) * colour + 0.01 * torch.randn(count, 2, 1, 1)
    return (luma * gain + offset).clamp(0, 1), chroma.clamp(0, 1), masks


def loss_of(logits, masks):
    """Cross entropy, more of it at outlines, and Dice."""
    edge = F.max_pool2d(masks, 7, 1, 3) + F.max_pool2d(-masks, 7, 1, 3)
    weight = 1 + 2 * edge
    entropy = (F.binary_cross_entropy_with_logits(logits, masks, reduction="none") * weight).mean((2, 3))
    alpha = torch.sigmoid(logits)
    both, all_of_them = (alpha * masks).sum((2, 3)), (alpha + masks).sum((2, 3))
    dice = 1 - (2 * both + 50) / (all_of_them + 50)
    return (entropy + 0.5 * dice).mean(0) @ torch.tensor([1.0, 0.5])


@torch.no_grad()
def overlaps(net, pool):
    """Mean intersection over union of person and head; empty masks count where something is found in them."""
    net.eval()
    found = []
    for start in range(0, len(pool), 25):
        luma, chroma, masks = pool.batch(slice(start, start + 25))
        a, b = net(luma, chroma) > 0, masks > 0.5
        union = (a | b).sum((2, 3)).float()
        found.append(torch.where(union > 40, (a & b).sum((2, 3)) / union.clamp(min=1), 1.0))
    return torch.cat(found).mean(0).tolist()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pool", type=pathlib.Path)
    parser.add_argument("state", type=pathlib.Path)
    parser.add_argument("--minutes", type=float, default=35)
    parser.add_argument("--steps", type=int, help="instead of minutes")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--rate", type=float, default=4e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--begin", type=pathlib.Path, help="weights to go on from")
    args = parser.parse_args()
    args.state.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    learnt, checked = Pool(args.pool / "learn.npz"), Pool(args.pool / "checked.npz")
    net = Matting().to(memory_format=torch.channels_last)
    if args.begin:
        net.load_state_dict(torch.load(args.begin))
    mean = copy.deepcopy(net)
    print(f"{sum(p.numel() for p in net.parameters())} parameters, {len(learnt)} compositions", flush=True)
    optimiser = torch.optim.AdamW(net.parameters(), args.rate, weight_decay=1e-3)
    start, step, best, told = time.time(), 0, 0.0, 0.0
    while True:
        done = step / args.steps if args.steps else (time.time() - start) / (60 * args.minutes)
        if done >= 1:
            break
        for group in optimiser.param_groups:
            group["lr"] = args.rate * min(1, (step + 1) / 50) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * done)))
        net.train()
        rows = torch.randint(len(learnt), (args.batch,))
        luma, chroma, masks = varied(*learnt.batch(rows))
        loss = loss_of(net(luma, chroma), masks)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimiser.step()
        step += 1
        decay = min(0.995, step / (step + 20))
        with torch.no_grad():
            for average, now in zip(mean.state_dict().values(), net.state_dict().values()):
                if average.dtype.is_floating_point:
                    average.lerp_(now, 1 - decay)
                else:
                    average.copy_(now)
        if step % 200 == 0 or done - told > 0.05:
            told = done
            person, head = overlaps(mean, checked)
            print(f"{time.time() - start:.0f} s, step {step}: loss {loss:.3f}, overlap {person:.4f}, head {head:.4f}", flush=True)
            torch.save(mean.state_dict(), args.state / "last.pt")
            if person + 0.3 * head > best:
                best = person + 0.3 * head
                torch.save(mean.state_dict(), args.state / "best.pt")


if __name__ == "__main__":
    main()
