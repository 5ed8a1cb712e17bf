"""More functions for random_operators.py: the operators that trainers of quantised networks export (QONNX, FINN, Brevitas, NNCF)."""

import numpy as np

base = None  # random_operators, which has the functions that draw
QONNX, FINN, BREVITAS, OPENVINO = "qonnx.custom_op.general", "finn.custom_op.general", "onnx.brevitas", "org.openvinotoolkit"


def number(value):
    return np.array(value, np.float32)


def channels_of(dims, *more):
    """Extents of a value for each channel of `dims`, or for all."""
    per = base.R.random() < 0.5 and len(dims) > 1
    return tuple(d if per and i == 1 else 1 for i, d in enumerate(dims)) if base.R.random() < 0.7 or per else ()


def integer_quantiser():
    dims = base.shape()
    domain = base.pick(QONNX, FINN, BREVITAS)
    op = "Quant" if domain == FINN else base.pick("Quant", "IntQuant")
    of = channels_of(dims)
    bits = base.pick(1, 1, 2, 3, 4, 8, 16)
    zero = number(0) if base.R.random() < 0.6 else np.round(base.data(of, "f4", -3, 3))
    return base.Case(op, [base.data(dims, "f4", -4, 4), base.data(of, "f4", 0.1, 1), zero, number(bits)], domain=domain, signed=base.n(0, 1),
                     narrow=base.n(0, 1), const=base.pick([3], [1, 2, 3], [0, 1, 2, 3]),
                     rounding_mode=base.pick(None, "ROUND", "CEIL", "FLOOR", "UP", "DOWN", "HALF_UP", "HALF_DOWN", "half_even", "ROUND_TO_ZERO"))


def bipolar_quantiser():
    dims = base.shape()
    return base.Case("BipolarQuant", [base.data(dims), base.data(channels_of(dims), "f4", 0.1, 1)], domain=base.pick(QONNX, FINN, BREVITAS),
                     const=base.pick([], [1], [0, 1]))


def thresholds():
    dims = base.shape(base.n(2, 4))
    last = base.R.random() < 0.3
    layout = {2: "NC", 3: "NWC", 4: "NHWC"}[len(dims)] if last else base.pick(None, {2: "NC", 3: "NCW", 4: "NCHW"}[len(dims)])
    channels = base.pick(1, dims[-1] if last else dims[1])
    values = np.sort(base.data((channels, base.pick(1, 1, 2, 3, 7)), "f4", -2, 2), axis=1)
    scale, bias = base.pick((None, None), (2.0, -1.0), (0.5, 0.25))
    return base.Case("MultiThreshold", [base.data(dims, "f4", -3, 3), values], domain=base.pick(QONNX, FINN), data_layout=layout,
                     out_scale=scale, out_bias=bias, out_dtype="BIPOLAR" if scale == 2 and values.shape[1] == 1 else None, const=[1])


def xnor_product():
    k, c = base.pick(base.n(1, 9), base.n(60, 70), base.n(1, 200)), base.n(1, 9)
    bits = [base.data(dims, "f4", 0, 1).round() for dims in ((base.n(1, 5), k), (k, c))]
    return base.Case("XnorPopcountMatMul", bits, domain=base.pick(QONNX, FINN), const=[1])


def fake_quantiser():
    dims = base.shape()
    of = channels_of(dims)
    low, high = base.data(of, "f4", -2, -0.2), base.data(of, "f4", 0.2, 2)
    to = base.pick([low, high], [base.data(of, "f4", -1, 0), base.data(of, "f4", 0.5, 1)])
    return base.Case("FakeQuantize", [base.data(dims, "f4", -3, 3), low, high, *to], domain=OPENVINO, levels=base.pick(2, 3, 16, 255, 256),
                     const=base.pick([], [1, 2, 3, 4]))


def makers(module):
    """The functions above, which draw by those of `module`: random_operators, whatever its name."""
    global base
    base = module
    return [integer_quantiser, bipolar_quantiser, thresholds, xnor_product, fake_quantiser]
