#!/usr/bin/env python3
"""Random operators and graphs: Fettle's kernels twice, over two fillings of fresh memory, its scalar reference, and ONNX Runtime.

usage: tests/attack/graphs.py FETTLE [--seed N] [--seconds S] [--count N] [--out FOLDER] [--only N] [--device NAME] [--near-misses]
       [--makers NAMES]

The library of the program's build is attacked: the one that fills memory before each use (tests/libfettle_marked.so), else
lib/libfettle.so. A crash, a hang, "CHECK failed", an output of another type, shape or value, and bytes that differ between the
fillings are failures; a case that fails is kept below --out with the command that shows it again. Models of the newest
operators and of trainers' are compared with ONNX's evaluator (peers.py), what ONNX Runtime refuses with the reference alone; what
both refuse, what Fettle refuses, and results that a rounding of the inputs changes as much, or that the evaluator itself has
otherwise where it computes in f64, are counted as skips, with the reasons. The same seed makes the same cases.
--device runs the kernels of another device ("opencl:portable"), of which buffers and images are filled, too. --near-misses makes
what passes rewrite alone, changed a little; --makers only single operators of the makers named, or patterns ("layer,gate").
"""

import collections
import multiprocessing
import os
import re
import shlex
import sys
import time
import zlib

import numpy as np
import onnx
from onnx import numpy_helper

import attempts
import graph_cases
import peers
import quirks
from servers import Died, Server

MOST_SECONDS = 60
# How far values may be off, of the largest of a result, by the bits of its type.
LEAST = {"float64": 1e-5, "float32": 2e-4, "float16": 2e-2, "bfloat16": 8e-2, "float8_e4m3fn": 0.3, "float8_e5m2": 0.5}
HUGE = 1e36
NOISE = {"float64": 1e-6, "float32": 1e-6, "float16": 1e-3, "bfloat16": 8e-3}


def far(got, wanted, loose):
    """Which values are others, of results of one type and shape."""
    if str(got.dtype) not in LEAST:
        return got != wanted
    a, b = got.astype(np.float64), wanted.astype(np.float64)
    finite = np.abs(b[np.isfinite(b)])
    most = max(LEAST[str(got.dtype)], loose) * max(0.5, finite.max(initial=0))
    with np.errstate(invalid="ignore"):
        return ~((np.abs(a - b) <= most) | (a == b) | (np.isnan(a) & np.isnan(b)))


def difference(got, wanted, loose):
    """What is wrong with a result; "" where nothing is. `loose`: the type that the network computes in, where that is narrower."""
    wanted = np.asarray(wanted)
    if got.dtype != wanted.dtype:
        return f"type {got.dtype}, not {wanted.dtype}"
    if got.shape != wanted.shape:
        return f"shape {got.shape}, not {wanted.shape}"
    wrong = far(got, wanted, loose)
    if not wrong.any():
        return ""
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"{int(wrong.sum())} of {got.size} values, first at {at}: {got[at]}, not {wanted[at]}"


