"""Two builds of Fettle, or one with two sets of options, on the same models, in turns: default and tuned plans, and
what tuning predicted.

    bench/plans/compare_builds.py --before OLD/bin/fettle --after NEW/bin/fettle [--options "--threads 1"]
                                  [--budget 20] [--rounds 5] [--seconds 1] MODEL...
    bench/plans/compare_builds.py --before fettle --options-before "--precision high" --options-after
                                  "--precision normal" MODEL...

Prints a row per model: the median of the medians of each build's rounds in ms, their ratio (over 1: the new build is
faster) and its range over the rounds; at the end the geometric means. A model that a build cannot run is a row that
says so. With --isa avx2,avx512 there is a row for each of these levels of FETTLE_CPU_ISA. --options are given to each
`tune` and `bench` of both builds, --options-before and -after to those of one.
"""

import argparse
import json
import math
import os
import pathlib
import shlex
import statistics
import subprocess
import tempfile


def fettle(program, *arguments, timeout=600):
    """The JSON that a command prints; its last line of errors where it fails."""
    result = subprocess.run([program, *arguments, "--json"], capture_output=True, text=True, timeout=timeout)
    if result.returncode != 0:
        raise RuntimeError((result.stderr.strip().splitlines() or [f"exit code {result.returncode}"])[-1])
    return json.loads(result.stdout)


def tune(program, model, folder, options, budget):
    package = folder / f"{model.stem}.fettle"
    report = fettle(program, "tune", str(model), "-o", str(package), "--cache", str(folder / "cache"), "--budget",
                    str(budget), *options, timeout=20 * budget + 300)
    return package, report


def bench(program, model, seconds, options, *more):
    return fettle(program, "bench", str(model), "--seconds", str(seconds), *options, *more)


def compare(model, sides, arguments):
    """{"default": (times before, times after), "tuned": the same}, what each of two (program, options) predicted."""
    times = {"default": ([], []), "tuned": ([], [])}
    predicted = [None, None]
    with tempfile.TemporaryDirectory() as folder:
        packages = []
        for which, (program, options) in enumerate(sides):
            own = pathlib.Path(folder) / str(which)
            own.mkdir()
            packages.append(tune(program, model, own, options, arguments.budget)[0] if arguments.budget else None)
        for _ in range(arguments.rounds):
            for which, (program, options) in enumerate(sides):
                report = bench(program, model, arguments.seconds, options, "--no-cache")
                times["default"][which].append(report["latency_ms"]["median"])
                if packages[which] is None:
                    continue
                report = bench(program, packages[which], arguments.seconds, options, "--no-cache")
                times["tuned"][which].append(report["latency_ms"]["median"])
                predicted[which] = report.get("predicted_ms") or predicted[which]
    return times, predicted


def row(model, times, predicted):
    cells, ratios = [model.stem], {}
    for kind, (before, after) in times.items():
        if not before or not after:
            cells += ["-", "-", "-"]
            continue
        by_round = [b / a for b, a in zip(before, after)]
        ratios[kind] = statistics.median(by_round)
        cells += [f"{statistics.median(before):.3f}", f"{statistics.median(after):.3f}",
                  f"{ratios[kind]:.3f} ({min(by_round):.2f} to {max(by_round):.2f})"]
    for which, value in enumerate(predicted):
        tuned = times["tuned"][which]
        cells.append(f"{100 * (value / statistics.median(tuned) - 1):+.0f} %" if value and tuned else "-")
    return cells, ratios


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", required=True)
    parser.add_argument("--after", help="default: as before")
    parser.add_argument("--options", default="", help="given to tune and bench")
    parser.add_argument("--options-before", default="")
    parser.add_argument("--options-after", default="")
    parser.add_argument("--isa", type=lambda text: text.split(","), default=[os.environ.get("FETTLE_CPU_ISA", "")],
                        metavar="LEVEL,...", help="of FETTLE_CPU_ISA; default: as it is set")
    parser.add_argument("--budget", type=float, default=20, help="seconds of tuning; 0: default plans alone")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    sides = [(program, shlex.split(f"{arguments.options} {own}"))
             for program, own in ((arguments.before, arguments.options_before),
                                  (arguments.after or arguments.before, arguments.options_after))]
    wanted = ", ".join(" ".join(options) or "-" for _, options in sides)
    print(f"options: {wanted}, budget {arguments.budget} s, {arguments.rounds} rounds")
    print("| model | instructions | default before ms | after | ratio | tuned before ms | after | ratio "
          "| predicted before | after |")
    print("|---" * 10 + "|")
    all_ratios = {"default": [], "tuned": []}
    for model, isa in [(model, isa) for model in arguments.models for isa in arguments.isa]:
        os.environ["FETTLE_CPU_ISA"] = isa
        try:
            cells, ratios = row(model, *compare(model, sides, arguments))
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            cells, ratios = [model.stem, str(error)], {}
        cells.insert(1, isa or "all")
        for kind, ratio in ratios.items():
            all_ratios[kind].append(ratio)
        print("| " + " | ".join(cells) + " |", flush=True)
    for kind, ratios in all_ratios.items():
        if ratios:
            mean = math.exp(statistics.fmean(map(math.log, ratios)))
            print(f"{kind}: geometric mean {mean:.3f} over {len(ratios)}, least {min(ratios):.3f}")


if __name__ == "__main__":
    main()
