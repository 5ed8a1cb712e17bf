"""Weights of -1 and 1 as a 32nd of their bytes in any ONNX file: bits in an initialiser of bytes, unpacked by standard operators.

    pack_signs.py IN.onnx OUT.onnx

Whatever loads the file folds the operators: ONNX Runtime and Fettle see the floats that stood there before.
"""

import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

LEAST_ELEMENTS = 512
BITS = np.arange(8, dtype=np.uint8)


def is_signs(array):
    return array.dtype == np.float32 and array.size >= LEAST_ELEMENTS and array.size % 8 == 0 and bool((abs(array) == 1).all())


def unpacked(name, array, constants):
    """Nodes that write `name`: 2 * (byte >> i) % 2 - 1, reshaped."""

    def constant(suffix, value):
        constants.append(numpy_helper.from_array(value, f"{name}.{suffix}"))
        return constants[-1].name

    packed = np.packbits(array.reshape(-1, 8) > 0, axis=1, bitorder="little")
    steps = [("BitShift", [constant("bits", packed), constant("places", BITS)], {"direction": "RIGHT"}),
             ("Mod", [None, constant("two", np.uint8([2]))], {}),
             ("Cast", [None], {"to": onnx.TensorProto.FLOAT}),
             ("Mul", [None, constant("twice", np.float32([2]))], {}),
             ("Sub", [None, constant("one", np.float32([1]))], {}),
             ("Reshape", [None, constant("shape", np.array(array.shape, np.int64))], {})]
    nodes = []
    for i, (kind, inputs, attributes) in enumerate(steps):
        inputs = [nodes[-1].output[0] if value is None else value for value in inputs]
        output = name if i == len(steps) - 1 else f"{name}.{kind}"
        nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
    return nodes


def pack(model):
    """Changes `model`; returns how many weights are bits now."""
    graph, nodes, constants, count = model.graph, [], [], 0
    for tensor in graph.initializer:
        array = numpy_helper.to_array(tensor)
        if not is_signs(array):
            constants.append(tensor)
            continue
        nodes += unpacked(tensor.name, array, constants)
        count += array.size
    nodes += graph.node
    del graph.node[:], graph.initializer[:]
    graph.node.extend(nodes)
    graph.initializer.extend(constants)
    return count


def main():
    model = onnx.load(sys.argv[1])
    print(f"{pack(model)} weights packed")
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, sys.argv[2])


if __name__ == "__main__":
    main()
