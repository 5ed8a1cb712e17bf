"""Fettle on an OpenCL device beside PyTorch's CUDA graphs, fp32 and fp16, network by network: compare(NAMES, OPTIONS)."""

import json
import statistics
import subprocess
import tempfile

import export
import torch
import values
from cuda_runs import graph_of, median_ms
from run import FETTLE, geometric_mean, given

#: Below so many dB beside ONNX Runtime's f32 outputs a precision is wrong, not rounded.
LEAST_DB = {"high": 60, "normal": 30}
#: PyTorch's type, what Fettle calls a precision of that kind, and whether cuDNN may round f32 to TF32 in convolutions and recurrent
#: layers, which is PyTorch's default.
KINDS = {"fp32": (torch.float32, "high", True), "exact": (torch.float32, "high", False), "fp16": (torch.float16, "normal", True)}


def torch_run(name, dtype):
    """A function that runs the network on the device once, and whether it is a graph."""
    torch.set_default_device("cpu")
    torch.set_default_dtype(torch.float32)
    network, inputs = export.made(name)
    network = network.to("cuda", dtype)
    inputs = [one.to("cuda", dtype) if one.is_floating_point() else one.cuda() for one in inputs]
    # What a network makes in its forward pass (masks, positions) is made on the device too.
    torch.set_default_device("cuda")
    torch.set_default_dtype(dtype)
    try:
        graph = graph_of(network, inputs)
        # The graph holds addresses of weights and inputs, which have to live.
        return lambda kept=(network, inputs): graph.replay(), True
    except RuntimeError:
        torch.cuda.synchronize()
        network(*inputs)
        return lambda: network(*inputs), False


def call(*command):
    result = subprocess.run([str(FETTLE), *command], capture_output=True, text=True, timeout=600)
    if result.returncode != 0:
        raise RuntimeError((result.stderr.strip().splitlines() or ["it died"])[-1])
    return json.loads(result.stdout)


def fettle(model, folder, options, precision, *more):
    return call("bench", str(model), "--json", "--device", options.device, "--precision", precision, "--seconds",
                str(options.seconds), *given(values.inputs_of(folder)), *more)


def model_of(folder, options, precision, scratch):
    """What is measured: the model, or with --tune the package of a tuning with an empty database in the folder `scratch`."""
    model = folder / "model.onnx"
    if not options.tune:
        return model
    package = f"{scratch}/tuned.fettle"
    call("tune", str(model), "--json", "--device", options.device, "--precision", precision, "--level", "fast", "--budget",
         str(options.tune), "--cache", f"{scratch}/cache", "-o", package, *given(values.inputs_of(folder)))
    return package


def measure(name, model, kind, folder, options):
    """PyTorch's ms, whether by a graph, and Fettle's, medians of interleaved turns."""
    dtype, precision, torch.backends.cudnn.allow_tf32 = KINDS[kind]
    run, is_graph = torch_run(name, dtype)
    theirs, ours = [], []
    for _ in range(options.rounds):
        theirs.append(median_ms(run, options.seconds))
        ours.append(fettle(model, folder, options, precision, "--bound")["latency_ms"]["median"])
    return statistics.median(theirs), is_graph, statistics.median(ours)


def steps(model, folder, options, precision):
    """The three steps that take most, and the time of those that ran on the host."""
    layers = fettle(model, folder, options, precision, "--profile")["ops"]
    worst = sorted(layers, key=lambda layer: -(layer["ms"] or 0))[:3]
    host = [layer for layer in layers if layer["device"] == "cpu"]
    lines = [f"{layer['ms'] or 0:.3f} ms {layer['kernel']} {layer['op']}, bound {layer['bound_ms']:.3f} ms: {layer['node'][-60:]}"
             for layer in worst]
    return lines + [f"on the host: {len(host)} steps, {sum(layer['ms'] or 0 for layer in host):.3f} ms"]


def row(name, kind, folder, options):
    """Prints one network at one precision, and answers its ratio and its dB; None where PyTorch cannot run it or ONNX Runtime."""
    precision = KINDS[kind][1]
    with tempfile.TemporaryDirectory() as scratch:
        try:
            model = model_of(folder, options, precision, scratch)
            db = values.worst_db(FETTLE, folder, "--device", options.device, "--precision", precision)
            with torch.inference_mode():
                theirs, is_graph, ours = measure(name, model, kind, folder, options)
        except (RuntimeError, subprocess.SubprocessError) as error:
            print(f"{name:32} {kind}  {' '.join(str(error).split())[:160]}", flush=True)
            return None, None
        ratio = theirs / ours
        print(f"{name:32} {kind}  ratio {ratio:.2f}{'' if db is None else f'  {db:.0f} dB'}  "
              f"PyTorch{'' if is_graph else ' without a graph'} {theirs:.3f}, Fettle {ours:.3f}", flush=True)
        if ratio < 1:
            print("\n".join(f"    {line}" for line in steps(model, folder, options, precision)), flush=True)
    return ratio, db


def compare(names, options):
    for kind in options.kinds:
        ratios, wrong, least = [], [], LEAST_DB[KINDS[kind][1]]
        for name in names:
            folder = options.cache / options.exporters[0] / name
            if (folder / "failed").exists():
                continue
            ratio, db = row(name, kind, folder, options)
            ratios += [ratio] if ratio else []
            wrong += [f"{name} {db:.0f}"] if db is not None and db < least else []
            torch.cuda.empty_cache()
        print(f"{kind}: {len(ratios)} compared, geometric mean {geometric_mean(ratios):.2f}, "
              f"{sum(ratio < 1 for ratio in ratios)} below 1.0; below {least} dB: {', '.join(wrong) or 'none'}")
    return 0
