"""Compares what an OpenCL device computes with what the CPU computes, model by model.

For every model, memory kind and precision: `fettle run` on the CPU and on the device with equal inputs. At high
precision an output passes within 2e-3 of its range (1e-2 where it is f16 itself), at normal with 30 dB between signal
and difference; outputs of quantised models, where one rounding moves a whole step, with 20 dB. Prints the share of
multiply-adds that the device computed. Needs numpy alone:
tests/models/check_devices.py [--device opencl:0] [--only TEXT] [--kinds buffer:high,...]
"""

import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
KINDS = "buffer:high,buffer:normal,image:high,image:normal"
RANGE_SHARE, HALF_RANGE_SHARE = 2e-3, 1e-2
NORMAL_DB, QUANTISED_DB = 30, 20
LEAST_MAC_SHARE = 0.95
MOST_LEFT = 3

ARGUMENTS = {
    "gridsample_bilinear_dyn": ["--shape", "x=1x64x28x40", "--shape", "pos=1x500x2"],
    "silero_vad_16k_op15": ["-i", "sr=const:16000", "--shape", "input=1x576", "--shape", "state=2x1x128"],
}


def fettle(program, *arguments, timeout):
    result = subprocess.run([program, *arguments, "--json"], capture_output=True, text=True, timeout=timeout)
    if result.returncode != 0:
        lines = result.stderr.strip().splitlines()
        raise RuntimeError(lines[-1] if lines else f"exit code {result.returncode}")
    return json.loads(result.stdout)


def outputs_of(report):
    return {entry["name"]: np.load(entry["file"]) for entry in report["outputs"] if entry["file"].endswith(".npy")}


def sqnr_db(got, want):
    noise = float(((got - want) ** 2).sum())
    signal = float((want**2).sum())
    if noise == 0:
        return math.inf
    return 10 * math.log10(signal / noise) if signal > 0 else -math.inf


def judge(got, want, precision, quantised):
    """(passes, what to print)"""
    if got.shape != want.shape or got.dtype != want.dtype:
        return False, f"{got.dtype}{list(got.shape)} instead of {want.dtype}{list(want.shape)}"
    if want.size == 0:
        return True, ""
    is_half = want.dtype == np.float16
    got, want = got.astype(np.float64), want.astype(np.float64)
    if not np.array_equal(np.isnan(got), np.isnan(want)):
        return False, "NaN in other places"
    got, want = np.nan_to_num(got), np.nan_to_num(want)
    db = sqnr_db(got, want)
    if quantised:
        return db >= QUANTISED_DB, f"{db:.0f} dB"
    if precision == "normal":
        return db >= NORMAL_DB, f"{db:.0f} dB"
    limit = HALF_RANGE_SHARE if is_half else RANGE_SHARE
    span = np.ptp(want) or np.abs(want).max() or 1
    share = np.abs(got - want).max() / span
    return share <= limit or np.abs(got - want).max() < 1e-6, f"{share:.1e}"


def is_quantised(path):
    data = path.read_bytes()
    return any(op in data for op in (b"QuantizeLinear", b"ConvInteger", b"MatMulInteger", b"QLinear"))


def mac_share(bench):
    """The device's share of the multiply-adds; of the operators in a network that has none"""
    if any(op["gflops"] > 0 for op in bench["ops"]):
        return bench["device_mac_share"].get("opencl", 0.0)
    ops = [op for op in bench["ops"] if op["op"] != "Convert"]
    return sum(op["device"] == "opencl" for op in ops) / len(ops)


def left_to_the_cpu(bench):
    """The operators with the most arithmetic among those that the CPU computed"""
    work = {}
    for op in bench["ops"]:
        if op["device"] == "cpu":
            name = f"{op['op']} ({op['kernel']})"
            work[name] = work.get(name, 0) + op["gflops"] * op["ms"]
    most = sorted(work, key=work.get, reverse=True)[:MOST_LEFT]
    return ", left to the CPU: " + ", ".join(f"{name} {work[name] / 2:.2f} M" for name in most)


def check(arguments, path, memory, precision, want):
    extra = ARGUMENTS.get(path.stem, [])
    device = ["--device", arguments.device, "--memory", memory, "--precision", precision, "--cache", arguments.cache]
    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        report = fettle(arguments.fettle, "run", str(path), "-o", folder, *extra, *device, timeout=arguments.timeout)
        seconds = time.monotonic() - start
        got = outputs_of(report)
    verdicts = [judge(got[name], want[name], precision, is_quantised(path)) for name in want]
    bench = fettle(arguments.fettle, "bench", str(path), "--iters", "1", "--warmup", "1", *extra, *device,
                   timeout=arguments.timeout)
    share = mac_share(bench)
    passes = all(ok for ok, _ in verdicts)
    left = left_to_the_cpu(bench) if share < LEAST_MAC_SHARE else ""
    if precision == "normal" and report["precision"]["used"] == "high":
        left += ", all in f32"
    worst = next((text for ok, text in verdicts if not ok), verdicts[0][1] if verdicts else "")
    return passes, share, worst, seconds, bench["latency_ms"]["median"], left


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fettle", default=str(ROOT / "build" / "release" / "bin" / "fettle"))
    parser.add_argument("--models", type=pathlib.Path, default=ROOT.parent / "shared" / "models")
    parser.add_argument("--device", default="opencl")
    parser.add_argument("--only", default="")
    parser.add_argument("--kinds", default=KINDS)
    parser.add_argument("--timeout", type=float, default=600)
    parser.add_argument("--cache", help="folder of built programs (default: one for this run)")
    arguments = parser.parse_args()
    if arguments.cache:
        return check_all(arguments)
    with tempfile.TemporaryDirectory() as arguments.cache:
        return check_all(arguments)


def check_all(arguments):
    paths = sorted(path for path in arguments.models.rglob("*.onnx") if arguments.only in str(path))
    if not paths:
        print(f"{arguments.models}: no models\n0 passed, 0 failed, 1 skipped")
        return 0
    passed = failed = 0
    for path in paths:
        try:
            with tempfile.TemporaryDirectory() as folder:
                report = fettle(arguments.fettle, "run", str(path), "-o", folder, "--no-cache",
                                *ARGUMENTS.get(path.stem, []), timeout=arguments.timeout)
                want = outputs_of(report)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            print(f"{path.stem:32} FAILED on the CPU: {error}", flush=True)
            failed += 1
            continue
        for kind in arguments.kinds.split(","):
            memory, precision = kind.split(":")
            try:
                passes, share, worst, seconds, ms, left = check(arguments, path, memory, precision, want)
                good = passes and share >= LEAST_MAC_SHARE
                print(f"{path.stem:32} {memory:6} {precision:6} {'ok    ' if good else 'FAILED'} {worst:>10} "
                      f"{100 * share:5.1f} % of MACs, first {seconds:.1f} s, then {ms:.2f} ms{left}", flush=True)
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                good = False
                print(f"{path.stem:32} {memory:6} {precision:6} FAILED {error}", flush=True)
            passed, failed = passed + good, failed + (not good)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
