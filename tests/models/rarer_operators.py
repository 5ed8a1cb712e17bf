"""More functions for random_operators.py: operators that few networks have, and those with sub-graphs."""

import numpy as np
import onnx
from onnx import helper

base = None  # random_operators, which has the functions that draw
MICROSOFT = "com.microsoft"


def rare_unary():
    op, low, high = base.pick(("Acosh", 1.01, 4), ("Atanh", -0.99, 0.99), ("Cosh", -2, 2), ("Sinh", -2, 2), ("Tan", -1.4, 1.4), ("Sin", -9, 9),
                              ("Mish", -9, 9), ("Swish", -9, 9), ("Dropout", -2, 2))
    alpha = float(np.float32(base.R.uniform(0.1, 2))) if op == "Swish" and base.R.random() < 0.7 else None
    return base.Case(op, [base.data(base.shape(), "f4", low, high)], opset=24 if op == "Swish" else None, alpha=alpha,
                     outputs=base.n(1, 2) if op == "Dropout" else 1)


def contrib_gelu():
    op = base.pick("BiasGelu", "FastGelu", "QuickGelu")
    dims = base.shape(base.n(2, 3))
    bias = base.data(dims[-1:])
    operands = {"BiasGelu": [bias], "FastGelu": base.pick([], [bias]), "QuickGelu": []}[op]
    return base.Case(op, [base.data(dims), *operands], domain=MICROSOFT, alpha=base.pick(None, 1.5) if op == "QuickGelu" else None)


def cast_like():
    kinds = ["f4", "f2", "f8", "i4", "i8", "u1", "i1", bool]
    return base.Case("CastLike", [base.data(base.shape(), base.pick(*kinds[:7]), 0, 2), base.data(base.shape(), base.pick(*kinds))])


def determinant():
    size = base.n(1, 4)
    return base.Case("Det", [base.data((*base.shape(base.n(0, 2)), size, size))])


def affine_grid():
    axes = base.n(2, 3)
    size = base.shape(axes + 2)
    return base.Case("AffineGrid", [base.data((size[0], axes, axes + 1)), base.ints(*size)], opset=20, align_corners=base.n(0, 1),
                     const=base.pick([], [1]))


def signal_windows():
    return base.Case(base.pick("BlackmanWindow", "HammingWindow", "HannWindow"), [np.array(base.n(1, 20), np.int64)], const=base.pick([], [0]),
                     periodic=base.n(0, 1), output_datatype=base.pick(None, 1, 11))


def mel_weights():
    bins, length, rate = base.n(1, 8), base.pick(16, 32, 64), base.pick(8000, 16000)
    values = [np.array(v, np.int64) for v in (bins, length, rate)] + [np.array(v, np.float32) for v in (base.pick(0, 100), rate / 2)]
    return base.Case("MelWeightMatrix", values, const=range(5))


def short_fourier():
    length, frame = base.n(8, 40), base.n(2, 8)
    window = base.pick(None, base.data((frame,), "f4", 0, 1))
    return base.Case("STFT", [base.data((base.n(1, 3), length, 1)), np.array(base.n(1, 5), np.int64), window, np.array(frame, np.int64)],
                     const=[1, 3], onesided=base.n(0, 1))


def crop_or_pad():
    dims = base.shape(base.n(2, 4))
    axes = sorted(base.R.choice(len(dims), base.n(1, len(dims)), replace=False).tolist())
    return base.Case("CenterCropPad", [base.data(dims, base.pick("f4", "i4", "u1")), base.ints(*(base.n(1, 7) for _ in axes))],
                     axes=axes, const=base.pick([], [1]))


def columns_to_image():
    image, block = base.shape(2, 3, 7), base.shape(2, 1, 3)
    strides, dilations, pads = base.shape(2, 1, 2), base.shape(2, 1, 2), [base.n(0, 1) for _ in range(4)]
    counts = [(i + pads[a] + pads[a + 2] - d * (b - 1) - 1) // s + 1
              for a, (i, b, s, d) in enumerate(zip(image, block, strides, dilations))]
    batch, channels, places = base.n(1, 2), base.n(1, 3), max(0, counts[0]) * max(0, counts[1])
    return base.Case("Col2Im", [base.data((batch, channels * block[0] * block[1], places)), base.ints(*image), base.ints(*block)],
                     const=[1, 2], strides=strides, dilations=dilations, pads=pads)


