"""Rows that nobody chose: random operators, types, sizes and broadcasts. a seed makes the same rows.

Each draws an operator of a family, a type that ONNX Runtime has for most of them (a row that it refuses is named by run.py), and
a shape of 0.1 to 10 M elements; the second operand of a binary operator has extents of 1 at random places.
"""

import numpy as np
from onnx import helper

import rows
from rows import Row, TYPES, data, ints

UNARY = ("Abs Acos Acosh Asin Asinh Atan Atanh Ceil Celu Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid HardSwish LeakyRelu Log Mish Neg "
         "Reciprocal Relu Round Selu Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Tan Tanh").split()
LIMITS = {"Acos": (-.99, .99), "Asin": (-.99, .99), "Atanh": (-.99, .99), "Acosh": (1.01, 9), "Log": (.01, 9), "Sqrt": (0, 9)}
BINARY = "Add Sub Mul Div Max Min Equal Greater GreaterOrEqual Less LessOrEqual".split()
REDUCE = "ReduceMax ReduceMin ReduceSum ReduceMean ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSumExp ReduceProd".split()
WHOLE = ("Abs", "Neg", "Sign")


def a_shape(random):
    """1 to 5 extents, their product from 0.1 to 10 M."""
    size = 10 ** random.uniform(5, 7)
    parts = random.dirichlet(np.ones(int(random.integers(1, 6))))
    shape = tuple(max(1, round(size ** part)) for part in parts)
    return shape if 1e5 <= np.prod(shape) <= 1e7 else a_shape(random)


def unary(random, shape):
    op = str(random.choice(UNARY))
    t = str(random.choice("f h i8 i32 i64".split() if op in WHOLE else ["f", "h"]))
    return Row(op, f"{t} {shape}", [data(t, shape, *LIMITS.get(op, (None, None)))])


def binary(random, shape):
    op, t = str(random.choice(BINARY)), str(random.choice("f h d i8 u8 i32 i64".split()))
    other = tuple(extent if random.integers(2) else 1 for extent in shape)[int(random.integers(len(shape))):]
    if random.integers(2):
        return Row(op, f"{t} {other} {shape}", [data(t, other), data(t, shape, 1, 9)])
    return Row(op, f"{t} {shape} {other}", [data(t, shape), data(t, other, 1, 9)])


def logic(random, shape):
    other = tuple(extent if random.integers(2) else 1 for extent in shape)
    return Row(str(random.choice(["And", "Or", "Xor"])), f"b {shape} {other}", [data("b", shape), data("b", other)])


def reduction(random, shape):
    op = str(random.choice(REDUCE))
    t = str(random.choice("f h i8 i32 i64".split() if op in REDUCE[:2] else ["f", "i32", "i64"] if op in REDUCE[2:4] else ["f"]))
    axes = sorted(int(i) for i in random.choice(len(shape), int(random.integers(1, len(shape) + 1)), replace=False))
    return Row(op, f"{t} {shape} ax{tuple(axes)}", [data(t, shape), ints(*axes)], const=(1,), opset=20,
               keepdims=int(random.integers(2)))


def along(random, shape):
    op, axis = str(random.choice("Softmax LogSoftmax CumSum ArgMax ArgMin".split())), int(random.integers(len(shape)))
    if op == "CumSum":
        t = str(random.choice("f i32 i64".split()))
        return Row(op, f"{t} {shape} ax{axis}", [data(t, shape), np.array(axis)], const=(1,))
    t = str(random.choice(["f", "h"] if "Softmax" in op else ["f", "i8", "i32"]))
    return Row(op, f"{t} {shape} ax{axis}", [data(t, shape)], axis=axis)


def moved(random, shape):
    t, axis = str(random.choice("f h i8 i64".split())), int(random.integers(len(shape)))
    kind = int(random.integers(4))
    if kind == 0:
        order = [int(i) for i in random.permutation(len(shape))]
        return Row("Transpose", f"{t} {shape} {order}", [data(t, shape)], perm=order)
    if kind == 1:
        return Row("Concat", f"{t} {shape} ax{axis}", [data(t, shape), data(t, shape)], axis=axis)
    if kind == 2:
        step = int(random.choice([1, 2, 3, -1]))
        begin, end = (0, shape[axis]) if step > 0 else (-1, -(1 << 40))
        return Row("Slice", f"{t} {shape} ax{axis} step{step}", [data(t, shape), ints(begin), ints(end), ints(axis), ints(step)],
                   const=(1, 2, 3, 4))
    pads = [int(i) for i in random.integers(0, 3, 2 * len(shape))]
    return Row("Pad", f"{t} {shape} {pads}", [data(t, shape), ints(*pads)], const=(1,), opset=18)


def selected(random, shape):
    t, axis = str(random.choice("f h i8 i64".split())), int(random.integers(len(shape)))
    kind = int(random.integers(3))
    if kind == 0:
        count = int(random.integers(1, shape[axis] + 1))
        return Row("Gather", f"{t} {shape} ix{count} ax{axis}", [data(t, shape), data("i64", (count,), 0, shape[axis] - 1)], axis=axis)
    if kind == 1:
        mask = tuple(extent if random.integers(2) else 1 for extent in shape)
        return Row("Where", f"{t} {mask} {shape}", [data("b", mask), data(t, shape), data(t, ())], opset=16)
    into = str(random.choice([name for name in "f h d i8 u8 i32 i64 b".split() if name != t]))
    return Row("Cast", f"{t}->{into} {shape}", [data(t, shape, 0, 9)], to=helper.np_dtype_to_tensor_dtype(np.dtype(TYPES[into])))


def random_rows(seed, count):
    """`count` rows of `seed`; the values of their operands come from it too."""
    random = rows.RANDOM = np.random.default_rng(seed)
    for _ in range(count):
        make = random.choice([unary, binary, logic, reduction, along, moved, selected])
        yield make(random, a_shape(random))
