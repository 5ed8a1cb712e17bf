"""Fettle beside other engines, model by model, in interleaved turns; see README.md."""

import argparse
import json
import math
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import tempfile
from importlib import metadata

from engines import ENGINES
from peer import Peer

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = ROOT.parent / "shared" / "models"
FETTLE = ROOT / "build" / "release" / "bin" / "fettle"
HERE = pathlib.Path(__file__).resolve().parent
PACKAGES = {"onnxruntime": "onnxruntime", "openvino": "openvino", "openvino-default": "openvino", "mnn": "MNN",
            "ncnn": "ncnn"}

#: What a README's table does not say of an input.
ARGUMENTS = {"audio/silero_vad_16k_op15": ["-i", "sr=const:16000"]}


def arguments_by_model(folder):
    """What `fettle run` is told of inputs: shapes as the table of FOLDER/README.md has them (`| a/b.onnx | ... @ x=1x3x8x8;
    y=4 |`), and ARGUMENTS."""
    arguments, readme = dict(ARGUMENTS), folder / "README.md"
    for line in readme.read_text().splitlines() if readme.exists() else []:
        found = re.match(r"\| (\S+)\.onnx \|.*?@ ([^|]*)\|", line)
        for shape in re.findall(r"([^\s;=]+=\d+(?:x\d+)*)(?=[;\s])", found[2]) if found else []:
            arguments[found[1]] = ["--shape", shape, *arguments.get(found[1], [])]
    return arguments


def fettle_inputs(path, arguments, folder):
    """Runs once, which seeds the inputs and writes them for the others."""
    command = [str(FETTLE), "run", str(path), "-o", folder, "--json", *arguments]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if result.returncode != 0:
        raise RuntimeError(result.stderr.strip().splitlines()[-1])
    return {entry["name"]: entry["file"] for entry in json.loads(result.stdout)["inputs"]}


def tune(path, inputs, threads, budget, folder):
    """The package of a tuning with a database of its own."""
    package = pathlib.Path(folder) / f"{threads}.fettle"
    command = [str(FETTLE), "tune", str(path), "--threads", str(threads), "--budget", str(budget), "--cache",
               f"{folder}/cache{threads}", "-o", str(package)]
    subprocess.run(command + given(inputs), check=True, capture_output=True, timeout=10 * budget + 600)
    return package


def given(inputs):
    return [part for name, file in inputs.items() for part in ("-i", f"{name}={file}")]


def fettle_bench(path, inputs, threads, seconds):
    command = [str(FETTLE), "bench", str(path), "--json", "--threads", str(threads), "--seconds", str(seconds)]
    result = subprocess.run(command + given(inputs), capture_output=True, text=True, timeout=600)
    if result.returncode != 0:
        raise RuntimeError(result.stderr.strip().splitlines()[-1])
    return json.loads(result.stdout)["latency_ms"]["median"]


def measure(name, threads, options):
    """Medians over turns in which all engines run one after the other. The ratio is that of the fastest other engine of a
    turn to Fettle; 0 where Fettle fails, None where every other engine does. Engines that fail are named with the reason."""
    path, arguments = options.models / f"{name}.onnx", options.arguments.get(name, [])
    row, peers = {"model": name, "threads": threads, "ms": {}, "failed": {}}, {}
    with tempfile.TemporaryDirectory() as folder:
        try:
            inputs = fettle_inputs(path, arguments, folder)
            mine = tune(path, inputs, threads, options.tuned, folder) if options.tuned else path
            converted = folder
            if options.converted:
                converted = options.converted / name
                converted.mkdir(parents=True, exist_ok=True)
            turns = []
            for _ in range(options.rounds):
                turns.append({"fettle": fettle_bench(mine, inputs, threads, options.seconds)})
                for engine in options.engines:
                    try:
                        if engine in row["failed"]:
                            continue
                        if engine not in peers:
                            peers[engine] = Peer(engine, path, inputs, threads, str(converted))
                        turns[-1][engine] = peers[engine].turn(options.seconds)
                    except (RuntimeError, subprocess.SubprocessError) as error:
                        row["failed"][engine] = " ".join(str(error).split())[:160]
            row["ms"] = {engine: statistics.median(turn[engine] for turn in turns)
                         for engine in turns[0] if all(engine in turn for turn in turns)}
            rivals = [engine for engine in row["ms"] if engine != "fettle"]
            ratios = [min(turn[engine] for engine in rivals) / turn["fettle"] for turn in turns] if rivals else [None]
            row |= {"ratio": statistics.median(ratios) if rivals else None, "ratio_min": ratios[0] and min(ratios),
                    "ratio_max": ratios[0] and max(ratios)}
        except (RuntimeError, subprocess.SubprocessError) as error:  # one model must not end the table
            row |= {"ratio": 0.0, "error": " ".join(str(error).split())[:160]}
        finally:
            for peer in peers.values():
                peer.close()
    return row


