#!/usr/bin/env python3
"""Trains in rounds of pre-label, check, train, and compares models of equal size after each: rounds.py PAIRS OUT [options]

Round 0 learns from drawn phones alone. Before each later round the best model looks at the training clips, which hold no phone:
what it finds there is checked by a teacher (YOLOX-Nano, --teacher) and, unless that sees a phone too, learnt as no phone. The
last round trains the best model alone. OUT receives NAME.npz, its weights, and table.md.
"""

import argparse
import pathlib
import time

import numpy as np
import torch

from detector import SHAPES, Detector, loss, peaks, same, targets

BANDS = ((6, 8), (8, 12), (12, 16), (16, 28))
PHONE = 67  # of COCO's 80
HALF = 80  # the sides of a slice, of its planes
PART = 48  # the same of what is learnt from at a time


def part_of(rng, planes, boxes):
    """A random part of a slice, most often around one of its phones if it has any, and the boxes whose middles are in it."""
    here = boxes[boxes[:, 0] > -1]
    x, y = rng.integers(0, HALF - PART + 1, 2)
    if len(here) and rng.random() < 0.8:
        box = here[rng.integers(len(here))]
        middle = np.array([box[0] + box[2], box[1] + box[3]]) / 4
        x, y = np.clip(middle - rng.uniform(4, PART - 4, 2), 0, HALF - PART).astype(int)
    x, y = x & ~1, y & ~1
    moved = np.where(boxes[:, :1] > -1, boxes - 2 * np.array([x, y, x, y], np.float32), -1)
    middles = (moved[:, :2] + moved[:, 2:]) / 2
    inside = (middles > 1).all(1) & (middles < 2 * PART - 1).all(1)
    # A box may begin left of the part: -1 alone says that there is none.
    moved[inside, 0] = np.maximum(moved[inside, 0], -0.9)
    return planes[:, y : y + PART, x : x + PART], np.where(inside[:, None], moved, -1)


def drawn(rng, slices, boxes, count):
    """Parts of random slices, some of them mirrored, lighter or paler, as (planes, boxes)."""
    parts = [part_of(rng, slices[i], boxes[i]) for i in rng.integers(0, len(slices), count)]
    planes = np.stack([p[0] for p in parts]).astype(np.float32) / 255
    found = np.stack([p[1] for p in parts]).astype(np.float32)
    for i in range(count):
        if rng.random() < 0.5:
            planes[i] = planes[i][[1, 0, 3, 2, 4, 5], :, ::-1]
            here = found[i, :, 0] > -1
            found[i, here, 0], found[i, here, 2] = np.maximum(2 * PART - found[i, here, 2], -0.9), 2 * PART - found[i, here, 0]
        planes[i, :4] = (planes[i, :4] - 0.5) * rng.uniform(0.8, 1.2) + 0.5 + rng.normal(0, 0.05)
        planes[i, 4:] = (planes[i, 4:] - 0.5) * rng.uniform(0.3, 1.3) + 0.5
    return np.clip(planes, 0, 1), found


