#!/usr/bin/env python3
"""A package on a processor without instructions that it was made with: lost_instructions_test.py FETTLE FETTLE_DEMO

One line says so, and the answer is right; --strict refuses. Exit code 77 where there are none to take away."""

import json
import os
import subprocess
import sys
import tempfile

FETTLE, DEMO = map(os.path.abspath, sys.argv[1:3])
SMALL = ["--shape", "picture=1x3x8x12"]


def run(*arguments, isa=None):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("FETTLE_")}
    environment.update({"FETTLE_CPU_ISA": isa} if isa else {})
    return subprocess.run([FETTLE, *arguments], capture_output=True, text=True, env=environment, timeout=300)


def main():
    if "avx2" not in json.loads(run("devices", "--json").stdout)["cpu"]["isa"]:
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        subprocess.run([DEMO, folder], check=True)
        made = run("tune", "enhance_x2.onnx", *SMALL, "--cache", "cache", "-o", "made.fettle", "--level", "fast")
        assert made.returncode == 0, made.stderr
        strict = run("run", "made.fettle", *SMALL, "--strict", isa="baseline")
        assert strict.returncode == 4 and "was made for" in strict.stderr, strict.stderr
        # compare: against the reference of each operator.
        answer = run("compare", "made.fettle", *SMALL, "--no-cache", isa="baseline")
        assert answer.returncode == 0, answer.stderr
        lines = answer.stderr.splitlines()
        assert len(lines) == 1 and "was made for" in lines[0], lines
        os.chdir("/")


if __name__ == "__main__":
    main()
