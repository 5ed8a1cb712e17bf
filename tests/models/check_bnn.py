"""Runs binary networks through Fettle and ONNX Runtime: equal scores, and as many right answers as published.

    check_bnn.py FETTLE SHARED

The shipped network of digits and residual networks with seeded weights are checked anywhere. SHARED/models/bnn holds
parameters of BNN-PYNQ and a network of Brevitas, SHARED/data/mnist the digits; where they are absent those three checks are
counted skips.
"""

import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime

import binary_forms
import bnn_pynq

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "training/bnn"), str(ROOT / "bench/binary")]
import networks
import pictures

BATCH = 1000
LFC_RIGHT = 9834  # of 10,000 digits, by margin
DEER = 4
DIGITS_RIGHT = 980  # of 1000 that were drawn after training
RESIDUAL = {"bireal18": 16, "bireal18_stem": 16, "quicknet_small": 16, "quicknet": 16, "quicknet_large": 32,
            "reactnet_a": 31}  # binary convolutions


def run(fettle, model, name, value, folder):
    numpy.save(folder / "in.npy", value)
    subprocess.run([fettle, "run", model, "--no-cache", "-i", f"{name}={folder / 'in.npy'}", "-o", folder / "out.npy"],
                   check=True, stdout=subprocess.DEVNULL)
    return numpy.load(folder / "out.npy")


