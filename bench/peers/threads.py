"""Fettle's library beside other engines over numbers of threads, in turns:

    bench/peers/threads.py [--library build/release/lib/libfettle.so] [--engines onnxruntime] [--threads 1,2,4,8,16]
                           [--rounds 3] [--seconds 0.1] MODEL...

Each is a process of its own, stopped in the turns of others: in one process ONNX Runtime's threads, which spin on after a run,
take the cores of whoever is next. Nothing is loaded anew between turns, as bench/peers/run does to Fettle: for machines on
which time is short. Prints a row for each model and number of threads: the medians of the turns in ms, the ratio of the
fastest other engine of a turn to Fettle (over 1: Fettle is faster) and its range. Inputs are seeded as numbers below 1,
integers as zeros; open extents are 1. What an engine refuses ends that row alone. Needs numpy and onnxruntime.
"""

import argparse
import pathlib
import statistics
import tempfile

import numpy
import onnxruntime

from peer import Peer

ROOT = pathlib.Path(__file__).resolve().parents[2]


def seeded(path, folder):
    """Files of inputs by name, as the network declares them."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    random, files = numpy.random.default_rng(1), {}
    for value in onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]).get_inputs():
        shape = [extent if isinstance(extent, int) else 1 for extent in value.shape]
        integers = {"tensor(int64)": numpy.int64, "tensor(int32)": numpy.int32}
        feed = (numpy.zeros(shape, integers[value.type]) if value.type in integers else random.random(shape, numpy.float32))
        files[value.name] = f"{folder}/{len(files)}.npy"
        numpy.save(files[value.name], feed)
    return files


def measure(path, inputs, threads, options, folder):
    """The medians of each engine's turns, and the ratios of the turns."""
    peers = []
    try:
        for engine in [str(options.library), *options.engines]:
            peers.append(Peer(engine, path, inputs, threads, folder))
        turns = [[peer.turn(options.seconds) for peer in peers] for _ in range(options.rounds)]
    finally:
        for peer in peers:
            peer.close()
    return [statistics.median(column) for column in zip(*turns)], [min(turn[1:]) / turn[0] for turn in turns]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=pathlib.Path, metavar="MODEL")
    parser.add_argument("--library", type=pathlib.Path, default=ROOT / "build" / "release" / "lib" / "libfettle.so")
    parser.add_argument("--engines", type=lambda text: text.split(","), default=["onnxruntime"])
    parser.add_argument("--threads", type=lambda text: [int(count) for count in text.split(",")], default=[1, 2, 4, 8, 16])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.1)
    options = parser.parse_args()
    onnxruntime.set_default_logger_severity(4)
    names = " | ".join(options.engines)
    print(f"| model | threads | Fettle | {names} | ratio | spread |\n|---|---:|---:|{'---:|' * len(options.engines)}---:|---|")
    for path in options.models:
        name = "/".join([path.parent.name, path.stem])
        with tempfile.TemporaryDirectory() as folder:
            try:
                inputs = seeded(path, folder)
                for threads in options.threads:
                    times, ratios = measure(path, inputs, threads, options, folder)
                    cells = " | ".join(f"{ms:.3f}" for ms in times)
                    print(f"| {name} | {threads} | {cells} | {statistics.median(ratios):.2f} | "
                          f"{min(ratios):.2f} to {max(ratios):.2f} |", flush=True)
            except Exception as error:  # whatever an engine raises must not end the table
                print(f"{path}: {' '.join(str(error).split())[:160]}", flush=True)


if __name__ == "__main__":
    main()
