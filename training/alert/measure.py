#!/usr/bin/env python3
"""What networks see in held-out clips with phones drawn into them, and without: measure.py MATERIAL OUT.npz NETS.npz

OUT_phones.npz and OUT_free.npz receive of each clip what each network sees in each frame, and what each says of a part
around each place that the first one sees: rules.py tells what rules make of it.
"""

import argparse
import multiprocessing
import pathlib
import time

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image

import backgrounds
import frames
import moving
import phones
import slices
from backgrounds import HEIGHT, WIDTH
from detector import SIZE_UNIT, STRIDE, loaded

SIZES, LIGHTS = (6, 8, 10, 14, 20), ("day", "dim", "dark")
LENGTH = 75  # frames of a clip with phones
SIDES = (32,)  # of a part, in planes
HELD = {}  # clips and pictures; processes are forked with it


def read_held(folder):
    for path in sorted((folder / "clips").iterdir()):
        clip = backgrounds.read_clip(path)
        HELD[path.stem] = np.stack([np.asarray(Image.fromarray(f).resize((WIDTH, HEIGHT), Image.BOX)) for f in clip])
    for path in sorted((folder / "pictures").glob("*.jpg")):
        HELD[f"still_{path.stem}"] = backgrounds.read_picture(path)[None]


def with_phones(job):
    """(packed, truth) of (clip, size, light, crf, phones)."""
    name, size, light, crf, count = job
    rng = np.random.default_rng([11, size, LIGHTS.index(light), list(HELD).index(name)])
    clip = HELD[name]
    there = np.abs((np.arange(LENGTH) + len(clip) - 1) % (2 * len(clip) - 2) - (len(clip) - 1)) if len(clip) < LENGTH else np.arange(LENGTH)
    drawn, truth = moving.composed(rng, clip[there], size, count, light)
    return slices.packed(slices.recoded(drawn, crf), WIDTH, HEIGHT), np.array(truth)


def without_phones(job):
    """packed of (clip, first, count, mirrored, zoom, crf, light)."""
    name, first, count, mirrored, zoom, crf, light = job
    rng = np.random.default_rng([12, first, list(HELD).index(name)])
    if name.startswith("still"):
        return slices.packed(slices.recoded(frames.still(rng, HELD[name][0], count, light), crf), WIDTH, HEIGHT), None
    clip = HELD[name][first : first + count]
    w, h = int(WIDTH * zoom), int(HEIGHT * zoom)
    left, top = (WIDTH - w) // 2, (HEIGHT - h) // 2
    part = clip[:, top : top + h, left : left + w, :]
    part = part[:, :, ::-1] if mirrored else part
    part = np.stack([np.asarray(Image.fromarray(f).resize((WIDTH, HEIGHT), Image.BILINEAR)) for f in part])
    if light != "day":
        seen = phones.Light(rng, light)
        part = np.stack([seen.on(rng, f.astype(np.float32), np.float32(0)) for f in part])
    return slices.packed(slices.recoded(part, crf), WIDTH, HEIGHT), None


def jobs(count, quick):
    clips = [name for name in HELD if not name.startswith("still")]
    seen = [(name, size, light, 26, count) for name in clips for size in SIZES for light in LIGHTS]
    seen += [(name, 10, "day", 0, count) for name in clips]
    versions = [(mirrored, zoom, crf, "day") for mirrored in (0, 1) for zoom in (1, 0.7) for crf in (22, 28)]
    versions += [(mirrored, 1, 26, light) for mirrored in (0, 1) for light in ("dim", "dark")]
    free = [(name, first, 300, *version) for version in versions for name in clips for first in range(0, len(HELD[name]), 300)]
    free += [(name, 0, 100, 0, 1, 26, LIGHTS[i % 3]) for i, name in enumerate(n for n in HELD if n.startswith("still"))]
    return (seen[::40], free[::60]) if quick else (seen, free)


def finds_in(out, least):
    """[n, 6] of frame, score, middle and size in pixels: local maxima."""
    logit = out[:, :1]
    best = (F.max_pool2d(logit, 3, 1, 1) == logit) & (torch.sigmoid(logit) >= least)
    frame, _, row, column = best.nonzero(as_tuple=True)
    values = out[frame, :, row, column]
    x, y = (column + 0.5 + values[:, 3].clamp(-1, 1)) * STRIDE, (row + 0.5 + values[:, 4].clamp(-1, 1)) * STRIDE
    size = values[:, 1:3].clamp(0.1, 4) * SIZE_UNIT
    return torch.cat([torch.stack([frame.float(), torch.sigmoid(values[:, 0]), x, y], 1), size], 1)


