"""Writes random networks with what ONNX Runtime, unoptimised, computes from them.

    random_graphs.py DIR COUNT SEED     then: fettle test DIR --atol 1e-4

Each grows from one to three inputs by 3 to 25 nodes over whatever is there: values are read several times, outputs may be
read on, shapes are odd, and those of every third network open. In the layout of the ONNX node tests.
"""

import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import random_operators
from random_operators import write

R = np.random.default_rng()


def pick(*choices):
    return choices[R.integers(len(choices))]


def n(low, high):
    return int(R.integers(low, high + 1))


class Network:
    """Values are (name, shape) of rank 4 and f32; every method appends nodes and returns new ones, or None."""

    def __init__(self):
        self.nodes, self.constants, self.values, self.inputs = [], [], [], []
        batch, height, width = n(1, 2), n(1, 11), n(1, 11)
        for i in range(n(1, 3)):
            value = (f"x{i}", (batch, n(1, 9), height, width) if R.random() < 0.8 else tuple(n(1, 6) for _ in range(4)))
            self.inputs.append(value)
            self.values.append(value)
        for _ in range(n(3, 25)):
            grow = pick(*GROWERS)
            made = grow(self, pick(*self.values[-5:], *self.values))
            self.values += made or []
        read = {name for node in self.nodes for name in node.input}
        made = self.values[len(self.inputs):]
        self.outputs = [v for v in made if v[0] not in read or R.random() < 0.1]
        self.is_open = R.random() < 0.3

    def constant(self, array, dtype=np.float32):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(array, dtype), name))
        return name

    def weights(self, *dims):
        fan = max(1, int(np.prod(dims[1:])))
        return self.constant(R.uniform(-1, 1, dims) / np.sqrt(fan))

    def add(self, op, inputs, shape, outputs=1, **attributes):
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, f"{op}_{len(self.nodes)}", **attributes))
        shapes = shape if outputs > 1 else [shape]
        return [(name, tuple(int(d) for d in dims)) for name, dims in zip(names, shapes)]

    def described(self, name, shape):
        dims = [f"{name}_{axis}" for axis in range(4)] if self.is_open else shape
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)

    def model(self):
        graph = helper.make_graph(
            self.nodes, "random", [self.described(v, s) for v, s in self.inputs],
            [self.described(v, s) for v, s in self.outputs], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)

    def feed(self):
        return {name: R.uniform(-1, 1, shape).astype(np.float32) for name, shape in self.inputs}


def unary(net, x):
    op, attributes = pick(("Relu", {}), ("Sigmoid", {}), ("Tanh", {}), ("Abs", {}), ("Neg", {}), ("HardSwish", {}), ("Elu", {}),
                          ("LeakyRelu", {"alpha": 0.2}), ("Identity", {}), ("Softplus", {}), ("Erf", {}), ("Softsign", {}))
    return net.add(op, [x[0]], x[1], **attributes)


def clip(net, x):
    bounds = [net.constant(-0.5), net.constant(0.75)]
    return net.add("Clip", [x[0], *pick(bounds, bounds[:1], ["", bounds[1]])], x[1])


def binary(net, x):
    op = pick("Add", "Sub", "Mul", "Max", "Min")
    same = [x] + [v for v in net.values if all(a == b or 1 in (a, b) for a, b in zip(v[1], x[1]))]
    if R.random() < 0.7:
        y, dims = pick(*same)
    else:
        dims = pick((1, x[1][1], 1, 1), (1, 1, 1, 1), x[1])
        y = net.weights(*dims)
    shape = np.maximum(x[1], dims)
    return net.add(op, [x[0], y] if R.random() < 0.5 else [y, x[0]], shape)


