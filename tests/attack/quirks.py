"""Where results of the other engines are their own, or no text says what is right."""

import itertools
import re

import numpy as np
import onnx

REDUCTIONS = re.compile("Reduce|Arg(Max|Min)$|.*Pool$|Mean$|TopK|Softmax|LogSoftmax|.*Normalization$")


def passes_its_type(node, x, inside):
    """Whether a node that computes integers in doubles ends beyond what their type holds."""
    with np.errstate(all="ignore"):
        if node.op_type == "Shrink":
            results = x.astype(np.float64)
        elif node.op_type == "Pow" and inside.get(node.input[1]) is not None:
            results = np.power(x.astype(np.float64), inside[node.input[1]].astype(np.float64))
        elif node.op_type == "ReduceLogSum":
            results = np.log(x.astype(np.float64))
        else:
            return False
    return bool((~(np.abs(results) < np.iinfo(x.dtype).max)).any())


def is_below_strides(node, weights):
    """Whether windows that do not touch one another leave room between them."""
    given = {a.name: list(a.ints) for a in node.attribute}
    if weights is None:
        return False
    spans = [(extent - 1) * step + 1 for extent, step in zip(weights.shape[2:], given.get("dilations", [1] * weights.ndim))]
    return any(span < stride for span, stride in zip(spans, given.get("strides", [1] * weights.ndim)))


def pads_below_zero(node, shape):
    """Whether SAME asks for less than no padding: strides pass windows that end at the last element."""
    given = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    window = given.get("kernel_shape", [])
    if not given.get("auto_pad", b"").startswith(b"SAME") or len(shape) != len(window) + 2:
        return False
    ones = [1] * len(window)
    axes = zip(shape[2:], window, given.get("strides", ones), given.get("dilations", ones))
    return any(((size - 1) // stride) * stride + (extent - 1) * step + 1 < size for size, extent, stride, step in axes)


def leaves_the_integers(first, made):
    """Whether floats become integers of a type that does not hold them."""
    if first is None or made is None or first.dtype.kind != "f" or made.dtype.kind not in "iu":
        return False
    with np.errstate(all="ignore"):
        whole, limits = np.trunc(first.astype(np.float64)), np.iinfo(made.dtype)
    return bool((~((whole >= limits.min) & (whole <= limits.max))).any())


def takes_no_products_for_one(a, b):
    """Whether one operand of a product holds no matrices where the other holds one."""
    batches = [value.shape[:-2][::-1] for value in (a, b)]
    return any({x, y} == {0, 1} for x, y in itertools.zip_longest(*batches, fillvalue=1))


def quirk(model, inside):
    """Where ONNX Runtime's results are its own: the reason, or "". `inside`: its values by name."""
    for node in model.graph.node:
        first = inside.get(node.input[0]) if node.input else None
        if first is not None and first.size == 0 and REDUCTIONS.match(node.op_type):
            return "no text says what is made of no elements"
        if first is not None and first.dtype.kind in "iu" and passes_its_type(node, first, inside):
            return "integers beyond their type are undefined in ONNX Runtime"
        second = inside.get(node.input[1]) if len(node.input) > 1 and node.input[1] else None
        if node.op_type == "Squeeze" and second is not None and second.size == 0:
            return "ONNX Runtime takes an empty list of axes for none"
        if node.op_type == "ConvTranspose" and any(a.s.startswith(b"SAME") for a in node.attribute) and is_below_strides(node, second):
            return "ONNX Runtime leaves out what SAME adds behind the last window"
        if node.op_type in ("Cast", "CastLike") and leaves_the_integers(first, inside.get(node.output[0])):
            return "no text says what integer a float beyond its type is"
        if node.op_type in ("AveragePool", "LpPool") and first is not None and pads_below_zero(node, first.shape):
            return "ONNX Runtime moves windows by a padding below 0"
        if node.op_type == "SkipLayerNormalization" and first is not None and second is not None and second.ndim == first.ndim and \
                second.size > first.size:
            return "ONNX Runtime gives a larger skip the input's shape"
        if node.op_type == "MatMul" and first is not None and second is not None and takes_no_products_for_one(first, second):
            return "ONNX Runtime takes the larger of 0 and 1 products of matrices"
        if node.op_type == "Upsample" and first is not None and second is not None and \
                (np.floor(first.shape * second.astype(np.float32)) == first.shape).all():
            return "ONNX Runtime copies what scales by so little that no extent changes"
        if node.op_type == "Attention" and any(a.name == "scale" and a.f < 0 for a in node.attribute):
            return "ONNX Runtime takes the root of a negative scale"
        if node.op_type == "DynamicQuantizeMatMul" and first is not None and first.size == 0:
            return "ONNX Runtime leaves the bias out where products have no terms"
        if node.op_type in ("MatMulIntegerToFloat", "QGemm") and first is not None and first.size == 0:
            return "ONNX Runtime writes nothing where products have no terms"
        if node.op_type == "BatchNormalization" and any(a.name == "training_mode" and a.i for a in node.attribute) and \
                len(set(node.input[1:5])) < 4:
            return "ONNX Runtime writes the running mean over what else has its name"
        if node.op_type == "QGemm" and len(node.input) > 8 and node.input[8] and not node.input[7]:
            return "ONNX Runtime makes bytes where a zero point has no scale"
        third = inside.get(node.input[2]) if len(node.input) > 2 and node.input[2] else None
        if node.op_type == "DynamicQuantizeMatMul" and third is not None and second is not None and third.ndim > second.ndim - 1:
            return "ONNX Runtime does not look at the shape of scales"
        if node.op_type == "Loop" and any(np.asarray(inside.get(name, 1)).shape == (0,) for name in node.output):
            return "ONNX Runtime knows no rank of what no iteration made"
        if node.op_type == "AffineGrid" and second is not None and 1 in second[2:] and any(a.name == "align_corners" and a.i for a in node.attribute):
            return "no text says where the corners of one element lie"
        if node.op_type == "MaxUnpool" and third is not None:
            return "ONNX Runtime counts indices in the shape that is asked for"
        if node.op_type.endswith("Window") and np.asarray(inside.get(node.output[0], 0.0)).dtype.kind in "iu":
            return "a rounding of a window's largest value is another integer"
        given = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        lengths = inside.get(node.input[6]) if node.op_type == "Attention" and len(node.input) > 6 and node.input[6] else None
        if lengths is not None and lengths.dtype != np.int64:
            return "ONNX's evaluator counts in the type that lengths have, which no text allows"
        if node.op_type == "Attention" and not node.domain and len(node.output) > 3 and given.get("softcap") and not given.get("qk_matmul_output_mode"):
            return "ONNX's evaluator shows scores behind the soft cap for those before it"
        if node.op_type == "Attention" and not node.domain and len(node.input) > 3 and inside.get(node.input[3]) is not None and \
                inside[node.input[3]].shape[-1:] == (1,):
            return "no text says whether a mask of one column is repeated or continued"
        if node.op_type == "Attention" and not node.domain and given.get("is_causal") and len(node.input) > 3 and \
                inside.get(node.input[3]) is not None and inside[node.input[3]].shape[-2:-1] == (1,):
            return "ONNX's evaluator takes a causal mask of one row for that of one query"
        if node.op_type == "MoE" and first is not None and first.dtype == np.float16:
            return "ONNX Runtime makes zeros of experts of halves"
        beta = [a.f for a in node.attribute if a.name == "beta"]
        if node.op_type == "Gemm" and beta and beta[0] != 1 and first is not None and first.size == 0:
            return "ONNX Runtime leaves beta out where products have no terms"
    return ""
