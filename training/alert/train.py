#!/usr/bin/env python3
"""Trains detectors side by side, on slices that are drawn meanwhile: train.py MATERIAL OUT [--seconds N] [--nets NAME ...]

MATERIAL is what prepare.py writes. All networks take the same steps on the same batches; a third of each batch is of frames without
phones, which each network looks at by turns: three of four are around what was found there. On a GPU where there is one, each
network's step as one CUDA graph. OUT receives NAME.npz, of weights averaged over some 250 steps.
"""

import argparse
import copy
import itertools
import math
import multiprocessing
import pathlib
import tempfile
import time

import numpy as np
import torch

import frames
import pool
import slices
from detector import Detector, loaded, loss
from source import PARTS, Source

FAR = (1, 2, 4, 2, 1)
NETS = {  # by name: the shape, and whether look-alikes are drawn for it
    "small": (dict(channels=32, dilations=FAR), True),
    "middle": (dict(channels=64, dilations=FAR, first=16), True),
    "large": (dict(channels=128, dilations=FAR, first=24), True),
    "small3": (dict(channels=32, dilations=FAR, first=16, frames=3), True),
    "large3": (dict(channels=128, dilations=FAR, first=32, frames=3), True),
    "large_plain": (dict(channels=128, dilations=FAR, first=24), False),
    "finder": (dict(channels=32, dilations=FAR), True),
    "second": (dict(channels=128, dilations=FAR, first=24), True),
    "second_middle": (dict(channels=64, dilations=FAR, first=16), True),
    "second_other": (dict(channels=128, dilations=FAR, first=24), True),
}


class Pupil:
    """A network in training and the mean of its weights, which is what is kept."""

    def __init__(self, name, device, graphs, begin=None):
        shape, self.decoys = NETS[name]
        self.device, self.graph, self.wants_graph = device, None, graphs
        net = Detector(**shape) if begin is None else loaded(begin)
        self.net = net.to(device, memory_format=torch.channels_last)
        self.mean = copy.deepcopy(self.net)
        self.rate = torch.tensor(1e-3, device=device)
        self.optimizer = torch.optim.AdamW(self.net.parameters(), lr=self.rate, weight_decay=1e-4, capturable=device.type == "cuda")
        self.value, self.steps = torch.zeros((), device=device), 0
        pairs = list(zip(self.mean.state_dict().values(), self.net.state_dict().values()))
        self.floats = [pair for pair in pairs if pair[0].dtype.is_floating_point]

    def seen(self, planes):
        return planes[:, -6 * self.net.frames :].contiguous(memory_format=torch.channels_last)

    def take(self, planes, heat, values, there, weight):
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda", cache_enabled=False):
            out = self.net(self.seen(planes)).float()
        value = loss(out, heat, values, there, None if self.decoys else weight)
        self.optimizer.zero_grad(set_to_none=True)
        value.backward()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 5.0)
        self.optimizer.step()
        self.value.copy_(value.detach())
        with torch.no_grad():
            torch._foreach_lerp_([m for m, _ in self.floats], [n for _, n in self.floats], 0.004)

    def step(self, batch, rate):
        self.rate.fill_(rate)
        self.net.train()
        if self.wants_graph and self.steps < 3:  # as graphs need, beside the usual stream
            aside = torch.cuda.Stream()
            aside.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(aside):
                self.take(*batch)
            torch.cuda.current_stream().wait_stream(aside)
        elif self.wants_graph and self.steps == 3:
            torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.take(*batch)
            self.graph.replay()
        elif self.graph is not None:
            self.graph.replay()
        else:
            self.take(*batch)
        self.steps += 1

    @torch.no_grad()
    def look(self, planes):
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            return self.mean.eval()(self.seen(planes))


class Batch:
    """In the same place each time, as graphs need."""

    def __init__(self, source):
        self.source, self.tensors = source, None

    def next(self):
        planes, (heat, values, there), decoys = self.source.batch()
        fresh = (planes, heat, values, there, (1 - decoys).view(-1, 1, 1, 1))
        if self.tensors is None:
            self.tensors = [one.clone() for one in fresh]
        for kept, one in zip(self.tensors, fresh):
            kept.copy_(one)
        return self.tensors


