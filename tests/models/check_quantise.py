"""What `fettle quantise` writes, against ONNX Runtime: check_quantise.py FETTLE [MODEL...]

Small networks of several opsets: the file has to pass ONNX's checker, ONNX Runtime has to run it, with its optimisations
and without, and to give what Fettle gives, within the loss that was reported. Ranges of all that was seen have to become the
scales, zero points and integers of ONNX Runtime's own quantiser, from the same data.

Of MODELs alone, instead: what both quantisers make of them by 8 samples of noise, and how often the largest output of 100
others is that of the original, in ONNX Runtime.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

FETTLE = str(pathlib.Path(sys.argv[1]).resolve())
RANDOM = np.random.default_rng(20)
SAME_DB = 30.0  # runtimes round ties and sum differently, and what follows a step follows it


def weights(name, *shape):
    fan_in = int(np.prod(shape[1:])) or 1
    return numpy_helper.from_array((RANDOM.standard_normal(shape) / np.sqrt(fan_in)).astype(np.float32), name)


def model(nodes, inputs, outputs, tensors, opset, ir=8):
    values = [[helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in named] for named in (inputs, outputs)]
    graph = helper.make_graph(nodes, "net", *values, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir)


def residual(opset):
    """Convolutions with bias and without, a bounded one, a depthwise one, a sum, pools and a fully connected layer."""
    bound = {"min": 0.0, "max": 2.0} if opset < 11 else {}
    limits = [] if opset < 11 else ["low", "high"]
    tensors = [weights("w1", 8, 3, 3, 3), weights("b1", 8), weights("w2", 8, 1, 3, 3), weights("w3", 8, 8, 1, 1),
               weights("b3", 8), weights("w4", 10, 8), weights("b4", 10)]
    if opset >= 11:
        tensors += [numpy_helper.from_array(np.float32(0), "low"), numpy_helper.from_array(np.float32(2), "high")]
    nodes = [helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["c1"], ["r1"]),
             helper.make_node("MaxPool", ["r1"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
             helper.make_node("Conv", ["p", "w2"], ["c2"], pads=[1, 1, 1, 1], group=8),
             helper.make_node("Clip", ["c2", *limits], ["k"], **bound), helper.make_node("Conv", ["k", "w3", "b3"], ["c3"]),
             helper.make_node("Add", ["c3", "p"], ["s"]), helper.make_node("Relu", ["s"], ["r2"]),
             helper.make_node("GlobalAveragePool", ["r2"], ["g"]), helper.make_node("Flatten", ["g"], ["f"]),
             helper.make_node("Gemm", ["f", "w4", "b4"], ["y"], transB=1)]
    return model(nodes, [("x", [1, 3, 16, 16])], [("y", [1, 10])], tensors, opset, 3 if opset < 9 else 8)


def fire():
    """Branches that are joined, and a batch that stays open."""
    nodes = [helper.make_node("Conv", ["x", "w0"], ["s"], strides=[2, 2]), helper.make_node("Relu", ["s"], ["a"]),
             helper.make_node("Conv", ["a", "w1", "b1"], ["e1"]), helper.make_node("Relu", ["e1"], ["l"]),
             helper.make_node("Conv", ["a", "w3"], ["e3"], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["e3"], ["r"]),
             helper.make_node("Concat", ["l", "r"], ["j"], axis=1), helper.make_node("Conv", ["j", "w4"], ["o"]),
             helper.make_node("GlobalAveragePool", ["o"], ["y"])]
    tensors = [weights("w0", 8, 3, 3, 3), weights("w1", 8, 8, 1, 1), weights("b1", 8), weights("w3", 8, 8, 3, 3),
               weights("w4", 6, 16, 1, 1)]
    return model(nodes, [("x", ["n", 3, 17, 17])], [("y", ["n", 6, 1, 1])], tensors, 13)


def attention():
    """Products with constants and of two activations, between transposes and a softmax; two inputs."""
    nodes = [helper.make_node("MatMul", ["a", "wq"], ["q0"]), helper.make_node("Add", ["q0", "bq"], ["q"]),
             helper.make_node("MatMul", ["b", "wk"], ["k"]), helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 2, 1]),
             helper.make_node("MatMul", ["q", "kt"], ["s"]), helper.make_node("Softmax", ["s"], ["p"], axis=-1),
             helper.make_node("MatMul", ["b", "wv"], ["v"]), helper.make_node("MatMul", ["p", "v"], ["o"]),
             helper.make_node("MatMul", ["o", "wo"], ["y"])]
    tensors = [weights(name, 16, 16) for name in ("wq", "wk", "wv", "wo")] + [weights("bq", 16)]
    return model(nodes, [("a", [1, 5, 16]), ("b", [1, 7, 16])], [("y", [1, 5, 16])], tensors, 17)


def sqnr(got, want):
    noise = float(np.sum((np.asarray(got, np.float64) - want) ** 2))
    return 10 * np.log10(max(float(np.sum(np.asarray(want, np.float64) ** 2)), 1e-30) / max(noise, 1e-30))


def quantise(path, out, data, *options):
    line = [FETTLE, "quantise", str(path), "-o", str(out), "--json", "--for-size", "--data", *data, *options]
    result = subprocess.run(line, capture_output=True, text=True, timeout=600)
    if result.returncode != 0:
        raise AssertionError(f"exit code {result.returncode}: {result.stderr.strip()}")
    return json.loads(result.stdout)


def theirs_of(path, samples, level=ort.GraphOptimizationLevel.ORT_ENABLE_ALL):
    """The outputs by name, of all samples behind each other."""
    settings = ort.SessionOptions()
    settings.graph_optimization_level = level
    # Its products of bytes saturate on CPUs without VNNI unless this is set.
    settings.add_session_config_entry("session.x64quantprecision", "1")
    session = ort.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])
    runs = [session.run(None, inputs) for inputs in samples]
    return {value.name: np.stack(parts) for value, parts in zip(session.get_outputs(), zip(*runs))}


def check(path, data, samples, *options):
    """Quantises, and runs both models in both runtimes, Fettle on the first sample. Returns what is wrong, in words."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "int8.onnx"
        report = quantise(path, out, data, *options)
        onnx.checker.check_model(str(out), full_check=True)
        wanted = theirs_of(path, samples)
        given = []
        for i, (name, value) in enumerate(samples[0].items()):
            np.save(f"{folder}/in_{i}.npy", value)
            given += ["-i", f"{name}={folder}/in_{i}.npy"]
        subprocess.run([FETTLE, "run", str(out), *given, "-o", f"{folder}/got/"], check=True, capture_output=True)
        for level in (ort.GraphOptimizationLevel.ORT_ENABLE_ALL, ort.GraphOptimizationLevel.ORT_DISABLE_ALL):
            for name, theirs in theirs_of(out, samples, level).items():
                ours = np.load(f"{folder}/got/{name}.npy")
                if sqnr(ours, theirs[0]) < SAME_DB:
                    return f"{name}: Fettle and ONNX Runtime are {sqnr(ours, theirs[0]):.1f} dB apart"
                if sqnr(theirs, wanted[name]) < report["loss"]["sqnr_db"] - 1:
                    return f"{name}: {sqnr(theirs, wanted[name]):.1f} dB, reported {report['loss']['sqnr_db']:.1f}"
        return ""


