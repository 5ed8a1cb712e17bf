#!/usr/bin/env python3
"""Trains the networks: train.py teacher|students DATA STATE [options]; README.md gives the commands.

DATA holds train/ (prepare.py) and kodak/, which only measures. STATE keeps teacher.pt, then students.pt and the
collapsed weights NAME.npz and NAME_int8.npz that export.py reads. Without --steps, the number of steps follows
from --seconds and the measured speed, and is printed; with it, the run is the same every time but for the order
of the GPU's additions.
"""

import argparse
import math
import pathlib
import time

import numpy as np
import torch

import luma
from net import Chain, QuantisedChain
from patches import Patches

TEACHER = dict(channels=64, depth=10, prelu=True)
STUDENTS = {
    "sr_x2_10k": dict(channels=16, depth=4),
    "sr_x2_20k": dict(channels=16, depth=8),
}


def loss_of(out, targets, phase):
    """`phase` blends L1 (1) into the root mean square of each patch (0), whose average follows decibels."""
    total = 0
    for target in targets:
        difference = out - target
        absolute = difference.abs().mean()
        root = (difference.square().mean(dim=(1, 2, 3)) + 1e-6).sqrt().mean()
        total = total + phase * absolute + (1 - phase) * root
    return total / len(targets)


class Run:
    """One optimisation of several networks on the same batches, each on a stream of its own. Those named in `alone` learn
    from the high resolution only, without the teacher."""

    def __init__(self, nets, data, batch, amp=False, clip=None, alone=()):
        self.nets, self.data, self.batch, self.amp, self.clip = nets, data, batch, amp, clip
        self.target_counts = [1 if name in alone else 2 for name in nets]
        device = data.device
        self.cuda = device.type == "cuda"
        self.rate = torch.tensor(0.0, device=device)
        self.phase = torch.tensor(1.0, device=device)
        self.mean_loss = torch.zeros(len(nets), device=device)
        self.optimisers, self.averages, self.parameters = [], [], []
        for net in nets.values():
            parameters = [p for p in net.parameters()]
            options = dict(fused=True, capturable=True) if self.cuda else {}
            self.parameters.append(parameters)
            self.optimisers.append(torch.optim.Adam(parameters, lr=self.rate, betas=(0.9, 0.99), **options))
            self.averages.append([p.detach().clone() for p in parameters])
        self.streams = [torch.cuda.Stream() for _ in nets] if self.cuda else []

    def one(self, index, net, low, targets):
        optimiser = self.optimisers[index]
        optimiser.zero_grad(set_to_none=True)
        with torch.autocast(low.device.type, dtype=torch.bfloat16, enabled=self.amp):
            out = net(low, clip=False)
        loss = loss_of(out.float(), targets[: self.target_counts[index]], self.phase)
        loss.backward()
        if self.clip:
            torch.nn.utils.clip_grad_norm_(self.parameters[index], self.clip)
        optimiser.step()
        with torch.no_grad():
            torch._foreach_lerp_(self.averages[index], self.parameters[index], 0.001)
            self.mean_loss[index].lerp_(loss.detach(), 0.01)

    def step(self):
        low, high, teacher = self.data.draw(self.batch)
        targets = [high] if teacher is None else [high, teacher]
        for index, net in enumerate(self.nets.values()):
            if not self.cuda:
                self.one(index, net, low, targets)
                continue
            stream = self.streams[index]
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                self.one(index, net, low, targets)
        for stream in self.streams:
            torch.cuda.current_stream().wait_stream(stream)

    def captured(self):
        """A function that runs one step: on a GPU the replay of a CUDA graph."""
        if not self.cuda:
            return self.step
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(5):
                self.step()
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.step()
        return graph.replay

    def train(self, peak, steps, seconds, report=None, switch=0.6):
        replay = self.captured()
        if not steps:
            torch.cuda.synchronize()
            start = time.time()
            for _ in range(100):
                replay()
            torch.cuda.synchronize()
            steps = int(seconds / (time.time() - start) * 100)
            seconds = None
        with torch.no_grad():
            for average, parameters in zip(self.averages, self.parameters):
                torch._foreach_copy_(average, parameters)
        print(f"steps {steps}", flush=True)
        start = time.time()
        for step in range(steps):
            done = step / steps
            warm = min(1.0, done / 0.03 + 1e-3)
            self.rate.fill_(peak * warm * (0.005 + 0.995 * 0.5 * (1 + math.cos(math.pi * done))))
            self.phase.fill_(1.0 if done < switch else 0.0)
            replay()
            if step % max(1, steps // 8) == 0:
                losses = " ".join(f"{x:.5f}" for x in self.mean_loss.tolist())
                print(f"{step} {time.time() - start:.0f} s loss {losses}", flush=True)
                if report and step:
                    report()
        with torch.no_grad():
            for average, parameters in zip(self.averages, self.parameters):
                torch._foreach_copy_(parameters, average)
        print(f"{(time.time() - start) / steps * 1e3:.2f} ms a step", flush=True)


class Kodak:
    def __init__(self, folder, device):
        self.pictures = [luma.low_and_high(path) for path in sorted(pathlib.Path(folder).glob("*.png"))]
        self.device = device
        self.bicubic = float(np.mean([luma.psnr(luma.bicubic_luma(rgb), high) for rgb, _, high in self.pictures]))

    @torch.no_grad()
    def measure(self, net, **options):
        results = []
        with torch.backends.cudnn.flags(enabled=True, benchmark=False, allow_tf32=False):
            for _, low, high in self.pictures:
                x = torch.from_numpy(low).float()[None, None].to(self.device)
                results.append(luma.psnr(net(x, **options)[0, 0].cpu().numpy(), high))
        return float(np.mean(results))

    @torch.no_grad()
    def branch_difference(self, net):
        """The largest difference between the branches and the collapsed chain over all pictures."""
        worst = 0.0
        with torch.backends.cudnn.flags(enabled=True, benchmark=False, allow_tf32=False):
            for _, low, _ in self.pictures:
                x = torch.from_numpy(low).float()[None, None].to(self.device)
                worst = max(worst, float((net(x) - net(x, branches=True)).abs().max()))
        return worst

    def show(self, nets):
        for name, net in nets.items():
            value = self.measure(net)
            print(f"{name:22} {value:.3f} dB, bicubic {self.bicubic:.3f} {value - self.bicubic:+.3f}", flush=True)


def save_arrays(path, arrays):
    np.savez(path, **arrays)


def train_teacher(args, data, kodak):
    teacher = Chain(**TEACHER).to(data.device)
    run = Run({"teacher": teacher}, data, args.batch, amp=data.device.type == "cuda", clip=0.5)
    run.train(5e-4, args.steps, args.seconds, report=lambda: kodak.show({"teacher": teacher}))
    kodak.show({"teacher": teacher})
    torch.save(teacher.state_dict(), args.state / "teacher.pt")


def train_students(args, data, kodak):
    teacher = Chain(**TEACHER).to(data.device)
    teacher.load_state_dict(torch.load(args.state / "teacher.pt", map_location=data.device))
    data.ask(teacher)
    print("teacher asked", flush=True)
    nets = {name: Chain(**shape).to(data.device) for name, shape in STUDENTS.items()}
    if args.resume:
        weights = torch.load(args.state / "students.pt", map_location=data.device)
        for name, net in nets.items():
            net.load_state_dict(weights[name])
    run = Run(nets, data, args.batch)
    run.train(args.rate, args.steps, args.seconds, report=lambda: kodak.show(nets), switch=args.switch)
    kodak.show(nets)
    for name, net in nets.items():
        print(f"{name:22} branches and chain differ by {kodak.branch_difference(net):.1e}", flush=True)
        save_arrays(args.state / f"{name}.npz", net.plain())
    torch.save({name: net.state_dict() for name, net in nets.items()}, args.state / "students.pt")
    if args.no_int8:
        return
    quantised = {}
    for name, net in nets.items():
        if not len(net.slopes):
            quantised[f"{name}_int8"] = QuantisedChain(net.plain(), net.depth).to(data.device)
            quantised[f"{name}_int8"].calibrate(data.draw(64)[0])
    print("before the fine-tuning:")
    kodak.show(quantised)
    run = Run(quantised, data, args.batch)
    run.train(args.int8_rate, args.int8_steps, args.int8_seconds, switch=0.0)
    kodak.show(quantised)
    for name, net in quantised.items():
        save_arrays(args.state / f"{name}.npz", net.plain())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stage", choices=["teacher", "students"])
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("state", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--resume", action="store_true", help="go on from STATE/students.pt")
    parser.add_argument("--rate", type=float, default=1.5e-3, help="the students' peak learning rate")
    parser.add_argument("--switch", type=float, default=0.35, help="the share of the steps that L1 takes")
    parser.add_argument("--no-int8", action="store_true", help="stop before the int8 files")
    parser.add_argument("--int8-steps", type=int, default=0)
    parser.add_argument("--int8-seconds", type=float, default=100)
    parser.add_argument("--int8-rate", type=float, default=2e-4)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--patch", type=int, default=64)
    parser.add_argument("--limit", type=int, help="the first pictures only, for a trial")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    args.state.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(args.seed)
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = True
    torch.backends.cuda.matmul.allow_tf32 = False
    start = time.time()
    data = Patches(args.data / "train", torch.device(args.device), args.patch, args.limit)
    kodak = Kodak(args.data / "kodak", torch.device(args.device))
    print(f"{len(data.table)} patches, {data.low.numel() / 1e6:.1f} M low pixels, {time.time() - start:.0f} s")
    (train_teacher if args.stage == "teacher" else train_students)(args, data, kodak)


if __name__ == "__main__":
    main()