def second_looks(net, stack, finds, side):
    """Of each find the best logit within two cells of its middle, in a part of `side` planes around it."""
    result = []
    height, width = stack.shape[-2:]
    for part in finds.split(256):
        corner = [((part[:, i] / 4 - side / 4).round() * 2).clamp(0, most - side).long() for i, most in ((3, height), (2, width))]
        steps = torch.arange(side, device=stack.device)
        rows, columns = (corner[0][:, None] + steps)[:, None, :, None], (corner[1][:, None] + steps)[:, None, None, :]
        planes = stack[part[:, 0].long()[:, None, None, None], torch.arange(stack.shape[1], device=stack.device)[None, :, None, None], rows, columns]
        heat = net(planes.float() / 255)[:, :1].float()
        cells = torch.arange(side // 2, device=stack.device)
        near = [((part[:, i] / 4).floor() - c / 2)[:, None] - cells[None] for i, c in ((3, corner[0]), (2, corner[1]))]
        inside = (near[0].abs() <= 2)[:, :, None] & (near[1].abs() <= 2)[:, None, :]
        result.append(heat[:, 0].masked_fill(~inside, -20).amax((1, 2)))
    return torch.cat(result) if result else finds.new_zeros(0)


@torch.no_grad()
def seen_by(nets, planes, device):
    """Of a clip: finds of each network, and of the first one's the second looks of the others, [n, nets x SIDES]."""
    gap = slices.KEPT[1] - slices.KEPT[0]
    planes = torch.from_numpy(np.ascontiguousarray(planes)).to(device)
    finds, looks = {name: [] for name in nets}, []
    for first in range(0, len(planes), 100):
        index = torch.arange(first, min(first + 100, len(planes)), device=device)
        stack = torch.cat([planes[(index - back).clamp(0)] for back in (2 * gap, gap, 0)], 1)
        here = None
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            for name, net in nets.items():
                seen = stack[:, -6 * net.frames :]
                found = finds_in(net(seen.float() / 255).float(), 0.2 if here is None else 0.4)
                if here is None:
                    here = found
                    looks.append([])
                else:
                    looks[-1] += [second_looks(net, seen, here, side) for side in SIDES]
                found = found.clone()
                found[:, 0] += first
                finds[name].append(found.cpu().numpy())
        looks[-1] = torch.stack(looks[-1], 1).cpu().numpy() if looks[-1] else np.zeros((len(here), 0))
    return {name: np.concatenate(f).astype(np.float16) for name, f in finds.items()}, np.concatenate(looks).astype(np.float16)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("material", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("nets", type=pathlib.Path, nargs="+", help="NAME.npz, the one that looks first before the others")
    parser.add_argument("--phones", type=int, default=6, help="in each clip")
    parser.add_argument("--workers", type=int, default=15)
    parser.add_argument("--quick", action="store_true", help="a few clips alone")
    args = parser.parse_args()
    read_held(args.material / "held")
    rows, begin = {"nets": [p.stem for p in args.nets]}, time.time()
    with multiprocessing.get_context("fork").Pool(args.workers) as processes:
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        nets = {path.stem: loaded(path).to(device, memory_format=torch.channels_last) for path in args.nets}
        frames_seen = 0
        for kind, make, todo in zip(("phones", "free"), (with_phones, without_phones), jobs(args.phones, args.quick)):
            for number, (planes, truth) in enumerate(processes.imap(make, todo)):
                finds, looks = seen_by(nets, planes, device)
                frames_seen += len(planes)
                key = f"{kind}/{number}"
                rows[f"{key}/job"] = np.array([str(v) for v in todo[number]])
                rows[f"{key}/count"] = len(planes)
                rows[f"{key}/looks"] = looks
                rows |= {f"{key}/{name}": found for name, found in finds.items()}
                if truth is not None:
                    rows[f"{key}/truth"] = truth.astype(np.float32)
            np.savez_compressed(args.out.with_name(f"{args.out.stem}_{kind}.npz"), **{k: v for k, v in rows.items() if "/" not in k or k.startswith(kind)})
            print(f"{kind}: {frames_seen} frames, {time.time() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
