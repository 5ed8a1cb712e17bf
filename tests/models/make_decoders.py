"""Writes small language models of random weights in the forms that model builders save, and what ONNX Runtime computes, token by token.

    make_decoders.py DIR SEED     then: fettle test DIR --atol 1e-3

Each is a case in the layout of the ONNX node tests: the first data set is a prompt, each further one a token behind it, with the cache that
ONNX Runtime gave. The forms: weights of 4 bits with and without float zero points and groups in any order, of tables (NF4 and FP4), mixtures
of experts of floats and of 4 bits; keys and values packed with the queries or not, windows, caches of a window, an embedding that is the last weights, heads with
scores of their own.
"""

import pathlib
import sys

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

LAYERS, HIDDEN, HEADS, KEY_HEADS, SIZE, INTER, TOKENS, LONGEST = 2, 64, 4, 2, 16, 96, 80, 40
PROMPT, STEPS, BLOCK, EXPERTS = 5, 6, 16, 4
ROWS = 4  # of a cache that holds the last keys alone; with more ONNX Runtime leaves some of them as they were
# name -> form of the weights, of the feed-forward part, whether q, k and v are packed, and attributes of the attention
FORMS = {
    "int4": ("nbits", "gated", True, {}),
    "int4_groups": ("groups", "gated", True, {"local_window_size": 4}),
    "int4_float_zeros": ("zeros", "gated", False, {}),
    "int4_tied": ("tied", "gated", True, {"local_window_size": 4, "sliding_window_cache": 1}),
    "nf4": ("nf4", "gated", False, {}),
    "fp4": ("fp4", "gated", True, {"smooth_softmax": 1}),
    "experts": ("nbits", "MoE", True, {}),
    "experts_int4": ("nbits", "QMoE", True, {"head_sink": True, "local_window_size": 6}),
}


