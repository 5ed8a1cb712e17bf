"""Fettle on an OpenCL GPU beside PyTorch on the same GPU: eager, and as a CUDA graph; batch 1, fp32 and its f16 storage.

Exports torchvision's MobileNetV2 and ResNet-50 and a x2 super-resolution chain on a 640x480 luma picture, then times all
in turn: bench/peers/pytorch_gpu.py --fettle build/release/bin/fettle [--device opencl:NVIDIA] [--rounds 3]
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

import torch
import torchvision


class SuperResolution(torch.nn.Module):
    """Luma x2: a chain of 3x3 convolutions, about 20 K multiply-adds per input pixel."""

    def __init__(self, width=20, depth=5):
        super().__init__()
        layers = [torch.nn.Conv2d(1, width, 3, padding=1), torch.nn.ReLU()]
        for _ in range(depth):
            layers += [torch.nn.Conv2d(width, width, 3, padding=1), torch.nn.ReLU()]
        self.body = torch.nn.Sequential(*layers, torch.nn.Conv2d(width, 4, 3, padding=1))
        self.shuffle = torch.nn.PixelShuffle(2)

    def forward(self, x):
        return self.shuffle(self.body(x))


def networks():
    picture = torch.rand(1, 3, 224, 224)
    return {
        "mobilenet_v2 224": (torchvision.models.mobilenet_v2(weights=None).eval(), picture),
        "resnet50 224": (torchvision.models.resnet50(weights=None).eval(), picture),
        "luma x2 640x480": (SuperResolution().eval(), torch.rand(1, 1, 480, 640)),
    }


def median_ms(run, seconds):
    for _ in range(10):
        run()
    torch.cuda.synchronize()
    times, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        start = time.perf_counter()
        run()
        torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times)


def graph_of(model, x):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            model(x)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model(x)
    return graph


def fettle(arguments, command, path, *options):
    result = subprocess.run([arguments.fettle, command, path, "--device", arguments.device, "--json", *options],
                            capture_output=True, text=True, timeout=120)
    if result.returncode != 0:
        return {"error": (result.stderr.strip().splitlines() or ["?"])[-1]}
    return json.loads(result.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fettle", required=True)
    parser.add_argument("--device", default="opencl:NVIDIA")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--tune", type=float, default=0, help="seconds of tuning before the second half")
    arguments = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    with torch.inference_mode(), tempfile.TemporaryDirectory() as folder:
        for name, (model, x) in networks().items():
            path = str(pathlib.Path(folder) / (name.split()[0] + ".onnx"))
            torch.onnx.export(model, (x,), path, opset_version=13, dynamo=False)
            gpu, on_gpu = model.cuda(), x.cuda()
            graph = graph_of(gpu, on_gpu)
            rows = {"eager": [], "graph": [], "fettle": [], "fettle f16": []}
            for _ in range(arguments.rounds):
                rows["eager"].append(median_ms(lambda: gpu(on_gpu), arguments.seconds))
                rows["graph"].append(median_ms(graph.replay, arguments.seconds))
                for row, precision in (("fettle", "high"), ("fettle f16", "normal")):
                    report = fettle(arguments, "bench", path, "--seconds", str(arguments.seconds), "--precision",
                                    precision)
                    rows[row].append(report.get("latency_ms", {}).get("median", float("nan")))
                    error = report.get("error", "")
            line = ", ".join(f"{row} {statistics.median(times):.3f} ms" for row, times in rows.items())
            print(f"{name}: {line} {error}", flush=True)
            if arguments.tune:
                report = fettle(arguments, "tune", path, "--budget", str(arguments.tune), "--no-package",
                                "--strict-device")
                print(f"{name}: tuned {report.get('tuned_ms')} ms of {report.get('default_ms')} ms, "
                      f"{report.get('measured')} measured {report.get('error', '')}", flush=True)


if __name__ == "__main__":
    main()
