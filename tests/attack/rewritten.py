"""Patterns that passes rewrite, as exporters write them: what spellings.py has not. Each takes (the spelling, a value, its extents)
and returns the same of its result, or None where extents forbid it."""

import numpy as np

import random_operators
from random_operators import n, pick


def coin():
    return random_operators.R.random() < 0.5


def dilated(s, x, dims):
    """3x3 whose outer taps meet padding alone, or do not by a pixel."""
    if len(dims) != 4:
        return None
    out = n(1, 9)
    far = max(dims[2:]) + pick(-1, 0, 0, 1)
    y = s.node("Conv", x, s.weights(out, dims[1], 3, 3), *([s.weights(out)] if coin() else []), dilations=[max(1, far)] * 2,
               pads=[max(1, far)] * 4)
    return (s.node("Relu", y) if coin() else y), (dims[0], out, *dims[2:])


def dense_block(s, x, dims):
    axis, parts = pick(1, -1), [x]
    for _ in range(n(2, 4)):
        joined = parts[0] if len(parts) == 1 else s.node("Concat", *parts, axis=axis)
        parts.append(s.node(pick("Relu", "Tanh", "Sigmoid"), joined if coin() else parts[-1]))
    return s.reduce("ReduceMean", s.node("Concat", *parts, axis=axis), [axis]), tuple(1 if i == axis % len(dims) else d for i, d in enumerate(dims))


def even_gather(s, x, dims):
    axis = n(0, len(dims) - 1)
    extent = dims[axis]
    if extent < 2 or coin():  # one step
        index = n(-extent, extent - 1)
        return s.node("Gather", x, s.constant([index], "i8"), axis=axis), (*dims[:axis], 1, *dims[axis + 1:])
    step = pick(1, 1, 2)
    indices = list(range(n(0, extent - 1), extent, step))
    return s.node("Gather", x, s.constant(indices, "i8"), axis=axis), (*dims[:axis], len(indices), *dims[axis + 1:])


def steps(s, x, dims):
    """All steps of an axis, taken one by one."""
    axis = n(0, len(dims) - 1)
    if dims[axis] < 2 or len(dims) < 2:
        return None
    parts = [s.node("Gather", x, s.constant(i, "i8"), axis=axis) for i in range(dims[axis])]
    y = parts[0]
    for part in parts[1:]:
        y = s.node("Add", s.node("Tanh", y), part)
    return y, (*dims[:axis], *dims[axis + 1:])


def box(s, x, dims):
    rows = n(1, dims[0])
    first = n(0, dims[0] - rows)
    if coin() or len(dims) < 2:
        indices = np.arange(first, first + rows).reshape(-1, 1)
    else:
        columns = n(1, dims[1])
        at = n(0, dims[1] - columns)
        indices = np.stack(np.meshgrid(np.arange(first, first + rows), np.arange(at, at + columns), indexing="ij"), -1)
    inner = dims[indices.shape[-1]:]
    if coin():
        return s.node("GatherND", x, s.constant(indices, "i8")), (*indices.shape[:-1], *inner)
    updates = s.weights(*indices.shape[:-1], *inner) if coin() else s.node("Neg", s.node("GatherND", x, s.constant(indices, "i8")))
    return s.node("ScatterND", x, s.constant(indices, "i8"), updates), dims


def picked(s, x, dims):
    """`x[:, i, j]` as exporters write it: axes to the front, GatherND, and back; now and then in an order that none is."""
    if len(dims) < 3:
        return None
    first, count = n(1, len(dims) - 1), 1
    if first + 1 < len(dims) and coin():
        count = 2
    axes = list(range(first, first + count))
    rest = [i for i in range(len(dims)) if i not in axes]
    if n(0, 3) == 0:
        axes = axes[::-1]
    if n(0, 3) == 0:
        rest = rest[::-1]
    rows = n(1, 6)
    indices = np.stack([random_operators.R.integers(-dims[i], dims[i], rows) for i in axes], -1)
    y = s.node("Transpose", x, perm=[*axes, *rest])
    y = s.node("GatherND", y, s.constant(indices, "i8"))
    got = [rows, *(dims[i] for i in rest)]
    back = list(range(1, first + 1)) + [0] + list(range(first + 1, len(got)))
    return s.node("Transpose", y, perm=back), tuple(got[i] for i in back)


