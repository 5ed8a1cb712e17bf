"""Networks of torchvision, transformers and our own, exported by today's torch, beside other engines; see README.md."""

import argparse
import collections
import itertools
import json
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "peers"))

import values  # noqa: E402
from peer import Peer  # noqa: E402
from run import FETTLE, ROOT, fettle_bench, geometric_mean, given, machine, ratio_text  # noqa: E402

LEAST_DB = 60


def names():
    """All networks, asked in a process of its own: torch keeps the processor busy and much memory."""
    text = subprocess.run([sys.executable, "-c", "import export; print(*export.NETWORKS)"], cwd=HERE, capture_output=True,
                          text=True, check=True).stdout
    return text.split()


def export_missing(chosen, exporter, options):
    """Exports what the cache lacks; what an exporter failed at stays so unless --again is given."""
    def is_missing(folder):
        return not (folder / "model.onnx").exists() and (options.again or not (folder / "failed").exists())

    base, _, kind = exporter.partition("+")
    if kind:
        export_missing(chosen, base, options)
        chosen = [name for name in chosen if (options.cache / base / name / "model.onnx").exists()]
    missing = [name for name in chosen if is_missing(options.cache / exporter / name)]
    if missing:
        noise = None if options.export else subprocess.DEVNULL
        command = [sys.executable, HERE / "export.py", exporter, options.cache, *missing]
        if kind:
            pairs = ((options.cache / base / name, options.cache / exporter / name) for name in missing)
            command = [sys.executable, HERE / "variants.py", kind, *itertools.chain(*pairs)]
        subprocess.run(command, stderr=noise, check=True)


def profile(folder, threads, options):
    command = [str(FETTLE), "bench", str(folder / "model.onnx"), "--json", "--profile", "--no-cache", "--threads", str(threads),
               "--seconds", str(options.seconds), *given(values.inputs_of(folder))]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    return json.loads(result.stdout)["ops"] if result.returncode == 0 else []


def steps_of(layers):
    """The three that take most, as lines, and the share of time of each (operator, kernel, type) in reference kernels."""
    total = sum(layer["ms"] or 0 for layer in layers) or 1
    worst = sorted(layers, key=lambda layer: -(layer["ms"] or 0))[:3]
    lines = [f"{layer['ms']:.3f} ms ({layer['ms'] / total:.0%}) {layer['kernel']} {layer['op']} {layer['dtype']}, bound "
             f"{layer['bound_ms']:.3f} ms by {layer['bound_by'] or 'nothing'}: {layer['node'][-60:]}" for layer in worst]
    reference = collections.defaultdict(lambda: [0, 0.0])
    for layer in layers:
        if "reference" in layer["kernel"]:
            entry = reference[f"{layer['op']} {layer['dtype']}"]
            entry[0] += 1
            entry[1] += (layer["ms"] or 0) / total
    return lines, {key: {"steps": count, "share": share} for key, (count, share) in reference.items()}


def measure(name, exporter, threads, options):
    """Medians over turns in which all engines run one after the other, as bench/peers does it, and Fettle's steps."""
    row, peers = {"model": name, "exporter": exporter, "threads": threads, "ms": {}, "failed": {}, "ratio": None}, {}
    folder = options.cache / exporter / name
    if not (folder / "model.onnx").exists():
        reason = folder / "failed"
        return row | {"error": "export: " + (reason.read_text().strip()[:160] if reason.exists() else "not exported")}
    path, inputs = folder / "model.onnx", values.inputs_of(folder)
    try:
        row["db"] = values.worst_db(FETTLE, folder)
        turns = []
        for _ in range(options.rounds):
            turns.append({"fettle": fettle_bench(path, inputs, threads, options.seconds)})
            for engine in options.engines:
                if engine in row["failed"]:
                    continue
                try:
                    if engine not in peers:
                        peers[engine] = Peer(engine, path, inputs, threads, "")
                    turns[-1][engine] = peers[engine].turn(options.seconds)
                except (RuntimeError, subprocess.SubprocessError) as error:
                    row["failed"][engine] = " ".join(str(error).split())[:160]
        row["ms"] = {engine: statistics.median(turn[engine] for turn in turns)
                     for engine in turns[0] if all(engine in turn for turn in turns)}
        rivals = [engine for engine in row["ms"] if engine != "fettle"]
        if rivals:
            row["ratio"] = statistics.median(min(turn[engine] for engine in rivals) / turn["fettle"] for turn in turns)
        row["worst"], row["reference"] = steps_of(profile(folder, threads, options))
    except (RuntimeError, subprocess.SubprocessError) as error:
        row |= {"ratio": 0.0, "error": " ".join(str(error).split())[:300]}
    finally:
        for peer in peers.values():
            peer.close()
    return row