def reference(model, level=onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL):
    """ONNX Runtime without rewrites: it multiplies batch normalisation into weights of -1 and 1, whose sums then round."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options)
    name = session.get_inputs()[0].name
    return name, lambda value: session.run(None, {name: value})[0]


def on_bits(fettle, model):
    text = subprocess.run([fettle, "inspect", model, "--binary", "--json"], check=True, capture_output=True).stdout
    return [product["on_bits"] for product in json.loads(text)["binary"]]


def digits(shared):
    images = gzip.open(shared / "data/mnist/t10k-images-idx3-ubyte.gz").read()[16:]
    labels = gzip.open(shared / "data/mnist/t10k-labels-idx1-ubyte.gz").read()[8:]
    return (numpy.frombuffer(images, numpy.uint8).reshape(-1, 784).astype(numpy.float32),
            numpy.frombuffer(labels, numpy.uint8))


def check_lfc(fettle, shared, folder):
    model = str(folder / "lfc.onnx")
    bnn_pynq.convert(shared / "models/bnn/lfcW1A1.tar", model, BATCH)
    assert on_bits(fettle, model) == [True] * 4
    images, labels = digits(shared)
    name, expected = reference(model)
    right = 0
    for begin in range(0, len(images), BATCH):
        scores = run(fettle, model, name, images[begin:begin + BATCH], folder)
        assert numpy.array_equal(scores, expected(images[begin:begin + BATCH]))
        right += int((scores.argmax(axis=1) == labels[begin:begin + BATCH]).sum())
    assert right == LFC_RIGHT, right
    return f"{right} of {len(images)} digits"


def check_cnv(fettle, shared, folder):
    model = str(folder / "cnv.onnx")
    bnn_pynq.convert(shared / "models/bnn/cnvW1A1.tar", model)
    assert on_bits(fettle, model) == [False] + [True] * 8
    name, expected = reference(model)
    deer = numpy.fromfile(shared / "models/bnn/test_deer.bin", numpy.uint8)[1:].reshape(1, 3, 32, 32)
    noise = numpy.random.default_rng(5).integers(0, 256, (20, 1, 3, 32, 32))
    answers = []
    for picture in [deer, *noise]:
        picture = picture.astype(numpy.float32)
        scores = run(fettle, model, name, picture, folder)
        assert numpy.array_equal(scores, expected(picture))
        answers.append(int(scores.argmax()))
    assert answers[0] == DEER, answers[0]
    return f"the deer is of class {DEER}"


def without_bipolar_quant(path, out):
    """BipolarQuant by operators that ONNX Runtime has."""
    model = onnx.load(path)
    nodes, zero = [], onnx.numpy_helper.from_array(numpy.zeros((), numpy.float32), "bipolar.zero")
    for node in model.graph.node:
        if node.op_type != "BipolarQuant":
            nodes.append(node)
            continue
        x, scale, y = *node.input, node.output[0]
        nodes += [onnx.helper.make_node("Less", [x, "bipolar.zero"], [y + ".less"]),
                  onnx.helper.make_node("Neg", [scale], [y + ".low"]),
                  onnx.helper.make_node("Where", [y + ".less", y + ".low", scale], [y])]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    model.graph.initializer.append(zero)
    onnx.save(model, out)


def check_tfc(fettle, shared, folder):
    path = str(shared / "models/bnn/TFC_1W1A.onnx")
    without_bipolar_quant(path, str(folder / "tfc.onnx"))
    assert on_bits(fettle, path) == [True] * 4
    name, expected = reference(str(folder / "tfc.onnx"))
    images, labels = digits(shared)
    right = 0
    for image, label in zip(images[:200], labels):
        picture = (image / 255).reshape(1, 1, 28, 28).astype(numpy.float32)
        scores = run(fettle, path, name, picture, folder)
        wanted = expected(picture)
        assert numpy.allclose(scores, wanted, rtol=1e-5, atol=1e-5), (scores, wanted)
        right += int(scores.argmax() == label)
    return f"{right} of 200 digits"


def check_digits(fettle, _, folder):
    model = str(ROOT / "models/digits_bnn.onnx")
    assert on_bits(fettle, model).count(True) == 5
    drawn, labels = pictures.draw(3, 1000)
    x = pictures.as_input(drawn)
    levels = onnxruntime.GraphOptimizationLevel
    for level in (levels.ORT_DISABLE_ALL, levels.ORT_ENABLE_ALL):  # sums before signs are exact in any order
        name, expected = reference(model, level)
        scores, wanted = run(fettle, model, name, x, folder), expected(x)
        assert abs(scores - wanted).max() <= 1e-6 * abs(wanted).max(), abs(scores - wanted).max()
        assert numpy.array_equal(scores.argmax(axis=1), wanted.argmax(axis=1))
    right = int((scores.argmax(axis=1) == labels).sum())
    assert right >= DIGITS_RIGHT, right
    return f"{right} of {len(x)} digits"


def check_residual(fettle, _, folder):
    """Small pictures: what is recognised and how it ends does not depend on their sides."""
    for name, convolutions in RESIDUAL.items():
        model = str(folder / "residual.onnx")
        onnx.save(networks.build(name, True, 64), model)
        assert on_bits(fettle, model).count(True) == convolutions, name
        x = numpy.random.default_rng(7).standard_normal((1, 3, 64, 64)).astype(numpy.float32)
        source, expected = reference(model)
        scores, wanted = run(fettle, model, source, x, folder), expected(x)
        assert abs(scores - wanted).max() <= 1e-5 * abs(wanted).max(), (name, abs(scores - wanted).max())
    return f"all of {', '.join(map(str, RESIDUAL.values()))} convolutions on bits in {', '.join(RESIDUAL)}"


def check_forms(fettle, _, folder):
    """Numbers of halves, zeros among them."""
    count = 0
    for name, model, same, is_on_bits in binary_forms.forms():
        path, wanted = str(folder / "form.onnx"), str(folder / "reference.onnx")
        onnx.save(model, path)
        onnx.save(same, wanted)
        assert on_bits(fettle, path) == [is_on_bits] * len(on_bits(fettle, path)), name
        source, expected = reference(wanted)
        shape = [extent.dim_value for extent in model.graph.input[0].type.tensor_type.shape.dim]
        x = (numpy.random.default_rng(7).integers(-6, 7, shape) / 2).astype(numpy.float32)
        scores = run(fettle, path, source, x, folder)
        assert numpy.allclose(scores, expected(x), rtol=1e-5, atol=1e-5), (name, abs(scores - expected(x)).max())
        count += 1
    return f"{count} forms of signs and products"


def main():
    fettle, shared = sys.argv[1], pathlib.Path(sys.argv[2])
    checks, skipped = [check_digits, check_forms, check_residual], 0
    with_data = [check_lfc, check_cnv, check_tfc]
    if (shared / "models/bnn").exists() and (shared / "data/mnist").exists():
        checks += with_data
    else:
        print(f"{shared} has no binary networks")
        skipped = len(with_data)
    for check in checks:
        with tempfile.TemporaryDirectory() as folder:
            print(f"{check.__name__[6:]}: {check(fettle, shared, pathlib.Path(folder))}")
    print(f"{len(checks)} passed, 0 failed, {skipped} skipped")


if __name__ == "__main__":
    main()
