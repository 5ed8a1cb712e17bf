#!/usr/bin/env python3
"""Draws phones into what data.json names and keeps what the rounds read: prepare.py CLIPS PACKAGES OUT [--slices N] [--held N]

PACKAGES holds the unpacked Debian packages, each in a folder of its name. OUT receives train.npz and held.npz: `slices` and
`boxes` of slices.py, and `frames`, 640x360 of the clips as they are, which hold no phone, with the clip of each in `clip`.
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
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for name, held, count, seed in (("held", True, args.held, 2), ("train", False, args.slices, 1)):
        made, boxes = slices.make(seed, backgrounds.frames(args.clips, args.packages, held), count)
        found = backgrounds.clips(args.clips, held)
        read = [backgrounds.as_read(path, 10, args.frames) for path in found]
        clip = np.concatenate([np.full(len(frames), i) for i, frames in enumerate(read)])
        np.savez(args.out / f"{name}.npz", slices=made, boxes=boxes, frames=np.concatenate(read), clip=clip, names=[p.stem for p in found])
        print(f"{name}: {len(made)} slices with {(boxes[..., 0] > -1).sum()} phones, {len(clip)} frames", flush=True)


if __name__ == "__main__":
    main()