def small_networks():
    networks = [(f"residual, opset {opset}", residual(opset)) for opset in (7, 9, 10, 11, 13, 17)]
    networks += [("fire", fire()), ("attention", attention())]
    for title, network in networks:
        for options in (["--activations", "u8"], ["--activations", "i8", "--ranges", "minmax"],
                        ["--weight-bits", "7", "--ranges", "percentile", "--equalise", "on"]):
            yield f"{title} {' '.join(options)}", network, options


def check_small(network, options):
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/net.onnx"
        onnx.save(network, path)
        data, samples = [], [{} for _ in range(8)]
        initialised = {tensor.name for tensor in network.graph.initializer}
        for value in network.graph.input:
            if value.name in initialised:
                continue
            shape = [dim.dim_value or 1 for dim in value.type.tensor_type.shape.dim]
            batch = RANDOM.standard_normal([8, *shape]).astype(np.float32)
            np.save(f"{folder}/{value.name}.npy", batch)
            data.append(f"{value.name}={folder}/{value.name}.npy")
            for sample, part in zip(samples, batch):
                sample[value.name] = part
        return check(path, data, samples, "--min-sqnr", "15", *options)


class Samples(CalibrationDataReader):
    def __init__(self, samples):
        self.left = iter(samples)

    def get_next(self):
        return next(self.left, None)


def grids(path):
    """Scale and zero point by the name of what is quantised; integers, scales and zero points by layer and shape."""
    graph = onnx.load(path).graph
    tensors = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    of = lambda node: (tensors[node.input[1]], tensors[node.input[2]].astype(int) if len(node.input) > 2 else 0)
    joined = {name for node in graph.node if node.op_type == "Concat" for name in node.input}
    origin = {node.output[0]: node for node in graph.node if node.op_type == "DequantizeLinear"}
    # What is joined has one scale in Fettle's files, so that nothing is rounded twice.
    shared = {origin[name].input[1] for name in joined if name in origin}
    values = {node.input[0]: of(node) for node in graph.node
              if node.op_type == "QuantizeLinear" and node.input[1] not in shared and node.input[0] not in joined}
    weights_of = [origin.get(node.input[1]) for node in graph.node if node.op_type in ("Conv", "Gemm", "MatMul")]
    constants = [(tensors[node.input[0]].astype(int), *of(node)) for node in weights_of if node and node.input[0] in tensors]
    return values, sorted(constants, key=lambda one: (one[0].shape, one[1].tobytes()))


