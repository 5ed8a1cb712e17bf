"""Compares `fettle run` with ONNX Runtime, and with reference outputs where a model has them.

fp32: every element within 1e-3 of the output's range, or within 2^-21; between 1e-3 and 2e-3 the reference that
accumulates in double decides which of the two engines is off. Quantised models: within one step on 99.9 % of the
elements; the step of a float output is the scale it was dequantised with, else a 255th of its range. Where that is
missed, one value that rounded the other way early on has moved many: such a model passes if, over several inputs, Fettle
is within one step of ONNX Runtime at least as often as ONNX Runtime is of itself without its graph optimisations.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = ROOT.parent / "shared" / "models"
FETTLE = ROOT / "build" / "release" / "bin" / "fettle"

RANGE_SHARE = 1e-3
# Up to here the reference that accumulates in double decides who is off.
DISPUTED_SHARE = 2e-3
# Approximations of sigmoid and tanh are exact to about this much of 1, however small the output's range is.
ABSOLUTE_FLOOR = 2.0**-21
QUANTISED_SHARE = 0.999
SEEDS = 4  # inputs for that comparison
QUANTISING = {"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "ConvInteger", "MatMulInteger",
              "QLinearConv", "QLinearMatMul"}

# Inputs that seeded values in {0, 1} and default shapes do not suit.
ARGUMENTS = {
    "audio/silero_vad_16k_op15": ["-i", "sr=const:16000", "--shape", "input=1x576", "--shape", "state=2x1x128"],
}


def fettle_run(model, folder, arguments):
    command = [str(FETTLE), "run", str(model), "-o", str(folder), "--json", *arguments]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if result.returncode != 0:
        raise RuntimeError(result.stderr.strip().splitlines()[-1] if result.stderr.strip() else
                           f"exit code {result.returncode}")
    return json.loads(result.stdout)


def load_session(path, optimised=True):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    if not optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def read_tensor(path, dtype):
    path = pathlib.Path(path)
    if path.suffix == ".pb":
        return numpy_helper.to_array(onnx.load_tensor(str(path)))
    array = np.load(path)
    return array if dtype is None or array.dtype == dtype else array.astype(dtype)


def output_step(graph, name, reference):
    """The quantisation step of an output of a quantised model."""
    if not np.issubdtype(reference.dtype, np.floating):
        return 1.0
    producers = {output: node for node in graph.node for output in node.output}
    constants = {tensor.name: tensor for tensor in graph.initializer}
    while name in producers and producers[name].op_type in ("Reshape", "Transpose", "Squeeze", "Flatten", "Identity"):
        name = producers[name].input[0]
    node = producers.get(name)
    if node is not None and node.op_type == "DequantizeLinear" and node.input[1] in constants:
        scale = numpy_helper.to_array(constants[node.input[1]])
        if scale.size == 1:
            return float(abs(scale.reshape(-1)[0]))
    return float(np.ptp(reference)) / 255


class Verdict:
    def __init__(self):
        self.ok = True
        self.worst = 0.0  # largest difference as a share of the range, over outputs
        self.note = ""

    def add(self, name, got, want, step):
        if got.shape != want.shape or got.dtype != want.dtype:
            self.fail(f"'{name}': expected {want.dtype}{list(want.shape)}, got {got.dtype}{list(got.shape)}")
            return
        if want.size == 0:
            return
        got, want = got.astype(np.float64), want.astype(np.float64)
        if not np.array_equal(np.isnan(got), np.isnan(want)):
            self.fail(f"'{name}': NaN in other places")
            return
        got, want = np.nan_to_num(got), np.nan_to_num(want)
        difference = np.abs(got - want)
        # An output of one repeated value has no range; its magnitude stands for it.
        magnitude = np.abs(want).max()
        value_range = np.ptp(want) if np.ptp(want) > 1e-6 * magnitude else magnitude
        share = difference.max() / value_range if value_range > 0 else difference.max()
        self.worst = max(self.worst, share)
        if step is not None:
            good = float((difference <= 1.01 * step + 1e-12).mean())
            self.note = f"{100 * good:.2f} % within one step"
            if good < QUANTISED_SHARE:
                self.fail(f"'{name}': {100 * good:.2f} % within one step")
        elif share > RANGE_SHARE and difference.max() <= ABSOLUTE_FLOOR:
            self.note = f"'{name}': off by {difference.max():.1e}, of a range of {value_range:.1e}"
        elif share > RANGE_SHARE:
            self.fail(f"'{name}': off by {share:.2e} of the range")

    def fail(self, note):
        self.ok = False
        self.note = note


def read_feeds(report, session):
    types = {value.name: value.type for value in session.get_inputs()}
    feeds = {}
    for entry in report["inputs"]:
        dtype = {"tensor(float16)": np.float16}.get(types[entry["name"]])
        feeds[entry["name"]] = read_tensor(entry["file"], dtype)
    return feeds


def within_a_step(model, names, got, want):
    """(elements within one step, elements) over all outputs."""
    good = total = 0
    for name, left, right in zip(names, got, want):
        step = output_step(model.graph, name, right)
        difference = np.abs(left.astype(np.float64) - right.astype(np.float64))
        good += int((difference <= 1.01 * step + 1e-12).sum())
        total += difference.size
    return good, total


def judge_by_own_spread(name, path, model, verdict):
    """Replaces a failed verdict where ONNX Runtime differs from itself as much."""
    session, plain = load_session(path), load_session(path, optimised=False)
    names = [value.name for value in session.get_outputs()]
    mine = own = total = 0
    for seed in range(SEEDS):
        with tempfile.TemporaryDirectory() as folder:
            report = fettle_run(path, folder, [*ARGUMENTS.get(name, []), "--seed", str(seed)])
            feeds = read_feeds(report, session)
            files = {entry["name"]: entry["file"] for entry in report["outputs"]}
            got = [read_tensor(files[output], None) for output in names]
            want, unoptimised = session.run(names, feeds), plain.run(names, feeds)
        good, count = within_a_step(model, names, got, want)
        mine, total = mine + good, total + count
        own += within_a_step(model, names, unoptimised, want)[0]
    verdict.ok = mine >= own
    verdict.note = (f"{100 * mine / total:.2f} % within one step over {SEEDS} inputs; "
                    f"ONNX Runtime of itself: {100 * own / total:.2f} %")


def judge_by_reference(name, path, verdict):
    """Replaces a failed verdict where Fettle agrees with its reference: then it is ONNX Runtime that is off."""
    command = [str(FETTLE), "compare", str(path), "--outputs-only", "--json", *ARGUMENTS.get(name, [])]
    result = subprocess.run(command, capture_output=True, text=True, timeout=3600)
    if result.returncode != 0:
        return
    verdict.ok = True
    worst = min(output["sqnr_db"] for output in json.loads(result.stdout)["outputs"])
    verdict.note = f"Fettle agrees with the reference that accumulates in double (SQNR {worst:.0f} dB)"


def compare_with_runtime(name, path):
    verdict = Verdict()
    with tempfile.TemporaryDirectory() as folder:
        report = fettle_run(path, folder, ARGUMENTS.get(name, []))
        model = onnx.load(str(path))
        quantised = any(node.op_type in QUANTISING for node in model.graph.node)
        session = load_session(path)
        feeds = read_feeds(report, session)
        names = [value.name for value in session.get_outputs()]
        for output, want in zip(names, session.run(names, feeds)):
            entry = next(entry for entry in report["outputs"] if entry["name"] == output)
            step = output_step(model.graph, output, want) if quantised else None
            verdict.add(output, read_tensor(entry["file"], None), want, step)
    if quantised and not verdict.ok:
        judge_by_own_spread(name, path, model, verdict)
    if not quantised and not verdict.ok and verdict.worst <= DISPUTED_SHARE:
        judge_by_reference(name, path, verdict)
    shapes = ", ".join("x".join(map(str, entry["shape"])) or "scalar" for entry in report["inputs"])
    return verdict, shapes, quantised


def side_files(name, path):
    """(title, {input: array}, {output: array}) of the reference vectors that lie beside a model."""
    session = load_session(path)
    inputs = [value.name for value in session.get_inputs()]
    outputs = [value.name for value in session.get_outputs()]
    stem = path.stem
    for folder in sorted(path.parent.glob(f"{stem}_test_data_set_*")):
        feeds = {inputs[0]: read_tensor(folder / "input_0.pb", None)}
        yield folder.name, feeds, {outputs[0]: read_tensor(folder / "output_0.pb", None)}
    light = path.parent / f"{stem}_output_0.pb"
    if light.exists():
        # The weights of these models are constants, so that their output is the same for every input.
        shape = [extent if isinstance(extent, int) else 1 for extent in session.get_inputs()[0].shape]
        feeds = {inputs[0]: np.full(shape, 0.5, np.float32)}
        yield light.name, feeds, {outputs[0]: read_tensor(light, None)}
    both = path.parent / f"{stem}_io.npz"
    if both.exists():
        arrays = np.load(both)
        given = {key: arrays[key] for key in arrays.files if key in inputs}
        # The other array is the output, under the name that it had in the original framework.
        rest = [arrays[key] for key in arrays.files if key not in inputs]
        yield both.name, given, dict(zip(outputs, rest))
    given = path.parent / f"{stem}_inputs.npz"
    if given.exists():
        arrays, results = np.load(given), np.load(path.parent / f"{stem}_outputs.npz")
        yield (given.name, dict(zip(inputs, (arrays[key] for key in arrays.files))),
               dict(zip(outputs, (results[key] for key in results.files))))


def compare_with_side_file(path, feeds, wanted):
    verdict = Verdict()
    if not feeds or not wanted:
        verdict.fail("the side file names no input and output of the model")
        return verdict
    with tempfile.TemporaryDirectory() as folder:
        arguments = []
        for index, (name, array) in enumerate(feeds.items()):
            np.save(f"{folder}/given_{index}.npy", array)
            arguments += ["-i", f"{name}={folder}/given_{index}.npy"]
        report = fettle_run(path, folder, arguments)
        for entry in report["outputs"]:
            if entry["name"] in wanted:
                got = read_tensor(entry["file"], None)
                verdict.add(entry["name"], got, wanted[entry["name"]].astype(got.dtype), None)
    return verdict


HEADER = """# Models that are checked

