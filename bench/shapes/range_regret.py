"""What a shape that was never measured loses on the plan of a tuned range: bench/shapes/range_regret.py FETTLE MODEL RANGE

RANGE is what `tune --shape` takes, of one input. Tunes the range with a new database, and its largest size with another new one: the first seconds
over the second are the cost. Then --count shapes of the range, drawn by a seed, evenly by ratio and each extent by itself, are tuned one by one, with
what measuring the range taught. Both plans and the default one run in turns; a plan's time is the least median. Prints a line for each shape: both
times over that of its own plan; where tuning left the default plan in place, that is its own."""

import argparse
import json
import math
import pathlib
import random
import shutil
import subprocess
import tempfile


def draw(text, chance):
    """A shape of the range; extents are multiples of what divides both ends."""
    extents = []
    for part in text.split("x"):
        low, _, high = part.partition("..")
        low, high = int(low), int(high or low)
        step = math.gcd(low, high) if high > low else 1
        drawn = low * (high / low) ** chance.random()
        extents.append(min(max(round(drawn / step) * step, low), high))
    return "x".join(map(str, extents))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fettle")
    parser.add_argument("model")
    parser.add_argument("range")
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--options", default="--threads 1", help="of every command, in one word")
    parser.add_argument("--under", default="", help="runs each command under this one")
    arguments = parser.parse_args()
    under, options = arguments.under.split(), arguments.options.split()
    name, _, extents = arguments.range.rpartition("=")

    def fettle(*words):
        done = subprocess.run([*under, arguments.fettle, *map(str, words), *options, "--json"], check=True, capture_output=True, text=True)
        return json.loads(done.stdout)

    def tune(shape, cache, package):
        return fettle("tune", arguments.model, "--shape", f"{name}={shape}", "--cache", cache, "-o", package)

    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        ranged = tune(extents, place / "range", place / "range.fettle")
        largest = "x".join(part.split("..")[-1] for part in extents.split("x"))
        single = tune(largest, place / "single", place / "single.fettle")
        sizes = ranged["range"]["sizes"]
        print(f"{len(sizes)} sizes, {ranged['range']['regimes']} regimes: ", *("x".join(map(str, size["shapes"][name])) for size in sizes))
        took = sum(size["seconds"] for size in sizes)
        print(f"range {took:.1f} s, one shape {single['seconds']:.1f} s: {took / single['seconds']:.2f} times", flush=True)
        tuned_at = {"x".join(map(str, size["shapes"][name])) for size in sizes}
        chance, shapes = random.Random(arguments.seed), []
        for _ in range(100 * arguments.count):
            shape = draw(extents, chance)
            if shape not in tuned_at and shape not in shapes and len(shapes) < arguments.count:
                shapes.append(shape)
        shutil.copytree(place / "range", place / "own")
        regrets, defaults = [], []
        for shape in shapes:
            tune(shape, place / "own", place / "own.fettle")
            times = {}
            for turn in range(arguments.rounds):
                for plan in ("range", "own", "default"):
                    model = arguments.model if plan == "default" else place / f"{plan}.fettle"
                    ran = fettle("bench", model, "--shape", f"{name}={shape}", "--no-cache", "--seconds", arguments.seconds)
                    assert ran["plan"] == {"range": "regime", "own": "package", "default": "preferences"}[plan], ran["plan"]
                    times.setdefault(plan, []).append(ran["latency_ms"]["median"])
            least = {plan: min(taken) for plan, taken in times.items()}
            regrets.append(least["range"] / least["own"])
            defaults.append(least["default"] / least["own"])
            print(f"{shape}: {least['own']:.3f} ms; range {regrets[-1]:.3f}, default {defaults[-1]:.3f}", flush=True)
        for what, ratios in (("range", regrets), ("default", defaults)):
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            print(f"{what}: {len(ratios)} shapes, mean {mean:.3f}, worst {max(ratios):.3f}, over 1.05: {sum(r > 1.05 for r in ratios)}")


if __name__ == "__main__":
    main()