def window(s, x, dims):
    """A range of an axis, taken by Reshape, Slice and Reshape."""
    count = dims[-1]
    if count < 2:
        return None
    first = n(0, count - 1)
    length = n(1, count - first)
    y = s.reshape(x, 1, -1, count)
    y = s.node("Slice", y, *(s.constant([v], "i8") for v in (first, first + length, 2)))
    return s.reshape(y, *dims[:-1], length), (*dims[:-1], length)


def projected(s, x, dims):
    """Reshape around a product, or between it and a residual sum."""
    rows = int(np.prod(dims[:-1]))
    out = pick(dims[-1], n(1, 9))
    y = s.node("MatMul", s.reshape(x, rows, dims[-1]), s.weights(dims[-1], out))
    if coin():
        y = s.commuted("Add", y, s.weights(out))
    y = s.reshape(y, *dims[:-1], out)
    return (s.commuted("Add", y, x) if out == dims[-1] and coin() else y), (*dims[:-1], out)


def constant_left(s, x, dims):
    if len(dims) < 2:
        return None
    out = n(1, 9)
    return s.node("MatMul", s.weights(out, dims[-2]), x), (*dims[:-2], out, dims[-1])


def outer_product(s, x, dims):
    out = n(1, 9)
    x = s.reshape(x, *dims, 1)
    if coin():
        return s.node("MatMul", x, s.weights(*([dims[0]] if coin() and len(dims) == 2 else []), 1, out)), (*dims, out)
    y = s.node("MatMul", x, s.reshape(x, *dims[:-1], 1, dims[-1]))
    return y, (*dims, dims[-1])


def expanded(s, x, dims):
    """A gate that is repeated to the picture's extents, or a part of the way, or one that the result's extents come from."""
    axes = [i for i in range(len(dims)) if coin()] or [0]
    small = s.reduce(pick("ReduceMean", "ReduceMax"), x, axes)
    to = [1 if i in axes and pick(0, 0, 1) else extent for i, extent in enumerate(dims)]
    wide = s.node("Expand", small, s.constant(to, "i8"))
    other = pick(x, x, small)
    operands = [other, wide] if coin() else [wide, other]
    return s.node(pick("Mul", "Add", "Sub", "Max"), *operands), dims if other is x else tuple(to)


def einsum(s, x, dims):
    letters = "abcde"[:len(dims)]
    form, out = n(0, 3), n(1, 7)
    if form == 0:
        return s.node("Einsum", x, s.weights(dims[-1], out), equation=f"{letters},{letters[-1]}z->{letters[:-1]}z"), (*dims[:-1], out)
    if form == 1:
        order = [int(i) for i in random_operators.R.permutation(len(dims))]
        return s.node("Einsum", x, equation=f"{letters}->{''.join(letters[i] for i in order)}"), tuple(dims[i] for i in order)
    if form == 2:
        return s.node("Einsum", x, x, equation=f"{letters},{letters}->{letters[:-1]}"), tuple(dims[:-1])
    if len(dims) < 3:
        return None
    other = s.weights(dims[0], dims[-1], dims[-2], out)
    inner = letters[1:-2]
    return s.node("Einsum", x, other, equation=f"{letters},{letters[0]}{letters[-1]}{letters[-2]}z->{letters[0]}{inner}z"), (dims[0], *dims[1:-2], out)


def guarded_softmax(s, x, dims):
    axis = pick(-1, len(dims) - 1, 0)
    y = s.node("Softmax", x, axis=axis)
    zero = s.constant(0)
    return s.node("Where", s.node("IsNaN", y), zero, y), dims


def transposed_lines(s, x, dims):
    """A transposed convolution of lines, to few channels or not."""
    if len(dims) < 2:
        return None
    inputs, extent = dims[-2], dims[-1]
    stride, taps, out = n(1, 9), n(1, 20), pick(1, 1, 2, n(1, 9))
    pads = [n(0, 3) if coin() else 0, n(0, 3) if coin() else 0]
    extra = n(0, stride - 1) if coin() else 0
    length = (extent - 1) * stride + taps - sum(pads) + extra
    if length < 1:
        return None
    batch = int(np.prod(dims[:-2]))
    y = s.node("ConvTranspose", s.reshape(x, batch, inputs, extent), s.weights(inputs, out, taps), *([s.weights(out)] if coin() else []),
               strides=[stride], pads=pads, output_padding=[extra])
    return s.reshape(y, *dims[:-2], out, length), (*dims[:-2], out, length)


