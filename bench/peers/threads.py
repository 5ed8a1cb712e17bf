"""Fettle's library beside ONNX Runtime in one process, in turns, over numbers of threads:

    bench/peers/threads.py [--library build/release/lib/libfettle.so] [--threads 1,2,4,8,16] [--rounds 3] [--seconds 0.1]
                           MODEL...

Neither is loaded anew between turns, as bench/peers/run does to Fettle: for machines on which time is short. Prints a row
for each model and number of threads: the medians of the turns in ms, their ratio (over 1: Fettle is faster) and its range.
Inputs are seeded as numbers below 1, integers as zeros; open extents are 1. What an engine refuses ends that row alone.
Needs numpy and onnxruntime.
"""

import argparse
import ctypes
import pathlib
import statistics
import time

import numpy
import onnxruntime

ROOT = pathlib.Path(__file__).resolve().parents[2]
DTYPES = {"float32": 1, "int64": 7, "int32": 6}  # fettle_dtype counts as ONNX does


class Options(ctypes.Structure):
    """fettle_session_options; what is zero is the default."""

    _fields_ = [("struct_size", ctypes.c_size_t), ("threads", ctypes.c_int), ("others", ctypes.c_byte * 100)]


class Library:
    def __init__(self, path):
        self.calls = ctypes.CDLL(str(path))
        self.calls.fettle_last_error.restype = ctypes.c_char_p

    def call(self, name, *arguments):
        if getattr(self.calls, name)(*arguments) != 0:
            raise RuntimeError(self.calls.fettle_last_error().decode())

    def load(self, path):
        model = ctypes.c_void_p()
        self.call("fettle_model_load", str(path).encode(), ctypes.byref(model))
        return model

    def session(self, model, threads, feeds):
        options = Options(ctypes.sizeof(Options), threads)
        session = ctypes.c_void_p()
        self.call("fettle_session_create", model, ctypes.byref(options), ctypes.byref(session))
        for name, value in feeds.items():
            tensor = ctypes.c_void_p()
            dims = (ctypes.c_int64 * value.ndim)(*value.shape)
            self.call("fettle_tensor_wrap", DTYPES[value.dtype.name], value.ndim, dims,
                      ctypes.c_void_p(value.ctypes.data), ctypes.c_size_t(value.nbytes), ctypes.byref(tensor))
            self.call("fettle_session_set_input", session, name.encode(), tensor)
            self.call("fettle_tensor_free", tensor)
        return session


def ort_session(path, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def seeded(session):
    """Inputs by name, as the network declares them."""
    random = numpy.random.default_rng(1)
    feeds = {}
    for value in session.get_inputs():
        shape = [extent if isinstance(extent, int) else 1 for extent in value.shape]
        integers = {"tensor(int64)": numpy.int64, "tensor(int32)": numpy.int32}
        feeds[value.name] = (numpy.zeros(shape, integers[value.type]) if value.type in integers
                             else random.random(shape, numpy.float32))
    return feeds


def turn(run, seconds):
    """The median time of a run in ms. Threads of the turn before are given time to go to sleep, memory a run to get warm."""
    time.sleep(0.02)
    run()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or not times:
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def measure(library, model, path, threads, options):
    other = ort_session(path, threads)
    feeds = seeded(other)
    session = library.session(model, threads, feeds)
    try:
        engines = [lambda: library.call("fettle_session_run", session), lambda: other.run(None, feeds)]
        for run in engines:
            run()
        turns = [[turn(run, options.seconds) for run in engines] for _ in range(options.rounds)]
    finally:
        library.calls.fettle_session_free(session)
    ratios = [ort / fettle for fettle, ort in turns]
    return [statistics.median(column) for column in zip(*turns)] + [statistics.median(ratios), min(ratios), max(ratios)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=pathlib.Path, metavar="MODEL")
    parser.add_argument("--library", type=pathlib.Path, default=ROOT / "build" / "release" / "lib" / "libfettle.so")
    parser.add_argument("--threads", type=lambda text: [int(count) for count in text.split(",")], default=[1, 2, 4, 8, 16])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.1)
    options = parser.parse_args()
    onnxruntime.set_default_logger_severity(4)
    library = Library(options.library)
    print(f"Fettle beside ONNX Runtime {onnxruntime.__version__}\n")
    print("| model | threads | Fettle | ONNX Runtime | ratio | spread |\n|---|---:|---:|---:|---:|---|")
    for path in options.models:
        name = "/".join([path.parent.name, path.stem])
        try:
            model = library.load(path)
            for threads in options.threads:
                fettle, ort, ratio, low, high = measure(library, model, path, threads, options)
                print(f"| {name} | {threads} | {fettle:.3f} | {ort:.3f} | {ratio:.2f} | {low:.2f} to {high:.2f} |", flush=True)
            library.calls.fettle_model_free(model)
        except Exception as error:  # whatever an engine raises must not end the table
            print(f"{path}: {' '.join(str(error).split())[:160]}", flush=True)


if __name__ == "__main__":
    main()
