#!/usr/bin/env python3
"""Times ONNX files through Fettle and ONNX Runtime in turns: latency.py FETTLE MODEL... [--size 640x480]

Every measurement is a process of its own with warm-up. A turn times one after the other, so that both see the machine in
about the same state; the table holds the least median of the turns of each, in milliseconds, and the ratio ONNX Runtime /
Fettle within a turn: the median of the turns, the least and the greatest.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time


def fettle_ms(program, model, width, height, threads, seconds):
    command = [program, "bench", model, "--json", "--threads", str(threads), "--seconds", str(seconds)]
    command += ["--shape", f"luma=1x1x{height}x{width}"]
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(result.stdout)["latency_ms"]["median"]


def peer_ms(model, width, height, threads, seconds):
    command = [sys.executable, __file__, "--peer", model, "--size", f"{width}x{height}"]
    command += ["--threads", str(threads), "--seconds", str(seconds)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def run_peer(model, width, height, threads, seconds):
    import numpy as np
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    feed = {"luma": np.random.default_rng(1).random((1, 1, height, width), np.float32)}
    for _ in range(5):
        session.run(None, feed)
    times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or not times:
        start = time.perf_counter()
        session.run(None, feed)
        times.append(time.perf_counter() - start)
    print(sorted(times)[len(times) // 2] * 1e3)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="FETTLE MODEL...")
    parser.add_argument("--size", default="640x480")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    args = parser.parse_args()
    width, height = map(int, args.size.split("x"))
    if args.peer:
        run_peer(args.peer, width, height, args.threads, args.seconds)
        return
    print(f"load average {os.getloadavg()[0]:.1f}")
    print("| model | threads | Fettle ms | ONNX Runtime ms | ratio, median | least .. greatest |\n|---|---|---|---|---|---|")
    program, *models = args.names
    for model in models:
        for threads in (1, 2):
            measure = (model, width, height, threads, args.seconds)
            turns = [(fettle_ms(program, *measure), peer_ms(*measure)) for _ in range(args.turns)]
            ours, peers = (min(column) for column in zip(*turns))
            ratios = sorted(peer / own for own, peer in turns)
            print(f"| {os.path.basename(model)} | {threads} | {ours:.2f} | {peers:.2f} | {statistics.median(ratios):.2f} | "
                  f"{ratios[0]:.2f} .. {ratios[-1]:.2f} |", flush=True)
    print(f"load average {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
