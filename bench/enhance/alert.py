#!/usr/bin/env python3
"""How many drawn phones fettle-enhance tells of in held-out clips, by size and light, and how often it is wrong: alert.py FETTLE_ENHANCE MATERIAL

MATERIAL is what training/alert/prepare.py gathers, of which what is held out is read, at 640x360. Phones of each size (the longer side,
before they are turned), half of them at rest, are drawn into the clips in each light and coded by x264. A phone is told of where
more than half of an alert's boxes have their middles nearer than half of a side to it. Alerts in clips without phones are wrong; an hour
is 90,000 frames. As there is no hour of such clips, each is coded in --versions: mirrored or not, at two CRFs. Clips are of two halves
(training/alert/rules.py); a score is to be chosen on the first. Needs NumPy, Pillow, OpenCV, PyTorch (for training/alert/measure.py) and ffmpeg.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "training" / "alert"))
try:
    import numpy as np
    import measure
    import moving
    import rules
    from backgrounds import HEIGHT, WIDTH
except ImportError as error:
    sys.exit(f"alert.py: {error.name} is missing; pip install numpy pillow opencv-python-headless torch")

VERSIONS = [(mirrored, crf) for crf in (26, 22) for mirrored in (False, True)]


def write_clip(path, frames, crf):
    command = ["ffmpeg", "-v", "error", "-y", "-f", "rawvideo", "-s", f"{WIDTH}x{HEIGHT}", "-r", "25", "-pix_fmt", "rgb24",
               "-i", "-", "-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "veryfast", "-crf", str(crf), "-threads", "1", str(path)]  # fmt: skip
    subprocess.run(command, input=np.ascontiguousarray(frames).tobytes(), check=True)


def alerts_in(program, clip, score, votes, folder):
    """(alerts, milliseconds a frame of the step)."""
    result = folder / "alerts.json"
    command = [program, str(clip), "-o", str(result), "--overwrite", "--steps", "alert", "--alert-score", str(score), "--alert-votes", votes,
               "--threads", "1", "--json"]  # fmt: skip
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    ms = next(t["ms"] for t in json.loads(done.stdout)["times"] if t["step"] == "alert")
    return json.loads(result.read_text())["alerts"], ms


def near(box, truth):
    x, y = box[0] + box[2] / 2, box[1] + box[3] / 2
    side = max(box[2], box[3], truth[2] - truth[0], truth[3] - truth[1])
    return np.hypot(x - (truth[0] + truth[2]) / 2, y - (truth[1] + truth[3]) / 2) < side / 2


def told(alerts, truth):
    """How many phones are told of."""
    found = set()
    for alert in alerts:
        for k, places in enumerate(truth):
            hits = sum(near(one["box"], places[one["frame"]]) for one in alert["boxes"])
            if hits * 2 >= len(alert["boxes"]):
                found.add(k)
    return len(found)


class Measurement:
    """Of each rule, which is (program, score, votes): shares of phones, and wrong alerts."""

    def __init__(self, args, folder):
        self.args, self.folder, self.ms = args, folder, []
        scores = [(args.program, score) for score in args.scores]
        scores += [(program, score) for program in args.beside for score in args.beside_scores or args.scores]
        self.rules = [(*one, votes) for one in scores for votes in args.votes]
        self.found = {rule: {} for rule in self.rules}
        self.wrong = {rule: [0, 0] for rule in self.rules}  # of each half
        self.frames = [0, 0]

    def judge(self, frames, crf, truth, cell):
        clip = self.folder / "clip.mkv"
        write_clip(clip, frames, crf)
        for rule in self.rules:
            alerts, ms = alerts_in(*rule[:1], clip, *rule[1:], self.folder)
            self.ms.append((rule[0], ms))
            if truth is None:
                self.wrong[rule][cell] += len(alerts)
            else:
                row = self.found[rule].setdefault(cell, [0, 0])
                row[0] += told(alerts, truth)
                row[1] += len(truth)

    def clip(self, name, frames):
        half = rules.half_of(name)
        for mirrored, crf in VERSIONS[: self.args.versions]:
            self.judge(frames[:, :, ::-1] if mirrored else frames, crf, None, half)
            self.frames[half] += len(frames)
        there = np.abs((np.arange(75) + len(frames) - 1) % (2 * len(frames) - 2) - (len(frames) - 1)) if len(frames) < 75 else np.arange(75)
        for size in self.args.sizes:
            for light in self.args.lights:
                rng = np.random.default_rng([self.args.seed, size, measure.LIGHTS.index(light), sum(map(ord, name))])
                drawn, truth = moving.composed(rng, frames[there], size, self.args.phones, light)
                self.judge(drawn, 26, truth, (half, size, light))

    def tell(self):
        print("| clips, score, votes | light | " + "".join(f"{size} px | " for size in self.args.sizes) + "wrong alerts an hour |")
        print("|---" * (3 + len(self.args.sizes)) + "|")
        for half, name in ((0, "first half"), (1, "second half")):
            for rule in self.rules:
                wrong = f"{self.wrong[rule][half] * 90000 / self.frames[half]:.1f} ({self.wrong[rule][half]})" if self.frames[half] else "-"
                for light in self.args.lights:
                    cells = [self.found[rule].get((half, size, light), [0, 1]) for size in self.args.sizes]
                    text = "".join(f"{100 * a / b:.0f} % | " for a, b in cells)
                    label = f"{name}{', beside' if rule[0] in self.args.beside else ''}, {rule[1]:g}, {rule[2]}"
                    print(f"| {label} | {light} | {text}{wrong} |", flush=True)
        print(f"frames without phones: {self.frames}; phones in a cell: {[row[1] for row in next(iter(self.found.values())).values()][:1]}")
        for program in dict.fromkeys(rule[0] for rule in self.rules):
            print(f"{program}: {np.median([ms for p, ms in self.ms if p == program]):.2f} ms a frame of {WIDTH}x{HEIGHT}, one thread")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("material", type=pathlib.Path)
    parser.add_argument("--beside", nargs="+", default=[], help="other programs, on the same clips")
    parser.add_argument("--beside-scores", type=float, nargs="+", help="theirs, if others")
    parser.add_argument("--phones", type=int, default=6, help="in a clip, of one size")
    parser.add_argument("--sizes", type=int, nargs="*", default=list(measure.SIZES))
    parser.add_argument("--lights", nargs="+", default=list(measure.LIGHTS), choices=measure.LIGHTS)
    parser.add_argument("--versions", type=int, default=4, help="of each clip without phones, 0 to 4")
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--scores", type=float, nargs="+", default=[0.55])
    parser.add_argument("--votes", nargs="+", default=["15/30"])
    args = parser.parse_args()
    measure.read_held(args.material / "held")
    with tempfile.TemporaryDirectory() as folder:
        measurement = Measurement(args, pathlib.Path(folder))
        try:
            for name, frames in measure.HELD.items():
                if not name.startswith("still"):
                    measurement.clip(name, frames)
                    print(name, len(frames), "frames", flush=True)
        finally:
            measurement.tell()


if __name__ == "__main__":
    main()
