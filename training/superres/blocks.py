"""Networks of blocks beside the plain chain: pixel attention and residual feature distillation.

Each is described once, as steps on an object that records sizes, computes with PyTorch, or writes ONNX nodes; so the
file is what was trained. The blocks follow the papers' text: SC-PA and U-PA of Zhao, Kong, He, Qiao, Dong: Efficient
Image Super-Resolution Using Pixel Attention, 2020; RFDB and its ESA of Liu, Tang, Wu: Residual Feature Distillation
Network for Lightweight Image Super-Resolution, 2020. What differs: widths are a few channels, 3x3 convolutions are
trained as branches (net.py), which holds the residual of RFDB's shallow blocks too, and but for `tail` the answer is
shuffled pixels added to the input, as the chain's.
"""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from net import BranchedConv

SLOPE = 0.1  # of LeakyReLU


def pixel_attention_block(ops, name, x, width):
    """SC-PA: two halves of the channels, one of them weighed for each pixel and channel, and the input."""
    half = width // 2
    a = ops.leaky(ops.conv(f"{name}_a1", x, half, 1))
    a = ops.leaky(ops.conv(f"{name}_a2", a, half, 3))
    b = ops.leaky(ops.conv(f"{name}_b1", x, half, 1))
    gate = ops.sigmoid(ops.conv(f"{name}_gate", b, half, 1))
    b = ops.mul(ops.conv(f"{name}_b2", b, half, 3), gate)
    b = ops.leaky(ops.conv(f"{name}_b3", b, half, 3))
    return ops.add(ops.conv(f"{name}_join", ops.concat([a, b]), width, 1), x)


def pixel_attention(ops, x, width, blocks, tail=0):
    """`tail` > 0: U-PA at the large size, with as many channels; else shuffled pixels."""
    head = value = ops.conv("head", x, width, 3)
    for index in range(blocks):
        value = pixel_attention_block(ops, f"block{index}", value, width)
    value = ops.add(ops.conv("trunk", value, width, 3), head)
    if not tail:
        return ops.shuffle(ops.add(ops.conv("last", value, 4, 3), x))
    value = ops.conv("up", ops.nearest(value), tail, 3)
    gate = ops.sigmoid(ops.conv("up_gate", value, tail, 1))
    value = ops.leaky(ops.mul(value, gate))
    value = ops.leaky(ops.conv("up_next", value, tail, 3))
    return ops.add(ops.conv("last", value, 1, 3), ops.bilinear(x))


def spatial_attention(ops, name, x, width):
    """ESA: a quarter of the channels, seen from afar, weighs each pixel and channel."""
    few = width // 4
    near = ops.conv(f"{name}_near", x, few, 1)
    far = ops.max_pool(ops.conv(f"{name}_stride", near, few, 3, stride=2), 7, 3)
    far = ops.relu(ops.conv(f"{name}_far1", far, few, 3))
    far = ops.relu(ops.conv(f"{name}_far2", far, few, 3))
    far = ops.bilinear_to(ops.conv(f"{name}_far3", far, few, 3), near)
    both = ops.add(far, ops.conv(f"{name}_skip", near, few, 1))
    return ops.mul(x, ops.sigmoid(ops.conv(f"{name}_gate", both, width, 1)))


def distillation_block(ops, name, x, width, steps):
    """RFDB: each step sets half of the channels aside by 1x1 and refines all by 3x3; what was set aside is joined."""
    half = width // 2
    aside = []
    for index in range(steps):
        aside.append(ops.leaky(ops.conv(f"{name}_aside{index}", x, half, 1)))
        x = ops.leaky(ops.conv(f"{name}_refine{index}", x, width, 3))
    aside.append(ops.leaky(ops.conv(f"{name}_aside{steps}", x, half, 3)))
    joined = ops.conv(f"{name}_join", ops.concat(aside), width, 1)
    return spatial_attention(ops, f"{name}_esa", joined, width)


def feature_distillation(ops, x, width, blocks):
    """`blocks` holds the steps of each."""
    head = value = ops.conv("head", x, width, 3)
    results = []
    for index, steps in enumerate(blocks):
        value = distillation_block(ops, f"block{index}", value, width, steps)
        results.append(value)
    value = ops.leaky(ops.conv("fuse", ops.concat(results), width, 1))
    value = ops.add(ops.conv("trunk", value, width, 3), head)
    return ops.shuffle(ops.add(ops.conv("last", value, 4, 3), x))


VARIANTS = {
    "pan_10k": (pixel_attention, dict(width=16, blocks=2, tail=4)),
    "pan_20k": (pixel_attention, dict(width=16, blocks=6, tail=4)),
    "pan_shuffle_10k": (pixel_attention, dict(width=16, blocks=3)),
    "pan_shuffle_20k": (pixel_attention, dict(width=16, blocks=7)),
    "rfdn_10k": (feature_distillation, dict(width=16, blocks=[2])),
    "rfdn_20k": (feature_distillation, dict(width=16, blocks=[3, 2])),
}


class Sizes:
    """A value is (channels, pixels for one of the input): finds the convolutions and counts multiply-adds."""

    def __init__(self):
        self.convs, self.multiply_adds = {}, 0.0

    def conv(self, name, x, outputs, kernel, stride=1):
        pixels = x[1] / stride**2
        self.convs[name] = (x[0], outputs, kernel, stride)
        self.multiply_adds += pixels * x[0] * outputs * kernel**2
        return outputs, pixels

    def same(self, x, *others):
        return x

    leaky = relu = sigmoid = mul = add = same

    def concat(self, values):
        return sum(channels for channels, _ in values), values[0][1]

    def shuffle(self, x):
        return x[0] // 4, x[1] * 4

    def nearest(self, x):
        return x[0], x[1] * 4

    bilinear = nearest

    def max_pool(self, x, size, stride):
        return x[0], x[1] / stride**2

    def bilinear_to(self, x, like):
        return x[0], like[1]


