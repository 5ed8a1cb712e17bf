#!/usr/bin/env python3
"""Changed files: models, packages, databases, pictures, arrays and documents, as tests/models/check_mutated.py changes them.

usage: tests/attack/files.py FETTLE [--seed N] [--seconds S] [--count N] [--out FOLDER]

The files are what the program itself writes. The same seed makes the same cases; --count is 5,000 by default.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "tests/models"), str(ROOT / "tests/python")]
from check_mutated import Mutations  # noqa: E402
from small_models import graph, model, node, value  # noqa: E402

SMALL = ["--shape", "picture=1x3x8x12"]


def loop():
    """A model with a graph inside a graph inside another, of values whose shapes change."""
    body = graph([node("Identity", ["go"], ["on"]), node("Concat", ["v", "v"], ["w"], axis=0), node("Shape", ["w"], ["s"]),
                  node("Expand", ["w", "s"], ["e"])],
                 [value("i", [], "int64"), value("go", [], "bool"), value("v", ["n"])], [value("on", [], "bool"), value("e", ["m"])])
    inner = graph([node("Loop", ["m", "", "x"], ["y"], body=body)], [], [value("y", ["k"])])
    other = graph([node("Relu", ["x"], ["z"])], [], [value("z", ["k"])])
    return model([node("If", ["c"], ["out"], then_branch=inner, else_branch=other)],
                 [value("c", [], "bool"), value("m", [], "int64"), value("x", [4])], [value("out", ["k"])])


def make_files(program, folder):
    """What is changed."""
    def run(*words):
        subprocess.run([program, *words], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    subprocess.run([f"{program}-demo", folder], check=True, stdout=subprocess.DEVNULL)
    run("run", "enhance_x2.onnx", *SMALL, "-o", "picture=in.npy", "-o", "in.pb")
    run("run", "enhance_x2.onnx", "-i", "landscape.png", "-o", "enhanced.jpg")
    run("tune", "enhance_x2.onnx", *SMALL, "--level", "fast", "--budget", "5", "--cache", ".", "-o", "small.fettle")
    run("tune", "enhance_x2.onnx", *SMALL, "--level", "none", "--packed-weights", "--no-cache", "-o", "packed.fettle")
    folder.joinpath("loop.onnx").write_bytes(loop())
    names = ["enhance_x2.onnx", "loop.onnx", "in.npy", "in.pb", "landscape.png", "enhanced.jpg", "small.fettle", "packed.fettle", "tuning.db"]
    return [folder / name for name in names] + sorted(ROOT.glob("models/*10k*.onnx"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fettle", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/attack/files")
    options = parser.parse_args()
    program = str(options.fettle.resolve())
    with tempfile.TemporaryDirectory() as folder:
        files = make_files(program, pathlib.Path(folder))
        passed, failed = Mutations(program, files, options.seed).run(options.count, options.out, options.seconds)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