def line_of(row):
    times = ", ".join(f"{engine} {ms:.3f}" for engine, ms in row["ms"].items())
    db = "" if row.get("db") is None else f"  {row['db']:.0f} dB"
    return f"{row['model']:32} {row['exporter']:6} {row['threads']:2}  ratio {ratio_text(row['ratio'])}{db}  {times}"


def is_notable(row):
    """Whether the row is to be read: slower than another engine, wrong, failed or in a reference kernel."""
    return (row["ratio"] is not None and row["ratio"] < 1) or (row.get("db") is not None and row["db"] < LEAST_DB) or \
        any(entry["share"] > 0.005 for entry in row.get("reference", {}).values())


def told(row):
    """What is printed below a row that is to be read."""
    lines = [f"    {engine}: {reason}" for engine, reason in row["failed"].items()]
    if "error" in row:
        lines.append(f"    {row['error']}")
    if is_notable(row):
        lines += [f"    {line}" for line in row.get("worst", [])]
    lines += [f"    reference: {key}, {entry['steps']} steps, {entry['share']:.1%}"
              for key, entry in sorted(row.get("reference", {}).items(), key=lambda item: -item[1]["share"])]
    return lines


def reference_table(rows):
    """What ran in reference kernels, over all rows of one number of threads: operator and type, networks, steps, ms."""
    counted = collections.defaultdict(lambda: [0, 0, 0.0])
    for row in rows:
        for key, entry in row.get("reference", {}).items():
            counted[key][0] += 1
            counted[key][1] += entry["steps"]
            counted[key][2] += entry["share"] * row["ms"].get("fettle", 0)
    lines = ["| operator, type | networks | steps | ms of all |", "|---|---:|---:|---:|"]
    return lines + [f"| {key} | {count} | {steps} | {ms:.3f} |"
                    for key, (count, steps, ms) in sorted(counted.items(), key=lambda item: -item[1][2])]


def summary(rows):
    lines = []
    for threads in sorted({row["threads"] for row in rows}):
        part = [row for row in rows if row["threads"] == threads]
        ratios = [row["ratio"] for row in part if row["ratio"]]
        behind = sorted((row["ratio"], f"{row['model']} ({row['exporter']})") for row in part
                        if row["ratio"] is not None and row["ratio"] < 1)
        wrong = [f"{row['model']} ({row['exporter']}) {row['db']:.0f}" for row in part
                 if row.get("db") is not None and row["db"] < LEAST_DB]
        failed = collections.Counter(row["error"].removeprefix("export: ").partition(":")[0] for row in part
                                     if row.get("error", "").startswith("export: "))
        if failed:
            lines.append("not exported: " + ", ".join(f"{count} {reason}" for reason, count in failed.most_common()))
        lines += [f"{threads} threads: {len(ratios)} compared, geometric mean {geometric_mean(ratios):.2f}, "
                  f"{len(behind)} below 1.0: " + ", ".join(f"{name} {ratio:.2f}" for ratio, name in behind),
                  f"below {LEAST_DB} dB: " + (", ".join(wrong) or "none"), *reference_table(part)]
    return "\n".join(lines)


