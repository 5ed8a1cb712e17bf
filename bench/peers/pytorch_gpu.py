"""Fettle on an OpenCL GPU beside PyTorch with CUDA graphs on the same GPU.

    bench/peers/pytorch_gpu.py --fettle build/release/bin/fettle [--device opencl:NVIDIA] [--networks resnet18,vgg16]
        [--batch 1] [--tune 20] [--models FOLDER] [--json FILE]     (transformers: vit_b_32, swin_t, bert_mini)
    bench/peers/pytorch_gpu.py --fettle build/release/bin/fettle --products 1024,2048,4096
        [--clblast build/release/bin/clblast_bench]

Networks: weights are random; PyTorch computes in fp32, TF32 and fp16 (the faster of both memory formats), Fettle at high and
normal precision, before tuning and, with --tune, after that many seconds. All are timed in turn, --rounds times, and medians
are printed; inputs and outputs stay on the device on both sides. Tuning says what it predicts and what it measured, with inputs
and outputs of the host. Products: square matrices, TFLOP/s, PyTorch's (cuBLAS) with
a full queue beside `fettle gemm` before any search, B given (of bytes constant), and Fettle's share of the peak that it names.
"""

import argparse
import contextlib
import json
import pathlib
import statistics
import subprocess
import tempfile

import topologies
import torch
import torchvision
from cuda_runs import graph_of, median_ms


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


NETWORKS = ["mobilenet_v2", "resnet18", "resnet50", "vgg16", "luma"]


def settle(model, example):
    """Batch normalisation as of noise: with the statistics that it begins with signals vanish on the way, or grow."""
    normalisations = [module for module in model.modules() if isinstance(module, torch.nn.BatchNorm2d)]
    for module in normalisations:
        module.momentum = None
    if normalisations:
        with torch.no_grad():
            model.train()(example)
    return model.eval()


def make(name, batch):
    torch.manual_seed(1)
    if name == "luma":
        return SuperResolution().eval(), torch.rand(batch, 1, 480, 640)
    if name == "bert_mini":
        model, words = topologies.bert_mini()
        return model.eval(), words.expand(batch, -1).contiguous()
    model = torchvision.models.get_model(name, weights=None)
    if name.startswith("vit_"):
        torch.nn.init.normal_(model.heads.head.weight, std=0.02)  # zero before training
    return settle(model, torch.rand(8, 3, 224, 224)), torch.rand(batch, 3, 224, 224)


@contextlib.contextmanager
def tf32(allowed):
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = allowed
    yield
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False


@contextlib.contextmanager
def fused_attention(allowed):
    """PyTorch's fused operators of attention and of encoder layers, which have no ONNX form."""
    torch.backends.mha.set_fastpath_enabled(allowed)
    yield
    torch.backends.mha.set_fastpath_enabled(False)


def graphs(model, x):
    """Name to graph; what they hold stays alive in the list beside them."""
    kept, made = [], {}
    kinds = [("fp32", torch.float32, torch.contiguous_format, False, False),
             ("TF32", torch.float32, torch.contiguous_format, True, False),
             ("fp16", torch.float16, torch.contiguous_format, False, False)]
    if x.dim() == 4:
        kinds.append(("fp16 channels last", torch.float16, torch.channels_last, False, False))
    if any(isinstance(module, torch.nn.MultiheadAttention) for module in model.modules()):
        kinds.append(("fp16 fused attention", torch.float16, torch.contiguous_format, False, True))
    for name, dtype, memory, allowed, fused in kinds:
        with tf32(allowed), fused_attention(fused):
            of_type = {"dtype": dtype, "memory_format": memory} if x.is_floating_point() else {}
            parts = (model.to("cuda", dtype, memory_format=memory), x.to("cuda", **of_type))
            network, example = parts
            made[name] = graph_of(network, (example,))
            # The graph holds addresses of these weights, and .to() changes the module in place.
            kept.append((parts, [p.data for p in model.parameters()] + [b.data for b in model.buffers()]))
    return made, kept


def run_fettle(arguments, command, path, *options):
    result = subprocess.run([arguments.fettle, *command, *([path] if path else []), "--device", arguments.device, "--json",
                             *options], capture_output=True, text=True, timeout=300)
    if result.returncode != 0:
        raise RuntimeError((result.stderr.strip().splitlines() or ["?"])[-1])
    return json.loads(result.stdout)


def bench_ms(arguments, path, precision):
    report = run_fettle(arguments, ["bench"], path, "--bound", "--seconds", str(arguments.seconds), "--precision", precision)
    return report["latency_ms"]["median"]


#: What is printed of the report of `fettle tune`.
TUNED = ["default_ms", "tuned_ms", "expected_ms", "predicted_ms", "seconds", "measured", "left"]


def network_rows(arguments, name, folder):
    """Column to a function that answers milliseconds of one inference."""
    model, x = make(name, arguments.batch)
    path = str(folder / f"{name}.onnx")
    torch.onnx.export(model, (x,), path, opset_version=17, dynamo=False)
    made, kept = graphs(model, x)
    rows = {f"PyTorch {key}": lambda graph=graph: median_ms(graph.replay, arguments.seconds) for key, graph in made.items()}
    for precision in ("high", "normal"):
        rows[f"Fettle {precision}"] = lambda precision=precision: bench_ms(arguments, path, precision)
        if not arguments.tune:
            continue
        package = tuned(arguments, name, path, precision)
        if package:
            rows[f"Fettle {precision}, tuned"] = lambda package=package, precision=precision: bench_ms(arguments, package,
                                                                                                     precision)
    return rows, kept


