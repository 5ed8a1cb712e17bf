#!/usr/bin/env python3
"""Makes the training pictures: prepare.py PACKAGES OUT [--list data.json] [--check]

PACKAGES is a folder that holds the unpacked Debian packages of data.json, each in a folder of its name
(README.md gives the commands). Each photograph is checked against its SHA-256, averaged over boxes of two or
three pixels, which removes the traces of JPEG, and written to OUT as an 8-bit greyscale PNG of its full-range
BT.601 luma. `--check` compares only.
"""

import argparse
import hashlib
import json
import pathlib
import sys

import numpy as np
from PIL import Image

LUMA = np.array([0.299, 0.587, 0.114], np.float32)
BAND = 256  # output rows at a time, which bounds memory


def box_luma(rgb, box):
    height, width = rgb.shape[0] // box, rgb.shape[1] // box
    rows = []
    for top in range(0, height, BAND):
        count = min(BAND, height - top)
        band = rgb[top * box : (top + count) * box, : width * box].astype(np.float32) @ LUMA
        rows.append(band.reshape(count, box, width, box).mean(axis=(1, 3)))
    return np.clip(np.rint(np.concatenate(rows)), 0, 255).astype(np.uint8)


def main():
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--list", type=pathlib.Path, default=here / "data.json")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    total = 0
    for index, entry in enumerate(json.loads(args.list.read_text())["pictures"]):
        path = args.packages / entry["package"] / entry["file"]
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        if found != entry["sha256"]:
            sys.exit(f"{path}: SHA-256 {found}, expected {entry['sha256']}")
        target = args.out / f"{index:03d}.png"
        if args.check or target.exists():
            continue
        luma = box_luma(np.asarray(Image.open(path).convert("RGB")), entry["box"])
        Image.fromarray(luma).save(target, optimize=False)
        total += target.stat().st_size
        print(f"{target.name} {luma.shape[1]}x{luma.shape[0]} {entry['package']} {path.name}", flush=True)
    print(f"{total / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