class Lane:
    """One process's servers, and the cases that it makes."""

    def __init__(self, library, device, near_misses):
        self.near_misses = near_misses
        self.device = {"device": device} if device else {}
        self.peer, self.evaluator = Server("onnxruntime", library), Server("evaluator", library)
        self.first, self.second = (Server("fettle", library, fill) for fill in (1, 2))

    def stop(self):
        for server in (self.peer, self.evaluator, self.first, self.second):
            server.stop()

    def expected(self, request):
        """(results, why there are none): of ONNX's evaluator where peers.py says so, of ONNX Runtime, or None where both refuse."""
        refusal, servers = "", [self.evaluator, self.peer] if peers.knows(onnx.load_from_string(request["model"])) else [self.peer]
        for server in servers:
            try:
                return server.ask(request, MOST_SECONDS), ""
            except (Died, RuntimeError) as error:
                refusal = refusal or str(error)
        return None, refusal

    def attempt(self, seed):
        """(verdict, what): "passed", "failed" or "skipped", and why."""
        told, model, feed = graph_cases.make(zlib.crc32(seed.encode()), self.near_misses)
        request = {"model": model, "feed": feed, "outputs": [value.name for value in onnx.load_from_string(model).graph.output]}
        ours = {**request, "threads": 1 + zlib.crc32(seed.encode()) % 3, "runs": 1 + zlib.crc32(seed.encode()) % 2}
        results, refusals = {}, {}
        for who, server, more in (("kernels", self.first, self.device), ("kernels again", self.second, self.device), ("reference", self.first, {"reference": True})):
            try:
                results[who] = server.ask({**ours, **more}, MOST_SECONDS)
            except Died as died:
                return "failed", f"{told}\n  {who}: {died}", model, feed
            except RuntimeError as refusal:
                refusals[who] = str(refusal)
                if not str(refusal).startswith("Refused: ") or re.search(r"Refused: internal", str(refusal)):
                    return "failed", f"{told}\n  {who}: {refusal}", model, feed
        wanted, peer_says = self.expected(request)
        if self.device and set(refusals) == {"reference"} and "index" in refusals["reference"]:
            return "skipped", "a device looks at no index before it runs", model, feed
        if refusals:
            if len(refusals) < 3 and not all("out of memory" in text for text in refusals.values()):
                return "failed", f"{told}\n  refused by some alone: {refusals}", model, feed
            both = "both refuse" if wanted is None else "Fettle refuses"
            return "skipped", f"{both}: {refusals['kernels']}", model, feed
        problem = self.judge(results, wanted, request)
        if problem.startswith("skip "):
            return "skipped", problem[5:], model, feed
        if problem:
            return "failed", f"{told}\n  {problem}", model, feed
        return ("passed", "", model, feed) if wanted is not None else ("passed", f"reference alone: {peer_says}", model, feed)

    def judge(self, results, wanted, request):
        names = request["outputs"]
        for name, a, b in zip(names, results["kernels"], results["kernels again"]):
            if a.tobytes() != b.tobytes():
                return f"output '{name}': other bytes over another filling of memory: {difference(a, b, 0)}"
        loose, known = self.looseness(request), ""
        pairs = [("kernels", "reference", results["reference"])]
        if wanted is not None:
            pairs = [("kernels", "ONNX Runtime", wanted), ("reference", "ONNX Runtime", wanted), *pairs]
        for who, whom, against in pairs:
            for at, name in enumerate(names):
                problem = difference(results[who][at], against[at], loose)
                if not problem or (known and whom != "reference"):
                    continue
                model = onnx.load_from_string(request["model"])
                inside = self.inside(request, model)
                if any(v.dtype.kind == "f" and np.isnan(v).any() for v in inside.values()):
                    return "skip NaN inside"
                if any(v.dtype.kind == "f" and v.dtype.itemsize > 2 and (np.abs(v) > HUGE).any() for v in inside.values()):
                    return "skip values inside that another order of terms takes beyond all floats"
                if self.is_unstable(request, at, against[at], loose, wanted is None):
                    return "skip a rounding of the inputs changes the results as much"
                if self.is_rounding(request, at, results[who][at], against[at], loose):
                    return "skip roundings of steps decide: the evaluator has either value, in f32 or in f64"
                # NaN, the mean of nothing, has no byte.
                makes_bytes = any(node.op_type.startswith("Q") for node in model.graph.node)
                if whom != "reference" or makes_bytes:
                    known = quirks.quirk(model, inside)
                if not known or (whom == "reference" and not makes_bytes):
                    return f"output '{name}', {who} against {whom}: {problem}"
        return f"skip {known}" if known else ""

    def inside(self, request, model):
        """All values of a model by name, as far as they can be had: of ONNX Runtime, or else of the reference."""
        shown = {value.name for value in model.graph.output}
        made = [name for node in model.graph.node for name in node.output if name]
        model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in made if name not in shown)
        asked, results = {**request, "model": model.SerializeToString(), "outputs": made}, []
        for server, more in ((self.peer, {}), (self.first, {"reference": True})):
            try:
                results = server.ask({**asked, **more}, MOST_SECONDS)
                break
            except (Died, RuntimeError):
                continue
        constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
        return {**constants, **request["feed"], **{name: np.asarray(value) for name, value in zip(made, results)}}

    @staticmethod
    def looseness(request):
        """The coarsest float type that the model computes in, as a share of results."""
        model = onnx.load_from_string(request["model"])
        kinds = [str(value.dtype) for value in request["feed"].values()]
        kinds += [str(numpy_helper.to_array(tensor).dtype) for tensor in model.graph.initializer]
        for node in model.graph.node:
            kinds += ["float16" for a in node.attribute if a.name in ("to", "dtype") and a.i == 10]
            kinds += ["bfloat16" for a in node.attribute if a.name in ("to", "dtype") and a.i == 16]
        return max([LEAST[kind] for kind in kinds if kind in LEAST and LEAST[kind] < 0.1], default=0)

    def is_rounding(self, request, at, got, wanted, loose):
        """Whether ONNX's evaluator has each value, the one or the other, where it computes in f64 and in f32."""
        try:
            floats, doubles = (self.evaluator.ask({**request, **more}, MOST_SECONDS)[at] for more in ({}, {"doubles": True}))
        except (Died, RuntimeError):
            return False
        floats, doubles, wanted = (np.asarray(values).astype(got.dtype) for values in (floats, doubles, wanted))
        if {values.shape for values in (floats, doubles, wanted)} != {got.shape}:
            return False
        return not any((far(mine, floats, loose) & far(mine, doubles, loose)).any() for mine in (got, wanted))

    def is_unstable(self, request, at, wanted, loose, by_reference):
        """Whether inputs and weights that are off by a rounding give results that are off as much."""
        for attempt in range(4):
            chance = np.random.default_rng(attempt)

            def shaken(value):
                noise = NOISE.get(str(value.dtype))
                if noise is None or not value.size:
                    return value
                factor = 1 + noise * 4 ** attempt * chance.standard_normal(value.shape)
                return np.asarray((value.astype(np.float64) * factor).astype(value.dtype))

            model = onnx.load_from_string(request["model"])
            shapes = {name for node in model.graph.node if node.op_type in ("Resize", "Upsample") for name in node.input[1:]}
            for tensor in model.graph.initializer:
                if tensor.name in shapes:  # extents by factors
                    continue
                tensor.CopyFrom(numpy_helper.from_array(shaken(numpy_helper.to_array(tensor)), tensor.name))
            changed = {**request, "model": model.SerializeToString(), "feed": {name: shaken(v) for name, v in request["feed"].items()}}
            try:
                again = self.first.ask({**changed, "reference": True}, MOST_SECONDS) if by_reference else self.expected(changed)[0]
            except (Died, RuntimeError):
                continue
            if again is None:
                continue
            if difference(np.asarray(again[at]), wanted, loose):
                return True
        return False


