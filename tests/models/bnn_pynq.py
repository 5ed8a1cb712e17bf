"""Networks of BNN-PYNQ (Xilinx, BSD-3-Clause) as ONNX files of ordinary operators.

    bnn_pynq.py PARAMS.tar OUT.onnx [BATCH]

PARAMS.tar holds one folder of BNN-PYNQ's bnn/params (lfcW1A1 or cnvW1A1, with config.h). Weight words have 64 bits, one file
for each processing element, index [neuron fold][synapse fold]: neuron = fold * PE + pe; bit s is input fold * SIMD + s, 1 is
+1. A neuron is 1 where popcount(XNOR) > threshold. Inputs of convolutions lie channel-innermost. The network takes pixels
of 0 to 255 and gives a score for each class: by how much its threshold is passed (LFC), or its sum (CNV).
"""

import re
import sys
import tarfile

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

CLASSES = 10


class Layer:
    """Weights [neurons, inputs] of -1 and 1, thresholds [neurons] (raw 16 bits) or None."""

    def __init__(self, read, index, numbers):
        self.kernel = numbers.get("K", 0)
        self.channels = numbers.get("IFM_CH", 0)
        self.inputs = numbers["MW"] if not self.kernel else self.kernel**2 * self.channels
        self.neurons = numbers["MH"] if not self.kernel else numbers["OFM_CH"]
        pe, simd = numbers["PE"], numbers["SIMD"]
        folds, synapses = self.neurons // pe, self.inputs // simd
        self.weights = numpy.zeros((self.neurons, self.inputs), numpy.float32)
        self.thresholds = numpy.zeros(self.neurons, numpy.int64)
        shifts = numpy.arange(simd, dtype=numpy.uint64)
        for p in range(pe):
            words = numpy.frombuffer(read(f"{index}-{p}-weights.bin"), "<u8").reshape(folds, synapses)
            bits = (words[:, :, None] >> shifts) & numpy.uint64(1)
            self.weights[p::pe] = bits.reshape(folds, -1).astype(numpy.float32) * 2 - 1
            thresholds = read(f"{index}-{p}-thres.bin")
            if thresholds is None:
                self.thresholds = None
            else:
                self.thresholds[p::pe] = numpy.frombuffer(thresholds, "<i8").astype(numpy.int16)


def read_layers(path):
    files = {}
    with tarfile.open(path) as archive:
        for member in archive:
            if member.isfile():
                files[member.name.rsplit("/", 1)[-1]] = archive.extractfile(member).read()
    numbers = {}
    for layer, name, value in re.findall(r"#define L(\d+)_(\w+) (\d+)", files["config.h"].decode()):
        numbers.setdefault(int(layer), {})[name] = int(value)
    return [Layer(files.get, index, numbers[index]) for index in sorted(numbers)]


class Builder:
    def __init__(self):
        self.nodes, self.constants = [], []
        self.constant("one", numpy.float32(1))
        self.constant("minus_one", numpy.float32(-1))

    def constant(self, name, value):
        self.constants.append(numpy_helper.from_array(numpy.asarray(value), name))
        return name

    def add(self, op, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], output, **attributes))
        return output

    def signs(self, x, name):
        """1 where the boolean x holds, else -1."""
        return self.add("Where", [x, "one", "minus_one"], name)

    def decide(self, x, bounds, name, rank):
        bounds = numpy.asarray(bounds, numpy.float32).reshape([1, -1] + [1] * (rank - 2))
        return self.signs(self.add("Greater", [x, self.constant(name + ".bound", bounds)], name + ".is_one"), name)

    def dense(self, x, layer, name, inputs, neurons):
        weights = layer.weights[:neurons, :inputs].T.copy()
        return self.add("MatMul", [x, self.constant(name + ".weight", weights)], name + ".sum")

    def conv(self, x, layer, name):
        k, c = layer.kernel, layer.channels
        weights = layer.weights.reshape(-1, k, k, c).transpose(0, 3, 1, 2).copy()
        return self.add("Conv", [x, self.constant(name + ".weight", weights)], name + ".sum")

    def save(self, path, name, shape, output):
        graph = helper.make_graph(self.nodes, name, [helper.make_tensor_value_info("pixels", TensorProto.FLOAT, shape)],
                                  [helper.make_tensor_value_info(output, TensorProto.FLOAT, [shape[0], CLASSES])],
                                  self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        onnx.checker.check_model(model)
        onnx.save(model, path)


def padding_matches(layer, inputs):
    """How many inputs behind the last one, which are zero bits, agree with their weights."""
    return (layer.weights[:, inputs:] < 0).sum(axis=1)


def build_lfc(layers, path, batch):
    """784 pixels, 1 where at least half; three hidden layers of 1024."""
    b = Builder()
    x = b.signs(b.add("GreaterOrEqual", ["pixels", b.constant("half", numpy.float32(127.5))], "is_light"), "x")
    inputs = 784
    for index, layer in enumerate(layers):
        name, last = f"fc{index}", index + 1 == len(layers)
        neurons = CLASSES if last else layer.neurons
        total = b.dense(x, layer, name, inputs, neurons)
        # popcount > t, and popcount = (sum + inputs) / 2 + what the padding adds.
        bounds = 2 * (layer.thresholds - padding_matches(layer, inputs)) - inputs
        if last:
            b.add("Sub", [total, b.constant("bounds", bounds[:neurons].astype(numpy.float32))], "scores")
        else:
            x = b.decide(total, bounds, name, 2)
            inputs = neurons
    b.save(path, "lfcW1A1", [batch, 784], "scores")


def build_cnv(layers, path, batch):
    """32x32 pixels of 3 colours as fixed point of 7 fractional bits; pools behind convolutions 1 and 3."""
    b = Builder()
    x = b.add("Mul", ["pixels", b.constant("scale", numpy.float32(2 / 255))], "unit")
    x = b.add("Add", [x, "minus_one"], "centred")
    x = b.add("Floor", [b.add("Mul", [x, b.constant("steps", numpy.float32(128))], "stepped")], "floor")
    x = b.add("Clip", [x, b.constant("least", numpy.float32(-128)), b.constant("most", numpy.float32(127))], "clipped")
    inputs = 0
    for index, layer in enumerate(layers):
        name, last = f"layer{index}", index + 1 == len(layers)
        if layer.kernel:
            total = b.conv(x, layer, name)
            # The first sums are in steps of 2^-7, thresholds in those of 2^-8.
            bounds = layer.thresholds / 2 if index == 0 else 2 * layer.thresholds - layer.inputs
            x = b.decide(total, bounds, name, 4)
            if index in (1, 3):
                x = b.add("MaxPool", [x], name + ".pool", kernel_shape=[2, 2], strides=[2, 2])
            if index == 5:
                x = b.add("Flatten", [x], "flat")
            inputs = layer.neurons
        elif last:
            b.dense(x, layer, name, inputs, CLASSES)
        else:
            total = b.dense(x, layer, name, inputs, layer.neurons)
            x = b.decide(total, 2 * layer.thresholds - inputs, name, 2)
            inputs = layer.neurons
    b.save(path, "cnvW1A1", [batch, 3, 32, 32], name + ".sum")


def convert(archive, path, batch=1):
    layers = read_layers(archive)
    (build_cnv if layers[0].kernel else build_lfc)(layers, path, batch)


if __name__ == "__main__":
    convert(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 1)
