"""Random layers with weights as networks of one node: convolutions, products, pools, norms, recurrent layers, resizes.

layer_rows(seed, count) gives Rows of 1 to 100 M multiply-adds, or as many elements as such layers read.
"""

import math

import numpy as np
import rows
from rows import Row, data, ints


def some(random, *values):
    return values[int(random.integers(len(values)))]


def about(random, low, high):
    """A whole number from low to high, as often small as large, half of them even."""
    value = int(round(math.exp(random.uniform(math.log(low), math.log(high)))))
    return min(high, value + value % 2) if random.integers(2) else value


def planes(random, rank, budget):
    """Extents of `rank` axes whose product is about `budget`."""
    side = max(1, budget) ** (1 / rank)
    return tuple(max(1, int(side * random.uniform(0.6, 1.6))) for _ in range(rank))


def groups_of(random, most):
    """Input and output channels of a convolution and its groups."""
    kind = int(random.integers(4))
    if kind == 0:  # depthwise, at times with a multiplier
        channels = about(random, 1, most)
        return channels, channels * some(random, 1, 1, 1, 2, 3), channels
    if kind == 1:
        groups = some(random, 2, 3, 4, 5, 8, 16, 32)
        return groups * about(random, 1, 16), groups * about(random, 1, 16), groups
    return about(random, 1, most), about(random, 1, most), 1


def window(random, rank):
    sides = [some(random, 1, 2, 3, 3, 3, 4, 5, 7)] * rank
    if random.integers(4) == 0:
        sides[int(random.integers(rank))] = 1
    return sides, [some(random, 1, 1, 2, 3)] * rank, [some(random, 1, 1, 1, 2)] * rank