def parse():
    parser = argparse.ArgumentParser(prog="bench/zoo/run", description=__doc__)
    parser.add_argument("--only", default="", help="networks whose name holds one of these texts: a,b")
    parser.add_argument("--random", type=int, default=0, metavar="COUNT", help="so many networks of random blocks, and no others")
    parser.add_argument("--blocks", choices=["random", "newer", "configured", "swept", "timm", "diffusers"], default="random",
                        help="of --random: the first blocks, the newer ones too, torchvision's and transformers' at random configurations, "
                        "any type of transformers, any network of timm, or any class of diffusers")
    parser.add_argument("--seed", type=int, default=1, help="of the first of --random; the next has the next")
    parser.add_argument("--exporters", type=lambda text: text.split(","), default=["dynamo", "script"],
                        help="of dynamo (torch's default) and script (the older one), dynamo-shapes and script-shapes (with dynamic "
                        "shapes), each alone or with +KIND of variants.py, as in dynamo+static; default: dynamo,script")
    parser.add_argument("--engines", type=lambda text: text.split(","), default=["onnxruntime", "openvino"],
                        help="as of bench/peers; default: onnxruntime,openvino")
    parser.add_argument("--threads", type=lambda text: [int(part) for part in text.split(",")], default=[1, 2],
                        help="default: 1,2")
    parser.add_argument("--rounds", type=int, default=3, help="interleaved turns per row")
    parser.add_argument("--seconds", type=float, default=0.1, help="per measurement")
    parser.add_argument("--cache", type=pathlib.Path, default=ROOT / "build" / "zoo", help="of exported files (default: %(default)s)")
    parser.add_argument("--again", action="store_true", help="try again what an exporter failed at")
    parser.add_argument("--export", action="store_true", help="export alone")
    parser.add_argument("--list", action="store_true", help="print the names of the networks")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the rows there; rows of others that it has stay")
    parser.add_argument("--gpu", action="store_true", help="beside PyTorch's CUDA graphs, on an OpenCL device")
    parser.add_argument("--device", default="opencl:NVIDIA", help="of --gpu (default: %(default)s)")
    parser.add_argument("--kinds", type=lambda text: text.split(","), default=["fp32", "fp16"],
                        help="of --gpu: fp32, fp16, exact (fp32 beside PyTorch without TF32); default: fp32,fp16")
    parser.add_argument("--tune", type=float, default=0, metavar="SECONDS", help="of --gpu: tune each network this long before")
    return parser.parse_args()


def kept(file, rows):
    """Writes the rows among those that the file has of others."""
    def key(row):
        return row["model"], row["exporter"], row["threads"]

    old = json.loads(file.read_text())["rows"] if file.exists() else []
    merged = {key(row): row for row in old + rows}
    file.write_text(json.dumps({"rows": [merged[one] for one in sorted(merged)]}, indent=1) + "\n")


def main():
    options = parse()
    listed = [f"{options.blocks}/{options.seed + i}" for i in range(options.random)] or names()
    chosen = [name for name in listed if any(text in name for text in options.only.split(","))]
    if not options.only:
        chosen = [name for name in chosen if not name.startswith("packages/")]  # of packages that may not be there
    if options.list:
        print(*chosen, sep="\n")
        return 0
    for exporter in options.exporters:
        export_missing(chosen, exporter, options)
    if options.export:
        return 0
    if options.gpu:
        import gpu  # torch with CUDA

        return gpu.compare(chosen, options)
    print(json.dumps(machine(argparse.Namespace(engines=options.engines, tuned=0))), flush=True)
    rows = []
    for name in chosen:
        for exporter, threads in itertools.product(options.exporters, options.threads):
            rows.append(measure(name, exporter, threads, options))
            print("\n".join([line_of(rows[-1]), *told(rows[-1])]), flush=True)
            if options.json:
                kept(options.json, rows)
    print(summary(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
