"""A new shape at every call, beside ONNX Runtime: what a size costs the first time and the second, and both engines' totals.

bench/shapes/run.py BENCH MODELS [--count N] [--threads 1,2] [--only NAME] [--seed N] [--turns N]

BENCH is shapes_bench, MODELS the folder of models, but for BERT-mini and a U-Net, which are made (bert_mini.py, unet_mini.py), and Silero's, whose batch is opened; run it with the python of scripts/python-env. Blocks of sizes take turns
between the engines, each of which meets a size for the first time. ONNX Runtime's first run of each process is left out, as
is Fettle's: they are what loading costs. Of several turns a size counts with its least times."""

import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import bert_mini
import numpy
import onnx
import onnxruntime
import unet_mini

MODELS = {
    "classifier": ("ocr/ppocr_cls_mobile_v2.onnx", ["x=1x3x48x32..320"]),
    "recognition": ("ocr/ppocr_rec_en_number_mobile_v2.onnx", ["x=1x3x32x32..640"]),
    "detection": ("ocr/ppocrv3_det_en.onnx", ["x=1x3x32..640/32x32..640/32"]),
    "bert-mini": (bert_mini, ["ids=1x1..512"]),
    "segmentation": (unet_mini, ["x=1x3x32..320/8x32..320/8"]),
    "silero": ("audio/silero_vad_openvino_16k.onnx", ["input=1..64x576", "state=2x=0x128"]),
}
BLOCK = 150


def open_batch(path):
    """The model with a batch of any size."""
    model = onnx.load(path)
    for value, axis in zip(model.graph.input, (0, 1)):
        value.type.tensor_type.shape.dim[axis].dim_param = "n"
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    del model.graph.value_info[:]
    return model


def fettle(bench, path, threads, count, seed, inputs):
    """Rows of (shapes by input, first us, second us)."""
    command = [bench, path, str(threads), str(count), str(seed), *inputs]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    rows = []
    for line in lines:
        shapes, first, second = line.split()
        named = (part.split("=") for part in shapes.split(","))
        rows.append(({name: [int(n) for n in dims.split("x")] for name, dims in named}, float(first), float(second)))
    return rows


def ort_us(path, threads, shapes):
    """Microseconds of one run of each of the shapes, one after the other in one session."""
    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    random = numpy.random.default_rng(1)
    types = {one.name: numpy.int64 if "int64" in one.type else numpy.float32 for one in session.get_inputs()}
    times = []
    for shape in shapes:
        feeds = {name: random.uniform(-1, 1, dims).astype(types[name]) for name, dims in shape.items()}
        begin = time.perf_counter_ns()
        session.run(None, feeds)
        times.append((time.perf_counter_ns() - begin) / 1e3)
    return times


def least(turns):
    """Of lists of numbers the least of each place."""
    return [min(numbers) for numbers in zip(*turns)]


def measure(bench, path, threads, count, seed, inputs, turns):
    ratios, total, others = [], 0.0, 0.0
    for block in range(0, count, BLOCK):
        firsts, seconds, other = [], [], []
        for _ in range(turns):
            rows = fettle(bench, path, threads, min(BLOCK, count - block) + 1, seed + block, inputs)
            firsts.append([row[1] for row in rows])
            seconds.append([row[2] for row in rows])
            other.append(ort_us(path, threads, [row[0] for row in rows]))
        first, second = least(firsts), least(seconds)
        ratios += [a / b for a, b in zip(first[1:], second[1:])]
        total += sum(first[1:])
        others += sum(least(other)[1:])
    return statistics.median(ratios), max(ratios), total / 1e3, others / 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench")
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--only", choices=MODELS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--turns", type=int, default=1)
    options = parser.parse_args()
    made = tempfile.NamedTemporaryFile(suffix=".onnx")
    print("| model | threads | first / second, median | worst | Fettle, ms | ONNX Runtime, ms | ratio |\n|---|---|---|---|---|---|---|")
    for threads in map(int, options.threads.split(",")):
        for name, (file, inputs) in MODELS.items():
            if options.only not in (None, name):
                continue
            path = made.name
            if name == "silero":
                onnx.save(open_batch(options.models / file), path)
            elif isinstance(file, str):
                path = str(options.models / file)
            else:
                onnx.save(file.Builder().model(), path)
            median, worst, own, other = measure(options.bench, path, threads, options.count, options.seed, inputs, options.turns)
            print(f"| {name} | {threads} | {median:.2f} | {worst:.2f} | {own:.0f} | {other:.0f} | {other / own:.2f} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
