#!/usr/bin/env python3
"""Residual layers of bits in Fettle and in OpenVINO, whose BinaryConvolution no ONNX file reaches, on one thread of the CPU.

    beside_openvino.py FETTLE FOLDER [--layers 8]

Sign, 3x3 convolution padded with zeros, scale and offset of each channel, sum with the layer's input. Latency depends on the
shapes alone: weights are other bits in each, and outputs are not compared. Prints least and median ms of both.
"""

import argparse
import json
import pathlib
import subprocess
import time

import numpy as np
import onnx
import openvino as ov
import openvino.opset8 as op

import networks

SHAPES = ((64, 56), (128, 28), (256, 14), (512, 7))
RUNS = 150


def openvino_times(channels, side, layers):
    rng = np.random.default_rng(0)
    each = lambda low, high: op.constant(rng.uniform(low, high, (1, channels, 1, 1)).astype(np.float32))
    x = value = op.parameter([1, channels, side, side], np.float32)
    zero, minus, one = (op.constant(np.full((1, 1, 1, 1), v, np.float32)) for v in (0, -1, 1))
    for _ in range(layers):
        signs = op.fake_quantize(value, zero, zero, minus, one, 2)
        bits = rng.integers(0, 256, channels * channels * 9 // 8).astype(np.uint8)
        weights = ov.op.Constant(ov.Tensor(bits, ov.Shape([channels, channels, 3, 3]), ov.Type.u1))
        sums = op.binary_convolution(signs, weights, [1, 1], [1, 1], [1, 1], [1, 1], "xnor-popcount", 0.0)
        value = op.add(op.add(op.multiply(sums, each(0.5, 1.5)), each(-0.3, 0.3)), value)
    settings = {"INFERENCE_NUM_THREADS": 1, "INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": 1}
    request = ov.Core().compile_model(ov.Model([value], [x], "layers"), "CPU", settings).create_infer_request()
    request.infer([rng.standard_normal((1, channels, side, side)).astype(np.float32)])
    times = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        request.infer()
        times.append(1e3 * (time.perf_counter() - begin))
    return min(times), float(np.median(times))


def fettle_times(fettle, folder, channels, side, layers):
    def network(writer, x):
        for _ in range(layers):
            x = writer.add(writer.binary(writer.sign(x), channels), x)
        return x

    path = folder / f"layers_{channels}.onnx"
    shape = [1, channels, side, side]
    onnx.save(networks.model_of(network, "layers", True, shape, shape), path)
    command = [fettle, "bench", path, "--threads", "1", "--no-cache", "--seconds", "0.3", "--json"]
    latency = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["latency_ms"]
    return latency["min"], latency["median"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fettle")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--layers", type=int, default=8)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for channels, side in SHAPES:
        theirs = openvino_times(channels, side, arguments.layers)
        ours = fettle_times(arguments.fettle, arguments.folder, channels, side, arguments.layers)
        print(f"{channels} channels, {side}x{side}: fettle {ours[0]:.3f} ({ours[1]:.3f}), openvino {theirs[0]:.3f} ({theirs[1]:.3f}), "
              f"{theirs[0] / ours[0]:.2f}x", flush=True)


if __name__ == "__main__":
    main()
