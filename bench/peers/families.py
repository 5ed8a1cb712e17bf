"""What share of its bound each kernel reaches in networks: families.py [--threads 1] [--seconds 0.2] MODEL...

Runs `fettle bench MODEL --profile` and adds up layers by kernel: how many there are, their share of all time, what bounds
most of that time, and the time of their bounds over theirs, where each layer's bound is the larger of its arithmetic at the
peak and its least bytes at the bandwidth of the level that holds them; `cold` takes weights from beyond the caches. Kernels
with less than --least of the time are one row.
"""

import argparse
import collections
import json
import pathlib
import subprocess

FETTLE = pathlib.Path(__file__).resolve().parents[2] / "build" / "release" / "bin" / "fettle"


def layers(path, options):
    command = [str(FETTLE), "bench", str(path), "--profile", "--json", "--no-cache", "--threads", str(options.threads),
               "--seconds", str(options.seconds)]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        print(f"{path}: {result.stderr.strip().splitlines()[-1]}")
        return []
    return [layer for layer in json.loads(result.stdout)["ops"] if layer["bound_ms"]]


def row(name, part, all_ms):
    ms = sum(layer["ms"] for layer in part)
    bounds = collections.Counter()
    for layer in part:
        bounds[layer["bound_by"]] += layer["ms"]
    shares = [sum(layer[key] for layer in part) / ms for key in ("bound_ms", "cold_bound_ms")]
    return (f"| {name} | {len(part)} | {100 * ms / all_ms:.1f} % | {bounds.most_common(1)[0][0]} | "
            f"{100 * shares[0]:.0f} % | {100 * shares[1]:.0f} % |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=pathlib.Path, metavar="MODEL")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--least", type=float, default=0.002, help="share of the time (default: %(default)s)")
    options = parser.parse_args()
    kernels = collections.defaultdict(list)
    for path in options.models:
        for layer in layers(path, options):
            kernels[layer["kernel"]].append(layer)
    times = {name: sum(layer["ms"] for layer in part) for name, part in kernels.items()}
    all_ms = sum(times.values())
    small = [name for name in times if times[name] < options.least * all_ms]
    print("| kernel | layers | of the time | bound by | of the bound | cold |\n|---|---:|---:|---|---:|---:|")
    for name in sorted(times.keys() - set(small), key=times.get, reverse=True):
        print(row(f"`{name}`", kernels[name], all_ms))
    if small:
        print(row(f"{len(small)} others", [layer for name in small for layer in kernels[name]], all_ms))


if __name__ == "__main__":
    main()
