#!/usr/bin/env python3
"""Right answers on held-out pictures, and agreement with ONNX Runtime: evaluate.py FETTLE MODEL... [--count 500] [--seed 0]

For each model: its bytes, how many pictures Fettle answers rightly, how many answers ONNX Runtime gives alike and by how much
scores differ; without ONNX Runtime that is skipped and counted.
"""

import argparse
import pathlib
import subprocess
import tempfile

import numpy as np

import pictures

try:
    import onnxruntime
except ImportError:
    onnxruntime = None


def runtime_scores(model, x):
    """As the file says: rewrites multiply scales into weights of -1 and 1, whose sums then round, and some signs turn."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model, options).run(None, {"pictures": x})[0]


def fettle_scores(fettle, model, x):
    with tempfile.TemporaryDirectory() as folder:
        source, result = f"{folder}/in.npy", f"{folder}/out.npy"
        np.save(source, x)
        subprocess.run([fettle, "run", model, "--no-cache", "-i", f"pictures={source}", "-o", f"scores={result}"],
                       check=True, stdout=subprocess.DEVNULL)
        return np.load(result)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fettle")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=pictures.HELD_OUT_SEED)
    arguments = parser.parse_args()
    drawn, labels = pictures.draw(arguments.seed, arguments.count)
    x, skipped = pictures.as_input(drawn), 0
    for model in arguments.models:
        scores = fettle_scores(arguments.fettle, model, x)
        line = f"{model}: {pathlib.Path(model).stat().st_size} bytes, {int((scores.argmax(1) == labels).sum())} of {len(x)} right"
        if onnxruntime is None:
            skipped += 1
        else:
            expected = runtime_scores(model, x)
            alike = int((expected.argmax(1) == scores.argmax(1)).sum())
            line += f", {alike} as ONNX Runtime, scores within {abs(expected - scores).max():.2g} of {abs(expected).max():.3g}"
        print(line)
    if skipped:
        print(f"{skipped} comparisons skipped: no ONNX Runtime")


if __name__ == "__main__":
    main()