def lane(library, device, near_misses, seed, first, step, most, ends, verdicts):
    """Every `step`-th case from `first` on."""
    made, number = Lane(library, device, near_misses), first
    try:
        while number < most and time.monotonic() < ends:
            try:
                verdicts.put((number, *made.attempt(f"{seed}-{number}")))
            except Exception as error:  # a fault of the attack itself
                verdicts.put((number, "failed", f"the attack itself: {type(error).__name__}: {error}", b"", {}))
            number += step
    finally:
        made.stop()
        verdicts.put(None)


def keep(folder, number, what, model, feed, command):
    folder = folder / f"graph{number}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(model)
    np.savez(folder / "feed.npz", **{name: v if v.dtype.kind != "V" else v.astype(np.float32) for name, v in feed.items()})
    (folder / "what.txt").write_text(f"{what}\nagain: {command}\n")


def arguments():
    parser = attempts.parser(__doc__)
    parser.add_argument("--only", type=int)
    parser.add_argument("--device")
    parser.add_argument("--near-misses", action="store_true")
    parser.add_argument("--makers", default="")
    parser.add_argument("--lanes", type=int, default=os.cpu_count())
    return parser.parse_args()


def main():
    options = arguments()
    build = options.fettle.resolve().parent.parent
    marked = build / "tests/libfettle_marked.so"
    library = marked if marked.exists() else build / "lib/libfettle.so"
    if options.makers:
        graph_cases.choose(options.makers.split(","))
    ends, most = time.monotonic() + options.seconds, options.count or 1 << 30
    lanes = options.lanes
    if options.only is not None:
        lanes, most, options.count = 1, options.only + 1, None
    verdicts, counts, reasons = multiprocessing.Queue(), collections.Counter(), collections.Counter()
    processes = [multiprocessing.Process(target=lane, args=(library, options.device, options.near_misses, options.seed, options.only or i, lanes, most, ends, verdicts))
                 for i in range(lanes)]
    for process in processes:
        process.start()
    open_lanes = lanes
    while open_lanes:
        verdict = verdicts.get()
        if verdict is None:
            open_lanes -= 1
            continue
        number, judged, what, model, feed = verdict
        counts[judged] += 1
        if judged == "failed":
            command = f"{shlex.join([sys.executable, *sys.argv[:2]])} --seed {options.seed} --only {number}" + (f" --device {options.device}" if options.device else "") + " --near-misses" * options.near_misses + (f" --makers {options.makers}" if options.makers else "")
            print(f"{number}: {what}\n  again: {command}", flush=True)
            if options.out:
                keep(options.out, number, what, model, feed, command)
        elif what:
            reasons[re.sub(r"'[^']*'|#?\d+", "*", what.splitlines()[0])[:110]] += 1
    for process in processes:
        process.join()
    for reason, count in reasons.most_common(25 if options.only is None else None):
        print(f"  {count:6d} {reason}")
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