def train(net, rng, pairs, wrong, steps, rate, batch, seconds):
    """`wrong`: slices of clips in which something was taken for a phone; a quarter of each batch."""
    optimizer = torch.optim.AdamW(net.parameters(), rate, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps, pct_start=0.1)
    total, begin, done = 0.0, time.time(), 0
    net.train()
    for done in range(1, steps + 1):
        planes, boxes = drawn(rng, *pairs, batch)
        if len(wrong):
            part = batch // 4
            planes[:part], boxes[:part] = drawn(rng, wrong, np.full((len(wrong),) + boxes.shape[1:], -1, np.float32), part)
        value = loss(net(torch.from_numpy(planes)), *targets(torch.from_numpy(boxes), PART // 2, PART // 2))
        optimizer.zero_grad()
        value.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        optimizer.step()
        schedule.step()
        total += value.item()
        if time.time() - begin > seconds:
            break
    net.eval()
    return total / done, done


@torch.no_grad()
def found_in(net, planes, least, batch=8):
    result = []
    for i in range(0, len(planes), batch):
        result += peaks(net(torch.from_numpy(planes[i : i + batch]).float() / 255), least)
    return result


def score_for(found, frames, each):
    """The score that `each` wrong finds a frame reach."""
    scores = sorted((one[0] for frame in found for one in frame), reverse=True)
    most = int(each * frames)
    return scores[most] if most < len(scores) else 0.05


def recall(found, boxes, least):
    """The share of the boxes of each band that was found with `least`."""
    hits = {band: [] for band in BANDS}
    for here, wanted in zip(found, boxes):
        for box in wanted[wanted[:, 0] > -1]:
            side = max(box[2] - box[0], box[3] - box[1])
            band = next((b for b in BANDS if b[0] <= side < b[1]), None)
            if band:
                hits[band].append(any(one[0] >= least and same(one[1:], box) for one in here))
    return {band: float(np.mean(h)) if h else float("nan") for band, h in hits.items()}


def judged(net, held):
    """Recall on held-out slices at 0.1 wrong finds for each held-out frame without phones."""
    least = score_for(found_in(net, held["frames"], 0.05), len(held["frames"]), 0.1)
    by_band = recall(found_in(net, held["slices"], 0.05), held["boxes"], least)
    return {"recall": by_band, "score": least, "mean": float(np.mean(list(by_band.values())))}


class Teacher:
    """Whether a much larger detector, YOLOX-Nano on COCO (Apache-2.0), sees a phone in a slice that is enlarged for it."""

    def __init__(self, file):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])

    def sees_phone(self, planes):
        import io

        from PIL import Image

        luma = np.zeros((2 * HALF, 2 * HALF), np.uint8)
        for i in range(4):
            luma[i // 2 :: 2, i % 2 :: 2] = planes[i]
        chroma = [planes[c].repeat(2, 0).repeat(2, 1) for c in (4, 5)]
        rgb = Image.fromarray(np.stack([luma, *chroma], 2), "YCbCr").convert("RGB").resize((416, 416), Image.BICUBIC)
        bgr = np.asarray(rgb, np.float32)[..., ::-1].transpose(2, 0, 1)[None]
        out = self.session.run(None, {self.session.get_inputs()[0].name: np.ascontiguousarray(bgr)})[0][0]
        return float((out[:, 4] * out[:, 5 + PHONE]).max()) >= 0.25


def mined(net, frames, teacher, most):
    """Slices around what is wrongly found, the worst first, and how many the teacher took for phones."""
    found = [(one[0], i, one) for i, here in enumerate(found_in(net, frames, 0.2)) for one in here]
    result, doubtful = [], 0
    for _, i, box in sorted(found, key=lambda f: -f[0])[:most]:
        x, y = ((box[1] + box[3]) / 4 - HALF / 2, (box[2] + box[4]) / 4 - HALF / 2)
        rows, columns = frames.shape[2:]
        x, y = int(np.clip(x, 0, columns - HALF)) & ~1, int(np.clip(y, 0, rows - HALF)) & ~1
        part = frames[i, :, y : y + HALF, x : x + HALF]
        if teacher is not None and teacher.sees_phone(part):
            doubtful += 1
        else:
            result.append(part)
    return np.array(result, np.uint8).reshape(-1, 6, HALF, HALF), doubtful, len(found)


def row(number, name, net, steps, value, judgement):
    bands = " | ".join(f"{100 * v:.0f} %" for v in judgement["recall"].values())
    return f"| {number} | {name} | {net.weights()} | {steps} | {value:.2f} | {judgement['score']:.2f} | {bands} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pairs", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--teacher", type=pathlib.Path, help="yolox_nano_416.onnx")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--last", type=int, default=2500, help="steps of the last round")
    parser.add_argument("--resume", help="a name of OUT's weights, from which one more last round goes on")
    parser.add_argument("--more", type=pathlib.Path, help="another folder of prepare.py: its slices too, its frames instead")
    parser.add_argument("--mined", type=int, default=300, help="errors that are learnt from in a round, at most")
    parser.add_argument("--seconds", type=float, default=1e9, help="at most, for a model and round")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    args.out.mkdir(parents=True, exist_ok=True)
    learnt, held = np.load(args.pairs / "train.npz"), dict(np.load(args.pairs / "held.npz"))
    pairs, frames = (learnt["slices"], learnt["boxes"]), learnt["frames"]
    if args.more:
        added = np.load(args.more / "train.npz")
        pairs = tuple(np.concatenate([a, added[name]]) for a, name in zip(pairs, ("slices", "boxes")))
        frames = added["frames"]
    teacher = Teacher(args.teacher) if args.teacher else None
    rng = np.random.default_rng(args.seed)
    nets = {name: Detector(**shape) for name, shape in SHAPES.items()}
    wrong = np.zeros((0, 6, HALF, HALF), np.uint8)
    lines = ["| round | model | weights | steps | loss | score | " + " | ".join(f"{a} to {b} px" for a, b in BANDS) + " |"]
    lines.append("|---" * (6 + len(BANDS)) + "|")
    best = args.resume
    if best:
        nets[best].load_state_dict(torch.load(args.out / f"{best}.pt"))
        nets[best].eval()
    for number in range(args.rounds if best else 0, args.rounds + 1):
        if number > 0:
            more, doubtful, all_found = mined(nets[best], frames, teacher, args.mined)
            wrong = np.concatenate([wrong, more])
            print(f"round {number}: {best} found {all_found} in {len(frames)} frames without phones, {len(more)} are learnt,", flush=True)
            print(f"{doubtful} are left out as the teacher sees a phone", flush=True)
        last = number == args.rounds
        means = {}
        for name in [best] if last else nets:
            steps = args.last if last else args.steps
            value, done = train(nets[name], rng, pairs, wrong, steps, 5e-3 if number == 0 else 3e-3, args.batch, args.seconds)
            judgement = judged(nets[name], held)
            means[name] = judgement["mean"]
            lines.append(row(number, name, nets[name], done, value, judgement))
            print(lines[-1], flush=True)
            np.savez(args.out / f"{name}.npz", **nets[name].plain())
            torch.save(nets[name].state_dict(), args.out / f"{name}.pt")
        best = max(means, key=means.get)
        (args.out / "table.md").write_text("\n".join(lines) + "\n")
    print(f"best: {best}")


if __name__ == "__main__":
    main()
