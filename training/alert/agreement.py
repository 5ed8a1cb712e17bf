#!/usr/bin/env python3
"""Checks that Fettle and ONNX Runtime agree on the detector: agreement.py FETTLE SLICES MODEL.onnx [--count 20]

SLICES is what calibration.py writes. Prints the largest difference of any of the five planes, and fails above 1e-4 (a logit of 0.0001 moves no
score by more than 0.00003), or above 0.5 for files in bytes, whose sums may round to the other of two steps.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("slices", type=pathlib.Path)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=20)
    args = parser.parse_args()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(args.model), options, providers=["CPUExecutionProvider"])
    bound = 0.5 if "int8" in args.model.stem else 1e-4
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        luma, chroma = (np.load(args.slices / f"{name}.npy")[: args.count] for name in ("luma", "chroma"))
        for one in range(len(luma)):
            inputs = {"luma": luma[one : one + 1], "chroma": chroma[one : one + 1]}
            words = [args.program, "run", str(args.model), "-o", f"finds={folder}/finds.npy"]
            for name, values in inputs.items():
                np.save(f"{folder}/{name}.npy", values)
                words += ["-i", f"{name}={folder}/{name}.npy"]
            subprocess.run(words, check=True, capture_output=True)
            ours, theirs = np.load(f"{folder}/finds.npy"), session.run(None, inputs)[0]
            worst = max(worst, float(np.abs(ours - theirs).max()))
    print(f"{args.model.name}: largest difference {worst:.2g} on {args.count} slices")
    return worst > bound


if __name__ == "__main__":
    sys.exit(main())
