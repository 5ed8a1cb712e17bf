"""Rate that steps of fettle enhance save at the receiver, as Markdown: BD-rate against x264 without them.

bitrate.py FETTLE_ENHANCE CLIP... [--frames N] [--crf 18 22 ...] [--curves FILE]: each clip is halved (so that its own coding is hardly
seen), coded by x264 at each CRF, decoded, and compared to what was coded by decibels of luma. A sender codes the picture as it is, halved
once more, or with noise, which the source that it is compared to does not have. BD-rate is the mean difference of rates at equal decibels,
where both curves have them: less is better.
"""

import argparse
import bisect
import math
import pathlib
import subprocess
import tempfile

from interpolation import ffmpeg
from side_by_side import LOSSLESS, decibels

NOISE = "geq=lum='clip(lum(X,Y)+8*sqrt(-2*log(random(0)+1e-9))*cos(6.2831853*random(1)),0,255)':cb='cb(X,Y)':cr='cr(X,Y)'"
HALF, TWICE = "scale=iw/2:ih/2:flags=bicubic", "scale=2*iw:2*ih:flags=lanczos"

# (what is sent, filter of the sender, (what the receiver does, steps or a filter))
SENDERS = (
    ("as it is", "null", (("nothing", None), ("deblock", "deblock"), ("denoise", "denoise"), ("deblock, denoise", "deblock,denoise"))),
    ("half the size", HALF, (("lanczos", TWICE), ("superres", "superres"), ("deblock, superres", "deblock,superres"))),
    ("noise of sigma 8", NOISE, (("nothing", None), ("deblock", "deblock"), ("denoise", "denoise"))),
)  # fmt: skip


def slopes(x, y):
    """Of a curve through points that never overshoots (Fritsch and Carlson)."""
    width = [b - a for a, b in zip(x, x[1:])]
    rise = [(b - a) / w for a, b, w in zip(y, y[1:], width)]
    inner = [0 if p * q <= 0 else (2 * b + a + b + 2 * a) / ((2 * b + a) / p + (b + 2 * a) / q)
             for p, q, a, b in zip(rise, rise[1:], width, width[1:])]  # fmt: skip
    return [rise[0], *inner, rise[-1]]


def through(x, y):
    """The curve through points of rising x, as a function."""
    steep = slopes(x, y)

    def at(value):
        i = min(max(bisect.bisect_right(x, value) - 1, 0), len(x) - 2)
        width = x[i + 1] - x[i]
        t = (value - x[i]) / width
        s = 1 - t
        return (s * s * (1 + 2 * t) * y[i] + t * t * (3 - 2 * t) * y[i + 1] + s * s * t * width * steep[i]
                - s * t * t * width * steep[i + 1])  # fmt: skip

    return at


def rising(curve):
    """Points of (bits a second, decibels) whose decibels rise, as (decibels, logarithm of the rate)."""
    kept = []
    for rate, quality in sorted(curve):
        if not kept or quality > kept[-1][0]:
            kept.append((quality, math.log(rate)))
    return [list(part) for part in zip(*kept)]


def bd_rate(usual, other, steps=1000):
    """(percent of rate that `other` takes more, least and most decibels that both reach); None: too few are reached by both."""
    curves = [rising(usual), rising(other)]
    if any(len(x) < 2 for x, _ in curves):
        return None
    least, most = max(x[0] for x, _ in curves), min(x[-1] for x, _ in curves)
    if most - least < 0.5:
        return None
    first, second = (through(x, y) for x, y in curves)
    points = [least + (most - least) * (i + 0.5) / steps for i in range(steps)]
    mean = sum(second(point) - first(point) for point in points) / steps
    return 100 * (math.exp(mean) - 1), least, most


def receive(program, network, steps, coded, made):
    """Decodes and does the steps, or a filter of ffmpeg; without loss."""
    if steps is None or "=" in steps:
        return ffmpeg("-i", coded, "-vf", steps or "null", *LOSSLESS, made)
    words = [program, coded, "-o", made, "--steps", steps, "--network", network, "--encoder", "libx264", "--crf", 0, "--preset",
             "ultrafast", "--overwrite"]  # fmt: skip
    return subprocess.run(list(map(str, words)), check=True, capture_output=True)


def curves_of(arguments, clip, folder):
    """{(sender, receiver): [(bits a second, decibels)]}"""
    source, coded, made = (folder / f"{name}.mkv" for name in ("source", "coded", "made"))
    halved = "scale=trunc(iw/8)*4:trunc(ih/8)*4:flags=lanczos"
    ffmpeg("-i", clip, "-an", "-vf", f"setpts=N/25/TB,trim=end_frame={arguments.frames},{halved}", "-r", 25, "-c:v", "ffv1", "-pix_fmt",
           "yuv420p", source)  # fmt: skip
    curves = {}
    for sender, how, receivers in SENDERS:
        for crf in arguments.crf:
            stream = folder / "stream.264"
            ffmpeg("-i", source, "-vf", how, "-c:v", "libx264", "-preset", "medium", "-crf", crf, "-threads", 1, "-pix_fmt", "yuv420p",
                   coded)  # fmt: skip
            ffmpeg("-i", coded, "-c", "copy", stream)
            rate = 8 * 25 * stream.stat().st_size / arguments.frames
            for receiver, steps in receivers:
                receive(arguments.program, arguments.network, steps, coded, made)
                curves.setdefault((sender, receiver), []).append((rate, decibels(made, source)))
    return curves


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("clips", nargs="+", type=pathlib.Path)
    parser.add_argument("--frames", type=int, default=30)
    parser.add_argument("--crf", type=int, nargs="+", default=[18, 24, 30, 36, 41, 45])
    parser.add_argument("--network", default="best")
    parser.add_argument("--curves", type=pathlib.Path, help="append each point to this file")
    arguments = parser.parse_args()
    print("| clip | sent | receiver | BD-rate | against | between |\n|---|---|---|---|---|---|", flush=True)
    for clip in arguments.clips:
        with tempfile.TemporaryDirectory() as folder:
            curves = curves_of(arguments, clip, pathlib.Path(folder))
        for (sender, receiver), curve in curves.items():
            if arguments.curves:
                with arguments.curves.open("a") as file:
                    file.writelines(f"{clip.stem}\t{sender}\t{receiver}\t{rate:.0f}\t{quality:.3f}\n" for rate, quality in curve)
            against = ("noise of sigma 8" if sender.startswith("noise") else "as it is", "nothing")
            for usual in (against, (sender, "lanczos")):
                if usual == (sender, receiver) or usual not in curves:
                    continue
                found = bd_rate(curves[usual], curve)
                figure, span = "too few decibels that both reach", ""
                if found is not None:
                    figure, span = f"{found[0]:+.1f} %", "{:.1f} to {:.1f} dB".format(*found[1:])
                print(f"| {clip.stem} | {sender} | {receiver} | {figure} | {', '.join(usual)} | {span} |", flush=True)


if __name__ == "__main__":
    main()