class Computes:
    """A value is a tensor."""

    def __init__(self, convs):
        self.convs = convs
        self.relu, self.sigmoid, self.mul, self.add = F.relu, torch.sigmoid, torch.mul, torch.add

    def conv(self, name, x, outputs, kernel, stride=1):
        return self.convs[name](x)

    def leaky(self, x):
        return F.leaky_relu(x, SLOPE)

    def concat(self, values):
        return torch.cat(values, 1) if len(values) > 1 else values[0]

    def shuffle(self, x):
        return F.pixel_shuffle(x, 2)

    def nearest(self, x):
        return F.interpolate(x, scale_factor=2, mode="nearest")

    def bilinear(self, x):
        return F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)

    def max_pool(self, x, size, stride):
        return F.max_pool2d(x, size, stride)

    def bilinear_to(self, x, like):
        return F.interpolate(x, size=like.shape[2:], mode="bilinear", align_corners=False)


class Writes:
    """A value is the name of one in the file."""

    def __init__(self, writer, arrays):
        self.writer, self.arrays, self.count = writer, arrays, 0

    def node(self, kind, inputs, **attributes):
        self.count += 1
        return self.writer.node(kind, inputs, f"{kind.lower()}{self.count}", **attributes)

    def conv(self, name, x, outputs, kernel, stride=1):
        constants = [self.writer.constant(f"{part}_{name}", self.arrays[f"{part}_{name}"]) for part in "wb"]
        pad = kernel // 2 if stride == 1 else 0
        return self.writer.node("Conv", [x, *constants], name, kernel_shape=[kernel] * 2, pads=[pad] * 4,
                                strides=[stride] * 2)  # fmt: skip

    def leaky(self, x):
        return self.node("LeakyRelu", [x], alpha=SLOPE)

    def relu(self, x):
        return self.node("Relu", [x])

    def sigmoid(self, x):
        return self.node("Sigmoid", [x])

    def mul(self, a, b):
        return self.node("Mul", [a, b])

    def add(self, a, b):
        return self.node("Add", [a, b])

    def concat(self, values):
        return self.node("Concat", values, axis=1) if len(values) > 1 else values[0]

    def shuffle(self, x):
        return self.node("DepthToSpace", [x], blocksize=2, mode="CRD")

    def nearest(self, x):
        scales = self.writer.constant("twice", np.float32([1, 1, 2, 2]))
        return self.node("Resize", [x, "", scales], mode="nearest", nearest_mode="floor",
                         coordinate_transformation_mode="asymmetric")  # fmt: skip

    def bilinear(self, x):
        return self.node("Resize", [x, "", self.writer.constant("twice", np.float32([1, 1, 2, 2]))], mode="linear")

    def max_pool(self, x, size, stride):
        return self.node("MaxPool", [x], kernel_shape=[size] * 2, strides=[stride] * 2)

    def bilinear_to(self, x, like):
        first, last = (self.writer.constant(name, np.int64([at])) for name, at in (("two", 2), ("four", 4)))
        sides = self.node("Slice", [self.node("Shape", [like]), first, last])
        outer = self.node("Slice", [self.node("Shape", [x]), self.writer.constant("none", np.int64([0])), first])
        return self.node("Resize", [x, "", "", self.node("Concat", [outer, sides], axis=0)], mode="linear")


class Blocks(nn.Module):
    """A network of VARIANTS: luma [N, 1, H, W] of 0..1 in, [N, 1, 2H, 2W] out."""

    def __init__(self, name):
        super().__init__()
        self.describe, self.shape = VARIANTS[name]
        sizes = Sizes()
        self.describe(sizes, (1, 1.0), **self.shape)
        self.convs = nn.ModuleDict()
        for conv, (inputs, outputs, kernel, stride) in sizes.convs.items():
            if kernel == 3 and stride == 1:
                self.convs[conv] = BranchedConv(inputs, outputs, 0.1 if conv == "last" else 1.0)
            else:
                self.convs[conv] = nn.Conv2d(inputs, outputs, kernel, stride)
        self.slopes = []

    def forward(self, x, clip=True):
        out = self.describe(Computes(self.convs), x, **self.shape)
        return out.clamp(0, 1) if clip else out

    @torch.no_grad()
    def plain(self):
        arrays = {}
        for name, conv in self.convs.items():
            kernel, bias = conv.collapsed() if isinstance(conv, BranchedConv) else (conv.weight, conv.bias)
            arrays[f"w_{name}"], arrays[f"b_{name}"] = kernel.cpu().numpy(), bias.cpu().numpy()
        return arrays


def multiply_adds(name):
    sizes = Sizes()
    describe, shape = VARIANTS[name]
    describe(sizes, (1, 1.0), **shape)
    return round(sizes.multiply_adds)


def write(writer, name, arrays):
    """The nodes of a network of VARIANTS, from `luma` to `enhanced`."""
    describe, shape = VARIANTS[name]
    result = describe(Writes(writer, arrays), "luma", **shape)
    writer.node("Clip", [result, *(writer.constant(n, np.float32(v)) for n, v in (("zero", 0), ("one", 1)))], "enhanced")