def both_quantisers(path, samples, folder, *options):
    """The files of Fettle and of ONNX Runtime, ranges of all that was seen, and nothing equalised or corrected."""
    ours, theirs, data = f"{folder}/ours.onnx", f"{folder}/theirs.onnx", []
    for name in samples[0]:
        np.save(f"{folder}/{name}.npy", np.stack([sample[name] for sample in samples]))
        data.append(f"{name}={folder}/{name}.npy")
    quantise(path, ours, data, "--min-sqnr", "0", "--sensitivity", "0", *options)
    quantize_static(str(path), theirs, Samples(samples), quant_format=QuantFormat.QDQ, per_channel=True,
                    activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
    return ours, theirs


PLAIN = ("--ranges", "minmax", "--equalise", "off", "--bias-correction", "off")


def compare_grids(ours, theirs):
    """The numbers of values and layers, and what differs beyond the rounding of a range, in words."""
    (values, layers), (their_values, their_layers) = grids(ours), grids(theirs)
    common = [name for name in values if name in their_values]
    for name in common:
        (scale, zero), (their_scale, their_zero) = values[name], their_values[name]
        if abs(scale / their_scale - 1) > 4e-6 or zero != their_zero:
            return common, layers, f"{name}: {scale} and {zero}, ONNX Runtime {their_scale} and {their_zero}"
    if len(layers) != len(their_layers):
        return common, layers, f"{len(layers)} layers, ONNX Runtime {len(their_layers)}"
    for (integers, scales, zeros), (their_integers, their_scales, their_zeros) in zip(layers, their_layers):
        apart = np.abs(integers - their_integers)
        if not np.array_equal(scales, their_scales) or np.any(zeros) or np.any(their_zeros):
            return common, layers, f"weights {integers.shape}: other scales or zero points"
        if np.max(apart) > 1 or np.mean(apart) > 1e-3:  # ties, of which a quotient in another order makes some
            return common, layers, f"weights {integers.shape}: integers are {np.max(apart)} apart, {np.mean(apart):.1e} in the mean"
    return common, layers, ""


def check_grids(network):
    shapes = {value.name: [dim.dim_value or 1 for dim in value.type.tensor_type.shape.dim] for value in network.graph.input}
    samples = [{name: RANDOM.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()} for _ in range(8)]
    with tempfile.TemporaryDirectory() as folder:
        onnx.save(network, f"{folder}/net.onnx")
        common, layers, problem = compare_grids(*both_quantisers(f"{folder}/net.onnx", samples, folder, *PLAIN))
        return problem or ("" if len(common) > 1 and layers else "nothing to compare")


def report(path):
    entry = onnx.load(path, load_external_data=False).graph.input[0]
    shape = [dim.dim_value for dim in entry.type.tensor_type.shape.dim]
    noise = lambda count: [{entry.name: RANDOM.standard_normal(shape).astype(np.float32)} for _ in range(count)]
    samples, others = noise(8), noise(100)
    with tempfile.TemporaryDirectory() as folder:
        quant_pre_process(path, f"{folder}/net.onnx", skip_symbolic_shape=True)
        scores = lambda file: next(iter(theirs_of(file, others).values())).reshape(len(others), -1)
        same = lambda got: f"{sqnr(got, wanted):.1f} dB, {np.sum(got.argmax(1) == wanted.argmax(1))} of {len(others)}"
        wanted = scores(path)
        ours, theirs = both_quantisers(f"{folder}/net.onnx", samples, folder, *PLAIN)
        common, layers, problem = compare_grids(ours, theirs)
        print(f"{pathlib.Path(path).stem}: {len(common)} values, {len(layers)} layers: {problem or 'the same grids'}")
        print(f"  ONNX Runtime's quantiser {same(scores(theirs))}; Fettle's, min-max alone {same(scores(ours))}", end="")
        ours, _ = both_quantisers(f"{folder}/net.onnx", samples, folder)
        print(f", as it is {same(scores(ours))}", flush=True)


def main():
    for path in sys.argv[2:]:
        report(path)
    if len(sys.argv) > 2:
        return
    passed = failed = 0
    for title, network, options in small_networks():
        try:
            problem = check_small(network, options)
        except Exception as error:  # whatever a runtime or the checker raises is a failure of this network
            problem = f"{type(error).__name__}: {str(error)[:300]}"
        passed, failed = passed + (not problem), failed + bool(problem)
        print(f"{'FAIL' if problem else 'ok'} {title} {problem}".rstrip())
    for title, network in (("residual", residual(17)), ("fire", fire()), ("attention", attention())):
        problem = check_grids(network)
        passed, failed = passed + (not problem), failed + bool(problem)
        print(f"{'FAIL' if problem else 'ok'} {title}: scales of ONNX Runtime's quantiser {problem}".rstrip())
    print(f"{passed} passed, {failed} failed, 0 skipped")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
