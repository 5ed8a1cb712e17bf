#!/usr/bin/env python3
"""What rules make of what measure.py saw: rules.py OUT_phones.npz OUT_free.npz

Finds become tracks as alert/tracks.cc makes them. A rule gives each track one number: the score that 15 of 30 frames reach, or the
largest mean of the log odds of so many frames in a row, with a floor for frames where it was not seen. Recall is that of the phones
at the number that so many wrong alerts an hour (90,000 frames) reach. Clips are of two halves; the number is taken from the other one.
"""

import argparse
import pathlib
import sys

import numpy as np

HALVES = (("eat", "one-by-one", "carphone", "VID_1280"), ("night", "vtest", "bikes", "test_cif", "balle1"))
FLOOR, REACH, END = -3.0, 1.5, 30


def tracks_of(finds, scores):
    """[(frames, scores, places)]: each find goes to the nearest thing of the last END frames."""
    order = np.argsort(finds[:, 0], kind="stable")
    finds, scores = finds[order], scores[order]
    alive, ended = [], []
    for frame in np.unique(finds[:, 0]):
        ended += [t for t in alive if frame - t[0][-1] > END]
        alive = [t for t in alive if frame - t[0][-1] <= END]
        here = np.flatnonzero(finds[:, 0] == frame)
        here = here[np.argsort(-finds[here, 1])]
        kept = []
        for k in here:
            if all(np.hypot(*(finds[k, 2:4] - finds[j, 2:4])) >= max(*finds[k, 4:6], *finds[j, 4:6]) / 2 for j in kept):
                kept.append(k)
        if alive and kept:
            places, sides = np.array([t[2][-1] for t in alive]), np.array([t[3] for t in alive])
            mine = finds[kept]
            far = np.hypot(places[:, :1] - mine[:, 2], places[:, 1:] - mine[:, 3])
            reach = REACH * np.maximum(sides[:, None], mine[:, 4:6].max(1))
            pairs = sorted((far[i, j], i, j) for i, j in zip(*np.nonzero(far < reach)))
        else:
            pairs = []
        taken, used = set(), set()
        for _, i, j in pairs:
            if i in used or j in taken:
                continue
            used.add(i), taken.add(j)
            add(alive[i], finds[kept[j]], scores[kept[j]])
        for j, k in enumerate(kept):
            if j not in taken:
                alive.append([[], [], [], 0])
                add(alive[-1], finds[k], scores[k])
    return ended + alive


def add(track, find, score):
    track[0].append(int(find[0])), track[1].append(score), track[2].append(find[2:4])
    track[3] = max(find[4:6])


def votes(track, length, count=30, seen=15):
    row = np.full(max(length, count), -20.0)
    row[track[0]] = track[1]
    windows = np.lib.stride_tricks.sliding_window_view(row, count)
    return np.partition(windows, count - seen, 1)[:, count - seen].max()


def mean(track, length, count=30):
    row = np.full(max(length, count), FLOOR)
    row[track[0]] = np.maximum(track[1], FLOOR)
    sums = np.concatenate([[0], np.cumsum(row)])
    return (sums[count:] - sums[:-count]).max() / count


RULES = {"15 of 30": votes, "mean of 30": mean, "mean of 60": lambda t, n: mean(t, n, 60)}


def side(longer):
    """What large finds lack, in log odds near one half as the step's score."""
    return 0.1 * (np.clip(longer, 8, 18) - 8)


def scored(seen, key, what, least):
    """Finds and their log odds, by the name of a network or "second:NETWORK" of what the first one found."""
    names = [str(n) for n in seen["nets"]]
    if ":" not in what:
        finds = seen[f"{key}/{what}"].astype(np.float32)
        chosen = finds[:, 1] >= least
        value = np.clip(finds[:, 1], 1e-4, 1 - 1e-4)
        return finds[chosen], (np.log(value / (1 - value)) - side(finds[:, 4:6].max(1)))[chosen]
    finds, looks = seen[f"{key}/{names[0]}"].astype(np.float32), seen[f"{key}/looks"].astype(np.float32)
    chosen = finds[:, 1] >= least
    parts = what.split(":")[1].split("+")
    value = sum(looks[:, names.index(p) - 1] if p != names[0] else np.log(finds[:, 1] / (1.001 - finds[:, 1])) for p in parts) / len(parts)
    return finds[chosen], (value - side(finds[:, 4:6].max(1)))[chosen]


