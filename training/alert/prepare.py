#!/usr/bin/env python3
"""Draws phones into what data.json names and keeps what the rounds read: prepare.py CLIPS PACKAGES OUT [--slices N] [--held N]

PACKAGES holds the unpacked Debian packages, each in a folder of its name. OUT receives train.npz and held.npz: `slices` and
`boxes` of slices.py, and `frames`, 640x360 of the clips as they are, which hold no phone, with the clip of each in `clip`, of
training also of its pictures (-1).
"""

import argparse
import pathlib

import numpy as np

import backgrounds
import slices


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clips", type=pathlib.Path)
    parser.add_argument("packages", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--slices", type=int, default=2400)
    parser.add_argument("--held", type=int, default=480)
    parser.add_argument("--frames", type=int, default=30, help="of each clip")
    parser.add_argument("--every", type=int, default=10, help="frame of a clip")
    parser.add_argument("--parts", type=int, default=0, help="of each training picture, among the frames")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for name, held, count, seed in (("held", True, args.held, 2), ("train", False, args.slices, args.seed)):
        if count == 0:
            continue
        made, boxes = slices.make(seed, backgrounds.frames(args.clips, args.packages, held), count)
        found = backgrounds.clips(args.clips, held) + ([] if held else backgrounds.package_clips(args.packages))
        read = [backgrounds.as_read(path, args.every, args.frames) for path in found]
        clip = np.concatenate([np.full(len(frames), i) for i, frames in enumerate(read)])
        if not held and args.parts:
            rng = np.random.default_rng(seed)
            read.append(backgrounds.coded_pictures(rng, backgrounds.pictures(args.packages, False), args.parts))
            clip = np.concatenate([clip, np.full(len(read[-1]), -1)])
        np.savez(args.out / f"{name}.npz", slices=made, boxes=boxes, frames=np.concatenate(read), clip=clip, names=[p.stem for p in found])
        print(f"{name}: {len(made)} slices with {(boxes[..., 0] > -1).sum()} phones, {len(clip)} frames", flush=True)


if __name__ == "__main__":
    main()
