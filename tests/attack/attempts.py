"""What attacks on a program share: their options, and many attempts at once."""

import argparse
import concurrent.futures
import os
import pathlib
import time


def parser(text):
    """The options of every attack; `text` describes it."""
    made = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("fettle", type=pathlib.Path)
    made.add_argument("--seed", type=int, default=1)
    made.add_argument("--seconds", type=float, default=60)
    made.add_argument("--count", type=int)
    made.add_argument("--out", type=pathlib.Path)
    return made


def run_all(options, attempt):
    """Attempts 0, 1, ... on all cores, as many as the options allow. attempt(number) gives what it did, its problems and how it
    ended, as texts, or None where it was skipped. Prints the problems and the counts; returns the exit code."""
    ends, counts, ended = time.monotonic() + options.seconds, [0, 0, 0], {}

    def limited(number):
        return "over" if time.monotonic() > ends else attempt(number)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for number, answer in enumerate(pool.map(limited, range(options.count or 1 << 15))):
            if answer == "over":
                break
            if answer is None:
                counts[2] += 1
                continue
            told, problems, end = answer
            counts[bool(problems)] += 1
            ended[end] = ended.get(end, 0) + 1
            for problem in problems:
                print(f"{number}: {told}\n  {problem}", flush=True)
        pool.shutdown(cancel_futures=True)
    print(", ".join(f"{count} {end}" for end, count in sorted(ended.items())))
    print("{} passed, {} failed, {} skipped".format(*counts))
    return 1 if counts[1] else 0


def attack(text, name, tools_missing, attempt):
    """The main function of an attack on the program `name` beside fettle: attempt(program, seed, number, folder for what is
    wrong). tools_missing() says which tool it lacks, or nothing."""
    options = parser(text).parse_args()
    program = options.fettle.resolve().with_name(name)
    missing = tools_missing() or (None if program.exists() else f"no {name}")
    if missing:
        print(f"skipped: {missing}\n0 passed, 0 failed, 1 skipped")
        return 0
    return run_all(options, lambda number: attempt(str(program), options.seed, number, options.out))
