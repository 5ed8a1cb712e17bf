#!/usr/bin/env python3
"""Latencies of the networks of networks.py on bits, in int8 and in fp32, and where the time on bits goes.

    measure.py FETTLE FOLDER [--rounds 3] [--threads 1]

FOLDER has NAME.onnx, NAME_mixed.onnx (fettle quantise of it: layers of floats in bytes), NAME_fp32.onnx, and NAME_int8.onnx
(fettle quantise of that).

The least latency of several rounds in turns, default plans; the split is the profile of the fastest round: binary
convolutions with what is fused to them, packing alone, layers of floats, glue. The floor is their operations on bits at the best
rate of `fettle peak --only "bit dot"`, which takes its turn in each round, as a share of the binary convolutions' time.
FETTLE_CPU_ISA=avx512 measures without matrix tiles, FETTLE_CPU_ISA=avx2 below.
"""

import argparse
import json
import pathlib
import subprocess

FORMS = ("", "_mixed", "_int8", "_fp32")


def bench(fettle, model, threads):
    command = [fettle, "bench", model, "--threads", str(threads), "--no-cache", "--seconds", "0.3", "--json", "--profile"]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def kind(operators):
    if "Binary" in operators:
        return "binary"
    if operators.endswith("PackBits"):
        return "packing"
    return "floats" if operators.startswith(("Conv", "Gemm")) else "glue"


def split(result):
    parts = {"binary": 0, "packing": 0, "floats": 0, "glue": 0}
    for step in result["ops"]:
        parts[kind(step["op"])] += step["ms"]
    return parts


def bit_operations(result):
    return sum(step["operations"] for step in result["ops"] if kind(step["op"]) == "binary")


def peak(fettle, threads):
    """Operations on bits a ms by the best row."""
    command = [fettle, "peak", "--threads", str(threads), "--only", "bit dot", "--json"]
    rows = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["ceilings"]
    return max(row.get("best") or 0 for row in rows) * 1e-3


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fettle")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    names = sorted(path.stem[:-5] for path in arguments.folder.glob("*_fp32.onnx"))
    least, parts, operations, best = {}, {}, {}, 0
    for _ in range(arguments.rounds):
        best = max(best, peak(arguments.fettle, arguments.threads))
        for name in names:
            for form in FORMS:
                model = arguments.folder / f"{name}{form}.onnx"
                if not model.exists():
                    continue
                result = bench(arguments.fettle, model, arguments.threads)
                least[name + form] = min(least.get(name + form, 1e9), result["latency_ms"]["min"])
                if not form:
                    parts[name] = min(parts.get(name, {"": 1e9}), split(result), key=lambda p: sum(p.values()))
                    operations[name] = bit_operations(result)
    for name in names:
        bits, mixed, *twins = [least.get(name + form, float("nan")) for form in FORMS]
        against = ", ".join(f"{twin} {ms:.2f} ({ms / bits:.2f}x, {ms / mixed:.2f}x)" for twin, ms in zip(("int8", "fp32"), twins))
        print(f"{name}: bits {bits:.2f} ms, with bytes {mixed:.2f}, {against}; "
              + ", ".join(f"{part} {ms:.2f}" for part, ms in parts[name].items())
              + f"; floor {operations[name] / best:.2f}, {operations[name] / best / parts[name]['binary']:.0%}")
    print(f"peak {best * 1e-9:.2f} T operations on bits a second")


if __name__ == "__main__":
    main()
