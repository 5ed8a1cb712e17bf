#!/usr/bin/env python3
"""Trains in rounds of pre-label, check, train, and compares models of equal size after each: rounds.py PAIRS OUT [--seconds N]

PAIRS is what prepare.py writes. Shapes of equal size are compared after each round on held-out slices and frames; the last round
goes on with the best and with `dilated`, which has half of the weights. A quarter of each batch is of frames without phones, which the
networks look at every few seconds: three of four are around what was found there. Before each round --teacher looks at the worst of it,
and frames in which that sees a phone, too, are left out. On a GPU where there is one. OUT receives SHAPE_ROUND.npz, of weights averaged over some 250 steps.
"""

import argparse
import copy
import math
import pathlib
import time

import numpy as np
import torch
import torch.nn.functional as F

import judging
from detector import SIZE_UNIT, STRIDE, Detector, loss
from teacher import Teacher

PART = 56  # the sides of what is learnt from at a time, in planes
BATCH, WRONG = 160, 40
MOST_ERRORS, LEAST = 3000, 0.1
SMALLER = dict(channels=24, dilations=(1, 2, 2, 1))
EQUAL = {  # of some 50 K weights
    "dilated32": dict(channels=32, dilations=(1, 2, 4, 2, 1)),
    "plain36": dict(channels=36, dilations=(1, 1, 1, 1)),
    "deep27": dict(channels=27, dilations=(1, 2, 1, 2, 1, 2, 1)),
}
ENDS = (0.22, 0.36, 0.5, 1.0)  # of the rounds, in shares of the time
MIRRORED = [1, 0, 3, 2, 4, 5]  # the planes


def crops(source, index, y, x):
    side, planes = torch.arange(PART, device=source.device), torch.arange(6, device=source.device)
    rows, columns = (y[:, None] + side)[:, None, :, None], (x[:, None] + side)[:, None, None, :]
    return source[index[:, None, None, None], planes[None, :, None, None], rows, columns]


