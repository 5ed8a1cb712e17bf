#!/usr/bin/env python3
"""Random command lines: every option of every command with values that are right, at an edge, wrong, huge, empty or no text,
files that are missing or of another kind, and combinations of them.

usage: tests/attack/options.py FETTLE [--seed N] [--seconds S] [--count N] [--out FOLDER]

Each must end within a minute, without a signal, with an exit code of docs/cli.md, and say what is wrong in one line of Fettle's
own words: no library's text, no name of a type. With --json the document must be one. The same seed makes the same lines.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MOST_SECONDS = 60
CODES = {0, 1, 2, 3, 4, 5}
# What no message of Fettle's says.
FOREIGN = re.compile(
    r"\b(std|fettle|CLI|nlohmann|protozero|sqlite3?)::|basic_string|terminate called|what\(\)|CHECK failed|Assertion|pbf|"
    r"\[json\.exception|bad_alloc|out_of_range|vector::|_M_|stoi|stod|std::|exception|model: model:|'-[a-gi-z]'; did you mean '-h'|"
    r"Could not convert|not in range|requires (at least|exactly)|\b(size_t|int64_t|uint64_t|string_view)\b|"
    r"0x[0-9a-f]{9,}", re.I)
# Anything that no option should trip over.
ODD = ["", " ", "-", "--", "0", "-0", "-1", "1.5", "1e-400", "1e400", "99999999999999999999", "-99999999999999999999", "nan", "inf", "0x10",
       "abc", "é", "日本", "\udcff\udcfe", "a" * 5000, "a\nb", "a\tb", "\x1b[31m", "=", "a=b", "x=", "=x", "%s%n", "{}", "'", "*", "../..", ".",
       "None", "true", "1,2", "1,,2", "1:", ":", "x", "1x", "x1", "+1", "١"]
# Values of --shape and --input beside them.
SHAPES = ["picture=1x3x8x12", "picture=0x0x0x0", "picture=1x3x0x12", "picture=-1x3x8x8", "picture=1x3", "picture=1x3x8x12x1", "picter=1x3x8x12",
          "picture=", "picture=1x3x99999999x99999999", "picture=9223372036854775807x2x2x2", "1x3x8x12", "picture=1x3xHxW", "picture=1.5x3x8x8"]
INPUTS = ["picture=const:0.5", "picture=const:", "picture=const:nan", "picture=nowhere.npy", "picture=picture.npy", "picter=picture.npy",
          "picture=landscape.png", "picture=notes.txt", "picture=empty", "landscape.png", "picture=cut.npy", "picture=random", "picture=ones:2"]
FILES = ["missing.onnx", "nowhere/a.onnx", "notes.txt", "empty", "cut.onnx", "landscape.png", "picture.npy", "tuned.fettle", "learned/tuning.db",
         "rows.jsonl", "space.json", "spec.json", "before.json", "problem.txt", "contest.json.gz", "cases", "deep.json", "cut.npy", "changed.fettle",
         "/proc/self/status", "/proc/nowhere/file", "labels.txt", "enhance_x2.onnx"]
# Options whose large values are honest work.
LONG = {"--seconds", "--iters", "--warmup", "--evals", "--budget", "--case-seconds", "--sessions", "--jobs", "--compile-seconds", "--remote-hold",
        "--samples", "--m", "--n", "--k", "--batch", "--lda", "--ldb", "--ldc", "--size", "--cin", "--cout", "--kernel", "--stride", "--threads",
        "--remote", "--runner", "--sensitivity"}
SMALL_ODD = ["", "0", "-1", "1", "2", "abc", "1.5", "nan", "99999999999999999999", "é", "a\nb", "1,2", ":", "-", "0x2", "1e-3"]


def load_table():
    """scripts/check-cli: what each command is given, and the files that it is given."""
    loader = SourceFileLoader("check_cli", str(ROOT / "scripts/check-cli"))
    module = module_from_spec(spec_from_loader("check_cli", loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


def prepare(cli, program):
    """The files that lines name, in the working folder: those of check-cli and some that are broken."""
    cli.prepare(program, str(pathlib.Path(program).with_name("fettle-demo")))
    pathlib.Path("notes.txt").write_text("no model, no picture\n")
    pathlib.Path("empty").write_bytes(b"")
    pathlib.Path("cut.onnx").write_bytes(pathlib.Path("enhance_x2.onnx").read_bytes()[:-100])
    pathlib.Path("cut.npy").write_bytes(pathlib.Path("picture.npy").read_bytes()[:-3])
    package = bytearray(pathlib.Path("tuned.fettle").read_bytes())
    package[len(package) // 2] ^= 0x55
    pathlib.Path("changed.fettle").write_bytes(package)
    pathlib.Path("deep.json").write_text("[" * 100000)


class Lines:
    """Random command lines of the options that the program lists."""

    def __init__(self, cli, table):
        self.cli, self.commands = cli, list(cli.commands_of(table))

    def make(self, chance):
        """(words, environment)"""
        command, options = chance.choice(self.commands)
        base = [word.replace("{new}", "").replace("{copy}", "learned") for word in self.cli.BASE.get(command, [])]
        words, environment = self.positionals(chance, base, options), {}
        usual, stand_ins = self.cli.UNLESS.get(command, ([], set()))
        named = [option for option in options if not option["positional"]]
        picked = [chance.choice(named) for _ in range(chance.choice([0, 1, 1, 1, 2, 2, 3]))]
        if not stand_ins & {option["names"][0] for option in picked}:
            words += usual
        for option in picked:
            given = self.given(chance, command, option)
            if option["variable"] and len(given) == 2 and chance.random() < 0.15 and "\0" not in given[1]:
                environment[option["variable"]] = given[1]
            else:
                words += given
        words = [*command.split(), *words]
        if chance.random() < 0.08:
            at = chance.randrange(len(words))
            words[at] = self.misspelt(chance, words[at])
        if chance.random() < 0.3:
            words.append("--json")
        return words, environment

    @staticmethod
    def positionals(chance, base, options):
        """The usual words, at times with another file in place of one, or without one."""
        words = list(base)
        files = [at for at, word in enumerate(words) if not word.startswith("-") and (at == 0 or not words[at - 1].startswith("-"))]
        if files and chance.random() < 0.3:
            words[chance.choice(files)] = chance.choice(FILES + ODD)
        elif words and chance.random() < 0.08:
            del words[chance.randrange(len(words))]
        if chance.random() < 0.03:
            words.append(chance.choice(FILES + ODD))
        return words

    def given(self, chance, command, option):
        """The words that give an option."""
        name = chance.choice(option["names"])
        if option["value"] is None:
            return [name] if chance.random() < 0.95 else [f"{name}={chance.choice(SMALL_ODD)}"]
        if chance.random() < 0.04:
            return [name]
        if chance.random() < 0.3:
            rows = self.cli.values_of(command, option)
            if rows:
                return list(chance.choice(rows))
        value = chance.choice(self.pool(option))
        return [f"{name}={value}"] if chance.random() < 0.15 and name.startswith("--") else [name, value]

    @staticmethod
    def pool(option):
        names = set(option["names"])
        if names & LONG:
            return SMALL_ODD
        if "--shape" in names:
            return ODD + SHAPES * 4
        if "--input" in names:
            return ODD + INPUTS * 4
        listed = re.search(r"\{([^{}]+)\}", option["value"])
        if listed:
            some = listed.group(1).split(",")
            return ODD + [some[0].upper(), some[0] + "x", some[0][:-1], some[0] + "," + some[-1]] * 3
        return ODD + FILES if option["value"].startswith("TEXT") else ODD

    @staticmethod
    def misspelt(chance, word):
        at = chance.randrange(len(word) + 1)
        return chance.choice([word[:at] + chance.choice("xq-") + word[at:], word[:at] + word[at + 1 :], word.upper(), word[:at]])


def spell(words, environment):
    return " ".join([*(f"{name}={shlex.quote(value)}" for name, value in environment.items()), "fettle", *map(shlex.quote, words)])


def execute(program, words, environment, source):
    """The line in a copy of the files: a subprocess.CompletedProcess, or None after a minute."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FETTLE_") and name != "COLUMNS"}
    with tempfile.TemporaryDirectory(dir=pathlib.Path(source).parent) as folder:
        here = pathlib.Path(folder, "here")
        shutil.copytree(source, here, symlinks=True, ignore=shutil.ignore_patterns("bin", "runners"))
        for name in ("bin", "runners"):
            os.symlink(pathlib.Path(source, name), here / name)
        given = {**kept, "PATH": f"{here}/bin:{kept['PATH']}", "FETTLE_RUNNER": f"{here}/runners", "FETTLE_CACHE": f"{here}/cache", **environment}
        try:
            return subprocess.run([program, *[os.fsencode(word) for word in words]], cwd=here, env=given, capture_output=True,
                                  stdin=subprocess.DEVNULL, timeout=MOST_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return None


def problems_of(result, words, environment):
    """What is wrong with how a line ended."""
    if result is None:
        yield f"took over {MOST_SECONDS} s"
        return
    code, said = result.returncode, result.stderr.decode("utf-8", "surrogateescape")
    if code not in CODES:
        yield f"ended with {code}: {said[-300:]}"
        return
    lines = said.splitlines()
    own = said
    for word in sorted({*words, *environment.values()}, key=len, reverse=True):
        own = own.replace(word, "...") if len(word) > 2 else own
    if code not in (0, 5):
        if not lines:
            yield f"exit code {code} without a word"
        elif not any(line.startswith("fettle") for line in lines):
            yield f"a failure that does not begin with the program's name: {said[:300]}"
        failures = [line for line in lines if not re.match(r"fettle: (warning|note|info|debug|warn)", line)]
        if "--log" not in words and "FETTLE_LOG" not in environment and len(failures) > 1:
            yield f"{len(failures)} lines: {said[:600]}"
    foreign = FOREIGN.search(own)
    if foreign:
        yield f"says '{foreign.group(0)}': {said[:400]}"
    if max(map(len, own.splitlines() or [""])) > 1000:
        yield f"a line of {max(map(len, own.splitlines()))} characters: {said[:300]}"
    if re.search(r"[\x00-\x08\x0b-\x1f]", said.replace("\r", "")):
        yield f"control characters: {said[:300]!r}"
    if words[-1] == "--json" and "--" not in words:
        yield from problems_of_document(result)


def problems_of_document(result):
    try:
        document = json.loads(result.stdout.decode("utf-8"))
    except ValueError as error:
        text = result.stdout[:200]
        if result.returncode != 0 or not text:
            yield f"exit code {result.returncode}, no JSON: {error}: {text!r}"
        return
    error = document.get("error") if isinstance(document, dict) else None
    if isinstance(error, dict) and error.get("exit_code", result.returncode) != result.returncode:
        yield f"the document's exit code is {error['exit_code']}, the program's {result.returncode}"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fettle")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--count", type=int)
    parser.add_argument("--out", type=pathlib.Path)
    return parser.parse_args()


