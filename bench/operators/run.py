"""Single operators beside ONNX Runtime, one thread, in turns:

    $(scripts/python-env) bench/operators/run.py [--only REGEX] [--below 0.7] [--library FILE] [--table FILE] [--seconds 0.1]
                                                  [--retyped | --random COUNT [--layers|--bytes] [--seed N]]

Makes a network of one node for each row of rows.py (0.1 to 10 M elements), binds its operands, and lets Fettle and ONNX
Runtime run it in turns. Prints the rows worst first: the least milliseconds of each, ONNX Runtime's time over Fettle's (over
1: Fettle is faster), and the step that takes Fettle most. --only picks rows by "OPERATOR CASE", --below hides the faster ones,
--table writes all as a TSV; --random takes COUNT rows of random_rows.py instead, of the seed N, with --layers of
layer_rows.py (convolutions, products, pools, norms, recurrent layers), with --bytes of byte_rows.py (integers, what is quantised,
casts), with --retyped the rows of rows.py with other types of elements and other operands constant (retyped_rows.py). Rows that one of the two refuses are named at the end. FETTLE_CPU_ISA=avx2 holds both to AVX2 where the processor can hide
AVX-512 (see ../peers/hide_avx512.c), else Fettle alone, and says which. Needs numpy, onnx, onnxruntime and
build/release/lib/libfettle.so.
"""

import argparse
import ctypes
import math
import os
import pathlib
import re
import subprocess
import sys
import time

import onnxruntime

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "peers"))

from byte_rows import byte_rows  # noqa: E402
from layer_rows import layer_rows  # noqa: E402
from library import Library  # noqa: E402
from peer import environment  # noqa: E402
from random_rows import random_rows  # noqa: E402
from retyped_rows import retyped_rows  # noqa: E402
from rows import rows  # noqa: E402


class Step(ctypes.Structure):
    """fettle_step."""

    _fields_ = [("struct_size", ctypes.c_size_t), ("node", ctypes.c_char_p), ("op", ctypes.c_char_p), ("kernel", ctypes.c_char_p),
                ("ms", ctypes.c_double), ("macs", ctypes.c_int64), ("bytes", ctypes.c_int64)]


def hide_instructions():
    """With FETTLE_CPU_ISA=avx2, goes on as a process that finds no AVX-512, where the processor can hide it."""
    hidden = environment()
    if "LD_PRELOAD" not in hidden or os.environ.get("LD_PRELOAD") == hidden["LD_PRELOAD"]:
        return
    if subprocess.run([sys.executable, "-c", ""], env=hidden, stderr=subprocess.DEVNULL).returncode == 0:
        os.execve(sys.executable, [sys.executable, *sys.argv], hidden)
    print("This processor cannot hide AVX-512: FETTLE_CPU_ISA=avx2 holds Fettle alone.", file=sys.stderr)


def slowest_step(library, session):
    library.calls.fettle_session_step_count.restype = ctypes.c_size_t
    steps = []
    for i in range(library.calls.fettle_session_step_count(session)):
        step = Step(ctypes.sizeof(Step))
        library.call("fettle_session_step", session, ctypes.c_size_t(i), ctypes.byref(step))
        steps.append((step.ms, step.kernel.decode()))
    return max(steps, default=(0, "-"))[1]


def least_times(runs, seconds):
    """The least milliseconds of each of `runs` over turns of a few calls each."""
    least = [math.inf] * len(runs)
    for run in runs:
        run()
    end = time.perf_counter() + seconds * len(runs)
    while True:
        for i, run in enumerate(runs):
            stop = time.perf_counter() + seconds / 10
            while True:
                begin = time.perf_counter()
                run()
                now = time.perf_counter()
                least[i] = min(least[i], (now - begin) * 1e3)
                if now > stop:
                    break
        if now > end:
            return least


def measure(library, row, seconds):
    """Fettle's and ONNX Runtime's milliseconds and the kernel; raises what one of them refuses."""
    model, feeds = row.model().SerializeToString(), row.feeds()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    peer = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    handle = library.load_bytes(model)
    session = library.session(handle, 1, feeds)
    try:
        runs = [lambda: library.call("fettle_session_run", session), lambda: peer.run(None, feeds)]
        times = least_times(runs, seconds)
        runs[0]()
        return *times, slowest_step(library, session)
    finally:
        library.calls.fettle_session_free(session)
        library.calls.fettle_model_free(handle)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=re.compile, default=re.compile(""))
    parser.add_argument("--below", type=float, default=math.inf)
    parser.add_argument("--library", type=pathlib.Path, default=ROOT / "build" / "release" / "lib" / "libfettle.so")
    parser.add_argument("--table", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--random", type=int, metavar="COUNT")
    parser.add_argument("--layers", action="store_true")
    parser.add_argument("--bytes", action="store_true")
    parser.add_argument("--retyped", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    hide_instructions()
    onnxruntime.set_default_logger_severity(4)
    library, measured, refused = Library(options.library), [], []
    draw = layer_rows if options.layers else byte_rows if options.bytes else random_rows
    for row in draw(options.seed, options.random) if options.random else retyped_rows() if options.retyped else rows():
        if not options.only.search(f"{row.op} {row.case}"):
            continue
        try:
            fettle, peer, kernel = measure(library, row, options.seconds)
        except Exception as error:  # what an engine says of a network is a line of the result
            refused.append(f"{row.op}\t{row.case}\t{' '.join(str(error).split())[:160]}")
            continue
        measured.append((peer / fettle, row.op, row.case, fettle, peer, kernel))
    measured.sort()
    header = "operator\tcase\tfettle_ms\tonnxruntime_ms\tratio\tkernel"
    lines = [f"{op}\t{case}\t{fettle:.4g}\t{peer:.4g}\t{ratio:.3g}\t{kernel}" for ratio, op, case, fettle, peer, kernel in measured]
    if options.table:
        options.table.write_text("\n".join([header, *lines]) + "\n")
    print(header)
    print("\n".join(line for line, row in zip(lines, measured) if row[0] < options.below))
    print("\n".join(f"refused\t{line}" for line in refused))
    ratios = [row[0] for row in measured]
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"{len(ratios)} rows, {sum(ratio < 0.7 for ratio in ratios)} below 0.7, geometric mean {mean:.2f}")


if __name__ == "__main__":
    main()
