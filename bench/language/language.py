#!/usr/bin/env python3
"""Fettle beside llama.cpp on a language model: bench/language/run starts it.

  speed       a prompt of --prompt tokens, then --answer one by one, the engines by turns; and the share of `fettle peak`'s DRAM
  values      greedy tokens behind 20 prompts of 16 to 700 tokens
  perplexity  of a fixed text, with the model's matrices in each type that can be written, beside the same weights in F32
  caches      of Fettle alone: perplexity with keys and values in bytes beside f16
  costs       of Fettle alone: allocations and resident set over 1,000 tokens, and from the program's start to its first token

Without a word all five. Without --model the file of scripts/language-model. Exit status 1 where values differ: greedy tokens
that do not nearly tie, a cache in bytes changes perplexity by 1 % or more, or a perplexity further off than 0.5 % and from that of the same weights in F32, too.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from engines import LIBRARY, ROOT, Engine

FETTLE = ROOT / "build/release/bin/fettle"
PARTS = ("speed", "values", "perplexity", "caches", "costs")
# Those of `fettle quantise --type`.
OWN_TYPES = ("Q4_0", "Q4_K", "Q4_1", "Q5_0", "Q5_K", "Q5_1", "Q6_K", "Q8_0", "BF16", "F16", "F32")
ENGINES = ("fettle", "llama.cpp")
# Products round their rows to bytes, each engine in blocks of its own: logits nearer than this share of their range tie.
TIE = 0.02
MOST_OFF, MOST_OFF_IN_BYTES = 0.005, 0.01
WINDOW = 512


def fixed_text():
    return (ROOT / "CONTRIBUTING.md").read_text() + (ROOT / "docs/architecture.md").read_text()


def dram(threads):
    """Bytes per second that `fettle peak` reads."""
    done = subprocess.run([FETTLE, "peak", "--threads", str(threads), "--only", "DRAM read", "--json"], capture_output=True, check=True)
    return json.loads(done.stdout)["ceilings"][-1]["value"]


def both(model, threads):
    return {name: Engine(name, model, threads) for name in ENGINES}


def speed(options):
    size = options.model.stat().st_size
    print(f"| threads | engine | prompt of {options.prompt}, tokens/s | answer of {options.answer}, tokens/s | share of DRAM read |")
    print("|---:|---|---:|---:|---:|")
    prompt = [100 + i for i in range(options.prompt)]
    for threads in options.threads:
        engines, turns = both(options.model, threads), {name: [] for name in ENGINES}
        for turn in range(options.turns + 1):  # the first warms up
            for name, engine in engines.items():
                answer = engine.generate(prompt, options.answer)
                if turn > 0:
                    turns[name].append((options.prompt / answer["prompt"], (options.answer - 1) / answer["steps"]))
        for engine in engines.values():
            engine.close()
        peak = dram(threads)
        median = {name: [statistics.median(column) for column in zip(*rows)] for name, rows in turns.items()}
        for name, (prompts, answers) in median.items():
            print(f"| {threads} | {name} | {prompts:.0f} | {answers:.0f} | {size * answers / peak:.0%} |", flush=True)
        ratios = [ours / theirs for ours, theirs in zip(*(median[name] for name in ENGINES))]
        print(f"| {threads} | Fettle over llama.cpp | {ratios[0]:.1f}x | {ratios[1]:.1f}x | |", flush=True)
    return 0, 0


def values(options):
    engines = both(options.model, options.threads[-1])
    tokens = engines["fettle"].encode(fixed_text())
    equal = ties = failed = 0
    for number in range(20):
        length = round(16 * (700 / 16) ** (number / 19))
        prompt = tokens[number * 97 : number * 97 + length]
        ours, theirs = (engine.greedy(prompt, options.greedy) for engine in engines.values())
        at = next((i for i, pair in enumerate(zip(ours, theirs)) if pair[0] != pair[1]), None)
        if at is None:
            equal += 1
            continue
        gap = engines["fettle"].gap(prompt + ours[:at], ours[at], theirs[at])
        ties, failed = (ties + 1, failed) if gap <= TIE else (ties, failed + 1)
        print(f"prompt of {length}: token {at} is {ours[at]}, and {theirs[at]} of llama.cpp, {gap:.2%} of the range below it")
    for engine in engines.values():
        engine.close()
    print(f"{options.greedy} greedy tokens behind 20 prompts of 16 to 700: {equal} equal, {ties} until logits nearly tie, {failed} others")
    return equal + ties, failed


def perplexity_of(engine, path, options):
    """Of the second halves of windows of the fixed text, each read from its beginning, as llama.cpp's program perplexity does."""
    reader = Engine("fettle", path, options.threads[-1])
    tokens = reader.encode(fixed_text())
    if engine != "fettle":
        reader.close()
        reader = Engine(engine, path, options.threads[-1])
    windows = [tokens[at : at + WINDOW] for at in range(0, len(tokens) - WINDOW + 1, WINDOW)][: options.windows]
    total = sum(reader.window(window, WINDOW // 2) for window in windows)
    reader.close()
    return math.exp(total / (len(windows) * (WINDOW // 2)))


def perplexity(options):
    from requantise import TYPES, requantise

    passed = failed = 0
    print("| type | Fettle | llama.cpp | off | the same weights in F32 |\n|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for kind in options.types or (TYPES if options.by == "gguf" else OWN_TYPES):
            path, floats = pathlib.Path(folder, f"{kind}.gguf"), pathlib.Path(folder, "floats.gguf")
            if options.by == "fettle":
                subprocess.run([FETTLE, "quantise", options.model, "--type", kind, "-o", path], check=True, capture_output=True)
            else:
                requantise(options.model, kind, path)
            ours, theirs = (perplexity_of(engine, path, options) for engine in ("fettle", "llama library"))
            subprocess.run([FETTLE, "quantise", path, "--type", "F32", "-o", floats], check=True, capture_output=True)
            exact = perplexity_of("llama library", floats, options)
            floats.unlink()
            path.unlink()
            off = ours / theirs - 1
            # Further off than llama.cpp, but nearer to what the weights are worth, is no fault.
            good = abs(off) <= MOST_OFF or abs(ours - exact) < abs(theirs - exact)
            passed, failed = (passed + 1, failed) if good else (passed, failed + 1)
            print(f"| {kind} | {ours:.3f} | {theirs:.3f} | {off:+.2%} | {exact:.3f} |", flush=True)
    return passed, failed


def caches(options):
    halves, in_bytes = (perplexity_of(engine, options.model, options) for engine in ("fettle", "fettle bytes"))
    off = in_bytes / halves - 1
    print(f"| cache | perplexity | off |\n|---|---:|---:|\n| f16 | {halves:.3f} | |\n| bytes | {in_bytes:.3f} | {off:+.2%} |")
    good = abs(off) < MOST_OFF_IN_BYTES
    return int(good), int(not good)


def first_token(model, threads):
    """Seconds from the start of `fettle generate` to its first text."""
    begin = time.perf_counter()
    words = [FETTLE, "generate", model, "The capital of France is", "--tokens", "1", "--threads", str(threads)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        process.stdout.read(1)
        seconds = time.perf_counter() - begin
        process.stdout.read()
    if process.returncode != 0:
        raise RuntimeError(f"fettle generate: exit status {process.returncode}")
    return seconds


def costs(options):
    print("| threads | allocations a token | bytes of them | resident set grows by, KiB | first token, ms |\n|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "costs")
        subprocess.run(["cc", "-O1", "-rdynamic", "-I", ROOT / "include", pathlib.Path(__file__).with_name("costs.c"), LIBRARY,
                        f"-Wl,-rpath,{LIBRARY.parent}", "-o", program], check=True)  # fmt: skip
        for threads in options.threads:
            done = subprocess.run([program, options.model, str(threads)], capture_output=True, text=True, check=True)
            of = json.loads(done.stdout)
            each, size = of["allocations"] / of["tokens"], of["bytes"] / of["tokens"]
            first = statistics.median(first_token(options.model, threads) for _ in range(5))
            print(f"| {threads} | {each:.0f} | {size:.0f} | {of['resident_growth'] // 1024} | {first * 1000:.0f} |", flush=True)
    return 0, 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--model", type=pathlib.Path, default=os.environ.get("FETTLE_LANGUAGE_MODEL"))
    parser.add_argument("--threads", type=lambda text: [int(word) for word in text.split(",")], default=[1, os.cpu_count()])
    parser.add_argument("--prompt", type=int, default=512, help="of speed")
    parser.add_argument("--answer", type=int, default=128, help="of speed")
    parser.add_argument("--turns", type=int, default=3, help="of speed")
    parser.add_argument("--greedy", type=int, default=32, help="tokens of values")
    parser.add_argument("--windows", type=int, default=8, help="of 512 tokens, of perplexity, which counts their second halves")
    parser.add_argument("--types", type=lambda text: text.split(","), help="of perplexity, as in Q4_0,Q8_0")
    parser.add_argument("--by", choices=("gguf", "fettle"), default="gguf", help="what writes the files of perplexity (default gguf)")
    options = parser.parse_args()
    options.model = options.model.resolve()
    totals = [0, 0]
    for part in options.parts or PARTS:
        if part not in PARTS:
            parser.error(f"no part '{part}'; there are: {', '.join(PARTS)}")
        print(f"## {part}\n", flush=True)
        totals = [sum(pair) for pair in zip(totals, globals()[part](options))]
        print()
    print(f"{totals[0]} passed, {totals[1]} failed, 0 skipped")
    return 1 if totals[1] else 0


if __name__ == "__main__":
    sys.exit(main())
