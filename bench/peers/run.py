"""Fettle beside ONNX Runtime, model by model, in one interleaved run; see README.md."""

import argparse
import json
import math
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = ROOT.parent / "shared" / "models"
FETTLE = ROOT / "build" / "release" / "bin" / "fettle"
RESULTS = pathlib.Path(__file__).resolve().parent / "results.json"
TABLE = pathlib.Path(__file__).resolve().parent / "RESULTS.md"

ARGUMENTS = {
    "audio/silero_vad_16k_op15": ["-i", "sr=const:16000", "--shape", "input=1x576", "--shape", "state=2x1x128"],
}


def fettle_inputs(path, name, folder):
    """Runs once, which seeds the inputs and writes them for the peer."""
    command = [str(FETTLE), "run", str(path), "-o", folder, "--json", *ARGUMENTS.get(name, [])]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if result.returncode != 0:
        raise RuntimeError(result.stderr.strip().splitlines()[-1])
    return json.loads(result.stdout)["inputs"]


def fettle_bench(path, inputs, threads, seconds):
    command = [str(FETTLE), "bench", str(path), "--json", "--threads", str(threads), "--seconds", str(seconds)]
    for entry in inputs:
        command += ["-i", f"{entry['name']}={entry['file']}"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if result.returncode != 0:
        raise RuntimeError(result.stderr.strip().splitlines()[-1])
    return json.loads(result.stdout)["latency_ms"]["median"]


def peer_bench(path, inputs, threads, seconds):
    """One process per measurement, as for Fettle: this file with --peer."""
    command = [sys.executable, __file__, "--peer", str(path), "--threads", str(threads), "--seconds", str(seconds)]
    result = subprocess.run(command, input=json.dumps(inputs), capture_output=True, text=True, timeout=600)
    if result.returncode != 0:
        raise RuntimeError(result.stderr.strip().splitlines()[-1])
    return float(result.stdout.splitlines()[-1])


def run_peer(path, threads, seconds):
    import numpy as np
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    onnxruntime.set_default_logger_severity(4)
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    feeds = {entry["name"]: np.load(entry["file"]) for entry in json.load(sys.stdin)}
    for _ in range(4):
        session.run(None, feeds)
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or not times:
        start = time.perf_counter()
        session.run(None, feeds)
        times.append((time.perf_counter() - start) * 1e3)
    print(statistics.median(times))


def measure(path, name, threads, rounds, seconds):
    """Medians of both engines over `rounds` turns, one after the other; a failure counts as ratio 0."""
    row = {"model": name, "threads": threads}
    try:
        with tempfile.TemporaryDirectory() as folder:
            inputs = fettle_inputs(path, name, folder)
            mine, theirs = [], []
            for _ in range(rounds):
                mine.append(fettle_bench(path, inputs, threads, seconds))
                theirs.append(peer_bench(path, inputs, threads, seconds))
        ratios = [b / a for a, b in zip(mine, theirs)]
        row |= {
            "fettle_ms": statistics.median(mine),
            "onnxruntime_ms": statistics.median(theirs),
            "ratio": statistics.median(ratios),
            "ratio_min": min(ratios),
            "ratio_max": max(ratios),
        }
    except Exception as error:  # one model must not end the table
        row |= {"ratio": 0.0, "error": " ".join(str(error).split())[:160]}
    return row


def geometric_mean(ratios):
    if any(ratio <= 0 for ratio in ratios):
        return 0.0
    return math.exp(sum(math.log(ratio) for ratio in ratios) / len(ratios))


def machine():
    import onnxruntime

    device = json.loads(subprocess.run([str(FETTLE), "devices", "--json"], capture_output=True, text=True).stdout)
    version = subprocess.run([str(FETTLE), "--version"], capture_output=True, text=True).stdout.strip()
    commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return {
        "cpu": device["cpu"]["fingerprint"],
        "kernel": platform.release(),
        "fettle": f"{version} ({commit.stdout.strip()})",
        "onnxruntime": onnxruntime.__version__,
        "load_average": os.getloadavg()[0],
    }


def write_table(results):
    lines = [
        "# Fettle beside ONNX Runtime",
        "",
        f"{results['machine']['cpu']}; Fettle {results['machine']['fettle']}, ONNX Runtime "
        f"{results['machine']['onnxruntime']}; load average at the start {results['machine']['load_average']:.1f}.",
        "Median milliseconds of one inference; ratio = ONNX Runtime / Fettle (over 1: Fettle is faster), with the "
        "smallest and largest of the interleaved turns. Written by `bench/peers/run`.",
        "",
    ]
    for threads in sorted({row["threads"] for row in results["rows"]}):
        rows = [row for row in results["rows"] if row["threads"] == threads]
        ratios = [row["ratio"] for row in rows]
        working = [ratio for ratio in ratios if ratio > 0]
        lines += [f"## {threads} thread{'s' if threads > 1 else ''}", ""]
        lines += ["| model | Fettle ms | ONNX Runtime ms | ratio | spread |", "|---|---:|---:|---:|---|"]
        for row in rows:
            if "error" in row:
                lines.append(f"| {row['model']} | failed | | 0 | {row['error']} |")
                continue
            lines.append(f"| {row['model']} | {row['fettle_ms']:.3f} | {row['onnxruntime_ms']:.3f} | "
                         f"{row['ratio']:.2f} | {row['ratio_min']:.2f} to {row['ratio_max']:.2f} |")
        mean = geometric_mean(working) if working else 0.0
        lines += ["", f"Geometric mean of {len(working)} models: {mean:.2f}; {len(ratios) - len(working)} failed.", ""]
    TABLE.write_text("\n".join(lines))


def check_row(name, threads, options):
    """Runs one row again and compares its ratio with the stored one; both have noise, so a factor is allowed."""
    stored = next((row for row in json.loads(RESULTS.read_text())["rows"]
                   if row["model"] == name and row["threads"] == threads), None)
    if stored is None:
        print(f"{RESULTS}: no row '{name}' at {threads} threads")
        return 1
    row = measure(MODELS / f"{name}.onnx", name, threads, options.rounds, options.seconds)
    print(f"{name} at {threads} threads: ratio {row['ratio']:.2f}, stored {stored['ratio']:.2f}")
    return 0 if row["ratio"] >= stored["ratio"] / options.allowed else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, action="append", help="default: 1 and 2")
    parser.add_argument("--rounds", type=int, default=3, help="interleaved turns per row")
    parser.add_argument("--seconds", type=float, default=1.0, help="per measurement")
    parser.add_argument("--only", default="", help="models whose name holds this text")
    parser.add_argument("--check", metavar="MODEL", help="re-run one stored row, e.g. pose/pfld_slim_160")
    parser.add_argument("--allowed", type=float, default=1.5, help="factor that --check allows")
    options = parser.parse_args()
    threads = options.threads or [1, 2]
    if options.peer:
        run_peer(options.peer, threads[0], options.seconds)
        return 0
    if options.check:
        return max(check_row(options.check, count, options) for count in threads)
    results = {"machine": machine(), "rows": []}
    for path in sorted(MODELS.rglob("*.onnx")):
        name = str(path.relative_to(MODELS).with_suffix(""))
        if options.only not in name:
            continue
        for count in threads:
            row = measure(path, name, count, options.rounds, options.seconds)
            results["rows"].append(row)
            print(f"{name:45} {count}  ratio {row['ratio']:.2f}  {row.get('error', '')}", flush=True)
    for count in threads:
        working = [row["ratio"] for row in results["rows"] if row["threads"] == count and row["ratio"] > 0]
        if working:
            print(f"geometric mean at {count}: {geometric_mean(working):.2f} of {len(working)} models")
    if not options.only:
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
        write_table(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
