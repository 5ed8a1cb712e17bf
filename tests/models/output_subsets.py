"""Writes operators with several outputs, each subset of them used, with what another engine computes.

    output_subsets.py DIR ROUNDS SEED [NODE_TESTS]     then: fettle test DIR --atol 1e-4 [--reference]

In the layout of the ONNX node tests. Per operator ROUNDS random instances whose values are ONNX Runtime's, or, where that lacks
the operator, those of ONNX's reference evaluator; and the cases below NODE_TESTS of one node with several outputs, whose values
are ONNX's. An output that is not used is left out of the node, or has a name that nobody reads.
"""

import itertools
import pathlib
import shutil
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import random_operators as some
from random_operators import Case, data, ints, n, pick, shape

MOST_OUTPUTS = 5  # of more, only single ones and all but one are used
VARIADIC = ("Split", "If", "Loop", "Scan")  # whose outputs count
# Outputs that are no function of the inputs alone, or that the other engine leaves unwritten.
LEFT_OUT = {"SkipLayerNormalization": {1, 2}, "SkipSimplifiedLayerNormalization": {1, 2}}


def max_pool():
    spatial = n(1, 3)
    kernel = [n(1, 3) for _ in range(spatial)]
    return Case("MaxPool", [data((n(1, 2), pick(1, 3, 16)) + shape(spatial, 3, 9))], outputs=2, kernel_shape=kernel,
                strides=[n(1, 2) for _ in kernel], storage_order=n(0, 1), ceil_mode=n(0, 1))


def layer_norm():
    dims = shape(n(2, 4))
    axis = n(-len(dims), len(dims) - 1)
    rest = dims[axis:] if axis < 0 else dims[axis % len(dims):]
    return Case("LayerNormalization", [data(dims), data(rest), pick(None, data(rest))], outputs=3, axis=axis, const=pick([1, 2], []))


def batch_norm():
    dims = (n(2, 3), n(1, 4)) + shape(n(1, 2))
    c = dims[1]
    return Case("BatchNormalization", [data(dims), data((c,)), data((c,)), data((c,)), data((c,), "f4", 0.1, 2)], outputs=3, opset=15,
                training_mode=1, momentum=0.7)


def dropout():
    return Case("Dropout", [data(shape()), pick(None, np.array(0.3, np.float32))], outputs=2, opset=13)


def attention():
    batch, heads, size, fresh, past = n(1, 2), n(1, 2), 8, n(1, 4), n(1, 3)
    q = data((batch, heads * pick(1, 2), fresh, size))
    operands = [q, data((batch, heads, fresh, size)), data((batch, heads, fresh, size)), None, data((batch, heads, past, size)),
                data((batch, heads, past, size))]
    return Case("Attention", operands, outputs=4, opset=23, is_causal=n(0, 1), qk_matmul_output_mode=n(0, 3), softcap=pick(None, 2.0))


def contrib_attention():
    batch, length, heads, size, past = n(1, 3), n(1, 5), n(1, 3), pick(2, 4), n(1, 3)
    hidden = heads * size
    return Case("Attention", [data((batch, length, 5)), data((5, 3 * hidden)), data((3 * hidden,)), None,
                              data((2, batch, heads, past, size))], outputs=2, domain="com.microsoft", num_heads=heads,
                unidirectional=n(0, 1), const=[1, 2])


def multi_head():
    batch, length, heads, size, past = n(1, 2), n(1, 4), n(1, 3), 4, n(1, 3)
    rows = lambda: data((batch, length, heads * size))
    cache = lambda: data((batch, heads, past, size))
    return Case("MultiHeadAttention", [rows(), rows(), rows(), None, None, None, cache(), cache()], outputs=3, domain="com.microsoft",
                num_heads=heads)


def skip_norm():
    batch, length, hidden = n(1, 2), n(1, 4), n(2, 8)
    x = data((batch, length, hidden))
    if R().random() < 0.5:
        return Case("SkipSimplifiedLayerNormalization", [x, data(x.shape), data((hidden,)), pick(None, data((hidden,)))], outputs=4,
                    domain="com.microsoft", epsilon=1e-5)
    return Case("SkipLayerNormalization", [x, data(x.shape), data((hidden,)), pick(None, data((hidden,))), pick(None, data((hidden,)))],
                outputs=4, domain="com.microsoft", epsilon=1e-5)


