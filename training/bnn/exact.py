"""Layers of floats as bytes of steps that are powers of two: their sums are exact, so that no order of additions turns a sign.

    exact.py IN.onnx PICTURES.npy OUT.onnx

A sign amplifies: where a sum of floats lies within rounding of 0, engines that add in other orders disagree by whole weights.
Here each Conv of floats reads u8 or i8 times 2^-a and weights of i8 times 2^-b for each output, and the scales, shifts and
biases beside them are multiples of such steps. All sums then have fewer than 24 bits, which f32 adds without rounding, in
any order, fused or not. What comes behind the last sign may round as it likes. PICTURES calibrate the steps of inputs.
"""

import sys

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

MOST_BITS = 24  # that f32 holds
SUM_BITS = 14  # the finest step of any sum, 2^-14: of up to 2^8, four of which AveragePool adds, 24 bits
SCALE_BITS = 12  # of the scales and shifts behind sums of bits


def step_bits(most, top):
    """b of the least step 2^-b with which top steps reach `most`, elementwise; a power of two itself may be a step short."""
    return -np.ceil(np.log2(np.maximum(most, 2.0**-20) / (top + 1)))


def constants_of(graph):
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}


def float_convs(graph):
    constants = constants_of(graph)
    return [node for node in graph.node
            if node.op_type == "Conv" and node.input[1] in constants and not (abs(constants[node.input[1]]) == 1).all()]


def values_of(model, names, pictures):
    """Values of the network on `pictures`, by name."""
    probe = onnx.ModelProto()
    probe.CopyFrom(model)
    known = {value.name for value in model.graph.input}
    probe.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in names if name not in known)
    session = onnxruntime.InferenceSession(probe.SerializeToString())
    source = model.graph.input[0].name
    asked = [name for name in names if name != source]
    return {source: pictures, **dict(zip(asked, session.run(asked, {source: pictures})))}


def input_step(x):
    """The type of bytes for numbers like x, its greatest, and the bits of the step that loses least of x."""
    kind, top = (np.uint8, 255) if x.min() >= 0 else (np.int8, 127)
    widest = int(step_bits(abs(x).max(), top))

    def loss(bits):
        scaled = x * np.float32(2.0**bits)
        return float(np.square((np.clip(np.rint(scaled), -top, top) - scaled) / 2.0**bits).mean())

    return kind, top, min(range(widest, widest + 3), key=loss)


class Writer:
    """Replaces initialisers of a graph and puts nodes before others."""

    def __init__(self, graph):
        self.graph, self.constants = graph, constants_of(graph)

    def put(self, name, value):
        for tensor in [t for t in self.graph.initializer if t.name == name]:
            self.graph.initializer.remove(tensor)
        self.graph.initializer.append(numpy_helper.from_array(value, name))
        return name

    def insert(self, before, *new):
        at = list(self.graph.node).index(before)
        for i, node in enumerate(new):
            self.graph.node.insert(at + i, node)

    def quantise_input(self, conv, kind, bits):
        x, name = conv.input[0], f"{conv.input[0]}.bytes"
        step = self.put(f"{name}.step", np.float32(2.0**-bits))
        zero = self.put(f"{name}.zero", kind(0))
        self.insert(conv, helper.make_node("QuantizeLinear", [x, step, zero], [name], name=name),
                    helper.make_node("DequantizeLinear", [name, step, zero], [f"{name}.read"], name=f"{name}.read"))
        conv.input[0] = f"{name}.read"

    def quantise_weights(self, conv, most_bits):
        """The bits of the step of each output, and the most that |weights| of an output come to, in steps."""
        name = conv.input[1]
        w = self.constants[name]
        bits = np.minimum(step_bits(abs(w).reshape(len(w), -1).max(1), 127), most_bits)
        bytes_of = np.clip(np.rint(w * 2.0 ** bits.reshape(-1, 1, 1, 1)), -127, 127).astype(np.int8)
        self.put(name, bytes_of)
        step = self.put(f"{name}.step", (2.0**-bits).astype(np.float32))
        self.insert(conv, helper.make_node("DequantizeLinear", [name, step], [f"{name}.read"], name=f"{name}.read", axis=0))
        conv.input[1] = f"{name}.read"
        return bits, int(abs(bytes_of.astype(np.int64)).reshape(len(w), -1).sum(1).max())


def round_to(value, bits):
    return (np.rint(value * 2.0**bits) / 2.0**bits).astype(np.float32)


def make_exact(model, pictures):
    """Changes `model`; returns the bits of the longest sum of products."""
    graph = model.graph
    convs = float_convs(graph)
    values = values_of(model, [conv.input[0] for conv in convs], pictures)
    writer, longest = Writer(graph), 0
    for conv in convs:
        kind, top, x_bits = input_step(values[conv.input[0]])
        writer.quantise_input(conv, kind, x_bits)
        w_bits, weights = writer.quantise_weights(conv, SUM_BITS - x_bits)
        if len(conv.input) > 2:
            writer.put(conv.input[2], round_to(writer.constants[conv.input[2]], x_bits + w_bits))
        longest = max(longest, int(np.ceil(np.log2(weights * (top + 1)))) + 1)
    assert longest < MOST_BITS, f"a sum of {longest} bits rounds in f32"
    for node in graph.node:
        for name in node.input:
            if node.op_type in ("Mul", "Add") and name in writer.constants:
                writer.put(name, round_to(writer.constants[name], SCALE_BITS))
    return longest


def main():
    model = onnx.load(sys.argv[1])
    print(f"sums of at most {make_exact(model, np.load(sys.argv[2]))} bits")
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, sys.argv[3])


if __name__ == "__main__":
    main()