def main():
    options = arguments()
    program, ends = str(pathlib.Path(options.fettle).resolve()), time.monotonic() + options.seconds
    out = options.out.resolve() if options.out else None
    cli, counts = load_table(), [0, 0]
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "source")
        source.mkdir()
        os.chdir(source)
        prepare(cli, program)
        lines = Lines(cli, json.loads(cli.run(program, ["--help", "--json"]).stdout))

        def attempt(number):
            if time.monotonic() > ends:
                return None
            words, environment = lines.make(random.Random(f"{options.seed}-{number}"))
            words = [word.replace("\0", "") for word in words]
            return words, environment, list(problems_of(execute(program, words, environment, source), words, environment))

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for number, answer in enumerate(pool.map(attempt, range(options.count or 1 << 20))):
                if answer is None:
                    break
                words, environment, problems = answer
                counts[bool(problems)] += 1
                for problem in problems:
                    print(f"{number}: {spell(words, environment)[:1500]}\n  {problem}".encode("utf-8", "backslashreplace").decode(), flush=True)
                if problems and out:
                    out.mkdir(parents=True, exist_ok=True)
                    (out / f"line{number}.txt").write_bytes(os.fsencode(spell(words, environment) + "\n" + "\n".join(problems) + "\n"))
            pool.shutdown(cancel_futures=True)
        os.chdir("/")
    print(f"{counts[0]} passed, {counts[1]} failed, 0 skipped")
    return 1 if counts[1] else 0


if __name__ == "__main__":
    sys.exit(main())
