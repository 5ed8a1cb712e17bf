"""Random operators on bytes as networks of one node: products and convolutions of integers, quantised ones, attention, LSTMs,
casts and what quantises. byte_rows(seed, count) gives Rows of about 1 to 100 M multiply-adds, or 0.1 to 10 M elements.
"""

import math

import numpy as np
import rows
from layer_rows import about, convolution, some
from random_rows import a_shape
from rows import Row, TYPES, data
from onnx import helper


def byte_data(kind, shape):
    return data(kind, shape, 0 if kind == "u8" else -128, 255 if kind == "u8" else 127)


def scale(*shape):
    return data("f", shape, .001, .01)


def some_zero(random, kind, *shape):
    return data(kind, shape, 100 if kind == "u8" else -9, 150 if kind == "u8" else 9) if random.integers(3) else np.zeros(shape, TYPES[kind])


def sizes(random):
    while True:
        m, k, n = about(random, 1, 1024), about(random, 4, 2048), about(random, 1, 2048)
        batch = some(random, (), (), (3,), (2, 12))
        if 1e6 < math.prod(batch) * m * k * n < 2e8 and math.prod(batch) * max(m * k, k * n, m * n) < 8e6:
            return m, k, n, batch


def product(random):
    (m, k, n, batch), kind, other = sizes(random), some(random, "u8", "u8", "i8"), some(random, "i8", "i8", "u8")
    fixed = bool(random.integers(2))
    a, b = byte_data(kind, (*batch, m, k)), byte_data(other, (k, n) if fixed else (*batch, k, n))
    za, zb = some_zero(random, kind), some_zero(random, other)
    case = f"{kind}{other}{' const' if fixed else ''} {batch} {m}x{k}x{n}"
    match int(random.integers(4)):
        case 0:
            return Row("MatMulInteger", case, [a, b, za, zb], const=(1, 2, 3) if fixed else ())
        case 1:
            return Row("QLinearMatMul", case, [a, scale(), za, b, scale(), zb, scale(), some_zero(random, kind)],
                       const=(1, 2, 3, 4, 5, 6, 7) if fixed else (1, 2, 4, 5, 6, 7))
        case 2:
            x = data("f", (*batch, m, k))
            return Row("DynamicQuantizeMatMul", case, [x, b, scale(), zb, data("f", (n,))], const=(1, 2, 3, 4) if fixed else ())
    operands = [a, b, scale(), scale(), za, zb, data("f", (n,))]
    return Row("MatMulIntegerToFloat", case, operands, const=(1, 2, 3, 4, 5, 6) if fixed else ())


def window(random):
    """The shapes, operands and attributes of a random Conv, with bytes."""
    float_row = convolution(random)
    kind, other = some(random, "u8", "u8", "i8"), some(random, "i8", "i8", "u8")
    x, w = byte_data(kind, float_row.operands[0].shape), byte_data(other, float_row.operands[1].shape)
    case = f"{kind}{other} {float_row.case}"
    if random.integers(2):
        computed = random.integers(2)
        return Row("ConvInteger", case + " computed" * computed, [x, w, some_zero(random, kind), some_zero(random, other)],
                   const=() if computed else (1, 2, 3), **float_row.attributes)
    bias = data("i32", (w.shape[0],), -999, 999)
    operands = [x, scale(), some_zero(random, kind), w, scale(), np.zeros((), TYPES[other]), scale(), some_zero(random, kind), bias]
    return Row("QLinearConv", case, operands, const=(1, 2, 3, 4, 5, 6, 7, 8), **float_row.attributes)


def attention(random):
    heads, width, words, batch = some(random, 2, 4, 8, 12), some(random, 16, 32, 64), about(random, 1, 256), some(random, 1, 1, 2)
    size = heads * width
    kind = some(random, "i8", "u8")
    operands = [byte_data("u8", (batch, words, size)), byte_data(kind, (size, 3 * size)), data("f", (3 * size,)), scale(), scale(), None,
                np.array(128, np.uint8), np.array(128 if kind == "u8" else 0, TYPES[kind])]
    return Row("QAttention", f"{kind} b{batch} {words} words {heads}x{width}", operands, const=(1, 2, 3, 4, 6, 7), num_heads=heads)


def lstm(random):
    steps, batch, width, hidden = about(random, 1, 100), some(random, 1, 1, 2, 4, 8), about(random, 4, 512), about(random, 8, 512)
    both, kind = int(random.integers(2)) + 1, some(random, "i8", "u8")
    if not 1e6 < both * steps * batch * 4 * hidden * (hidden + width) < 2e8:
        return lstm(random)
    zero = np.full((both,), 128 if kind == "u8" else 0, TYPES[kind])
    operands = [data("f", (steps, batch, width)), byte_data(kind, (both, width, 4 * hidden)), byte_data(kind, (both, hidden, 4 * hidden)),
                data("f", (both, 8 * hidden)), None, None, None, None, scale(both) / 5, zero, scale(both) / 5, zero]
    return Row("DynamicQuantizeLSTM", f"{kind} s{steps} b{batch} {width}->{hidden} x{both}", operands, const=(1, 2, 3, 8, 9, 10, 11),
               hidden_size=hidden, direction="bidirectional" if both == 2 else "forward")


def quantised(random):
    shape, kind = a_shape(random), some(random, "u8", "i8")
    axis = int(random.integers(len(shape)))
    along = bool(random.integers(2))
    steps, zero = scale(*(shape[axis],) * along), some_zero(random, kind, *(shape[axis],) * along)
    attributes = {"axis": axis} if along else {}
    case = f"{kind} {shape} {f'ax{axis}' if along else ''}"
    match int(random.integers(5)):
        case 0:
            return Row("QuantizeLinear", case, [data("f", shape), steps, zero], const=(1, 2), **attributes)
        case 1:
            return Row("DequantizeLinear", case, [byte_data(kind, shape), steps, zero], const=(1, 2), **attributes)
        case 2:
            return Row("DynamicQuantizeLinear", f"f {shape}", [data("f", shape)], outputs=3)
        case 3:
            other = shape if random.integers(2) else shape[-1:]
            operands = [byte_data(kind, shape), scale(), some_zero(random, kind), byte_data(kind, other), scale(), some_zero(random, kind),
                        scale(), some_zero(random, kind)]
            return Row(some(random, "QLinearAdd", "QLinearMul"), f"{kind} {shape} {other}", operands, const=(1, 2, 4, 5, 6, 7))
    operands = [byte_data(kind, shape), scale(), some_zero(random, kind), scale(), some_zero(random, kind)]
    return Row(some(random, "QLinearSigmoid", "QLinearLeakyRelu"), case.split(" ax")[0], operands, const=(1, 2, 3, 4))


def cast(random):
    shape = a_shape(random)
    kind, into = (str(name) for name in random.choice("f h d i8 u8 i32 i64 b".split(), 2, replace=False))
    return Row("Cast", f"{kind}->{into} {shape}", [data(kind, shape, 0, 9)], to=helper.np_dtype_to_tensor_dtype(np.dtype(TYPES[into])))


def byte_rows(seed, count):
    """`count` rows of `seed`; the values of their operands come from it too."""
    random = rows.RANDOM = np.random.default_rng(seed)
    kinds = [product] * 4 + [window] * 3 + [attention, lstm, cast, cast] + [quantised] * 3
    for _ in range(count):
        yield some(random, *kinds)(random)
