"""Files that mean harm, one after the other: no crash, no hang, always a line that says what is wrong.

    tests/models/check_mutated.py FETTLE COUNT SEED FILE...

Each of COUNT times takes one of the FILEs (models, packages, pictures, arrays, databases), overwrites bytes, cuts it off,
repeats or drops a part, or splices two files, and gives it to the command that reads such a file. Wanted: an exit code
of the documented ones, within 20 s; where it is not 0, something on standard error. What a run refuses of a package is refused
when it is loaded. Prints what failed, and the count; a file that failed stays in the current folder.
"""

import collections
import concurrent.futures
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

COMMANDS = {".onnx": ["run", "{}"], ".fettle": ["run", "{}"], ".npy": ["run", "{model}", "-i", "{}"],
            ".png": ["run", "{model}", "-i", "{}", "--strict"], ".jpg": ["run", "{model}", "-i", "{}", "--strict"],
            ".pb": ["run", "{model}", "-i", "{}"], ".db": ["db", "verify", "--cache", "{folder}"],
            ".json": ["tune-kernel", "{}", "--evals", "1"]}
# What reads the same file and runs nothing.
LOADS = {".fettle": ["inspect", "{}"]}
EXIT_CODES = range(6)  # docs/cli.md
MOST_SECONDS = 20
# A file of a few bytes may ask for any amount of memory.
MEMORY = {"FETTLE_MAX_MEMORY": "2GB"}


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
        result = subprocess.run([program, *words], capture_output=True, timeout=MOST_SECONDS, env={**os.environ, **MEMORY}, check=False)
    except subprocess.TimeoutExpired:
        return f"took over {MOST_SECONDS} s", None
    if result.returncode not in EXIT_CODES:
        return f"exit code {result.returncode}: {result.stderr[-300:]!r}", None
    if result.returncode and not result.stderr.strip():
        return f"exit code {result.returncode} without a line", None
    return "", result.returncode


class Mutations:
    """Changed files of `files`, the first .onnx file of which runs the pictures and arrays; the same seed makes the same."""

    def __init__(self, program, files, seed):
        self.program, self.files, self.seed = program, files, seed
        self.contents = {path: path.read_bytes() for path in files}
        self.model = next((str(path.resolve()) for path in files if path.suffix == ".onnx"), "")

    def changed(self, path, like, draw):
        """What becomes of the file `path`, one of whose kind `like` is."""
        return mutate(self.contents[path], self.contents[like], draw)

    def words(self, path, draw):
        """The commands that read it; those behind the first run nothing, and refuse what the first refuses."""
        return [COMMANDS[path.suffix], *([LOADS[path.suffix]] if path.suffix in LOADS else [])]

    def attempt(self, number):
        """(the file that was changed, its bytes, what is wrong, the exit code) of one case."""
        draw = random.Random(f"{self.seed}-{number}")
        path = draw.choice(self.files)
        like = draw.choice([other for other in self.files if other.suffix == path.suffix])
        data = self.changed(path, like, draw)
        with tempfile.TemporaryDirectory() as folder:
            changed = pathlib.Path(folder, f"tuning{path.suffix}")  # the name that a database has
            changed.write_bytes(data)
            spell = lambda words: [word.format(changed, model=self.model, folder=folder) if isinstance(word, str) else word for word in words]
            reads, *loads = map(spell, self.words(path, draw))
            problem, code = fault(self.program, reads)
            if not problem and code and loads:
                problem, loaded = fault(self.program, loads[0])
                if not problem and loaded == 0:
                    problem = f"a run refuses with exit code {code} what was loaded"
        return path, data, problem, code

    def run(self, count, out, seconds=float("inf")):
        """Prints what failed, which stays below `out`, and the exit codes: how many (passed, failed) there were."""
        ends, codes, failed = time.monotonic() + seconds, collections.Counter(), 0
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            timed = lambda number: self.attempt(number) if time.monotonic() < ends else None
            for number, answer in enumerate(pool.map(timed, range(count))):
                if answer is None:
                    break
                path, data, problem, code = answer
                codes[code] += 1
                if problem:
                    failed += 1
                    out.mkdir(parents=True, exist_ok=True)
                    kept = out / f"failed_{self.seed}_{number}{path.suffix}"
                    kept.write_bytes(data)
                    print(f"{kept} ({path.name}): {problem}", flush=True)
        print("exit codes: " + ", ".join(f"{code}: {times}" for code, times in sorted(codes.items(), key=str)))
        return sum(codes.values()) - failed, failed


def main():
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    mutations = Mutations(sys.argv[1], [pathlib.Path(name) for name in sys.argv[4:]], int(sys.argv[3]))
    passed, failed = mutations.run(int(sys.argv[2]), pathlib.Path())
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