class Writer:
    def __init__(self, form, rng):
        self.weights, self.feed_forward, self.packed, self.attention = form
        self.rng, self.nodes, self.constants = rng, [], []

    def const(self, value):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(self, op, inputs, outputs=1, domain="", **attributes):
        names = outputs if isinstance(outputs, list) else [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, domain=domain, **attributes))
        return names[0] if len(names) == 1 else names

    def microsoft(self, op, inputs, outputs=1, **attributes):
        return self.node(op, inputs, outputs, "com.microsoft", **attributes)

    def floats(self, *dims, scale=1.0):
        return (scale * self.rng.standard_normal(dims)).astype(np.float32)

    def bytes(self, *dims):
        return self.rng.integers(0, 256, dims).astype(np.uint8)

    def scales(self, *dims):
        return self.rng.uniform(0.01, 0.04, dims).astype(np.float32)

    def norm(self):
        return self.const(1 + self.floats(HIDDEN, scale=0.1))

    def product(self, x, k, n):
        """x [.., k] times weights [k, n] in the model's form."""
        blocks = k // BLOCK
        if self.weights in ("nf4", "fp4"):
            largest = self.rng.uniform(0.1, 0.4, k * n // BLOCK).astype(np.float32)
            return self.microsoft("MatMulBnb4", [x, self.const(self.bytes(k * n // 2)), self.const(largest)], K=k, N=n, block_size=BLOCK,
                                  quant_type=int(self.weights == "nf4"))
        inputs = [x, self.const(self.bytes(n, blocks, BLOCK // 2)), self.const(self.scales(n * blocks))]
        if self.weights == "zeros":
            inputs.append(self.const(self.rng.uniform(6, 10, n * blocks).astype(np.float32)))
        if self.weights == "groups":
            inputs += ["", self.const(self.rng.permutation(np.arange(k, dtype=np.int32) // BLOCK))]
        return self.microsoft("MatMulNBits", inputs, K=k, N=n, bits=4, block_size=BLOCK)

    def attend(self, x, layer, lengths, total, angles):
        sizes = [HEADS * SIZE, KEY_HEADS * SIZE, KEY_HEADS * SIZE]
        qkv = [self.product(x, HIDDEN, sum(sizes)), "", ""] if self.packed else [self.product(x, HIDDEN, n) for n in sizes]
        past = [f"past_key_values.{layer}.{part}" for part in ("key", "value")]
        attributes = dict(self.attention)
        sinks = ["", "", self.const(self.floats(HEADS))] if attributes.pop("head_sink", False) else []
        outputs = [f"attended_{layer}", f"present.{layer}.key", f"present.{layer}.value"]
        self.microsoft("GroupQueryAttention", [*qkv, *past, lengths, total, *angles, *sinks], outputs, num_heads=HEADS, kv_num_heads=KEY_HEADS,
                       do_rotary=1, **attributes)
        return self.product(outputs[0], HEADS * SIZE, HIDDEN)

    def feed(self, x):
        if self.feed_forward == "gated":
            gate = self.product(x, HIDDEN, INTER)
            gate = self.node("Mul", [gate, self.node("Sigmoid", [gate])])
            return self.product(self.node("Mul", [gate, self.product(x, HIDDEN, INTER)]), INTER, HIDDEN)
        router = self.node("Reshape", [self.node("MatMul", [x, self.const(self.floats(HIDDEN, EXPERTS, scale=0.3))]),
                                       self.const(np.array([-1, EXPERTS]))])
        more = {"k": 2, "activation_type": "swiglu", "swiglu_fusion": 1, "activation_alpha": 1.702, "activation_beta": 1.0,
                "swiglu_limit": 7.0, "normalize_routing_weights": 1}
        biases = [self.const(self.floats(EXPERTS, n, scale=0.1)) for n in (2 * INTER, HIDDEN)]
        if self.feed_forward == "MoE":
            weights = [self.const(self.floats(EXPERTS, n, k, scale=k**-0.5)) for n, k in ((2 * INTER, HIDDEN), (HIDDEN, INTER))]
            return self.microsoft("MoE", [x, router, weights[0], biases[0], weights[1], biases[1]], **more)
        inputs = [x, router]
        for (n, k), bias in zip(((2 * INTER, HIDDEN), (HIDDEN, INTER)), biases):
            inputs += [self.const(self.bytes(EXPERTS, n, k // 2)), self.const(self.scales(EXPERTS, n, k // BLOCK)), bias]
        return self.microsoft("QMoE", inputs, expert_weight_bits=4, block_size=BLOCK, **more)

    def model(self):
        mask = "attention_mask"
        sums = self.node("ReduceSum", [mask, self.const(np.array([1]))], keepdims=0)
        lengths = self.node("Cast", [self.node("Sub", [sums, self.const(np.array([1]))])], to=TensorProto.INT32)
        extent = self.node("Gather", [self.node("Shape", [mask]), self.const(np.array(1))])
        total = self.node("Cast", [extent], to=TensorProto.INT32)
        turns = np.outer(np.arange(LONGEST), 100.0 ** (-np.arange(SIZE // 2) / (SIZE // 2)))
        angles = [self.const(f(turns).astype(np.float32)) for f in (np.cos, np.sin)]
        rows = self.const(self.bytes(TOKENS, HIDDEN // 2))
        if self.weights == "tied":
            rows = self.node("Reshape", [self.const(self.bytes(TOKENS, HIDDEN // BLOCK, BLOCK // 2)), self.const(np.array([0, -1]))])
        table = [rows, "input_ids", self.const(self.scales(TOKENS, HIDDEN // BLOCK))]
        x = self.microsoft("GatherBlockQuantized", table, bits=4, block_size=BLOCK, gather_axis=0, quantize_axis=1)
        normed = self.node("SimplifiedLayerNormalization", [x, self.norm()], axis=-1, epsilon=1e-5)
        for layer in range(LAYERS):
            for part in (lambda y: self.attend(y, layer, lengths, total, angles), self.feed):
                normed, _, _, x = self.microsoft("SkipSimplifiedLayerNormalization", [x, part(normed), self.norm()], 4, epsilon=1e-5)
        self.node("Identity", [self.product(normed, HIDDEN, TOKENS)], ["logits"])
        # Outputs that are not used have no names.
        used = {name for node in self.nodes for name in node.input} | {"logits"} | {f"present.{i}.{p}" for i in range(LAYERS) for p in ("key", "value")}
        for node in self.nodes:
            node.output[:] = [name if name in used else "" for name in node.output]
        caches = [(f"{i}.{part}", ["batch", KEY_HEADS, "past", SIZE]) for i in range(LAYERS) for part in ("key", "value")]
        inputs = [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "length"]),
                  helper.make_tensor_value_info(mask, TensorProto.INT64, ["batch", "total"])]
        inputs += [helper.make_tensor_value_info(f"past_key_values.{name}", TensorProto.FLOAT, dims) for name, dims in caches]
        outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", "length", TOKENS])]
        outputs += [helper.make_tensor_value_info(f"present.{name}", TensorProto.FLOAT, ["batch", KEY_HEADS, "total", SIZE]) for name, _ in caches]
        graph = helper.make_graph(self.nodes, "decoder", inputs, outputs, self.constants)
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def write_case(model, form, folder, rng):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    names = [value.name for value in session.get_outputs()]
    length = ROWS if "sliding_window_cache" in form[3] else 0
    feed = {value.name: np.zeros((1, KEY_HEADS, length, SIZE), np.float32) for value in session.get_inputs()[2:]}
    ids = rng.integers(0, TOKENS, (1, PROMPT))
    for step in range(STEPS):
        feed = {"input_ids": ids, "attention_mask": np.ones((1, PROMPT + step), np.int64), **feed}
        results = dict(zip(names, session.run(None, feed)))
        sets = folder / f"test_data_set_{step}"
        sets.mkdir()
        for kind, values in (("input", feed), ("output", results)):
            for i, (name, value) in enumerate(values.items()):
                (sets / f"{kind}_{i}.pb").write_bytes(numpy_helper.from_array(value, name).SerializeToString())
        ids = results["logits"][:, -1].argmax(-1)[:, None]
        feed = {name.replace("present", "past_key_values"): value for name, value in results.items() if name != "logits"}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    for name, form in FORMS.items():
        rng = np.random.default_rng(int(sys.argv[2]))
        model = Writer(form, rng).model()
        write_case(model, form, pathlib.Path(sys.argv[1]) / "node" / f"test_decoder_{name}", rng)


if __name__ == "__main__":
    main()