def simplified_norm():
    dims = shape(n(2, 3), 2, 6)
    return Case("SimplifiedLayerNormalization", [data(dims), data(dims[-1:])], outputs=2, axis=-1)


def embedding():
    batch, length, hidden = n(1, 2), n(1, 4), n(2, 8)
    words = [data((9, hidden)), data((6, hidden)), data((2, hidden)), data((hidden,)), data((hidden,))]
    return Case("EmbedLayerNormalization", [data((batch, length), "i4", 0, 8), data((batch, length), "i4", 0, 1)] + words +
                [data((batch, length), "i4", 0, 1)], outputs=3, domain="com.microsoft", const=[2, 3, 4, 5, 6])


def info(name, value):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)


def branches():
    dims = shape(n(1, 3))
    x, y = data(dims), data(dims)
    results = [onnx.ValueInfoProto(name=name) for name in "abc"]
    then = helper.make_graph([helper.make_node("Neg", ["x1"], ["a"]), helper.make_node("Add", ["x1", "x2"], ["b"]),
                              helper.make_node("Shape", ["x2"], ["c"])], "then", [], results)
    other = helper.make_graph([helper.make_node("Identity", ["x2"], ["a"]), helper.make_node("Mul", ["x1", "x1"], ["b"]),
                               helper.make_node("Shape", ["x1"], ["c"])], "else", [], results)
    case = Case("If", [np.array(bool(n(0, 1))), x, y], outputs=3, then_branch=then, else_branch=other)
    case.reads = 1  # the other operands are captured
    return case


def loop():
    x, y = data((n(1, 4),)), data((n(1, 3), 2))
    nodes = [helper.make_node("Identity", ["go"], ["on"]), helper.make_node("Add", ["v", "v"], ["v2"]),
             helper.make_node("Neg", ["w"], ["w2"]), helper.make_node("Identity", ["i"], ["s"]), helper.make_node("Abs", ["v2"], ["t"])]
    body = helper.make_graph(nodes, "body", [info("i", ints(1).reshape(())), info("go", np.array(True)), info("v", x), info("w", y)],
                             [info("on", np.array(True)), info("v2", x), info("w2", y), info("s", ints(1).reshape(())), info("t", x)])
    return Case("Loop", [np.array(n(1, 4), np.int64), None, x, y], outputs=4, body=body)


def scan():
    length = n(1, 4)
    state, rows = data((3,)), data((length, 3))
    nodes = [helper.make_node("Add", ["s", "r"], ["s2"]), helper.make_node("Mul", ["s2", "r"], ["o"]), helper.make_node("Neg", ["r"], ["p"])]
    body = helper.make_graph(nodes, "body", [info("s", state), info("r", rows[0])],
                             [info("s2", state), info("o", state), info("p", state)])
    return Case("Scan", [state, rows], outputs=3, body=body, num_scan_inputs=1)


def R():
    return some.R


MAKERS = [max_pool, layer_norm, batch_norm, dropout, attention, contrib_attention, multi_head, skip_norm, simplified_norm, embedding,
          branches, loop, scan, some.split, some.top_k, some.unique, some.dynamic_quantise, some.recurrent, some.group_query]


def values_of(model, feed):
    """All outputs by ONNX Runtime, else by ONNX's reference evaluator."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, feed)
    except Exception:  # what it lacks or refuses
        return ReferenceEvaluator(model).run(None, feed)


def subsets(count, without):
    usable = [i for i in range(count) if i not in without]
    if len(usable) > MOST_OUTPUTS:
        return [(i,) for i in usable] + [tuple(j for j in usable if j != i) for i in usable]
    return [chosen for size in range(1, len(usable) + 1) for chosen in itertools.combinations(usable, size)]


def with_outputs(model, at, names, chosen, named):
    """The model whose node `at` has only the chosen ones of its outputs as the graph's; the others are absent, or `named`."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    node = changed.graph.node[at]
    kept = [name if i in chosen or named else "" for i, name in enumerate(names)]
    while not kept[-1] and node.op_type not in VARIADIC:
        kept.pop()
    del node.output[:]
    node.output.extend(kept)
    infos = {value.name: value for value in model.graph.output}
    del changed.graph.output[:]
    changed.graph.output.extend([infos[names[i]] for i in chosen])
    return changed


