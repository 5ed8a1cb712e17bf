"""Networks with dynamic shapes at random shapes, one session each: shapes.py [--seed N] [--turns N] [--threads N] FOLDER...

FOLDERs are what `bench/zoo/run --exporters dynamo-shapes --export` writes. Each extent that the file leaves open is as it was
exported, or random: 1, up to twice as many, half, one more. All values are compared with ONNX Runtime's, without its
optimisation; what ONNX Runtime refuses is not counted. Prints for each network the shapes that ran, the least dB, and the time
of all runs behind the first one beside that of an optimised session of ONNX Runtime; a line for each shape that fails or has
less than 60 dB. Needs the packages fettle, numpy, onnx and onnxruntime. Exits with 1 where a shape failed."""

import argparse
import pathlib
import sys
import time

import numpy
import onnx
import onnxruntime
from values import ratio_db

LEAST_DB = 60


def open_extents(path):
    """The inputs with an integer or a name for each extent."""
    graph = onnx.load(str(path), load_external_data=False).graph
    constants = {one.name for one in graph.initializer}
    return {one.name: [extent.dim_param or extent.dim_value for extent in one.type.tensor_type.shape.dim]
            for one in graph.input if one.name not in constants}


def resized(value, shape):
    """`value`, repeated or cut along each axis."""
    repeats = [-(-wanted // had) for wanted, had in zip(shape, value.shape)]
    return numpy.ascontiguousarray(numpy.tile(value, repeats)[tuple(slice(0, wanted) for wanted in shape)])


def any_extent(extent, random):
    near = [1, 2, 3, extent, extent, max(1, extent // 2), extent + 1, 2 * extent, int(random.integers(1, 2 * extent + 2))]
    return int(random.choice(near))


def session(path, threads, level):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.graph_optimization_level = level
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def timed(work):
    begin = time.perf_counter()
    try:
        answer = work()
    except Exception as error:  # of many classes
        answer = error
    return answer, time.perf_counter() - begin


def check(folder, options, random):
    import fettle

    path = folder / "model.onnx"
    extents, given = open_extents(path), {one.stem: numpy.load(one) for one in folder.glob("*.npy")}
    exported = {name: had for key, value in given.items() for name, had in zip(extents[key], value.shape) if isinstance(name, str)}
    plain = session(path, options.threads, onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL)
    fast = session(path, options.threads, onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL)
    names = [one.name for one in plain.get_outputs()]
    worst, ran, failed, spent = float("inf"), 0, 0, [0.0, 0.0]
    with fettle.Session(str(path), threads=options.threads) as mine:
        for turn in range(options.turns):
            sizes = {name: had if turn == 0 else any_extent(had, random) for name, had in exported.items()}
            feeds = {key: resized(value, [sizes.get(extent, extent) for extent in extents[key]]) for key, value in given.items()}
            wanted, _ = timed(lambda: plain.run(names, feeds))
            if isinstance(wanted, Exception):
                continue
            got, seconds = timed(lambda: mine.run(feeds))
            _, others = timed(lambda: fast.run(names, feeds))
            ran += 1
            if turn > 0:
                spent = [spent[0] + seconds, spent[1] + others]
            db = -float("inf") if isinstance(got, Exception) else min(ratio_db(value, got[name]) for name, value in zip(names, wanted))
            worst = min(worst, db)
            if db < LEAST_DB:
                failed += 1
                print(f"    {sizes}: {str(got)[:200] if isinstance(got, Exception) else f'{db:.0f} dB'}")
    ratio = spent[1] / spent[0] if spent[0] else float("nan")
    print(f"{'/'.join(folder.parts[-3:]):44} {ran} shapes, {worst:.0f} dB, {spent[0] * 1e3:.2f} ms, onnxruntime "
          f"{spent[1] * 1e3:.2f}, ratio {ratio:.2f}", flush=True)
    return failed


def main():
    parser = argparse.ArgumentParser(prog="bench/zoo/shapes.py", description=__doc__)
    parser.add_argument("folders", type=pathlib.Path, nargs="+")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--turns", type=int, default=8, help="shapes of each network; the first is the exported one (default: 8)")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    onnxruntime.set_default_logger_severity(4)
    random = numpy.random.default_rng(options.seed)
    failed = sum(check(folder, options, random) for folder in options.folders if (folder / "model.onnx").exists())
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
