"""What users make of an exported model before they ship it: variants.py KIND SOURCE FOLDER... SOURCE and FOLDER are folders as
export.py writes them, and further pairs may follow. KINDS names them:

static, signed, tensor: ONNX Runtime's quantiser, DequantizeLinear before and QuantizeLinear behind operators: weights int8 by
channel with activations uint8, with activations int8, and both uint8 with one scale a tensor; words: the first with activations
uint16; operators: QLinearConv and its like in their place; dynamic: scales of activations found as the model runs (MatMulInteger, ConvInteger, DynamicQuantizeLSTM);
blocks, pairs: products of 4-bit weights in blocks of 32, as MatMulNBits and as DequantizeLinear of int4 with zero points; half: all
in fp16, but for inputs and outputs."""

import logging
import os
import pathlib
import shutil
import sys
import warnings

import numpy
import onnx
from bounded import bounded
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process


class Given(CalibrationDataReader):
    """The inputs of a folder, and three noisy copies of them."""

    def __init__(self, folder):
        feeds = {path.stem: numpy.load(path) for path in sorted(folder.glob("*.npy"))}
        random = numpy.random.default_rng(1)
        self.left = [feeds] + [{name: self.noisy(value, random) for name, value in feeds.items()} for _ in range(3)]

    @staticmethod
    def noisy(value, random):
        if value.dtype.kind != "f":
            return value
        return value + (random.standard_normal(value.shape) * 0.1 * value.std()).astype(value.dtype)

    def get_next(self):
        return self.left.pop() if self.left else None


def statically(prepared, source, path, **options):
    quantize_static(str(prepared), str(path), Given(source), **{"quant_format": QuantFormat.QDQ, "per_channel": True,
                    "activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8} | options)


def static(prepared, source, path):
    statically(prepared, source, path)


def signed(prepared, source, path):
    statically(prepared, source, path, activation_type=QuantType.QInt8)


def tensor(prepared, source, path):
    statically(prepared, source, path, per_channel=False, weight_type=QuantType.QUInt8)


def words(prepared, source, path):
    statically(prepared, source, path, activation_type=QuantType.QUInt16, extra_options={"UseQDQContribOps": False})


def operators(prepared, source, path):
    statically(prepared, source, path, quant_format=QuantFormat.QOperator)


def dynamic(prepared, source, path):
    model = onnx.load(str(prepared))
    del model.graph.value_info[:]  # the quantiser turns weights round and then finds shapes of before
    quantize_dynamic(model, str(path), weight_type=QuantType.QInt8)


def in_blocks(prepared, path, **options):
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    quantiser = MatMulNBitsQuantizer(onnx.load(str(prepared)), bits=4, block_size=32, **options)
    quantiser.process()
    onnx.save(quantiser.model.model, str(path))


def blocks(prepared, source, path):
    in_blocks(prepared, path, is_symmetric=True, accuracy_level=4)


def pairs(prepared, source, path):
    in_blocks(prepared, path, is_symmetric=False, quant_format=QuantFormat.QDQ)


def half(prepared, source, path):
    from onnxruntime.transformers.float16 import convert_float_to_float16

    onnx.save(convert_float_to_float16(onnx.load(str(prepared)), keep_io_types=True), str(path))


KINDS = {kind.__name__: kind for kind in (static, signed, tensor, words, operators, dynamic, blocks, pairs, half)}


def make(kind, source, folder):
    for given in source.glob("*.npy"):
        shutil.copy(given, folder)
    prepared = folder / "prepared.onnx"
    if kind == "half":
        shutil.copy(source / "model.onnx", prepared)
    else:
        quant_pre_process(str(source / "model.onnx"), str(prepared), skip_symbolic_shape=True)
    KINDS[kind](prepared, source, folder / "model.onnx")
    prepared.unlink()
    (folder / "augmented_model.onnx").unlink(missing_ok=True)


def main(kind, *folders):
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    for source, folder in zip(map(pathlib.Path, folders[::2]), map(pathlib.Path, folders[1::2])):
        if (folder / "model.onnx").exists():
            continue
        bounded(folder, lambda part: make(kind, source, part))
        failed = folder / "failed"
        print(folder, "made" if not failed.exists() else failed.read_text().strip()[:200], flush=True)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main(*sys.argv[1:])
