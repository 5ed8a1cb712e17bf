#!/usr/bin/env python3
"""Draws training slices as `fettle quantise` reads them: calibration.py MATERIAL OUT [COUNT]

OUT receives luma.npy [COUNT, 1, 160, 160] and chroma.npy [COUNT, 2, 80, 80] of 0..1.
"""

import pathlib
import sys

import numpy as np

import pool
import slices


def main():
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 64
    source, rng = pool.material(pathlib.Path(sys.argv[1])), np.random.default_rng(7)
    sheets = [slices.sheet_of_slices(rng, source)[0][:, -1] for _ in range(-(-count // (slices.ACROSS * slices.DOWN)))]
    planes = np.concatenate(sheets)[:count]
    out = pathlib.Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    rows, columns = planes.shape[2:]
    luma = np.zeros((count, 1, 2 * rows, 2 * columns), np.float32)
    for i in range(4):
        luma[:, 0, i // 2 :: 2, i % 2 :: 2] = planes[:, i] / np.float32(255)
    np.save(out / "luma.npy", luma)
    np.save(out / "chroma.npy", (planes[:, 4:] / np.float32(255)).astype(np.float32))


if __name__ == "__main__":
    main()
