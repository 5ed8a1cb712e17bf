"""How far two tunings of one network agree, and that neither tuning nor another thread makes it slower.

    bench/plans/tune_twice.py --fettle build/release/bin/fettle [--threads 1,2] [--budget 6] [--rounds 5]
                              [--seconds 0.2] MODEL...

Each model is tuned twice, with an empty database each time; both packages and the default plan then run in turns. A row
per model and number of threads: medians of the turns in ms, the second package over the first, the default over the
slower of both, one thread fewer over this number of threads (over 1: more threads are faster), the first package over itself
in the same turns (what a ratio of equal plans is on this machine), and how many steps the two plans differ in.
"""

import argparse
import pathlib
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from compare_builds import bench, tune  # noqa: E402


def measure(model, threads, arguments):
    """Medians in ms of the first package, the second one, the default plan and the first once more, the turns' ratios, and
    how many steps of the plans differ."""
    options = ["--threads", str(threads)]
    with tempfile.TemporaryDirectory() as folder:
        packages, plans = [], []
        for which in ("first", "second"):
            own = pathlib.Path(folder) / which
            own.mkdir()
            package, report = tune(arguments.fettle, model, own, options, arguments.budget)
            packages.append(package)
            plans.append({(step["node"], step["kernel"], str(step["params"]), step["threads"])
                          for step in report["plan"]["nodes"]})
        runs = [*packages, model, packages[0]]
        turns = [[bench(arguments.fettle, run, arguments.seconds, options, "--no-cache")["latency_ms"]["median"]
                  for run in runs] for _ in range(arguments.rounds)]
    medians = [statistics.median(column) for column in zip(*turns)]
    return medians, [[turn[i] / turn[0] for turn in turns] for i in (1, 3)], len(plans[0] - plans[1])


def spread(ratios):
    return f"{statistics.median(ratios):.3f} ({min(ratios):.2f} to {max(ratios):.2f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fettle", required=True)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--budget", type=float, default=6, help="seconds of each tuning")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    print("| model | threads | first ms | second ms | default ms | second / first | default / tuned | fewer / these threads | "
          "first / first | steps that differ |")
    print("|---|---:|---:|---:|---:|---|---:|---:|---|---:|")
    for model in arguments.models:
        fewer = None
        for threads in map(int, arguments.threads.split(",")):
            (first, second, default, _), (ratios, same), differing = measure(model, threads, arguments)
            gain = f"{fewer / max(first, second):.2f}" if fewer else "-"
            print(f"| {model.stem} | {threads} | {first:.3f} | {second:.3f} | {default:.3f} | "
                  f"{spread(ratios)} | {default / max(first, second):.3f} | {gain} | {spread(same)} | {differing} |",
                  flush=True)
            fewer = max(first, second)


if __name__ == "__main__":
    main()