def filled():
    if base.R.random() < 0.5:
        value = base.data((1,), base.pick("f4", "i4", "i8", bool))
        return base.Case("ConstantOfShape", [base.ints(*base.shape())], const=base.pick([], [0]), value=onnx.numpy_helper.from_array(value))
    return base.Case("EyeLike", [base.data(base.shape(2), base.pick("f4", "i4"))], k=base.n(-3, 3), dtype=base.pick(None, 1, 7))


def products_along():
    dims = base.shape()
    return base.Case("CumProd", [base.data(dims, base.pick("f4", "i4")), np.array(base.n(-len(dims), len(dims) - 1), np.int64)], opset=26,
                     const=[1], exclusive=base.n(0, 1), reverse=base.n(0, 1))


def deformed_conv():
    groups, offsets, kernel, strides, pads = base.n(1, 2), base.n(1, 2), base.shape(2, 1, 3), base.shape(2, 1, 2), [base.n(0, 1)] * 4
    batch, inside = base.n(1, 2), base.shape(2, 4, 7)
    c, m = 2 * base.n(1, 2), groups * base.n(1, 2)
    out = [(i + 2 * pads[0] - k) // s + 1 for i, k, s in zip(inside, kernel, strides)]
    taps = offsets * kernel[0] * kernel[1]
    return base.Case("DeformConv", [base.data((batch, c, *inside)), base.data((m, c // groups, *kernel)), base.data((batch, 2 * taps, *out)),
                                    base.pick(None, base.data((m,))), base.pick(None, base.data((batch, taps, *out), "f4", 0, 1))],
                     opset=22, group=groups, offset_group=offsets, kernel_shape=kernel, strides=strides, pads=pads)


def rare_norm():
    batch, groups, each = base.n(1, 3), base.n(1, 3), base.n(1, 3)
    dims = (batch, groups * each, *base.shape(base.n(1, 2)))
    op = base.pick("GroupNormalization", "MeanVarianceNormalization", "RMSNormalization", "SimplifiedLayerNormalization",
                   "SkipSimplifiedLayerNormalization")
    epsilon = base.pick(None, 1e-5, 1e-3)
    if op == "GroupNormalization":
        return base.Case(op, [base.data(dims), base.data(dims[1:2]), base.data(dims[1:2])], opset=21, num_groups=groups, epsilon=epsilon)
    if op == "MeanVarianceNormalization":
        axes = sorted(base.R.choice(len(dims), base.n(1, len(dims)), replace=False).tolist())
        return base.Case(op, [base.data(dims)], axes=base.pick(None, axes))
    if op == "SkipSimplifiedLayerNormalization":
        x = base.data(dims[:3])
        return base.Case(op, [x, base.data(x.shape), base.data(x.shape[-1:]), base.pick(None, base.data(x.shape[-1:]))], domain=MICROSOFT,
                         epsilon=epsilon)
    axis = base.n(1, len(dims) - 1)
    return base.Case(op, [base.data(dims), base.data(dims[axis:])], opset=23 if op == "RMSNormalization" else 17, axis=axis, epsilon=epsilon)


def max_roi_pool():
    batch, size, count = base.n(1, 2), base.n(4, 9), base.n(1, 4)
    corner = base.data((count, 2), "i4", 0, size - 2)
    rois = np.concatenate([base.data((count, 1), "i4", 0, batch - 1), corner, corner + base.data((count, 2), "i4", 1, 4)], 1)
    return base.Case("MaxRoiPool", [base.data((batch, base.n(1, 3), size, size)), rois.astype(np.float32)], pooled_shape=base.shape(2, 1, 3),
                     spatial_scale=base.pick(None, 0.5))


def max_unpool():
    batch, c, inside, kernel = base.n(1, 2), base.n(1, 2), base.shape(2, 1, 4), base.shape(2, 1, 3)
    strides = base.pick(kernel, [1, 1])
    out = [(i - 1) * s + k for i, s, k in zip(inside, strides, kernel)]
    most, count = batch * c * out[0] * out[1], batch * c * inside[0] * inside[1]
    places = base.R.choice(most, count, replace=False).astype(np.int64).reshape(batch, c, *inside)
    shape = base.pick(None, base.ints(batch, c, *out))
    return base.Case("MaxUnpool", [base.data((batch, c, *inside)), places, shape], kernel_shape=kernel, strides=strides, const=[2])


def losses():
    batch, classes, more = base.n(1, 4), base.n(1, 5), base.shape(base.n(0, 2))
    op = base.pick("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
    wanted = base.data((batch, *more), base.pick("i8", "i4"), 0, classes - 1)
    return base.Case(op, [base.data((batch, classes, *more)), wanted, base.pick(None, base.data((classes,), "f4", 0.1, 2))],
                     outputs=base.n(1, 2) if op.startswith("S") else 1, reduction=base.pick("none", "mean", "sum"),
                     ignore_index=base.pick(None, 0, -100))


def suppression():
    batch, classes, boxes = base.n(1, 2), base.n(1, 3), base.n(1, 9)
    corner = base.data((batch, boxes, 2), "f4", 0, 1)
    limits = [np.array(base.n(0, 5), np.int64), np.array(base.R.uniform(0, 1), np.float32), np.array(base.R.uniform(0, 1), np.float32)]
    return base.Case("NonMaxSuppression", [np.concatenate([corner, corner + base.data(corner.shape, "f4", 0.1, 1)], 2),
                                           base.data((batch, classes, boxes), "f4", 0, 1), *limits[:base.n(1, 3)]],
                     center_point_box=base.n(0, 1), const=[2, 3, 4])


def old_forms():
    dims = base.shape(base.n(1, 3))
    axis = base.n(0, len(dims) - 1)
    if base.R.random() < 0.5:
        indices = base.data(tuple(base.n(1, d) for d in dims), "i8", 0, dims[axis] - 1)
        if base.R.random() < 0.5:  # none twice: the order of updates is nowhere said
            indices = np.broadcast_to(np.arange(indices.shape[axis]).reshape([-1 if i == axis else 1 for i in range(len(dims))]), indices.shape)
        return base.Case("Scatter", [base.data(dims), np.ascontiguousarray(indices), base.data(indices.shape)], opset=base.pick(9, 10), axis=axis)
    dims = base.shape(4)
    return base.Case("Upsample", [base.data(dims), np.array([1, 1, base.n(1, 3), base.n(1, 3)], np.float32)], opset=9,
                     mode=base.pick("nearest", "linear"), const=[1])


def tensor_scatter():
    batch, heads, most, size = base.n(1, 3), base.n(1, 2), base.n(2, 6), base.n(1, 4)
    new = base.n(1, most)
    mode = base.pick("linear", "circular")
    at = base.data((batch,), "i8", 0, most - new if mode == "linear" else most - 1)
    return base.Case("TensorScatter", [base.data((batch, heads, most, size)), base.data((batch, heads, new, size)), base.pick(None, at)], opset=24,
                     axis=base.pick(None, 2), mode=mode)


def contrib_fused():
    kind = base.n(0, 2)
    activation = base.pick("Relu", "Sigmoid", "Tanh", "LeakyRelu")
    if kind == 0:
        c, m, size = base.n(1, 3), base.n(1, 3), base.n(3, 6)
        added = base.pick(None, base.data((1, m, size, size)))
        return base.Case("FusedConv", [base.data((1, c, size, size)), base.data((m, c, 3, 3)), base.data((m,)), added], domain=MICROSOFT,
                         activation="Relu" if added is not None else activation, pads=[1, 1, 1, 1], const=[1, 2],
                         activation_params=[0.1] if activation == "LeakyRelu" and added is None else None)
    m, k, c = base.n(1, 4), base.n(1, 5), base.n(1, 4)
    flip = [base.n(0, 1), base.n(0, 1)]
    a, b = base.data((k, m) if flip[0] else (m, k)), base.data((c, k) if flip[1] else (k, c))
    if kind == 1:
        return base.Case("FusedGemm", [a, b, base.data((c,))], domain=MICROSOFT, transA=flip[0], transB=flip[1], activation=activation,
                         activation_alpha=0.1 if activation == "LeakyRelu" else None, alpha=base.pick(None, 0.5))
    return base.Case("TransposeMatMul", [a, b], domain=MICROSOFT, transA=flip[0], transB=flip[1], alpha=base.pick(None, 0.5))


def rare_qlinear():
    kind = base.pick("u1", "i1")

    def scale():
        return np.array(base.R.uniform(0.01, 0.1), np.float32)

    def zero():
        return base.data((), kind, 0, 9)

    dims = base.shape(base.n(2, 3))
    if base.R.random() < 0.5:
        parts = [[base.data(dims, kind, 0, 99), scale(), zero()] for _ in range(base.n(1, 3))]
        return base.Case("QLinearConcat", [scale(), zero(), *sum(parts, [])], domain=MICROSOFT, axis=base.n(0, len(dims) - 1),
                         const=[0, 1] + [i for p in range(len(parts)) for i in (3 + 3 * p, 4 + 3 * p)])
    return base.Case("QLinearWhere", [base.data(dims, bool), base.data(dims, kind, 0, 99), scale(), zero(), base.data(base.broadcastable(dims), kind, 0, 99),
                                      scale(), zero(), scale(), zero()], domain=MICROSOFT, const=[2, 3, 5, 6, 7, 8])


def body(inputs, nodes, outputs):
    def value(name):
        return helper.make_tensor_value_info(name, {"i": 7, "c": 9, "on": 9}.get(name, 1), [] if name in ("i", "c", "on") else None)

    return helper.make_graph(nodes, "body", [value(name) for name in inputs], [value(name) for name in outputs])


def branches():
    op, other = base.pick("Relu", "Neg", "Exp"), base.pick("Abs", "Sigmoid", "Identity")
    return base.Case("If", [np.array(base.n(0, 1), bool)], then_branch=body([], [helper.make_node("Constant", [], ["k"], value_floats=[1.5, -2.0]),
                                                                                 helper.make_node(op, ["k"], ["then"])], ["then"]),
                     else_branch=body([], [helper.make_node("Constant", [], ["m"], value_floats=[0.5, 3.0]),
                                           helper.make_node(other, ["m"], ["else"])], ["else"]))


def loops():
    """A value that changes, how it went, and a condition that may end it."""
    nodes = [helper.make_node("Identity", ["c"], ["on"]), helper.make_node(base.pick("Sin", "Neg", "Sqrt"), ["h"], ["moved"]),
             helper.make_node(base.pick("Add", "Mul", "Max"), ["moved", "h"], ["next"]), helper.make_node("Abs", ["next"], ["seen"])]
    return base.Case("Loop", [np.array(base.n(0, 5), np.int64), np.array(base.n(0, 3) > 0, bool), base.data(base.shape(), "f4", 0.1, 1)], outputs=2,
                     body=body(["i", "c", "h"], nodes, ["on", "next", "seen"]))


def scans():
    steps, dims = base.n(1, 5), base.shape(base.n(1, 2))
    nodes = [helper.make_node(base.pick("Add", "Sub", "Max"), ["h", "x"], ["next"]), helper.make_node(base.pick("Neg", "Tanh"), ["next"], ["seen"])]
    return base.Case("Scan", [base.data(dims), base.data((steps, *dims))], outputs=2, num_scan_inputs=1,
                     body=body(["h", "x"], nodes, ["next", "seen"]), scan_input_directions=base.pick(None, [0], [1]),
                     scan_output_directions=base.pick(None, [0], [1]))


def makers(module):
    """The functions above, which draw by those of `module`: random_operators, whatever its name."""
    global base
    base = module
    return [value for name, value in globals().items() if callable(value) and getattr(value, "__module__", "") == __name__
            and name not in ("makers", "body")]
