"""Microseconds per call of fettle and onnxruntime on a network of one Add; bench/python/run runs it."""

import pathlib
import subprocess
import sys
import tempfile
import time

import numpy
import onnxruntime

import fettle
import fettle.ort

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "python"))
import small_models  # noqa: E402

COUNT, BATCHES = 20000, 3
X, Y = numpy.ones(8, numpy.float32), numpy.ones(8, numpy.float32)
FEEDS = {"x": X, "y": Y}


def best_mean(call):
    best = float("inf")
    for _ in range(BATCHES):
        start = time.perf_counter()
        for _ in range(COUNT):
            call()
        best = min(best, (time.perf_counter() - start) / COUNT)
    return best * 1e6


def in_place_of(package):
    options = package.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return package.InferenceSession(small_models.add(), options, providers=["CPUExecutionProvider"])


def bound(session):
    """A run without arrays to make or to look at: what is left of a call when its Python is taken away."""
    binding = session.io_binding()
    binding.bind_cpu_input("x", X)
    binding.bind_cpu_input("y", Y)
    place = numpy.zeros(8, numpy.float32)
    binding.bind_output("z", "cpu", 0, numpy.float32, place.shape, place.ctypes.data)
    inner, keep = (session._sess, binding._iobinding), (binding, place)
    return lambda keep=keep: inner[0].run_with_iobinding(inner[1], None)


def main():
    program, rounds = sys.argv[1], int(sys.argv[2])
    ours, theirs, session = in_place_of(fettle.ort), in_place_of(onnxruntime), fettle.Session(small_models.add(), threads=1)
    with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
        file.write(small_models.add())
        file.flush()
        c_call = [program, file.name, str(COUNT), str(BATCHES)]
        rows = {
            "C interface": lambda: float(subprocess.run(c_call, stdout=subprocess.PIPE, check=True).stdout),
            "fettle.Session.run": lambda: best_mean(lambda: session.run(FEEDS)),
            "fettle.ort InferenceSession.run": lambda: best_mean(lambda: ours.run(None, FEEDS)),
            "onnxruntime, bound": lambda: best_mean(bound(theirs)),
            "onnxruntime InferenceSession.run": lambda: best_mean(lambda: theirs.run(None, FEEDS)),
        }
        best = dict.fromkeys(rows, float("inf"))
        for _ in range(rounds):
            for name, measure in rows.items():
                best[name] = min(best[name], measure())
    for name, us in best.items():
        below = "C interface" if name.startswith("fettle") else "onnxruntime, bound" if "run" in name[-4:] else name
        print(f"{name:<34} {us:7.2f} us   {us - best[below]:6.2f} us over {below}" if below != name else f"{name:<34} {us:7.2f} us")


if __name__ == "__main__":
    main()