def learn(source, drawing, pupils, seconds, most, every):
    """Until the time has passed: steps of all pupils on the same batches."""
    start = looked = told = time.time()
    batch, turn, step, wrong = Batch(source), 0, 0, None
    each = 100 if source.device.type == "cuda" else 2  # steps between looks at the clock
    while (now := time.time()) < start + seconds:
        share, step = (now - start) / seconds, step + 1
        rate = most * min(1, step / 200) * (0.01 + 0.495 * (1 + math.cos(math.pi * share)))
        ready = batch.next()
        for pupil in pupils:
            pupil.step(ready, rate)
        if step % each == 0:
            source.add(drawing)
            if now - looked > every:
                number, part = turn % len(pupils), turn // len(pupils) % PARTS
                wrong = source.mine(number, pupils[number].look, part)
                turn, looked = turn + 1, time.time()
            if now - told > 20:
                told = now
                print(f"{now - start:.0f} s, {step} steps, {source.filled} slices, losses", *[f"{p.value.item():.2f}" for p in pupils],
                      "wrongly found", wrong, flush=True)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("material", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=480, help="of steps")
    parser.add_argument("--nets", nargs="+", default=list(NETS), choices=NETS)
    parser.add_argument("--slices", type=int, default=160_000, help="at most")
    parser.add_argument("--first", type=int, default=4000, help="slices before the first step")
    parser.add_argument("--workers", type=int, default=13)
    parser.add_argument("--stills", type=int, default=2, help="of each picture")
    parser.add_argument("--mine-every", type=float, default=1.0, help="seconds")
    parser.add_argument("--eager", action="store_true", help="no CUDA graphs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--begin", type=pathlib.Path, nargs="+", default=[], help="NAME.npz to go on from, one for each of --nets")
    parser.add_argument("--finder", type=pathlib.Path, help="NAME.npz whose finds are what is to be told apart")
    parser.add_argument("--sides", type=int, nargs=3, default=(56, 160, 48), help="of a part, in planes; of a batch; without phones in it")
    parser.add_argument("--rate", type=float, default=4e-3)
    parser.add_argument("--pool", type=pathlib.Path, help="a folder in memory for slices")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    torch.backends.cudnn.benchmark = True
    material = pool.material(args.material)
    with multiprocessing.get_context("fork").Pool(args.workers) as processes:
        phone_free = frames.without_phones(material, args.stills, processes)
        processes.close()
        processes.join()
    with tempfile.TemporaryDirectory(dir=args.pool or args.out) as folder:
        drawing = pool.Pool(folder, args.slices, args.workers, material, args.seed)
        torch.manual_seed(args.seed)
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        seen, before = (torch.from_numpy(array).to(device) for array in phone_free)
        source = Source(drawing.share * args.workers, len(slices.KEPT), seen, before, len(args.nets) + 1, device, args.sides)
        print(len(seen), "frames without phones", flush=True)
        while source.filled < args.first:
            time.sleep(0.5)
            source.add(drawing)
            if not any(process.is_alive() for process in drawing.processes):
                raise RuntimeError("nobody draws slices")
        pupils = [Pupil(name, device, device.type == "cuda" and not args.eager, begin)
                  for name, begin in itertools.zip_longest(args.nets, args.begin)]
        if args.finder:
            finder = loaded(args.finder).to(device, memory_format=torch.channels_last)
            for part in range(PARTS):
                print("to be told apart:", source.mine(len(args.nets), lambda planes: finder(planes[:, -6:]), part), flush=True)
        learn(source, drawing, pupils, args.seconds, args.rate, args.mine_every)
        for process in drawing.processes:
            process.terminate()
    for name, pupil in zip(args.nets, pupils):
        arrays = copy.deepcopy(pupil.mean).cpu().eval().plain()
        np.savez(args.out / f"{name}.npz", **arrays)
        print(f"{name}: {pupil.mean.cpu().weights()} weights, {pupil.steps} steps, loss {pupil.value.item():.2f}", flush=True)


if __name__ == "__main__":
    main()
