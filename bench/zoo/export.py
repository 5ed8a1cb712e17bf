"""Exports networks of the zoo with seeded weights: export.py EXPORTER CACHE NAME... EXPORTER is dynamo (torch's default) or
script (the older one, by tracing), or dynamo-shapes or script-shapes: with dynamic shapes. CACHE/EXPORTER/NAME gets model.onnx
and an .npy for each input, named as the model's, or a file `failed` with the reason.

NETWORKS: all networks, by name a function that gives a module and its inputs."""

import inspect
import pathlib
import sys
import warnings

import configured
import diffusers_swept
import language
import more_packages
import newer
import newer_networks
import numpy
import onnx
import other_packages
import packages
import random_networks
import senses
import signal_packages
import swept
import timm_swept
import torch
import vision
import written
from bounded import bounded
from tensors import settled

NETWORKS = {**vision.NETWORKS, **language.NETWORKS, **senses.NETWORKS, **written.NETWORKS, **newer.NETWORKS,
            **packages.NETWORKS, **other_packages.NETWORKS, **more_packages.NETWORKS, **signal_packages.NETWORKS}


def made(name):
    """The network, ready to infer, and its inputs; the same at each call."""
    torch.manual_seed(1)
    torch.backends.mha.set_fastpath_enabled(False)  # fused operators of attention have no ONNX form
    family, _, seed = name.partition("/")
    seeded = {"random": random_networks, "newer": newer_networks, "configured": configured, "swept": swept, "timm": timm_swept,
              "diffusers": diffusers_swept}.get(family)
    network, inputs = seeded.made(seed) if seeded and seed.isdigit() else NETWORKS[name]()
    return settled(network), inputs


def batched(inputs):
    """The inputs twice over along their first axis where that is 1 in all of them: torch takes an extent of 1 for a fixed one."""
    is_single = all(value.ndim > 0 and value.shape[0] == 1 for value in inputs)
    return tuple(torch.cat([value, value]) for value in inputs) if is_single else inputs


def by_dynamo(network, inputs, path, has_shapes):
    """With shapes, each extent is dynamic that the network leaves so; first with two of a batch, then with the inputs as they are."""
    for given in ([batched(inputs), inputs] if has_shapes else [inputs]):
        axes = tuple({axis: torch.export.Dim.AUTO for axis in range(value.ndim)} for value in given)
        if any(one.kind is one.VAR_POSITIONAL for one in inspect.signature(network.forward).parameters.values()):
            axes = (axes,)
        try:
            torch.onnx.export(network, given, path, dynamo=True, external_data=False, verbose=False,
                              dynamic_shapes=axes if has_shapes else None)
            return
        except Exception:
            if given is inputs:
                raise


def by_script(network, inputs, path, has_shapes):
    """With shapes, all extents are dynamic but for channels, which are second in inputs of three and more axes."""
    names = [f"input_{i}" for i in range(len(inputs))]
    axes = {name: {axis: f"{name}_{axis}" for axis in range(value.ndim) if axis != 1 or value.ndim < 3}
            for name, value in zip(names, inputs)}
    named = {"input_names": names, "dynamic_axes": axes} if has_shapes else {}
    torch.onnx.export(network, inputs, path, dynamo=False, opset_version=17, **named)


def export(name, exporter, folder):
    network, inputs = made(name)
    path = folder / "model.onnx"
    base, _, shapes = exporter.partition("-")
    with torch.no_grad():
        (by_dynamo if base == "dynamo" else by_script)(network, inputs, str(path), bool(shapes))
    graph = onnx.load(str(path), load_external_data=False).graph
    constants = {one.name for one in graph.initializer}
    given = [one.name for one in graph.input if one.name not in constants]
    if len(given) != len(inputs):
        raise RuntimeError(f"{len(inputs)} inputs became {len(given)}")
    for one, value in zip(given, inputs):
        numpy.save(folder / f"{one}.npy", value.numpy())


def main(exporter, cache, *names):
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)  # threads do not outlive a copy of the process
    for name in names:
        folder = pathlib.Path(cache) / exporter / name
        if (folder / "model.onnx").exists():
            continue  # another run was faster
        bounded(folder, lambda part: export(name, exporter, part))
        failed = folder / "failed"
        print(name, exporter, "exported" if not failed.exists() else failed.read_text().strip()[:200], flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
