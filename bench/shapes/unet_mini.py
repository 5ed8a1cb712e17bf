"""A small U-Net, as segmentation nets are: three scales down and up, with pictures of any extents that are multiples of 8."""

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

CHANNELS = (16, 32, 64, 96)


class Builder:
    """Collects nodes and constants; model() makes the network, with weights of noise."""

    def __init__(self):
        self.random = numpy.random.default_rng(1)
        self.nodes, self.constants = [], []

    def add(self, op, inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def constant(self, values):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(numpy.asarray(values, numpy.float32), name))
        return name

    def conv(self, x, inputs, outputs, kernel=3):
        weights = self.random.standard_normal((outputs, inputs, kernel, kernel)) / numpy.sqrt(inputs * kernel**2)
        operands = [x, self.constant(weights), self.constant(numpy.zeros(outputs))]
        return self.add("Conv", operands, kernel_shape=[kernel, kernel], pads=[kernel // 2] * 4)

    def block(self, x, inputs, outputs):
        x = self.add("Relu", [self.conv(x, inputs, outputs)])
        return self.add("Relu", [self.conv(x, outputs, outputs)])

    def model(self):
        x, inputs, kept = "x", 3, []
        for outputs in CHANNELS[:-1]:
            x = self.block(x, inputs, outputs)
            kept.append(x)
            x, inputs = self.add("MaxPool", [x], kernel_shape=[2, 2], strides=[2, 2]), outputs
        x = self.block(x, inputs, CHANNELS[-1])
        inputs = CHANNELS[-1]
        for outputs, beside in zip(CHANNELS[-2::-1], reversed(kept)):
            x = self.add("Resize", [x, "", self.constant([1, 1, 2, 2])], mode="linear")
            x = self.block(self.add("Concat", [x, beside], axis=1), inputs + outputs, outputs)
            inputs = outputs
        x = self.add("Sigmoid", [self.conv(x, inputs, 1, kernel=1)])
        pictures = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", [1, 3, "h", "w"]), (x, None))]
        graph = helper.make_graph(self.nodes, "unet", pictures[:1], pictures[1:], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


if __name__ == "__main__":
    import sys

    onnx.save(Builder().model(), sys.argv[1])
