"""What computes the operators that ONNX Runtime lacks: ONNX's reference evaluator, and what trainers of quantised networks say of theirs."""

import numpy as np
from onnx import AttributeProto, TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

QONNX, FINN, BREVITAS, OPENVINO = "qonnx.custom_op.general", "finn.custom_op.general", "onnx.brevitas", "org.openvinotoolkit"
# Of the operators that ONNX itself defines, those that its evaluator is asked for first: ONNX Runtime lacks them, or has them otherwise.
NEWEST = {"Attention", "BitCast", "CausalConvWithState", "LinearAttention", "RotaryEmbedding", "SwiGLU", "Swish"}


def away(x, shift, to_integer):
    return np.sign(x) * to_integer(np.abs(x) + shift)


ROUNDINGS = {"ROUND": np.round, "HALF_EVEN": np.round, "CEIL": np.ceil, "FLOOR": np.floor, "UP": lambda x: away(x, 0, np.ceil),
             "DOWN": lambda x: away(x, 0, np.floor), "ROUND_TO_ZERO": lambda x: away(x, 0, np.floor),
             "HALF_UP": lambda x: away(x, 0.5, np.floor), "HALF_DOWN": lambda x: away(x, -0.5, np.ceil)}


def integers(bits, signed, narrow):
    """The least and the largest of so many bits."""
    steps = 2.0 ** (bits - 1 if signed else bits)
    return (narrow - steps if signed else 0.0), steps - (2 if narrow and not signed else 1)


def quantise(x, scale, zero, bits, signed=1, narrow=1, rounding_mode="ROUND"):
    bits = float(np.asarray(bits).reshape(-1)[0])
    y = x / scale + zero
    if bits == 1 and signed:
        y = np.where(y >= 0, np.float32(1), np.float32(-1))
    else:
        y = ROUNDINGS[(rounding_mode or "ROUND").upper()](np.clip(y, *integers(bits, signed, narrow)))
    return ((y - zero) * scale).astype(x.dtype)


def reach(x, thresholds, out_scale=1.0, out_bias=0.0, data_layout="NCHW", **_):
    """How many thresholds of its channel each element reaches."""
    axis = x.ndim - 1 if data_layout.endswith("C") else 1
    if thresholds.shape[0] not in (1, x.shape[axis]):
        raise ValueError("other channels")
    steps = thresholds.reshape([-1 if i == axis else 1 for i in range(x.ndim)] + [thresholds.shape[1]])
    return ((x[..., None] >= steps).sum(-1) * out_scale + out_bias).astype(x.dtype)


def agree(a, b):
    """How many bits of a row and a column are the same."""
    return (a @ b + (1 - a) @ (1 - b)).astype(a.dtype)


def fake(x, low, high, out_low, out_high, levels):
    clipped = np.minimum(np.maximum(x, low), high)
    steps = np.round((clipped - low) / (high - low) * np.float32(levels - 1))
    return (steps / np.float32(levels - 1) * (out_high - out_low) + out_low).astype(x.dtype)


def bipolar(x, scale):
    return np.where(x >= 0, scale, -scale).astype(x.dtype)


# name -> (function, its attributes with what they are where absent, the domains)
CUSTOM = {"Quant": (quantise, {"signed": 1, "narrow": 1, "rounding_mode": "ROUND"}, (QONNX, FINN, BREVITAS)),
          "IntQuant": (quantise, {"signed": 1, "narrow": 1, "rounding_mode": "ROUND"}, (QONNX, BREVITAS)),
          "BipolarQuant": (bipolar, {}, (QONNX, FINN, BREVITAS)),
          "MultiThreshold": (reach, {"out_scale": 1.0, "out_bias": 0.0, "data_layout": "NCHW"}, (QONNX, FINN)),
          "XnorPopcountMatMul": (agree, {}, (QONNX, FINN)),
          "FakeQuantize": (fake, {"levels": 256}, (OPENVINO,))}


def operator(name, domain):
    function, attributes, _ = CUSTOM[name]

    def run(self, *inputs):
        given = {key: getattr(self, key, None) for key in attributes}
        return (function(*inputs, **{key: attributes[key] if value is None else value for key, value in given.items()}),)

    def keep(self, onnx_node, run_params, schema=None):
        OpRun.__init__(self, onnx_node, run_params, schema)
        for a in onnx_node.attribute:
            value = {1: a.f, 2: a.i, 3: a.s.decode("utf-8", "replace")}.get(a.type)
            setattr(self, a.name, value)

    return type(name, (OpRun,), {"op_domain": domain, "_run": run, "__init__": keep, "run": lambda self, *inputs, **_: run(self, *inputs)})


OPERATORS = [operator(name, domain) for name, (_, _, domains) in CUSTOM.items() for domain in domains]
DOMAINS = {operator.op_domain for operator in OPERATORS}


def knows(model):
    """Whether the evaluator is asked before ONNX Runtime."""
    nodes = model.graph.node
    return any(n.domain in DOMAINS or n.op_type in NEWEST for n in nodes) and all(n.domain in DOMAINS or n.domain in ("", "ai.onnx") for n in nodes)


def evaluate(model, feed, outputs):
    for opset in model.opset_import:
        if opset.domain in ("", "ai.onnx") and opset.version < 14:  # its BatchNormalization of these opsets trains
            opset.version = 14
    return ReferenceEvaluator(model, new_ops=OPERATORS).run(outputs, feed)


def widened(tensor):
    if tensor.data_type == TensorProto.FLOAT:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name))


def in_doubles(model, feed, outputs):
    """What the evaluator makes of the same numbers where each step is computed in f64: its distance from that in f32 is what roundings
    alone may change."""
    for tensor in model.graph.initializer:
        widened(tensor)
    for node in model.graph.node:
        for a in node.attribute:
            if a.type == AttributeProto.TENSOR:
                widened(a.t)
            elif a.name in ("to", "dtype") and a.i == TensorProto.FLOAT:
                a.i = TensorProto.DOUBLE
    return evaluate(model, {name: v.astype(np.float64) if v.dtype == np.float32 else v for name, v in feed.items()}, outputs)