def geometric_mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else 0.0


def machine(options):
    device = json.loads(subprocess.run([str(FETTLE), "devices", "--json"], capture_output=True, text=True).stdout)
    version = subprocess.run([str(FETTLE), "--version"], capture_output=True, text=True).stdout.strip()
    commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    held = ", held to AVX2" if os.environ.get("FETTLE_CPU_ISA") == "avx2" else ""
    return {
        "cpu": device["cpu"]["fingerprint"] + held,
        "kernel": platform.release(),
        "fettle": f"{version} ({commit.stdout.strip()})",
        "tuned_seconds": options.tuned,
        "engines": {engine: metadata.version(PACKAGES[engine]) for engine in options.engines},
        "load_average": os.getloadavg()[0],
    }


def merged(kept, rows):
    """Both, in the order of names; of rows of the same model and number of threads the newer ones."""
    by_key = {(row["model"], row["threads"]): row for row in kept + rows}
    return [by_key[key] for key in sorted(by_key)]


def ratio_text(ratio):
    return "-" if ratio is None else f"{ratio:.2f}"


def table(results):
    """The rows as Markdown, then what is below 1."""
    facts = results["machine"]
    engines = list(facts["engines"])
    tuned = f"tuned for {facts['tuned_seconds']} s" if facts["tuned_seconds"] else "default plans"
    lines = [f"{facts['cpu']}; {facts['fettle']}, {tuned}; " +
             ", ".join(f"{engine} {version}" for engine, version in facts["engines"].items()) +
             f"; load average at the start {facts['load_average']:.1f}. Median milliseconds of one inference; ratio = the "
             "fastest other engine / Fettle, with the smallest and largest of the interleaved turns.", ""]
    for threads in sorted({row["threads"] for row in results["rows"]}):
        rows = [row for row in results["rows"] if row["threads"] == threads]
        lines += [f"## {threads} thread{'s' if threads > 1 else ''}", "",
                  f"| model | Fettle | {' | '.join(engines)} | ratio | spread |", "|---|" + "---:|" * (len(engines) + 2) + "---|"]
        for row in rows:
            if "error" in row:
                lines.append(f"| {row['model']} | failed: {row['error']} |" + " |" * len(engines) + " 0 | |")
                continue
            cells = [f"{row['ms'][engine]:.3f}" if engine in row["ms"] else "-" for engine in ["fettle", *engines]]
            spread = " to ".join(ratio_text(row[end]) for end in ("ratio_min", "ratio_max"))
            lines.append(f"| {row['model']} | {' | '.join(cells)} | {ratio_text(row['ratio'])} | {spread} |")
        compared = [row for row in rows if row["ratio"] is not None]
        working = [row["ratio"] for row in compared if row["ratio"] > 0]
        behind = [f"{row['model']} {row['ratio']:.2f}" for row in compared if row["ratio"] < 1]
        lines += ["", f"Geometric mean of {len(working)}: {geometric_mean(working):.2f}. Below 1.0: {len(behind)}"
                  f"{': ' if behind else ''}{', '.join(behind)}.", ""]
    return "\n".join(lines)