def targets(boxes):
    """On the boxes' device: heat, values, and where these count."""
    ys, xs = torch.meshgrid(*[torch.arange(PART // 2, device=boxes.device) + 0.5] * 2, indexing="ij")
    exists = (boxes[..., 0] > -1)[..., None, None]
    left, top, right, bottom = (boxes[..., i][..., None, None] for i in range(4))
    cx, cy = (left + right) / 2 / STRIDE, (top + bottom) / 2 / STRIDE
    sigma = (torch.maximum(right - left, bottom - top) / STRIDE / 4).clamp(0.55, 1.5)
    bell = torch.exp(-((xs - cx) ** 2 + (ys - cy) ** 2) / (2 * sigma**2)) * exists
    cell = (xs.floor() == cx.floor()) & (ys.floor() == cy.floor()) & exists
    sizes = [((right - left) / SIZE_UNIT).expand_as(bell), ((bottom - top) / SIZE_UNIT).expand_as(bell)]
    values = torch.stack([*sizes, cx - xs, cy - ys], 2) * cell[:, :, None]
    heat = torch.where(cell, torch.ones_like(bell), bell).amax(1, keepdim=True)
    return heat, values.sum(1) / cell[:, :, None].sum(1).clamp(min=1), cell.any(1, keepdim=True).float()


class Source:
    """Slices with phones and frames without, on the device, and where something was found in these."""

    def __init__(self, pairs, device):
        learnt = np.load(pairs / "train.npz")
        self.slices, self.boxes, self.frames = (torch.from_numpy(learnt[name]).to(device) for name in ("slices", "boxes", "frames"))
        self.device = device
        self.errors = torch.zeros(MOST_ERRORS, 3, dtype=torch.long, device=device)  # frame, row and column of the part
        self.error_count = torch.zeros((), device=device)

    def rand(self, *shape):
        return torch.rand(*shape, device=self.device)

    def with_phones(self, count):
        """Parts of slices, most often around a phone."""
        index = (self.rand(count) * len(self.slices)).long()
        boxes = self.boxes[index]
        here = (boxes[..., 0] > -1).float()
        one = (here + self.rand(count, boxes.shape[1])).argmax(1)
        middle = (boxes[..., :2] + boxes[..., 2:])[torch.arange(count, device=self.device), one] / 4
        around = (self.rand(count) < 0.8) & (here.sum(1) > 0)
        room = self.slices.shape[-1] - PART
        corner = torch.where(around[:, None], middle - 4 - self.rand(count, 2) * (PART - 8), self.rand(count, 2) * (room + 1))
        corner = corner.clamp(0, room).long() & ~1
        moved = boxes - 2.0 * torch.cat([corner, corner], 1)[:, None]
        middles = (moved[..., :2] + moved[..., 2:]) / 2
        inside = (middles > 1).all(-1) & (middles < 2 * PART - 1).all(-1) & (here > 0)
        moved = torch.cat([moved[..., :1].clamp(min=-0.9), moved[..., 1:]], -1)
        return crops(self.slices, index, corner[:, 1], corner[:, 0]), torch.where(inside[..., None], moved, torch.full_like(moved, -1))

    def without_phones(self, count):
        rows, columns = (size - PART for size in self.frames.shape[2:])
        error = self.errors[(self.rand(count) * self.error_count.clamp(min=1)).long()]
        jitter = ((self.rand(count, 2) - 0.5) * 36).long()
        use = (self.rand(count) < 0.75) & (self.error_count > 0)
        index = torch.where(use, error[:, 0], (self.rand(count) * len(self.frames)).long())
        y = torch.where(use, (error[:, 1] + jitter[:, 0]).clamp(0, rows), (self.rand(count) * rows).long()) & ~1
        x = torch.where(use, (error[:, 2] + jitter[:, 1]).clamp(0, columns), (self.rand(count) * columns).long()) & ~1
        return crops(self.frames, index, y, x)

    def batch(self):
        """Planes and targets; some mirrored, lighter, paler or noisier."""
        parts, boxes = self.with_phones(BATCH - WRONG)
        none = torch.full((WRONG, *boxes.shape[1:]), -1.0, device=self.device)
        planes, boxes = torch.cat([parts, self.without_phones(WRONG)]).float() / 255, torch.cat([boxes, none])
        turn = self.rand(BATCH) < 0.5
        planes = torch.where(turn.view(-1, 1, 1, 1), planes[:, MIRRORED].flip(-1), planes)
        left, right = (2 * PART - boxes[..., 2]).clamp(min=-0.9), 2 * PART - boxes[..., 0]
        mirrored = torch.stack([left, boxes[..., 1], right, boxes[..., 3]], -1)
        boxes = torch.where((turn[:, None] & (boxes[..., 0] > -1))[..., None], mirrored, boxes)
        one = (BATCH, 1, 1, 1)
        light = (planes[:, :4] - 0.5) * (0.75 + 0.5 * self.rand(*one)) + 0.5 + 0.1 * (self.rand(*one) - 0.5)
        colour = (planes[:, 4:] - 0.5) * (0.3 + self.rand(*one)) + 0.5
        planes = torch.cat([light, colour], 1)
        return (planes + 0.012 * self.rand(*one) * torch.randn_like(planes)).clamp(0, 1), targets(boxes)

    def leave_out(self, teacher, most=300):
        """Frames among the worst places of which the teacher sees a phone; how many they were."""
        doubtful = set()
        for frame, y, x in self.errors[: min(most, int(self.error_count))].tolist():
            if frame not in doubtful and teacher.sees_phone(self.frames[frame, :, y : y + PART, x : x + PART].cpu().numpy()):
                doubtful.add(frame)
        kept = [i for i in range(len(self.frames)) if i not in doubtful]
        self.frames = self.frames[kept]
        self.error_count.zero_()  # they name frames by their places
        return len(doubtful)

    @torch.no_grad()
    def mine(self, nets):
        """Looks at all frames without phones, and keeps the worst places."""
        found = []
        for net in nets:
            for i in range(0, len(self.frames), 32):
                heat = torch.sigmoid(net.eval()(self.frames[i : i + 32].float() / 255)[:, :1])
                peak = (F.max_pool2d(heat, 3, 1, 1) == heat) & (heat >= LEAST)
                frame, _, row, column = peak.nonzero(as_tuple=True)
                found.append(torch.stack([heat[frame, 0, row, column], frame + i, 2 * row, 2 * column], 1))
        found = torch.cat(found)
        found = found[found[:, 0].argsort(descending=True)][:MOST_ERRORS]
        corner = (found[:, 2:].long() - PART // 2).clamp(min=0)
        limit = torch.tensor([size - PART for size in self.frames.shape[2:]], device=self.device)
        self.errors[: len(found)] = torch.cat([found[:, 1:2].long(), torch.minimum(corner, limit)], 1)
        self.error_count.fill_(len(found))
        return [int((found[:, 0] >= least).sum()) for least in (LEAST, 0.3, 0.5)]


class Pupil:
    """A network in training and the mean of its weights, which is what is kept."""

    def __init__(self, shape, device):
        self.net = Detector(**shape).to(device)
        self.mean = copy.deepcopy(self.net)
        self.optimizer = torch.optim.AdamW(self.net.parameters(), 1e-3, weight_decay=1e-4)
        self.steps, self.loss = 0, 2.0

    def step(self, planes, wanted, rate):
        self.optimizer.param_groups[0]["lr"] = rate
        value = loss(self.net.train()(planes), *wanted)
        self.optimizer.zero_grad(set_to_none=True)
        value.backward()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 5.0)
        self.optimizer.step()
        self.steps += 1
        if self.steps % 20 == 0:
            self.loss = value.item()
        with torch.no_grad():
            for mean, now in zip(self.mean.state_dict().values(), self.net.state_dict().values()):
                mean.lerp_(now, 0.004) if mean.dtype.is_floating_point else mean.copy_(now)


def learn(source, pupils, end, most, mine_every):
    """Until `end` by the clock: steps of all pupils on the same batches."""
    start = mined = time.time()
    step = 0
    while (now := time.time()) < end:
        share, step = (now - start) / (end - start), step + 1
        rate = most * min(1, step / 100) * (0.02 + 0.49 * (1 + math.cos(math.pi * share)))
        planes, wanted = source.batch()
        for pupil in pupils:
            pupil.step(planes, wanted, rate)
        if now - mined > mine_every:
            print("wrongly found, by score:", source.mine([pupil.mean for pupil in pupils]), flush=True)
            mined = time.time()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pairs", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=130)
    parser.add_argument("--mine-every", type=float, default=7, help="seconds")
    parser.add_argument("--teacher", type=pathlib.Path, help="yolox_nano_416.onnx")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(1)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    source, held = Source(args.pairs, device), dict(np.load(args.pairs / "held.npz"))
    teacher = Teacher(args.teacher) if args.teacher else None
    pupils = {name: Pupil(shape, device) for name, shape in {"dilated": SMALLER, **EQUAL}.items()}
    names, begin = list(pupils), time.time()
    for number, end in enumerate(ENDS):
        if number > 0:
            means = [pupils[name].mean for name in names]
            source.mine(means)
            if teacher is not None:
                print(f"round {number}: {source.leave_out(teacher)} frames are left out, as the teacher sees a phone", flush=True)
                source.mine(means)
        learn(source, [pupils[name] for name in names], begin + args.seconds * end, 3e-3 if number else 4e-3, args.mine_every)
        recall = {}
        for name in names:
            net = copy.deepcopy(pupils[name].mean).cpu().eval()
            judgement = judging.judged(net, held)
            recall[name] = judgement["mean"]
            print(judging.row(number, name, net, pupils[name].steps, pupils[name].loss, judgement), flush=True)
            np.savez(args.out / f"{name}_{number}.npz", **net.plain())
        if number == len(ENDS) - 2:
            names = ["dilated", max(EQUAL, key=recall.get)]


if __name__ == "__main__":
    main()