def convolution(random):
    rank = some(random, 1, 2, 2, 2, 3)
    inputs, outputs, groups = groups_of(random, 512)
    kernel, strides, dilations = window(random, rank)
    each = inputs // groups * outputs * math.prod(kernel)
    space = [extent * stride + 4 for extent, stride in zip(planes(random, rank, about(random, 10**6, 10**8) // each), strides)]
    space = [max(extent, (side - 1) * dilation + 1) for extent, side, dilation in zip(space, kernel, dilations)]
    if inputs * math.prod(space) > 4e6:
        return convolution(random)
    pads = [some(random, 0, (side - 1) * dilation // 2) for side, dilation in zip(kernel, dilations)]
    operands = [data("f", (1, inputs, *space)), data("f", (outputs, inputs // groups, *kernel)), data("f", (outputs,))]
    return Row("Conv", f"f {inputs}->{outputs} g{groups} {kernel} s{strides[0]} d{dilations[0]} p{pads} {space}", operands, const=(1, 2),
               group=groups, strides=strides, dilations=dilations, pads=pads * 2)


def transposed(random):
    rank = some(random, 1, 2, 2, 3)
    inputs, outputs, groups = groups_of(random, 256)
    if outputs % groups:
        outputs = groups
    kernel, strides, _ = window(random, rank)
    each = inputs // groups * outputs * math.prod(kernel)
    space = planes(random, rank, about(random, 10**6, 10**8) // each)
    result = outputs * math.prod(extent * stride + side for extent, stride, side in zip(space, strides, kernel))
    if inputs * math.prod(space) > 4e6 or result > 8e6:
        return transposed(random)
    operands = [data("f", (1, inputs, *space)), data("f", (inputs, outputs // groups, *kernel)), data("f", (outputs,))]
    return Row("ConvTranspose", f"f {inputs}->{outputs} g{groups} {kernel} s{strides[0]} {list(space)}", operands, const=(1, 2),
               group=groups, strides=strides)


def pool(random):
    rank = some(random, 1, 2, 2, 3)
    kernel, strides, _ = window(random, rank)
    channels = about(random, 1, 512)
    space = planes(random, rank, about(random, 10**5, 2 * 10**6) // channels)
    space = [max(extent, side) for extent, side in zip(space, kernel)]
    pads = [side // 2 for side in kernel] * 2 if random.integers(2) else [0] * 2 * rank
    op, attributes = some(random, ("MaxPool", {}), ("AveragePool", {}), ("AveragePool", {"count_include_pad": 1}), ("LpPool", {"p": 2}))
    return Row(op, f"f {channels} {kernel} s{strides[0]} p{pads[0]} {space}", [data("f", (1, channels, *space))], kernel_shape=kernel,
               strides=strides, pads=pads, **attributes)


def product(random):
    rows_, depth, columns = about(random, 1, 1024), about(random, 1, 2048), about(random, 1, 2048)
    batch = some(random, (), (), (), (3,), (2, 4))
    if not 1e6 < math.prod(batch) * rows_ * depth * columns < 1e8 or math.prod(batch) * depth * columns > 8e6:
        return product(random)
    if batch and random.integers(2):
        return Row("MatMul", f"f computed {batch} {rows_}x{depth}x{columns}", [data("f", (*batch, rows_, depth)), data("f", (*batch, depth, columns))])
    if batch or random.integers(2):
        return Row("MatMul", f"f {batch} {rows_}x{depth}x{columns}", [data("f", (*batch, rows_, depth)), data("f", (depth, columns))], const=(1,))
    a, b = int(random.integers(2)), int(random.integers(2))
    operands = [data("f", (depth, rows_) if a else (rows_, depth)), data("f", (columns, depth) if b else (depth, columns)), data("f", (columns,))]
    return Row("Gemm", f"f {rows_}x{depth}x{columns} t{a}{b}", operands, const=(1, 2), transA=a, transB=b)


def norm(random):
    channels = about(random, 2, 512)
    space = planes(random, some(random, 1, 2, 3), about(random, 10**5, 4 * 10**6) // channels)
    kind = int(random.integers(5))
    scale, shift = data("f", (channels,)), data("f", (channels,))
    planar = data("f", (1, channels, *space))
    if kind == 0:
        return Row("InstanceNormalization", f"f {planar.shape}", [planar, scale, shift], const=(1, 2))
    if kind == 1:
        operands = [planar, scale, shift, data("f", (channels,)), data("f", (channels,), 0.1)]
        return Row("BatchNormalization", f"f {planar.shape}", operands, const=(1, 2, 3, 4))
    if kind == 2:
        groups = some(random, *[count for count in (1, 2, 3, 4, 8, 16, 32) if channels % count == 0])
        return Row("GroupNormalization", f"f {planar.shape} g{groups}", [planar, scale, shift], const=(1, 2), num_groups=groups)
    tokens = data("f", (*space, channels))
    if kind == 3:
        return Row("LayerNormalization", f"f {tokens.shape}", [tokens, scale, shift], const=(1, 2), axis=-1)
    return Row("RMSNormalization", f"f {tokens.shape}", [tokens, scale], const=(1,), opset=23, axis=-1)


def recurrent(random):
    op, gates = some(random, ("LSTM", 4), ("GRU", 3), ("RNN", 1))
    steps, batch, width, hidden = about(random, 1, 200), some(random, 1, 1, 2, 4, 8, 16), about(random, 4, 512), about(random, 4, 512)
    both = int(random.integers(2)) + 1
    if not 1e6 < both * steps * batch * gates * hidden * (hidden + width) < 2e8:
        return recurrent(random)
    operands = [data("f", (steps, batch, width)), data("f", (both, gates * hidden, width), -0.3, 0.3),
                data("f", (both, gates * hidden, hidden), -0.1, 0.1), data("f", (both, 2 * gates * hidden), -0.1, 0.1)]
    return Row(op, f"f s{steps} b{batch} {width}->{hidden} x{both}", operands, const=(1, 2, 3), hidden_size=hidden,
               direction="bidirectional" if both == 2 else "forward", **({"linear_before_reset": 1} if op == "GRU" else {}))


def resize(random):
    channels = about(random, 1, 128)
    space = planes(random, 2, about(random, 10**4, 5 * 10**5) // channels)
    factor = some(random, 0.5, 2, 2, 1.5, 3, 4, random.uniform(0.4, 3))
    into = [max(1, int(extent * factor)) for extent in space]
    mode, where = some(random, "linear", "linear", "nearest", "cubic"), some(random, "half_pixel", "asymmetric", "align_corners")
    operands = [data("f", (1, channels, *space)), None, None, ints(1, channels, *into)]
    return Row("Resize", f"f {mode} {where} {channels} {list(space)}->{into}", operands, const=(3,), mode=mode,
               coordinate_transformation_mode=where)


def sampled(random):
    channels = about(random, 1, 128)
    space = planes(random, 2, about(random, 10**4, 5 * 10**5) // channels)
    grid = data("f", (1, *space, 2), -1.1, 1.1)
    mode = some(random, "linear", "nearest", "cubic")
    return Row("GridSample", f"f {mode} {channels} {list(space)}", [data("f", (1, channels, *space)), grid], mode=mode,
               padding_mode=some(random, "zeros", "border", "reflection"), align_corners=int(random.integers(2)))


def layer_rows(seed, count):
    """`count` rows of `seed`; the values of their operands come from it too."""
    random = rows.RANDOM = np.random.default_rng(seed)
    kinds = [convolution] * 6 + [transposed] * 2 + [pool] * 2 + [product] * 3 + [norm] * 2 + [recurrent, resize, sampled]
    for _ in range(count):
        yield some(random, *kinds)(random)
