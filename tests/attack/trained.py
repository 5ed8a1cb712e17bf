"""Networks of quantisers as their trainers export them (QONNX, FINN, Brevitas, NNCF), and gates and states of the newest language
models. Each takes (the spelling, a value, its extents) and returns the same of its result, or None where extents forbid it."""

import numpy as np

import random_operators
from random_operators import n, pick
from rewritten import coin

QONNX, FINN, BREVITAS = "qonnx.custom_op.general", "finn.custom_op.general", "onnx.brevitas"


def quantised(s, x, dims, bits, domain):
    """What `x` becomes with so many bits: a value, or constants. The sign of a sum that is 0 must not hang on rounding, so that scales of
    one bit are powers of 2."""
    if bits == 1 and coin():
        return s.node("BipolarQuant", x, pick(1.0, 0.5), domain=domain)
    if bits == 1 and domain != BREVITAS and coin():
        values = random_operators.data((pick(1, dims[1]), 1), "f4", -1, 1)
        return s.node("MultiThreshold", x, s.constant(values), domain=domain, out_scale=2.0, out_bias=-1.0)
    return s.node("Quant", x, pick(0.25, 0.5 if bits == 1 else 0.1, 1.0), pick(0.0, 0.0, 1.0), float(bits), domain=domain, signed=pick(1, 1, 0), narrow=n(0, 1),
                  rounding_mode=pick("ROUND", "FLOOR"))


def layer(s, x, dims):
    """A product of a quantised input and quantised weights, as of one to eight bits."""
    domain, bits, out = pick(QONNX, FINN, BREVITAS), pick(1, 1, 2, 4, 8), pick(n(1, 9), 16)
    a = quantised(s, x, dims, bits, domain)
    if len(dims) == 4 and coin():
        weights = (out, dims[1], 3, 3)
        b = quantised(s, s.weights(*weights), weights, bits, domain)
        y, made = s.node("Conv", a, b, pads=pick([0, 0, 0, 0], [1, 1, 1, 1]) if min(dims[2:]) > 2 else [1, 1, 1, 1]), (dims[0], out, *dims[2:])
        if s.nodes[-1].attribute[0].ints[0] == 0:
            made = (dims[0], out, dims[2] - 2, dims[3] - 2)
        if coin():
            y = s.node("BatchNormalization", y, *(s.constant(random_operators.data((out,), "f4", 0.5, 1.5)) for _ in range(4)))
    else:
        weights = (dims[-1], out)
        b = quantised(s, s.weights(*weights), weights, bits, domain)
        y, made = s.node("MatMul", a, b), (*dims[:-1], out)
    return (quantised(s, y, made, bits, domain) if coin() else s.node("Relu", y)), made


def thresholds(s, x, dims):
    """Sums of several steps for each channel, also between Transposes."""
    last = len(dims) > 2 and coin()
    channels = dims[-1] if last else dims[1]
    values = s.constant(np.sort(random_operators.data((channels, n(1, 5)), "f4", -1, 1), axis=1))
    layout = {3: "NWC", 4: "NHWC"}.get(len(dims)) if last else None
    return s.node("MultiThreshold", x, values, domain=pick(QONNX, FINN), data_layout=layout), dims


def fake(s, x, dims):
    low, high = pick(-1.0, -0.7, 0.0), pick(1.0, 0.9)
    return s.node("FakeQuantize", x, low, high, low, high, domain="org.openvinotoolkit", levels=pick(2, 16, 256)), dims


def agreement(s, x, dims):
    bits = s.node("Where", s.node("GreaterOrEqual", x, 0.05), 1.0, 0.0)
    out = n(1, 9)
    return s.node("XnorPopcountMatMul", bits, s.constant(random_operators.data((dims[-1], out), "f4", 0, 1).round()), domain=pick(QONNX, FINN)), \
        (*dims[:-1], out)


def gate(s, x, dims):
    """A gated layer in one operator, or in those that it is made of."""
    out = n(1, 9)
    a, b = (s.node("MatMul", x, s.weights(dims[-1], out)) for _ in range(2))
    if s.opset >= 28 and coin():
        return s.node("SwiGLU", a, b, alpha=pick(None, 1.5)), (*dims[:-1], out)
    if s.opset >= 24 and coin():
        return s.node("Mul", s.node("Swish", a), b), (*dims[:-1], out)
    return s.node("Mul", s.node("Mul", a, s.node("Sigmoid", a)), b), (*dims[:-1], out)


def state(s, x, dims):
    """A causal convolution over channels and time, and what attends by a state."""
    if len(dims) != 3 or s.opset < 27:
        return None
    batch, channels, length = dims
    y = s.node("CausalConvWithState", x, s.weights(channels, 1, n(1, 4)), s.weights(channels), activation=pick(None, "silu"))
    if coin():
        return y, dims
    rows = s.node("Transpose", y, perm=[0, 2, 1])
    size = n(1, 5)
    parts = [s.node("MatMul", rows, s.weights(channels, size)) for _ in range(3)]
    y = s.node("LinearAttention", *parts, update_rule="linear", q_num_heads=1, kv_num_heads=1)
    return y, (batch, length, size)


PATTERNS = [layer, layer, thresholds, fake, agreement, gate, state]
