#!/usr/bin/env python3
"""Trains networks of blocks beside plain chains: variants.py DATA STATE [--start NAME=FILE.npz ...]; README.md gives the
commands.

All see the same batches for the same steps, with the teacher's answer as a second target but for those whose name ends in
`_alone`. --start adds chains that begin with given weights, as trim.py leaves them; `NAME=WIDTHS`, as 8,16,8, one that begins at
random. STATE keeps teacher.pt, which is trained where it is missing, and NAME.npz of each network; export.py reads these.
"""

import argparse
import pathlib
import time

import numpy as np
import torch

from blocks import VARIANTS, Blocks
from net import Chain
from patches import Patches
from train import STUDENTS, TEACHER, Kodak, Run, save_arrays


def the_networks(args):
    nets = {}
    for name, shape in STUDENTS.items():
        for suffix in ("", "_alone"):
            nets[name.replace("sr_x2", "chain") + suffix] = Chain(**shape)
    nets |= {name: Blocks(name) for name in VARIANTS}
    for name in args.only or nets:
        if name not in nets:
            raise SystemExit(f"--only {name}: no such network")
    nets = {name: net for name, net in nets.items() if not args.only or name in args.only}
    for text in args.start:
        name, source = text.split("=")
        if source.endswith(".npz"):
            nets[name] = Chain.holding(dict(np.load(source)))
        else:
            widths = [int(width) for width in source.split(",")]
            nets[name] = Chain(widths, len(widths) - 1)
    return nets


def the_teacher(args, data, kodak):
    teacher, path = Chain(**TEACHER).to(data.device), args.state / "teacher.pt"
    if path.exists():
        teacher.load_state_dict(torch.load(path, map_location=data.device))
        return teacher
    run = Run({"teacher": teacher}, data, args.teacher_batch, amp=data.device.type == "cuda", clip=0.5)
    run.train(5e-4, args.teacher_steps, args.teacher_seconds)
    kodak.show({"teacher": teacher})
    torch.save(teacher.state_dict(), path)
    return teacher


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("state", type=pathlib.Path)
    parser.add_argument("--start", action="append", default=[])
    parser.add_argument("--only", nargs="*", help="of the networks that are no trimmed ones, these")
    parser.add_argument("--teacher-steps", type=int, default=0)
    parser.add_argument("--teacher-seconds", type=float, default=90)
    parser.add_argument("--teacher-batch", type=int, default=32)
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=270)
    parser.add_argument("--rate", type=float, default=1.5e-3)
    parser.add_argument("--batch", type=int, default=16)
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
    begin = time.time()
    device = torch.device(args.device)
    nets = {name: net.to(device) for name, net in the_networks(args).items()}
    data = Patches(args.data / "train", device, args.patch, args.limit)
    kodak = Kodak(args.data / "kodak", device)
    print(f"{len(data.table)} patches, {data.low.numel() / 1e6:.1f} M low pixels, {time.time() - begin:.0f} s", flush=True)
    teacher = the_teacher(args, data, kodak)
    with torch.backends.cudnn.flags(enabled=True, benchmark=False, allow_tf32=True):
        data.ask(teacher)
    print(f"teacher asked, {time.time() - begin:.0f} s; before training:", flush=True)
    kodak.show({name: net for name, net in nets.items() if any(text.startswith(f"{name}=") for text in args.start)})

    def keep():
        for name, net in nets.items():
            save_arrays(args.state / f"{name}.npz", net.plain())

    run = Run(nets, data, args.batch, clip=0.5, alone=[name for name in nets if name.endswith("_alone")])
    run.train(args.rate, args.steps, args.seconds, report=keep, switch=0.35)
    keep()
    kodak.show(nets)
    print(f"{time.time() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
