#!/usr/bin/env python3
"""Writes training slices as `fettle quantise` reads them: calibration.py PAIRS/train.npz OUT [COUNT]

OUT receives luma.npy [COUNT, 1, 160, 160] and chroma.npy [COUNT, 2, 80, 80] of 0..1.
"""

import pathlib
import sys

import numpy as np


def main():
    slices = np.load(sys.argv[1])["slices"][: int(sys.argv[3]) if len(sys.argv) > 3 else 64]
    out = pathlib.Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    count, _, rows, columns = slices.shape
    luma = np.zeros((count, 1, 2 * rows, 2 * columns), np.float32)
    for i in range(4):
        luma[:, 0, i // 2 :: 2, i % 2 :: 2] = slices[:, i] / np.float32(255)
    np.save(out / "luma.npy", luma)
    np.save(out / "chroma.npy", (slices[:, 4:] / np.float32(255)).astype(np.float32))


if __name__ == "__main__":
    main()
