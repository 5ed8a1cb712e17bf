"""What privacy leaves of people to be seen: privacy.py FETTLE_ENHANCE MODELS CLIP... [--frames N] [--every 1] [--heads]

For each clip the frames in which more than 1 % of the reference's mask stays as it was, and the milliseconds a frame of the
step on one thread. The reference is the largest network of MODELS that tells persons (deeplab_v3_257), which takes a dark chair for one
in some clips; so beside it stands what bodypix and selfie_segmentation take for a person, too. With --heads it is bodypix's face. A pixel
counts as hidden where anything within two pixels of it was changed, or where the result is of one level within two pixels, which shows nothing
(a white helmet is as white behind a mosaic). Frames with less than half a percent of a person are not judged.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "training" / "matting"))
from prepare import rgb_of  # noqa: E402
from teachers import Teachers, grown  # noqa: E402

LEAST, REVEALING = 0.005, 0.01


def planes_of(path, frames):
    """Y, U, V of each frame, whole chroma."""
    command = ["ffmpeg", "-v", "error", "-i", str(path), "-vsync", "0", "-frames:v", str(frames), "-f", "yuv4mpegpipe"]
    stream = subprocess.Popen([*command, "-pix_fmt", "yuv444p", "-"], stdout=subprocess.PIPE).stdout
    header = stream.readline().decode().split()
    shape = (3, int(header[2][1:]), int(header[1][1:]))
    while stream.readline():
        yield np.frombuffer(stream.read(np.prod(shape)), np.uint8).reshape(shape)


def hide(before, after, frames, step, program, folder):
    """Cuts `frames` from the clip without loss, hides people in them; the milliseconds a frame."""
    cut = ["ffmpeg", "-v", "error", "-y", "-i", str(before), "-an", "-frames:v", str(frames), "-c:v", "ffv1", str(folder / "cut.mkv")]
    subprocess.run(cut, check=True)
    words = [program, folder / "cut.mkv", "-o", after, "--steps", step, "--encoder", "libx264", "--crf", "0", "--preset"]
    words += ["ultrafast", "--overwrite", "--threads", "1", "--network", "fast", "--json"]
    out = subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True).stdout
    return next(row["ms"] for row in json.loads(out)["times"] if row["step"] == step)


def references(picture, heads, teachers):
    """Masks by their names."""
    person, face = teachers.bodypix(picture)
    if heads:
        return {"bodypix": face > 0.5}
    largest = teachers.deeplab(picture) > 0.5
    return {"deeplab": largest, "all three": largest & (person > 0.5) & (teachers.selfie(picture) > 0.5)}


class Verdict:
    """Of all frames by one reference."""

    def __init__(self):
        self.judged, self.worst, self.revealing = 0, 0.0, []

    def add(self, number, mask, hidden):
        if mask.mean() < LEAST:
            return
        seen = (mask & ~hidden).sum() / mask.sum()
        self.judged += 1
        self.worst = max(self.worst, seen)
        if seen > REVEALING:
            self.revealing.append(number)


def even(plane, radius):
    """Where all within `radius` are of one level."""
    return grown(plane, radius) == 255 - grown(255 - plane, radius)


def judge(clip, args, teachers, folder):
    step = "privacy-head" if args.heads else "privacy"
    ms = hide(clip, folder / "after.mkv", args.frames, step, args.program, folder)
    verdicts, room = {}, 0.0
    pairs = zip(planes_of(folder / "cut.mkv", args.frames), planes_of(folder / "after.mkv", args.frames), strict=True)
    for number, (before, after) in enumerate(pairs):
        if number % args.every:
            continue
        picture = rgb_of(before.astype(np.float32))
        changed = grown(before[0] != after[0], 2)
        room += changed.mean()
        hidden = changed | even(after[0], 2)
        for name, mask in references(picture, args.heads, teachers).items():
            verdicts.setdefault(name, Verdict()).add(number, mask, hidden)
    print(f"{clip.name:34} {number + 1:4} frames, {100 * room / (number // args.every + 1):4.1f} % hidden, {ms:4.1f} ms", end="")
    for name, verdict in verdicts.items():
        print(f"; {name}: {len(verdict.revealing)} of {verdict.judged} reveal, at worst {100 * verdict.worst:.1f} %", end="")
        if args.list and verdict.revealing:
            print(f" ({verdict.revealing})", end="")
    print(flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("clips", nargs="+", type=pathlib.Path)
    parser.add_argument("--frames", type=int, default=300)
    parser.add_argument("--every", type=int, default=1, help="judge every so many frames; all are hidden in")
    parser.add_argument("--heads", action="store_true", help="privacy-head instead of privacy")
    parser.add_argument("--list", action="store_true", help="name the frames that reveal")
    args = parser.parse_args()
    teachers = Teachers(args.models)
    with tempfile.TemporaryDirectory() as folder:
        for clip in args.clips:
            judge(clip, args, teachers, pathlib.Path(folder))


if __name__ == "__main__":
    main()