def write_subsets(model, at, inputs, values, folder):
    """`inputs`: (name, TensorProto) each; `values`: a TensorProto per output of the node. How many were written."""
    names = list(model.graph.node[at].output)
    count = 0
    for chosen in subsets(len(names), LEFT_OUT.get(model.graph.node[at].op_type, set())):
        for named in (False, True):
            if named and len(chosen) == len(names):
                continue
            place = folder.with_name(f"{folder.name}_gives_{'_'.join(map(str, chosen))}{'_named' if named else ''}")
            sets = place / "test_data_set_0"
            sets.mkdir(parents=True)
            (place / "model.onnx").write_bytes(with_outputs(model, at, names, chosen, named).SerializeToString())
            for i, proto in enumerate(inputs):
                (sets / f"input_{i}.pb").write_bytes(proto)
            for i, index in enumerate(chosen):
                (sets / f"output_{i}.pb").write_bytes(values[index])
            count += 1
    return count


def write_random(make, folder):
    case = make()
    model = case.model()
    reads = getattr(case, "reads", len(case.operands))
    del model.graph.node[0].input[reads:]
    feed = case.feed()
    values = values_of(model, feed)
    if make is attention:  # what a mask hides is -inf in ONNX's definition, the least float in ONNX Runtime
        values[3] = np.where(values[3] == np.finfo(np.float32).min, -np.inf, values[3])
    inputs = [numpy_helper.from_array(np.asarray(value), name).SerializeToString() for name, value in feed.items()]
    results = [numpy_helper.from_array(np.asarray(value), name).SerializeToString() for name, value in zip(model.graph.node[0].output, values)]
    return write_subsets(model, 0, inputs, results, folder)


def skipped_cases():
    skips = pathlib.Path(__file__).resolve().parent.parent / "newest_skips.txt"
    names = [line.split()[0] for line in skips.read_text().splitlines() if line and not line.startswith("#")]
    return {name for name in names if not name.endswith("*")}, tuple(name[:-1] for name in names if name.endswith("*"))


def write_node_tests(source, root):
    """Subsets of the cases of one node with several outputs, all of them the graph's."""
    skips, starts = skipped_cases()
    count = 0
    for folder in sorted(source.iterdir()):
        if folder.name in skips or folder.name.startswith(starts or "\0") or not (folder / "model.onnx").exists():
            continue
        model = onnx.load(folder / "model.onnx")
        several = [i for i, node in enumerate(model.graph.node) if sum(map(bool, node.output)) > 1]
        if len(model.graph.node) != 1 or len(several) != 1:
            continue
        names = list(model.graph.node[0].output)
        graph_names = [value.name for value in model.graph.output]
        if names != graph_names:
            continue
        sets = folder / "test_data_set_0"
        inputs = [(sets / f"input_{i}.pb").read_bytes() for i in range(len(model.graph.input))]
        results = [(sets / f"output_{i}.pb").read_bytes() for i in range(len(names))]
        count += write_subsets(model, 0, inputs, results, root / folder.name)
    return count


def main():
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    root, rounds, seed = pathlib.Path(sys.argv[1]) / "node", int(sys.argv[2]), int(sys.argv[3])
    shutil.rmtree(root, ignore_errors=True)
    some.R = np.random.default_rng(seed)
    count, refused = 0, {}
    for make in MAKERS:
        for i in range(rounds):
            try:
                count += write_random(make, root / f"test_{make.__name__}_{i}")
            except Exception as error:  # what neither engine computes is nothing to compare with
                refused.setdefault(make.__name__, []).append(str(error))
    for name, errors in refused.items():
        print(f"  {name}: {len(errors)} of {rounds} refused, as: {errors[0].splitlines()[0][:160]}")
    if len(sys.argv) == 5:
        count += write_node_tests(pathlib.Path(sys.argv[4]), root)
    print(f"{count} cases in {root}")
    return 1 if any(len(errors) == rounds for errors in refused.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
