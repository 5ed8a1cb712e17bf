#!/usr/bin/env python3
"""Random products and convolutions of bytes at their limits, bit for bit beside whole numbers.

usage: tests/attack/bytes.py FETTLE [--seed N] [--seconds S] [--count N] [--out FOLDER] [--only N]

MatMulInteger, ConvInteger, QLinearMatMul and QLinearConv with zero points at both ends, weights of -128, activations that are all
as large as can be, 0 and 1 channels, depths of 1 and odd ones. The library beside the program is attacked (lib/libfettle.so), with
the instruction sets of FETTLE_CPU_ISA. What is right is reckoned here in 64 bits; scales are powers of two and sums of requantised
products below 2^24, so that floats are exact. A case that fails is kept below --out. The same seed makes the same cases.
"""

import argparse
import pathlib
import sys
import time

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from onnx import TensorProto, helper, numpy_helper

from library import Library, Refused

TYPES = {np.dtype(np.int8): TensorProto.INT8, np.dtype(np.uint8): TensorProto.UINT8, np.dtype(np.int32): TensorProto.INT32}
MOST_EXACT = 1 << 24


def filled(random, shape, kind):
    """Bytes: all least, all greatest, of both ends, or any."""
    limits = np.iinfo(kind)
    how = random.integers(5)
    if how == 0:
        return np.full(shape, limits.min, kind)
    if how == 1:
        return np.full(shape, limits.max, kind)
    if how == 2:
        return random.choice(np.array([limits.min, limits.max], kind), shape)
    return random.integers(limits.min, limits.max + 1, shape, kind)


