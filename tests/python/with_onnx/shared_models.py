"""One program on real networks, with onnxruntime and with fettle.ort in its place: shared_models.py FOLDER

Inputs are seeded; models whose inputs that does not suit (sizes that do not fit each other) are skipped. fp32: every output
within 1e-3 of its range; quantised: within 5 % of it on the average, as steps round differently. The last line counts.
"""

import pathlib
import sys

import numpy
import onnxruntime

import fettle.ort

TYPES = {"tensor(float)": "float32", "tensor(float16)": "float16", "tensor(int64)": "int64", "tensor(int32)": "int32",
         "tensor(uint8)": "uint8", "tensor(int8)": "int8", "tensor(bool)": "bool", "tensor(double)": "float64"}


def program(ort, path, feeds):
    """What a tutorial does."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 2
    options.log_severity_level = 4
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    if feeds is None:
        random = numpy.random.default_rng(1)
        feeds = {}
        for given in session.get_inputs():
            shape = [extent if isinstance(extent, int) else 64 if axis > 1 else 1
                     for axis, extent in enumerate(given.shape)]
            feeds[given.name] = numpy.asarray(2 * random.random(shape) - 0.5).astype(TYPES[given.type])
    names = [value.name for value in session.get_outputs()]
    return feeds, dict(zip(names, session.run(None, feeds)))


def difference(got, expected):
    """(largest, mean) over the expected range."""
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return numpy.inf, numpy.inf
    if got.size == 0:
        return 0.0, 0.0
    got, expected = got.astype(numpy.float64), expected.astype(numpy.float64)
    scale = max(numpy.ptp(expected), 1e-3)
    return numpy.abs(got - expected).max() / scale, numpy.abs(got - expected).mean() / scale


def main():
    passed = failed = skipped = 0
    for path in sorted(pathlib.Path(sys.argv[1]).rglob("*.onnx")):
        try:
            feeds, expected = program(onnxruntime, path, None)
        except Exception as error:  # whatever it says, there is nothing to compare with
            print(f"skipped {path.name}: {str(error).splitlines()[0][:100]}")
            skipped += 1
            continue
        got = program(fettle.ort, path, feeds)[1]
        worst = [max(values) for values in zip(*(difference(got[name], expected[name]) for name in expected))]
        # Few bits, and halves, round differently.
        coarse = any(word in str(path) for word in ("int8", "qdq", "bnn", "fp16"))
        if worst[1] <= 0.05 if coarse else worst[0] <= 1e-3:
            passed += 1
        else:
            failed += 1
            print(f"FAILED {path.name}: {worst[0]:.2g} of the range at worst, {worst[1]:.2g} on the average")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
