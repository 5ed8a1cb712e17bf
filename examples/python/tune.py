"""Tunes a model for one shape, with a line of progress, and loads the package that comes of it: tune.py [MODEL]"""

import os
import sys
import tempfile

import fettle

path = sys.argv[1] if len(sys.argv) > 1 else "enhance_x2.onnx"
shapes = {"picture": (1, 3, 32, 48)}


def progress(measured, left, seconds, predicted_ms):
    print(f"\r{measured} measured, {left} left, {seconds:.1f} s, {predicted_ms:.3f} ms predicted", end="")


with tempfile.TemporaryDirectory() as folder:
    package = os.path.join(folder, "tuned.fettle")
    report = fettle.tune(path, shapes=shapes, package=package, level="fast", budget=3, threads=1, progress=progress)
    print(f"\ndefault {report.default_ms:.3f} ms, now {report.tuned_ms:.3f} ms")
    print(f"median {fettle.bench(package, shapes=shapes, seconds=0.2, threads=1).median_ms:.3f} ms")