def conv(net, x):
    batch, channels, height, width = x[1]
    kernel, stride, dilation = (n(1, 4), n(1, 3)), (pick(1, 1, 2), pick(1, 1, 2)), (pick(1, 1, 2), 1)
    pads = [n(0, 2) for _ in range(4)]
    sizes = [(e + pads[i] + pads[i + 2] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1
             for i, e in enumerate((height, width))]
    if min(sizes) < 1:
        return None
    groups = pick(1, 1, channels)
    out = groups * n(1, 2) if groups > 1 else n(1, 19)
    operands = [x[0], net.weights(out, channels // groups, *kernel)] + ([net.weights(out)] if R.random() < 0.6 else [])
    made = net.add("Conv", operands, (batch, out, *sizes), pads=pads, strides=stride, dilations=dilation, group=groups)
    if R.random() < 0.3:
        facts = [net.constant(R.uniform(0.5, 1.5, out)) for _ in range(4)]
        made = net.add("BatchNormalization", [made[0][0], *facts], made[0][1])
    return made


def conv_transpose(net, x):
    batch, channels, height, width = x[1]
    kernel, stride = n(1, 3), n(1, 3)
    out = n(1, 6)
    sizes = [(e - 1) * stride + kernel for e in (height, width)]
    return net.add("ConvTranspose", [x[0], net.weights(channels, out, kernel, kernel)], (batch, out, *sizes),
                   strides=[stride] * 2) if max(sizes) < 24 else None


def pool(net, x):
    kernel, stride, pad = n(1, 3), n(1, 2), 0
    pad = n(0, kernel - 1)
    sizes = [(e + 2 * pad - kernel) // stride + 1 for e in x[1][2:]]
    if min(sizes) < 1:
        return None
    op = pick("MaxPool", "AveragePool")
    more = {"count_include_pad": n(0, 1)} if op == "AveragePool" else {}
    return net.add(op, [x[0]], (*x[1][:2], *sizes), kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4, **more)


def reduce(net, x):
    axes = sorted(R.choice(4, n(1, 3), replace=False).tolist())
    shape = [1 if i in axes else e for i, e in enumerate(x[1])]
    return net.add(pick("ReduceMean", "ReduceMax", "ReduceMin"), [x[0], net.constant(axes, np.int64)], shape, keepdims=1)


def concat(net, x):
    axis = n(0, 3)
    others = [v for v in net.values if all(a == b for i, (a, b) in enumerate(zip(v[1], x[1])) if i != axis)]
    parts = [x] + [pick(*others) for _ in range(n(0, 2))]
    shape = [sum(v[1][i] for v in parts) if i == axis else e for i, e in enumerate(x[1])]
    return net.add("Concat", [v[0] for v in parts], shape, axis=axis) if shape[axis] < 40 else None


def split(net, x):
    axis = n(0, 3)
    if x[1][axis] < 2:
        return None
    first = n(1, x[1][axis] - 1)
    sizes = [first, x[1][axis] - first]
    shapes = [[size if i == axis else e for i, e in enumerate(x[1])] for size in sizes]
    return net.add("Split", [x[0], net.constant(sizes, np.int64)], shapes, outputs=2, axis=axis)


def cut(net, x):
    axis, step = n(0, 3), pick(1, 1, 2, -1)
    extent = x[1][axis]
    start, end = (n(0, extent - 1), extent) if step > 0 else (extent - 1, -extent - 1)
    size = len(range(extent)[start::step]) if step > 0 else extent
    operands = [net.constant([v], np.int64) for v in (start, end, axis, step)]
    return net.add("Slice", [x[0], *operands], [size if i == axis else e for i, e in enumerate(x[1])])


def pad(net, x):
    pads = [n(0, 2) for _ in range(8)]
    mode = pick("constant", "edge")
    shape = [e + pads[i] + pads[i + 4] for i, e in enumerate(x[1])]
    return net.add("Pad", [x[0], net.constant(pads, np.int64)], shape, mode=mode) if np.prod(shape) < 20000 else None


def transpose(net, x):
    perm = R.permutation(4).tolist()
    return net.add("Transpose", [x[0]], [x[1][i] for i in perm], perm=perm)


def reshape(net, x):
    batch, channels, height, width = x[1]
    shape = pick((batch, channels * height, width, 1), (batch, 1, channels, height * width), (1, batch * channels, height, width),
                 (batch * height, channels, 1, width))
    return net.add("Reshape", [x[0], net.constant(shape, np.int64)], shape)


def matmul(net, x):
    out = n(1, 17)
    made = net.add("MatMul", [x[0], net.weights(x[1][3], out)], (*x[1][:3], out))
    return net.add("Add", [made[0][0], net.weights(out)], made[0][1]) if R.random() < 0.5 else made


def product(net, x):
    return binary(net, net.add("MatMul", [x[0], net.add("Transpose", [x[0]], (), perm=[0, 1, 3, 2])[0][0]],
                               (*x[1][:3], x[1][2]))[0])


def normalise(net, x):
    if R.random() < 0.5:
        return net.add("LayerNormalization", [x[0], net.constant(R.uniform(0.5, 1.5, x[1][3]))], x[1], axis=-1, epsilon=0.01)
    scale, bias = (net.constant(R.uniform(0.5, 1.5, x[1][1])) for _ in range(2))
    return net.add("InstanceNormalization", [x[0], scale, bias], x[1], epsilon=0.01)


def softmax(net, x):
    return net.add("Softmax", [x[0]], x[1], axis=n(-4, 3))


def resize(net, x):
    if max(x[1][2:]) > 12:
        return None
    mode, how = pick(("nearest", "asymmetric"), ("linear", "half_pixel"), ("linear", "asymmetric"))
    scales = net.constant([1, 1, 2, 2])
    return net.add("Resize", [x[0], "", scales], (*x[1][:2], 2 * x[1][2], 2 * x[1][3]), mode=mode, nearest_mode="floor",
                   coordinate_transformation_mode=how)


def blocks(net, x):
    batch, channels, height, width = x[1]
    if channels % 4 == 0 and R.random() < 0.5:
        return net.add("DepthToSpace", [x[0]], (batch, channels // 4, 2 * height, 2 * width), blocksize=2, mode=pick("DCR", "CRD"))
    if height % 2 == 0 and width % 2 == 0:
        return net.add("SpaceToDepth", [x[0]], (batch, 4 * channels, height // 2, width // 2), blocksize=2)
    return None


GROWERS = [unary, unary, clip, binary, binary, binary, conv, conv, conv, conv_transpose, pool, reduce, concat, concat, split, cut,
           pad, transpose, reshape, matmul, product, normalise, softmax, resize, blocks]


def main():
    global R
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    root, count, seed = pathlib.Path(sys.argv[1]) / "node", int(sys.argv[2]), int(sys.argv[3])
    R = random_operators.R = np.random.default_rng(seed)
    refused = []
    for i in range(count):
        network = Network()
        try:
            onnx.checker.check_model(network.model())
            write(network, root / f"test_graph_{i}")
        except Exception as error:  # what ONNX Runtime refuses is nothing to compare with
            refused.append(str(error))
    print(f"{count - len(refused)} networks in {root}, {len(refused)} refused by ONNX Runtime")
    for error in sorted({error.splitlines()[0][:160] for error in refused})[:5]:
        print(f"  {error}")


if __name__ == "__main__":
    main()
