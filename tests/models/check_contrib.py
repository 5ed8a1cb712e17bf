"""Runs a small BERT, plain and quantised, as ONNX Runtime's tools save it, through Fettle and ONNX Runtime.

    check_contrib.py FETTLE [SEED]

Quantised by quantize_dynamic before or after the tools' own fusions, saved by ONNX Runtime at every optimisation
level, and each of these files run by both on equal inputs.
"""

import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime
from onnxruntime.quantization import QuantType, quantize_dynamic

import contrib_models

LEVELS = {
    "none": onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL,
    "basic": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    "extended": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    "all": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
}


def fused(path, out):
    """The fusions of onnxruntime.transformers; False where that needs what is not installed."""
    try:
        from onnxruntime.transformers import optimizer
        model = optimizer.optimize_model(str(path), "bert", num_heads=contrib_models.HEADS,
                                         hidden_size=contrib_models.HIDDEN, opt_level=0)
    except ImportError:
        return False
    model.save_model_to_file(str(out))
    return True


def save_at(path, level, out):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = LEVELS[level]
    options.optimized_model_filepath = str(out)
    options.log_severity_level = 3
    onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def reference(path, feed):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = LEVELS["none"]
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return session.run(None, feed)[0]


def run(fettle, path, feed, folder):
    command = [fettle, "run", str(path)]
    for name, value in feed.items():
        numpy.save(folder / f"{name}.npy", value)
        command += ["-i", f"{name}={folder / name}.npy"]
    result = subprocess.run(command + ["-o", f"hidden={folder / 'hidden.npy'}"], capture_output=True, text=True)
    if result.returncode != 0:
        return None, (result.stderr.strip() or f"exit code {result.returncode}").splitlines()[-1]
    return numpy.load(folder / "hidden.npy"), ""


def main():
    fettle, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
    random = numpy.random.default_rng(seed)
    mask = (numpy.arange(9)[None] < numpy.array([[9], [5], [1]])).astype(numpy.int64)
    feed = {"input_ids": random.integers(0, contrib_models.VOCABULARY, (3, 9)),
            "token_type_ids": random.integers(0, 2, (3, 9)), "attention_mask": mask}
    passed = failed = skipped = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        onnx.save(contrib_models.bert(seed), folder / "plain.onnx")
        variants = {"plain": folder / "plain.onnx"}
        if fused(folder / "plain.onnx", folder / "fused.onnx"):
            variants["fused"] = folder / "fused.onnx"
        else:
            skipped += 1
            print("fused: onnxruntime.transformers cannot be imported")
        for base in list(variants):
            # Pairs of products of 8 x 8 bits saturate in ONNX Runtime on processors without VNNI, not of 8 x 7.
            for kind, weights, reduce_range in (("u8", QuantType.QUInt8, False), ("s7", QuantType.QInt8, True)):
                path = folder / f"{base}_{kind}.onnx"
                quantize_dynamic(variants[base], path, weight_type=weights, reduce_range=reduce_range,
                                 per_channel=kind == "s7", extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT})
                variants[f"{base}_{kind}"] = path
        seen = set()
        for variant, path in variants.items():
            want = reference(path, feed)
            for level in LEVELS:
                saved = folder / f"{variant}_{level}.onnx"
                save_at(path, level, saved)
                ops = {f"{n.domain}.{n.op_type}" for n in onnx.load(saved).graph.node if n.domain == "com.microsoft"}
                seen |= ops
                got, why = run(fettle, saved, feed, folder)
                error = numpy.inf if got is None else float(numpy.abs(got - want).max() / numpy.abs(want).max())
                # One step of an 8-bit value more or less here and there; nothing where all is f32.
                ok = error <= (2e-2 if "_" in variant else 1e-5)
                passed, failed = passed + ok, failed + (not ok)
                print(f"{'ok  ' if ok else 'FAIL'} {variant} at {level}: {error:.1e} {why} {' '.join(sorted(ops))}")
    print("operators:", " ".join(sorted(seen)))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
