"""Fettle's outputs beside ONNX Runtime's: worst_db(FETTLE, FOLDER, OPTION...) is the least signal to noise ratio of all
outputs, in dB, of `fettle run` with the options; kept in FOLDER/db with the time of the program and of the model, for each
choice of options in a file of its own."""

import json
import math
import pathlib
import subprocess
import sys
import tempfile

import numpy


def ratio_db(wanted, got):
    """Infinite where equal; -inf where shapes or what is finite differ."""
    if wanted.shape != got.shape or wanted.size == 0:
        return math.inf if wanted.shape == got.shape else -math.inf
    if wanted.dtype.kind in "biu":
        share = float(numpy.mean(wanted != got))
        return math.inf if share == 0 else -10 * math.log10(share)
    wanted, got = wanted.astype(numpy.float64), got.astype(numpy.float64)
    same = (wanted == got) | (numpy.isnan(wanted) & numpy.isnan(got))
    error = numpy.where(same, 0, wanted - got)
    if not numpy.isfinite(error).all():
        return -math.inf
    noise, signal = float(numpy.square(error).sum()), float(numpy.square(wanted[numpy.isfinite(wanted)]).sum())
    return math.inf if noise == 0 else 10 * math.log10(signal / noise) if signal > 0 else -math.inf


def expected(path, inputs):
    """ONNX Runtime's outputs by name; None where it cannot run the model."""
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        feeds = {name: numpy.load(file) for name, file in inputs.items()}
        return dict(zip([one.name for one in session.get_outputs()], session.run(None, feeds)))
    except Exception as error:  # of many classes
        print(f"{path}: ONNX Runtime: {' '.join(str(error).split())[:160]}", file=sys.stderr)
        return None


def compare(program, path, inputs, options):
    wanted = expected(path, inputs)
    with tempfile.TemporaryDirectory() as folder:
        command = [str(program), "run", str(path), "-o", folder, "--json", "--no-cache", *options]
        command += [part for name, file in inputs.items() for part in ("-i", f"{name}={file}")]
        result = subprocess.run(command, capture_output=True, text=True, timeout=900)
        if result.returncode != 0:
            raise RuntimeError((result.stderr.strip().splitlines() or ["it died"])[-1])
        if wanted is None:
            return None
        got = {entry["name"]: numpy.load(entry["file"]) for entry in json.loads(result.stdout)["outputs"]}
        return min(ratio_db(value, got[name]) if name in got else -math.inf for name, value in wanted.items())


def inputs_of(folder):
    """Files of the inputs that an export lies with, by name."""
    return {path.stem: str(path) for path in sorted(folder.glob("*.npy"))}


def worst_db(program, folder, *options):
    path, file = folder / "model.onnx", folder / "".join(["db", *options]).replace(":", "-")
    stamp = f"{pathlib.Path(program).stat().st_mtime_ns} {path.stat().st_mtime_ns}"
    if file.exists() and file.read_text().startswith(stamp + " "):
        text = file.read_text().split()[-1]
        return None if text == "None" else float(text)
    db = compare(program, path, inputs_of(folder), options)
    file.write_text(f"{stamp} {db}\n")
    return db
