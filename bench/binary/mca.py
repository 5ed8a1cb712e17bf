#!/usr/bin/env python3
"""Cycles of the inner loops of products of bits on ARM cores, by llvm-mca.

    mca.py [--compiler clang++] [--mca llvm-mca] [--cpu cortex-a55 cortex-a76]

Compiles the loops for NEON as they stand (src/kernels/cpu/binary: tile_neon.cc counts bytes, tables.cc looks up four bits of two
outputs), takes the innermost loop with the most cnt or tbl instructions of each, and prints cycles for 128 multiply-adds: a cnt
counts 128, a tbl 4 bits of two outputs for 16 pixels. A model, not a measurement: of in-order cores it is coarse.
"""

import argparse
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGETS = "-DHWY_DISABLED_TARGETS=(HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128)"
# With the flags that src/kernels/CMakeLists.txt gives them.
LOOPS = {"P1, bytes counted (tile_neon.cc)": ("tile_neon.cc", "cnt", ["-mtune=cortex-a53"]),
         "P2, tables of two outputs (tables.cc)": ("tables.cc", "tbl", [])}
RUNS = 1000


def assembly(compiler, source, flags):
    command = [compiler, "--target=aarch64-linux-gnu", "-std=c++20", "-O3", *flags, TARGETS, "-S", "-o", "-", "-I", ROOT / "src",
               ROOT / "src/kernels/cpu/binary" / source]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def innermost(lines, instruction):
    """The lines of the loop without branches inside that has the most of `instruction`, and how many."""
    labels = {match[1]: i for i, line in enumerate(lines) if (match := re.match(r"(\.L\w+):", line))}
    best, most = [], 0
    for end, line in enumerate(lines):
        match = re.match(r"\s+(?:b|b\.\w+|cbn?z|tbn?z)\s+.*?(\.L\w+)", line)
        begin = labels.get(match[1], end) if match else end
        if begin >= end:
            continue
        body = [row.split("//")[0].rstrip() for row in lines[begin + 1:end + 1] if re.match(r"\s+[a-z]", row)]
        count = sum(1 for row in body if re.match(rf"\s+{instruction}\s", row))
        if not any(re.match(r"\s+(b|b\.\w+|bl|cbn?z|tbn?z)\s", row) for row in body[:-1]) and count > most:
            best, most = body, count
    return best, most


def cycles(mca, cpu, body):
    text = subprocess.run([mca, "-mtriple=aarch64-linux-gnu", f"-mcpu={cpu}", f"-iterations={RUNS}"], check=True,
                          capture_output=True, text=True, input="\n".join(body) + "\n").stdout
    return int(re.search(r"Total Cycles:\s+(\d+)", text)[1]) / RUNS


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", default="clang++")
    parser.add_argument("--mca", default="llvm-mca")
    parser.add_argument("--cpu", nargs="*", default=["cortex-a55", "cortex-a57", "cortex-a76"])
    arguments = parser.parse_args()
    for name, (source, instruction, flags) in LOOPS.items():
        body, count = innermost(assembly(arguments.compiler, source, flags), instruction)
        figures = ", ".join(f"{cpu} {cycles(arguments.mca, cpu, body) / count:.2f}" for cpu in arguments.cpu)
        print(f"{name}: {len(body) / count:.2f} instructions; cycles for 128 multiply-adds: {figures}")


if __name__ == "__main__":
    main()
