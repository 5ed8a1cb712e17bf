"""Files that mean harm, one after the other: no crash, no hang, always a line that says what is wrong.

    tests/models/check_mutated.py FETTLE COUNT SEED FILE...

Each of COUNT times takes one of the FILEs (models, packages, pictures, arrays, databases), overwrites bytes, cuts it off,
repeats or drops a part, or splices two files, and gives it to the command that reads such a file. Wanted: an exit code
of the documented ones, within 20 s; where it is not 0, something on standard error. Prints what failed, and the count; a
file that failed stays in the current folder.
"""

import collections
import pathlib
import random
import subprocess
import sys
import tempfile

COMMANDS = {".onnx": ["run", "{}"], ".fettle": ["run", "{}"], ".npy": ["run", "{model}", "-i", "{}"],
            ".png": ["run", "{model}", "-i", "{}", "--strict"], ".jpg": ["run", "{model}", "-i", "{}", "--strict"],
            ".pb": ["run", "{model}", "-i", "{}"], ".db": ["db", "verify", "--cache", "{folder}"],
            ".json": ["tune-kernel", "{}", "--evals", "1"]}
EXIT_CODES = range(6)  # docs/cli.md


def mutate(data, other, draw):
    data = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 8))):
        at = draw.randrange(len(data) + 1)
        kind = draw.randrange(6)
        if kind == 0:
            del data[at:]
        elif kind == 1 and at < len(data):
            data[at] = draw.choice((0, 1, 0x7F, 0x80, 0xFF, draw.randrange(256)))
        elif kind == 2:
            end = at + draw.randrange(1, 9)
            data[at:end] = draw.choice((b"\xff", b"\x00", b"\x80")) * len(data[at:end])
        elif kind == 3:
            data[at:at] = data[at:at + draw.randrange(1, 200)]
        elif kind == 4:
            del data[at:at + draw.randrange(1, 200)]
        else:
            data = data[:at] + other[draw.randrange(len(other) + 1):]
    return bytes(data)


def fault(program, words):
    """What is wrong with how the program took a file (empty: nothing), and its exit code."""
    try:
        result = subprocess.run([program, *words], capture_output=True, timeout=20)
    except subprocess.TimeoutExpired:
        return "took over 20 s", None
    if result.returncode not in EXIT_CODES:
        return f"exit code {result.returncode}: {result.stderr[-300:]!r}", None
    if result.returncode and not result.stderr.strip():
        return f"exit code {result.returncode} without a line", None
    return "", result.returncode


def main():
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    program, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    files = [pathlib.Path(name) for name in sys.argv[4:]]
    contents = {path: path.read_bytes() for path in files}
    model = str(next(path for path in files if path.suffix == ".onnx").resolve())
    draw = random.Random(seed)
    failed, codes = 0, collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for i in range(count):
            path = draw.choice(files)
            like = draw.choice([other for other in files if other.suffix == path.suffix])
            changed = pathlib.Path(folder) / f"tuning{path.suffix}"  # the name that a database has
            changed.write_bytes(mutate(contents[path], contents[like], draw))
            words = [word.format(changed, model=model, folder=folder) for word in COMMANDS[path.suffix]]
            problem, code = fault(program, words)
            codes[code] += 1
            if problem:
                failed += 1
                kept = pathlib.Path(f"failed_{seed}_{i}{path.suffix}")
                kept.write_bytes(changed.read_bytes())
                print(f"{kept} ({path.name}), {' '.join(words[:1])}: {problem}")
    print("exit codes: " + ", ".join(f"{code}: {times}" for code, times in sorted(codes.items(), key=str)))
    print(f"{count - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
