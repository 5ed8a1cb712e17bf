#!/usr/bin/env python3
"""How many drawn phones fettle-enhance tells of in held-out clips, and how often it is wrong: alert.py FETTLE_ENHANCE CLIPS [options]

CLIPS is the folder of training/alert/data.json's clips, of which those that are held out are read, at 640x360. Phones of each
size (the longer side, before they are turned) move across them, coded by x264. A phone is told of where an alert's box has its
middle nearer than half of a side to it; in brackets the share of its frames in which one has. Alerts in clips without phones are
wrong; a minute is 1500 frames. A row for each of --scores and --votes. Needs NumPy, Pillow and ffmpeg.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "training" / "alert"))
import backgrounds  # noqa: E402
import phones  # noqa: E402

WIDTH, HEIGHT, RATE = 640, 360, 25
SIZES = (6, 8, 10, 14, 20)
CRF = "26"


class Moving:
    """A phone on its way across a clip."""

    def __init__(self, rng, size, picture):
        layer, self.box = phones.phone_layer(rng, size)
        n = layer.size[0] // phones.FINE
        self.at = rng.uniform((0, 0), (WIDTH - n, HEIGHT - n))
        self.speed = rng.normal(0, 0.8, 2)
        self.room = np.array([WIDTH - n, HEIGHT - n])
        x, y = self.at.astype(int)
        self.made = phones.lit(rng, layer, picture[y : y + n, x : x + n])

    def draw(self, picture):
        """Into an RGB float array; returns where it is."""
        self.at += self.speed
        self.speed = np.where((self.at < 0) | (self.at > self.room), -self.speed, self.speed)
        left, top = np.clip(self.at, 0, self.room).astype(int)
        phones.put(picture, self.made, left, top)
        return [self.box[0] + left, self.box[1] + top, self.box[2] + left, self.box[3] + top]


def write_clip(path, frames):
    command = ["ffmpeg", "-v", "error", "-y", "-f", "rawvideo", "-s", f"{WIDTH}x{HEIGHT}", "-r", str(RATE), "-pix_fmt", "rgb24",
               "-i", "-", "-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "veryfast", "-crf", CRF, str(path)]  # fmt: skip
    subprocess.run(command, input=frames.tobytes(), check=True)


def alerts_in(args, clip, score, votes, folder):
    """(alerts, milliseconds a frame of the step)."""
    result = folder / "alerts.json"
    command = [args.program, str(clip), "-o", str(result), "--overwrite", "--steps", "alert", "--alert-score", str(score), "--alert-votes", votes,
               "--threads", "1", "--json"]  # fmt: skip
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    ms = next(t["ms"] for t in json.loads(done.stdout)["times"] if t["step"] == "alert")
    return json.loads(result.read_text())["alerts"], ms


def near(box, truth):
    x, y = box[0] + box[2] / 2, box[1] + box[3] / 2
    side = max(box[2], box[3], truth[2] - truth[0], truth[3] - truth[1])
    return np.hypot(x - (truth[0] + truth[2]) / 2, y - (truth[1] + truth[3]) / 2) < side / 2


def composed(rng, frames, size, count):
    """The clip with `count` phones, and of each where it is in each frame."""
    moving = [Moving(rng, size, frames[0]) for _ in range(count)]
    result, truth = np.empty_like(frames), [[] for _ in moving]
    for i, frame in enumerate(frames):
        picture = frame.astype(np.float32)
        for phone, places in zip(moving, truth):
            places.append(phone.draw(picture))
        result[i] = np.clip(picture, 0, 255)
    return result, truth


def judged(alerts, truth):
    """(frames found, phones found, wrong alerts)."""
    found = [set() for _ in truth]
    wrong = 0
    for alert in alerts:
        hits = 0
        for one in alert["boxes"]:
            for k, places in enumerate(truth):
                if near(one["box"], places[one["frame"]]):
                    found[k].add(one["frame"])
                    hits += 1
        wrong += hits * 2 < len(alert["boxes"])
    return sum(map(len, found)), sum(map(bool, found)), wrong


def measure(args, rng, frames, size, folder):
    """For each rule (frames found, frames, phones found, phones, wrong alerts, ms)."""
    clip = folder / "clip.mkv"
    drawn, truth = composed(rng, frames, size, args.phones if size else 0)
    write_clip(clip, drawn)
    rows = []
    for score, votes in args.rules:
        alerts, ms = alerts_in(args, clip, score, votes, folder)
        hit, seen, wrong = judged(alerts, truth)
        rows.append((hit, len(frames) * len(truth), seen, len(truth), wrong, ms))
    return np.array(rows, float)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("clips", type=pathlib.Path)
    parser.add_argument("--frames", type=int, default=75, help="of each clip, with phones in them")
    parser.add_argument("--without", type=int, default=800, help="frames of each clip without phones")
    parser.add_argument("--phones", type=int, default=4, help="in a clip, of one size")
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--learnt", action="store_true", help="the training clips instead, to choose a score by")
    parser.add_argument("--scores", type=float, nargs="+", default=[0.55])
    parser.add_argument("--votes", nargs="+", default=["15/30"])
    args = parser.parse_args()
    args.rules = [(score, votes) for votes in args.votes for score in args.scores]
    rng = np.random.default_rng(args.seed)
    rows = {size: np.zeros((len(args.rules), 6)) for size in (0, *SIZES)}
    seconds, clips = 0.0, backgrounds.clips(args.clips, held=not args.learnt)
    with tempfile.TemporaryDirectory() as folder:
        for path in clips:
            frames = backgrounds.decoded(path, WIDTH, HEIGHT, 1, args.without).reshape(-1, HEIGHT, WIDTH, 3)
            seconds += len(frames) / RATE
            for size in rows:
                one = measure(args, rng, frames[: args.frames] if size else frames, size, pathlib.Path(folder))
                rows[size] += one
                if size == 0:
                    wrong = ", ".join(f"{w:.0f}" for w in one[:, 4])
                    print(f"{path.stem}: {wrong} wrong alerts in {len(frames) / RATE:.0f} s without phones", flush=True)
    print("| score | votes | " + "".join(f"phones of {size} px (of their frames) | " for size in SIZES) + "wrong alerts a minute without phones |")
    print("|---" * (3 + len(SIZES)) + "|")
    for i, (score, votes) in enumerate(args.rules):
        cells = []
        for size in SIZES:
            hit, count, seen, phones_there, _, _ = rows[size][i]
            cells.append(f"{100 * seen / phones_there:.0f} % ({100 * hit / count:.0f} %) | ")
        print(f"| {score:g} | {votes} | {''.join(cells)}{60 * rows[0][i][4] / seconds:.1f} |")
    ms = np.mean([figures[:, 5] for figures in rows.values()]) / len(clips)
    print(f"{ms:.2f} ms a frame of {WIDTH}x{HEIGHT}, one thread; {seconds:.0f} s of {len(clips)} clips")


if __name__ == "__main__":
    main()