def half_of(name):
    return 0 if name.startswith(HALVES[0]) or (name.startswith("still") and int(name[-1]) % 2) else 1


def clips(seen, kind):
    number = 0
    while f"{kind}/{number}/job" in seen:
        yield f"{kind}/{number}", [str(v) for v in seen[f"{kind}/{number}/job"]], int(seen[f"{kind}/{number}/count"])
        number += 1


def judged(phones, free, what, least):
    """Of each rule: [(half, number)] of tracks without phones, and [(half, size, light, crf, number)] of phones."""
    wrong, right = {r: [] for r in RULES}, {r: [] for r in RULES}
    for key, job, length in clips(free, "free"):
        for track in tracks_of(*scored(free, key, what, least)):
            if len(track[0]) >= 8:
                for rule, number in RULES.items():
                    wrong[rule].append((half_of(job[0]), number(track, length), job[0]))
    for key, job, length in clips(phones, "phones"):
        truth = phones[f"{key}/truth"]
        best = {rule: np.full(len(truth), -20.0) for rule in RULES}
        for track in tracks_of(*scored(phones, key, what, least)):
            places, at = np.array(track[2]), truth[:, track[0]]
            far = np.hypot(places[:, 0] - (at[..., 0] + at[..., 2]) / 2, places[:, 1] - (at[..., 1] + at[..., 3]) / 2)
            near = far < np.maximum(np.maximum(at[..., 2] - at[..., 0], at[..., 3] - at[..., 1]), track[3]) / 2
            for k in np.flatnonzero(near.any(1)):
                for rule, number in RULES.items():
                    best[rule][k] = max(best[rule][k], number(track, length))
        for rule in RULES:
            right[rule] += [(half_of(job[0]), int(job[1]), job[2], job[3], value) for value in best[rule]]
    return wrong, right


def bar(wrong, half, frames, each):
    """The number that `each` wrong alerts an hour reach in a half."""
    numbers = sorted((row[1] for row in wrong if row[0] == half), reverse=True)
    most = int(each * frames[half] / 90000)
    return numbers[most] if most < len(numbers) else -20.0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("phones", type=pathlib.Path)
    parser.add_argument("free", type=pathlib.Path)
    parser.add_argument("--what", nargs="+", default=["old", "small", "finder", "second:second"])
    parser.add_argument("--least", type=float, default=0.3)
    parser.add_argument("--each", type=float, nargs="+", default=[40, 10, 4])
    args = parser.parse_args()
    phones, free = dict(np.load(args.phones)), dict(np.load(args.free))
    frames = [0, 0]
    for _, job, length in clips(free, "free"):
        frames[half_of(job[0])] += length
    print(f"frames without phones in both halves: {frames}")
    for what in args.what:
        wrong, right = judged(phones, free, what, args.least)
        for rule in RULES:
            for each in args.each:
                bars = [bar(wrong[rule], 1 - half, frames, each) for half in (0, 1)]
                false = sum(row[1] > bars[row[0]] for row in wrong[rule])
                cells = []
                for size, light, crf in [(s, li, "26") for s in (6, 8, 10, 14, 20) for li in ("day", "dim", "dark")] + [(10, "day", "0")]:
                    rows = [row[4] > bars[row[0]] for row in right[rule] if row[1:4] == (size, light, crf)]
                    cells.append(f"{100 * np.mean(rows):.0f}" if rows else "-")
                cells = "/".join(cells[:-1]) + " uncoded " + cells[-1]
                print(f"{what:22} {rule:10} {each:4g} an hour, bars {bars[0]:.2f} {bars[1]:.2f}: {cells}; wrong {false * 90000 / sum(frames):.1f}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