def check_row(options, threads):
    """Runs one row again and compares its ratio with the stored one; both have noise, so a factor is allowed."""
    stored = next((row for row in json.loads(options.results.read_text())["rows"]
                   if row["model"] == options.check and row["threads"] == threads), None)
    if stored is None:
        print(f"{options.results}: no row '{options.check}' at {threads} threads")
        return 1
    row = measure(options.check, threads, options)
    print(f"{options.check} at {threads} threads: ratio {ratio_text(row['ratio'])}, stored {ratio_text(stored['ratio'])}")
    return 0 if row["ratio"] is not None and row["ratio"] >= stored["ratio"] / options.allowed else 1


def parse():
    parser = argparse.ArgumentParser(prog="bench/peers/run", description=__doc__)
    parser.add_argument("--models", type=pathlib.Path, default=MODELS, help="folder of networks (default: %(default)s)")
    parser.add_argument("--engines", type=lambda text: text.split(","), default=["onnxruntime", "openvino"],
                        help=f"of {','.join(ENGINES)}; default: onnxruntime,openvino")
    parser.add_argument("--tuned", type=float, default=0, metavar="SECONDS", help="tune for so long; default: default plans")
    parser.add_argument("--converted", type=pathlib.Path, metavar="FOLDER",
                        help="keep what MNN's and ncnn's converters write here, for the next time; default: convert anew")
    parser.add_argument("--threads", type=int, action="append", help="default: 1 and 2")
    parser.add_argument("--rounds", type=int, default=3, help="interleaved turns per row")
    parser.add_argument("--seconds", type=float, default=1.0, help="per measurement")
    parser.add_argument("--only", default="", help="models whose name holds one of these texts: a,b")
    parser.add_argument("--results", type=pathlib.Path, default=HERE / "results.json",
                        help="where rows are kept; a table lies beside it (default: %(default)s; with --only none is)")
    parser.add_argument("--add", action="store_true", help="keep what --results holds of other rows")
    parser.add_argument("--check", metavar="MODEL", help="re-run one stored row, e.g. pose/pfld_slim_160")
    parser.add_argument("--allowed", type=float, default=1.5, help="factor that --check allows")
    options = parser.parse_args()
    unknown = [engine for engine in options.engines if engine not in ENGINES]
    if unknown:
        parser.error(f"--engines: no '{unknown[0]}'; there are {', '.join(ENGINES)}")
    options.arguments = arguments_by_model(options.models)
    return options


def main():
    options = parse()
    threads = options.threads or [1, 2]
    if options.check:
        return max(check_row(options, count) for count in threads)
    results = {"machine": machine(options), "rows": []}
    for path in sorted(options.models.rglob("*.onnx")):
        name = str(path.relative_to(options.models).with_suffix(""))
        if not any(text in name for text in options.only.split(",")):
            continue
        for count in threads:
            row = measure(name, count, options)
            results["rows"].append(row)
            times = ", ".join(f"{engine} {ms:.3f}" for engine, ms in row["ms"].items())
            print(f"{name:45} {count}  ratio {ratio_text(row['ratio'])}  {times} {row.get('error', '')}", flush=True)
            for engine, reason in row["failed"].items():
                print(f"    {engine}: {reason}", flush=True)
    if options.add and options.results.exists():
        results["rows"] = merged(json.loads(options.results.read_text())["rows"], results["rows"])
    text = table(results)
    print("\n".join(line for line in text.splitlines() if line.startswith("Geometric")))
    if options.add or not options.only:
        options.results.write_text(json.dumps(results, indent=1) + "\n")
        title = "# Fettle beside other engines\n\nWritten by `bench/peers/run`. "
        (options.results.parent / f"{options.results.stem.upper()}.md").write_text(title + text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
