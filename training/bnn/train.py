#!/usr/bin/env python3
"""Trains the teacher and the binary network on pictures.py: train.py OUT [--pictures N] [--passes T A B]

Writes OUT/teacher.pt (fp32) and OUT/binary.pt. Two steps (Martinez et al. 2020, "Training binary neural networks with
real-to-binary convolutions"): activations alone are binary first, then weights too, from where the first step ended; both
learn the teacher's scores besides the digits.
"""

import argparse
import pathlib
import time

import torch
from torch.nn import functional

import net
import pictures

BATCH = 64
TEMPERATURE = 2.0


def load(seed, count):
    drawn, labels = pictures.draw(seed, count)
    return torch.from_numpy(pictures.as_input(drawn)), torch.from_numpy(labels)


def accuracy(model, data):
    model.eval()
    with torch.no_grad():
        scores = torch.cat([model(part) for part in data[0].split(500)])
    return (scores.argmax(1) == data[1]).float().mean().item()


def loss_of(scores, labels, teacher_scores):
    loss = functional.cross_entropy(scores, labels)
    if teacher_scores is None:
        return loss
    soft = functional.kl_div(functional.log_softmax(scores / TEMPERATURE, 1),
                             functional.softmax(teacher_scores / TEMPERATURE, 1), reduction="batchmean")
    return 0.3 * loss + 0.7 * TEMPERATURE**2 * soft


def fit(name, model, data, held_out, passes, rate, decay, teacher=None):
    steps = int(passes * len(data[0])) // BATCH
    optimiser = torch.optim.AdamW(model.parameters(), rate, weight_decay=decay)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, total_steps=steps, pct_start=0.1)
    order, start = torch.empty(0, dtype=torch.long), time.time()
    for step in range(steps):
        if len(order) < BATCH:
            order = torch.cat([order, torch.randperm(len(data[0]))])
        taken, order = order[:BATCH], order[BATCH:]
        x = torch.roll(data[0][taken], tuple(torch.randint(-2, 3, (2,)).tolist()), (2, 3))
        with torch.no_grad():
            teacher_scores = teacher(x) if teacher else None
        model.train()
        loss = loss_of(model(x), data[1][taken], teacher_scores)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        if step % 250 == 249 or step + 1 == steps:
            print(f"{name} {step + 1}/{steps}: loss {loss.item():.3f}, held out {accuracy(model, held_out):.4f}, "
                  f"{time.time() - start:.0f} s", flush=True)
    model.eval()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--pictures", type=int, default=60000)
    parser.add_argument("--passes", type=float, nargs=3, default=(2, 2, 3), help="teacher, first step, second step")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(arguments.seed)
    arguments.out.mkdir(parents=True, exist_ok=True)
    data, held_out = load(arguments.seed, arguments.pictures), load(pictures.HELD_OUT_SEED, 500)

    teacher = net.Net()
    fit("teacher", teacher, data, held_out, arguments.passes[0], 4e-3, 1e-4)
    torch.save(teacher.state_dict(), arguments.out / "teacher.pt")
    first = net.Net("x")
    first.load_state_dict(teacher.state_dict())
    fit("binary activations", first, data, held_out, arguments.passes[1], 2e-3, 1e-5, teacher)
    binary = net.Net("xw")
    binary.load_state_dict(first.state_dict())
    fit("binary", binary, data, held_out, arguments.passes[2], 2e-3, 0, teacher)
    torch.save(binary.state_dict(), arguments.out / "binary.pt")


if __name__ == "__main__":
    main()
