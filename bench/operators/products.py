"""Products of M rows by a constant matrix beside ONNX Runtime, in turns:

    $(scripts/python-env) bench/operators/products.py [--rows 1,6,...] [--matrices 768x3072] [--threads 1] [--library FILE,...]
                          [--seconds 0.3]

Prints for each number of rows the least milliseconds of Fettle and ONNX Runtime, Fettle's GFLOP/s, and ONNX Runtime's time over
Fettle's (over 1: Fettle is faster); with two libraries also the first one's time over the second's. With FETTLE_CPU_ISA=avx2 ONNX
Runtime must be held to it too: LD_PRELOAD of bench/peers/hide_avx512.c. Needs numpy, onnx, onnxruntime and libfettle.so.
"""

import argparse
import pathlib
import sys

import numpy
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench" / "peers"))  # behind bench/operators: both have a run.py

from library import Library  # noqa: E402
from run import least_times  # noqa: E402

ROWS = "1,2,3,4,5,6,8,12,13,16,24,32,48,64,96,128,196,256,384,512"


def network(rows, depth, columns, random):
    weights = numpy_helper.from_array(random.random((depth, columns), numpy.float32) - 0.5, "w")
    operands = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("a", [rows, depth]), ("y", [rows, columns]))]
    graph = helper.make_graph([helper.make_node("MatMul", ["a", "w"], ["y"])], "product", operands[:1], operands[1:], [weights])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def measure(libraries, options, shape):
    """The least milliseconds of each library, then of ONNX Runtime."""
    random = numpy.random.default_rng(1)
    model, feeds = network(*shape, random), {"a": random.random(shape[:2], numpy.float32)}
    session_options = onnxruntime.SessionOptions()
    session_options.intra_op_num_threads = options.threads
    peer = onnxruntime.InferenceSession(model, session_options, providers=["CPUExecutionProvider"])
    handles = [library.load_bytes(model) for library in libraries]
    sessions = [library.session(handle, options.threads, feeds) for library, handle in zip(libraries, handles)]
    runs = [lambda library=library, session=session: library.call("fettle_session_run", session)
            for library, session in zip(libraries, sessions)]
    times = least_times([*runs, lambda: peer.run(None, feeds)], options.seconds)
    for library, handle, session in zip(libraries, handles, sessions):
        library.calls.fettle_session_free(session)
        library.calls.fettle_model_free(handle)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=lambda text: [int(rows) for rows in text.split(",")], default=ROWS)
    parser.add_argument("--matrices", type=lambda text: [[int(side) for side in pair.split("x")] for pair in text.split(",")],
                        default="768x3072", metavar="DEPTHxCOLUMNS,...")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--library", default=str(ROOT / "build" / "release" / "lib" / "libfettle.so"))
    parser.add_argument("--seconds", type=float, default=0.3)
    options = parser.parse_args()
    onnxruntime.set_default_logger_severity(4)
    libraries = [Library(pathlib.Path(path)) for path in options.library.split(",")]
    print("| product | Fettle ms | GFLOP/s | ONNX Runtime ms | ratio |" + (" first library |" if len(libraries) > 1 else ""))
    print("|---|---:|---:|---:|---:|" + ("---:|" if len(libraries) > 1 else ""))
    for depth, columns in options.matrices:
        for rows in options.rows:
            *ours, peer = measure(libraries, options, (rows, depth, columns))
            row = f"| {rows}x{depth}x{columns} | {ours[-1]:.3f} | {2e-6 * rows * depth * columns / ours[-1]:.0f} | {peer:.3f} | {peer / ours[-1]:.2f} |"
            print(row + (f" {ours[0] / ours[-1]:.2f} |" if len(libraries) > 1 else ""), flush=True)


if __name__ == "__main__":
    main()