Every model of the development set, run by `fettle run` and by ONNX Runtime on equal seeded inputs, and against
reference outputs where the model has them (rows named after their file). Written by
`scripts/check-models --write`; fp32 results may be off by 1e-3 of the output's range (or 2^-21; up to 2e-3 where the
reference that accumulates in double agrees with Fettle), quantised ones by one step on 99.9 % of the elements, or as often as ONNX Runtime is off from itself without its graph optimisations.

| model | inputs | kind | largest difference / range | agrees | note |
|---|---|---|---:|---|---|
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write docs/models.md")
    parser.add_argument("--only", default="", help="models whose name holds this text")
    options = parser.parse_args()
    onnxruntime.set_default_logger_severity(3)
    rows, passed, failed, skipped = [], 0, 0, 0

    def record(title, shapes, kind, verdict):
        nonlocal passed, failed
        passed += verdict.ok
        failed += not verdict.ok
        worst = f"{verdict.worst:.1e}"
        rows.append(f"| {title} | {shapes} | {kind} | {worst} | {'yes' if verdict.ok else '**no**'} | {verdict.note} |")
        print(f"{'ok    ' if verdict.ok else 'FAILED'} {title}  {worst}  {verdict.note}", flush=True)

    for path in sorted(MODELS.rglob("*.onnx")):
        name = str(path.relative_to(MODELS).with_suffix(""))
        if options.only not in name:
            continue
        shapes, quantised = "", False
        try:
            load_session(path)
        except Exception as error:
            skipped += 1
            print(f"skipped {name}: ONNX Runtime does not load it: {' '.join(str(error).split())[:160]}", flush=True)
            continue
        try:
            verdict, shapes, quantised = compare_with_runtime(name, path)
        except Exception as error:  # a failing model is a row, not the end of the table
            verdict = Verdict()
            verdict.fail(" ".join(str(error).split())[:160])
        record(name, shapes, "quantised" if quantised else "float", verdict)
        try:
            for title, feeds, wanted in side_files(name, path):
                try:
                    verdict = compare_with_side_file(path, feeds, wanted)
                except Exception as error:
                    verdict = Verdict()
                    verdict.fail(" ".join(str(error).split())[:160])
                record(f"{name}: {title}", "", "reference", verdict)
        except Exception as error:
            verdict = Verdict()
            verdict.fail(" ".join(str(error).split())[:160])
            record(f"{name}: side files", "", "reference", verdict)
    if options.write:
        text = HEADER + "\n".join(rows) + f"\n\nONNX Runtime {onnxruntime.__version__}, onnx {onnx.__version__}.\n"
        (ROOT / "docs" / "models.md").write_text(text)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