def zero_points(random, shape, kind):
    limits = np.iinfo(kind)
    pool = np.array([limits.min, limits.max, 0, (limits.min + limits.max + 1) // 2, random.integers(limits.min, limits.max + 1)], kind)
    return random.choice(pool, shape)


def size(random, most):
    """1, odd sizes and those around vectors; rarely 0."""
    if random.integers(60) == 0:
        return 0
    return int(random.choice([1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 32, 33, random.integers(1, most + 1)]))


class Case:
    """A network of one node, what is fed to it and what must come out."""

    def __init__(self, random):
        self.random, self.constants, self.feed, self.names = random, [], {}, []
        self.a_kind, self.w_kind = random.choice([np.uint8, np.int8]), random.choice([np.uint8, np.int8])
        self.weights_given = random.integers(4) > 0
        (self.product if random.integers(2) else self.convolution)()

    def operand(self, name, value, constant=True):
        self.names.append(name)
        if constant:
            self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        else:
            self.feed[name] = np.asarray(value)

    def finish(self, op, sums, channel_axis, **attributes):
        """`sums` as they are, or requantised: scales that make the whole of them reach a byte's range and beyond."""
        if not op.startswith("QLinear"):
            self.wanted = sums.astype(np.int32)
        else:
            self.wanted = self.requantised(sums, channel_axis)
        values = [helper.make_tensor_value_info(n, TYPES[v.dtype], v.shape) for n, v in self.feed.items()]
        out = helper.make_tensor_value_info("y", TYPES[self.wanted.dtype], self.wanted.shape)
        graph = helper.make_graph([helper.make_node(op, self.names, ["y"], **attributes)], "bytes", values, [out], self.constants)
        self.text = f"{op} {attributes} {[v.shape for v in self.feed.values()]} {[list(c.dims) for c in self.constants]}"
        self.model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8).SerializeToString()

    def requantised(self, sums, channel_axis):
        kind = self.random.choice([np.uint8, np.int8])
        zero = zero_points(self.random, (), kind)
        self.operand("y_scale", np.float32(1))
        self.operand("y_zero", zero)
        scales = self.w_scale.reshape([-1 if i == channel_axis else 1 for i in range(sums.ndim)]) if self.w_scale.ndim else self.w_scale
        real = sums * (float(self.a_scale) * scales.astype(np.float64))
        limits = np.iinfo(kind)
        return np.clip(np.rint(real) + int(zero), limits.min, limits.max).astype(kind)

    def scales(self, channels):
        self.a_scale = np.float32(2.0 ** self.random.integers(-12, 1))
        per_channel = channels if self.random.integers(2) and channels > 0 else ()
        self.w_scale = np.exp2(self.random.integers(-8, 1, per_channel)).astype(np.float32)

    def product(self):
        random = self.random
        m, n, k = size(random, 70), size(random, 70), size(random, 300)
        linear = random.integers(2)
        a, w = filled(random, (m, k), self.a_kind), filled(random, (k, n), self.w_kind)
        a_zero = zero_points(random, (), self.a_kind)
        w_zero = zero_points(random, (), self.w_kind)
        sums = (a.astype(np.int64) - int(a_zero)) @ (w.astype(np.int64) - int(w_zero))
        linear = linear and k * 255 * 255 < MOST_EXACT
        self.operand("a", a, constant=False)
        if linear:
            self.scales(0)
            self.operand("a_scale", self.a_scale)
        self.operand("b" if not linear else "a_zero", w if not linear else a_zero, constant=bool(linear or self.weights_given))
        if not linear:
            self.operand("a_zero", a_zero)
        else:
            self.operand("b", w, constant=bool(self.weights_given))
            self.operand("b_scale", self.w_scale)
        self.operand("b_zero", w_zero)
        self.finish("QLinearMatMul" if linear else "MatMulInteger", sums, 1)

    def convolution(self):
        random = self.random
        kernel = int(random.choice([1, 1, 3, 3, 2, 5]))
        stride, pad = int(random.integers(1, 3)), int(random.integers(0, kernel))
        extent = kernel + int(random.integers(0, 9))
        groups = int(random.choice([1, 1, 2, 8, 16, 33]))
        per_in = 1 if groups > 2 and random.integers(2) else int(random.choice([1, 2, 3, 4, 8, 16, 17, 24]))
        per_out = 1 if groups > 2 and random.integers(2) else int(random.choice([1, 2, 3, 8, 16, 17, 33]))
        depth = per_in * kernel * kernel
        linear = random.integers(3) > 0 and depth * 255 * 255 < MOST_EXACT
        x = filled(random, (int(random.integers(1, 3)), groups * per_in, extent, extent + int(random.integers(3))), self.a_kind)
        w = filled(random, (groups * per_out, per_in, kernel, kernel), self.w_kind)
        x_zero, w_zero = zero_points(random, (), self.a_kind), zero_points(random, (), self.w_kind)
        padded = np.pad(x.astype(np.int64) - int(x_zero), ((0, 0), (0, 0), (pad, pad), (pad, pad)))
        windows = sliding_window_view(padded, (kernel, kernel), (2, 3))[:, :, ::stride, ::stride]
        parts = [np.einsum("nchwij,ocij->nohw", windows[:, g * per_in:(g + 1) * per_in],
                           w[g * per_out:(g + 1) * per_out].astype(np.int64) - int(w_zero)) for g in range(groups)]
        self.operand("x", x, constant=False)
        if linear:
            self.scales(groups * per_out)
            self.operand("x_scale", self.a_scale)
            self.operand("x_zero", x_zero)
        self.operand("w", w)
        if linear:
            self.operand("w_scale", self.w_scale)
            per_channel = self.w_scale.ndim > 0
            self.operand("w_zero", np.full(self.w_scale.shape, w_zero, self.w_kind) if per_channel else w_zero)
        else:
            self.operand("x_zero", x_zero)
            self.operand("w_zero", w_zero)
        self.finish("QLinearConv" if linear else "ConvInteger", np.concatenate(parts, 1), 1, strides=[stride] * 2, pads=[pad] * 4,
                    group=groups)


def failure(library, case):
    """What is wrong; "" where nothing is."""
    got = library.run(case.model, case.feed, ["y"])[0]
    if got.dtype != case.wanted.dtype or got.shape != case.wanted.shape:
        return f"{got.dtype} {got.shape}, not {case.wanted.dtype} {case.wanted.shape}"
    wrong = np.argwhere(got != case.wanted)
    return f"{len(wrong)} of {got.size}, first at {wrong[0]}: {got[tuple(wrong[0])]}, not {case.wanted[tuple(wrong[0])]}" if len(wrong) else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fettle", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--count", type=int, default=sys.maxsize)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("build/attack/bytes"))
    parser.add_argument("--only", type=int)
    options = parser.parse_args()
    library = Library(options.fettle.resolve().parent.parent / "lib" / "libfettle.so")
    end, passed, failed, skipped = time.monotonic() + options.seconds, 0, 0, 0
    for number in [options.only] if options.only is not None else range(options.count):
        if time.monotonic() > end:
            break
        case = Case(np.random.default_rng([options.seed, number]))
        try:
            wrong = failure(library, case)
        except Refused as refusal:
            print(f"case {number} refused: {case.text}: {refusal}")
            skipped += 1
            continue
        passed += not wrong
        if wrong:
            failed += 1
            options.out.mkdir(parents=True, exist_ok=True)
            (options.out / f"{options.seed}_{number}.onnx").write_bytes(case.model)
            print(f"case {number} (--seed {options.seed} --only {number}): {case.text}: {wrong}")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