def tuned(arguments, name, path, precision):
    """The package, of programs that the cache has where the plan before tuning has them; None where tuning fails."""
    package = path.replace(".onnx", f".{precision}.fettle")
    try:
        bench_ms(arguments, path, precision)
        report = run_fettle(arguments, ["tune"], path, "--budget", str(arguments.tune), "--precision", precision, "-o", package)
    except RuntimeError as error:
        print(f"{name}: tuning at {precision}: {error}", flush=True)
        return None
    print(f"{name}: tuning at {precision}: " + ", ".join(f"{key} {report.get(key)}" for key in TUNED), flush=True)
    return package


def compare_networks(arguments):
    results = {}
    with torch.inference_mode(), tempfile.TemporaryDirectory() as text:
        folder = arguments.models or pathlib.Path(text)
        for name in arguments.networks.split(","):
            rows, kept = network_rows(arguments, name, folder)
            times = {key: [] for key in rows}
            try:
                for _ in range(arguments.rounds):
                    for key, run in rows.items():
                        times[key].append(run())
            except RuntimeError as error:
                print(f"{name}: {error}", flush=True)
                continue
            finally:
                del rows, kept
            results[name] = {key: statistics.median(values) for key, values in times.items()}
            line = ", ".join(f"{key} {statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f})"
                             for key, values in times.items())
            print(f"{name}, batch {arguments.batch}, ms: {line}", flush=True)
    return results


#: Column: type, TF32 allowed, what `fettle gemm` calls it.
PRODUCTS = {
    "fp32": (torch.float32, False, ["--dtype", "f32", "--precision", "high"]),
    "TF32": (torch.float32, True, ["--dtype", "f32", "--precision", "normal"]),
    "fp16": (torch.float16, False, ["--dtype", "f16", "--precision", "normal"]),
    "bf16": (torch.bfloat16, False, ["--dtype", "bf16", "--precision", "normal"]),
    "int8": (torch.int8, False, ["--dtype", "i8"]),
}


def torch_product(size, dtype, allowed):
    """TFLOP/s of 50 products in a full queue, and of 50 in one CUDA graph, which no call of the host is part of."""
    if dtype == torch.int8:
        a, b = (torch.randint(-127, 127, (size, size), dtype=dtype, device="cuda") for _ in range(2))
        run = lambda: torch._int_mm(a, b.t())
    else:
        a, b = (torch.randn(size, size, device="cuda").to(dtype) for _ in range(2))
        run = lambda: a @ b

    def products():
        for _ in range(50):
            run()

    def teraflops(call):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        torch.cuda.synchronize()
        return 2 * size**3 * 50 / (1e9 * begin.elapsed_time(end))

    with tf32(allowed):
        products()
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            products()
        graph.replay()
        return teraflops(products), max(teraflops(graph.replay) for _ in range(3))


def fettle_product(arguments, size, options):
    report = run_fettle(arguments, ["gemm"], None, "--evals", "0", "-m", str(size), "-n", str(size), "-k", str(size), *options)
    rows = {row["name"]: row for row in report["rows"] if row.get("verified")}
    row = rows.get("B given with each product") or rows["packed"]
    return row["gflops"] / 1e3, f"{row['kernel']}, {row['share_of_peak']:.0%} of {row['peak']}"


def clblast_product(arguments, size):
    """TFLOP/s of the packaged CLBlast in f32, by bench/clblast; not a number where it does not run or is wrong."""
    platform = arguments.device.partition(":")[2]
    result = subprocess.run([arguments.clblast, platform, str(size)], capture_output=True, text=True, timeout=300)
    for line in result.stdout.splitlines():
        words = line.split()
        if words[1:2] == ["CLBlast"] and words[-1] != "WRONG":
            return float(words[words.index("GFLOP/s") - 1]) / 1e3
    print(f"CLBlast at {size}: {(result.stderr.strip().splitlines() or ['no row'])[-1]}", flush=True)
    return float("nan")


def compare_products(arguments):
    results = {}
    for size in map(int, arguments.products.split(",")):
        if arguments.clblast:
            results[f"CLBlast fp32 {size}"] = clblast_product(arguments, size)
            print(f"fp32 {size}: CLBlast {results[f'CLBlast fp32 {size}']:.1f} TFLOP/s", flush=True)
        for name, (dtype, allowed, options) in PRODUCTS.items():
            theirs = [torch_product(size, dtype, allowed) for _ in range(arguments.rounds)]
            queue, graph = (statistics.median(one) for one in zip(*theirs))
            try:
                ours, kernel = fettle_product(arguments, size, options)
            except RuntimeError as error:
                ours, kernel = float("nan"), str(error)
            results[f"{name} {size}"] = {"PyTorch": queue, "PyTorch, graph": graph, "Fettle": ours, "kernel": kernel}
            print(f"{name} {size}: PyTorch {queue:.1f} TFLOP/s, {graph:.1f} in CUDA graphs, "
                  f"Fettle {ours:.1f}, {ours / graph:.0%} of those ({kernel})", flush=True)
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fettle", required=True)
    parser.add_argument("--device", default="opencl:NVIDIA")
    parser.add_argument("--networks", default=",".join(NETWORKS), help="luma, bert_mini or torchvision's names (default: %(default)s)")
    parser.add_argument("--products", metavar="SIZES", help="matrix products of these sizes instead of networks")
    parser.add_argument("--clblast", metavar="PROGRAM", help="of products also CLBlast's, by clblast_bench (FETTLE_BENCH=ON)")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5, help="per measurement")
    parser.add_argument("--tune", type=float, default=0, help="seconds of tuning for each precision")
    parser.add_argument("--models", type=pathlib.Path, help="folder that keeps the networks and packages")
    parser.add_argument("--json", type=pathlib.Path, help="write the medians there")
    arguments = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    torch.backends.mha.set_fastpath_enabled(False)
    results = compare_products(arguments) if arguments.products else compare_networks(arguments)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
