"""How far two tunings of one network agree, and that neither tuning nor another thread makes it slower.

    bench/plans/tune_twice.py --fettle build/release/bin/fettle [--threads 1,2] [--budget 6] [--rounds 5]
                              [--seconds 0.2] MODEL...

Each model is tuned twice, with an empty database each time; both packages and the default plan then run in turns. A row
per model and number of threads: medians of the turns in ms, the second package over the first, the default over the
slower of both, and one thread fewer over this number of threads (over 1: more threads are faster).
"""

import argparse
import pathlib
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from compare_builds import bench, tune  # noqa: E402


def measure(model, threads, arguments):
    """Medians in ms of the first package, the second one and the default plan."""
    options = ["--threads", str(threads)]
    with tempfile.TemporaryDirectory() as folder:
        runs = [model]
        for which in ("first", "second"):
            own = pathlib.Path(folder) / which
            own.mkdir()
            runs.insert(-1, tune(arguments.fettle, model, own, options, arguments.budget)[0])
        turns = [[bench(arguments.fettle, run, arguments.seconds, options, "--no-cache")["latency_ms"]["median"]
                  for run in runs] for _ in range(arguments.rounds)]
    ratios = [turn[1] / turn[0] for turn in turns]
    return [statistics.median(column) for column in zip(*turns)], ratios


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fettle", required=True)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--budget", type=float, default=6, help="seconds of each tuning")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    print("| model | threads | first ms | second ms | default ms | second / first | default / tuned | fewer / these threads |")
    print("|---|---:|---:|---:|---:|---|---:|---:|")
    for model in arguments.models:
        fewer = None
        for threads in map(int, arguments.threads.split(",")):
            (first, second, default), ratios = measure(model, threads, arguments)
            gain = f"{fewer / max(first, second):.2f}" if fewer else "-"
            print(f"| {model.stem} | {threads} | {first:.3f} | {second:.3f} | {default:.3f} | "
                  f"{statistics.median(ratios):.3f} ({min(ratios):.2f} to {max(ratios):.2f}) | "
                  f"{default / max(first, second):.3f} | {gain} |", flush=True)
            fewer = max(first, second)


if __name__ == "__main__":
    main()