def filled_scores(s, x, dims):
    """Attention of x to itself whose scores a condition replaces, last of all or not."""
    if len(dims) < 2 or dims[-2] * dims[-1] == 0:
        return None
    rows = dims[-2]
    keys = s.node("Transpose", x, perm=[*range(len(dims) - 2), len(dims) - 1, len(dims) - 2])
    scores = s.node("MatMul", x, keys)
    condition = s.constant(random_operators.R.random(pick([rows, rows], [rows], [rows, 1])) < 0.4, "?")
    number = s.constant(pick(-1e9, -3.4028234663852886e38, 0.5, -np.inf if rows > 30 else -1e4))
    scores = s.node("Where", condition, *((number, scores) if coin() else (scores, number)))
    if random_operators.R.random() < 0.3:
        scores = s.node(pick("Add", "Mul"), scores, s.weights(rows))
    return s.node("MatMul", s.node("Softmax", scores, axis=-1), x), dims


def summed(s, x, dims):
    return s.node("Sum", x, s.node("Abs", x) if coin() else s.weights(dims[-1]), *([x] if random_operators.R.random() < 0.2 else [])), dims


def blocks(s, x, dims):
    axis, opset = n(0, len(dims) - 1), s.opset
    if opset < 21 or dims[axis] % 2 or not dims[axis]:
        return None
    size = dims[axis] // pick(1, 2)
    shape = [d if i != axis else dims[axis] // size for i, d in enumerate(dims)]
    scale = s.constant(random_operators.data(shape, "f4", 0.01, 0.1))
    zero = s.constant(np.zeros(shape, np.int8) + n(-3, 3), "i1")
    q = s.node("QuantizeLinear", x, scale, zero, axis=axis, block_size=size)
    return s.node("DequantizeLinear", q, scale, zero, axis=axis, block_size=size), dims


def clamped_bytes(s, x, dims):
    """A clamp that the quantiser repeats, or nearly."""
    scale, zero = pick(0.02, 0.1), pick(0, 0, 3)
    y = s.node("Relu", x) if coin() else s.node("Clip", x, s.constant(pick(0, -0.1, -zero * scale)), s.constant((255 - zero) * scale * pick(1, 1, 0.9)))
    names = s.constant(scale), s.constant(zero, "u1")
    return s.node("DequantizeLinear", s.node("QuantizeLinear", y, *names), *names), dims


def signs(s, x, dims):
    """Two-valued operands of a product."""
    a = s.node("Where", s.node("GreaterOrEqual", x, 0.03), s.constant(1), s.constant(pick(-1, -1, 0))) if coin() else s.node("Sign", s.node("Add", x, 0.03))
    out = n(1, 9)
    weights = np.sign(random_operators.data((dims[-1], out), "f4", -1, 1)) + 0.0
    weights[weights == 0] = 1
    y = s.node("MatMul", a, s.constant(weights * pick(1, 1, 0.5)))
    if coin():
        y = s.node("Sign", s.node("Add", s.node("Mul", y, s.weights(out)), s.weights(out)))
    return y, (*dims[:-1], out)


def moved_pairs(s, x, dims):
    """Transposes around what does not mind, with a reduction or a selection in between."""
    order = [int(i) for i in random_operators.R.permutation(len(dims))]
    y, now = s.node("Transpose", x, perm=order), [dims[i] for i in order]
    form = n(0, 2)
    if form == 0:
        y = s.node("Add", y, s.weights(now[-1]))
    elif form == 1:
        y = s.node("Softmax", y, axis=n(0, len(dims) - 1))
    elif now[0] > 1:
        y, now = s.node("Slice", y, *(s.constant([v], "i8") for v in (1, 1 << 40, 0))), [now[0] - 1, *now[1:]]
    back = [int(i) for i in (np.argsort(order) if coin() else random_operators.R.permutation(len(dims)))]
    return s.node("Transpose", y, perm=back), tuple(now[i] for i in back)


PATTERNS = [dilated, dense_block, even_gather, steps, box, picked, window, projected, constant_left, outer_product, expanded, einsum, guarded_softmax, summed, blocks,
            clamped_bytes, signs, moved_pairs, transposed_lines, filled_scores]
