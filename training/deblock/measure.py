#!/usr/bin/env python3
"""Spoils clips, lets fettle-enhance repair them, and compares: measure.py FETTLE_ENHANCE CLIP... [options]

Each clip's first frames are coded, or noise is added, by ffmpeg; the step of that setting makes a lossless file of them, and
both are compared with the clip: decibels of luma by ffmpeg's psnr filter, of the mean square over all frames. For noise the
same is done by ffmpeg's fftdnoiz with the sigma given.
"""

import argparse
import json
import pathlib
import re
import subprocess
import tempfile

H264 = ["-c:v", "libx264", "-crf"]
FFV1 = ["-c:v", "ffv1"]
# The step, how ffmpeg spoils the clip, and ffmpeg's own repair. Its noise has a sigma of the number over the root of 3.
SETTINGS = {
    "H.264 CRF 20": ("deblock", [*H264, "20"], None),
    "H.264 CRF 26": ("deblock", [*H264, "26"], None),
    "H.264 CRF 32": ("deblock", [*H264, "32"], None),
    "H.264 CRF 38": ("deblock", [*H264, "38"], None),
    "MPEG-4 q 15": ("deblock", ["-c:v", "mpeg4", "-q:v", "15"], None),
    "H.265 CRF 34": ("deblock", ["-c:v", "libx265", "-crf", "34", "-x265-params", "log-level=none"], None),
    "noise 5.2": ("denoise", ["-vf", "noise=c0s=9:c0f=t", *FFV1], "fftdnoiz=sigma=5.2"),
    "noise 15": ("denoise", ["-vf", "noise=c0s=26:c0f=t", *FFV1], "fftdnoiz=sigma=15"),
}
LOSSLESS = ["--encoder", "libx264", "--crf", "0", "--preset", "ultrafast"]


def ffmpeg(*words):
    command = ["ffmpeg", "-v", "info", "-y", "-nostdin", *map(str, words)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stderr


def decibels(clip, other, frames, repair=None):
    graph = f"[0:v]trim=end_frame={frames},setpts=N/TB[a];[1:v]{repair or 'null'},setpts=N/TB[b];[a][b]psnr"
    log = ffmpeg("-i", clip, "-i", other, "-filter_complex", graph, "-f", "null", "-")
    return float(re.search(r"PSNR y:([\d.]+)", log)[1])


def measure(args, clip, name, folder):
    spoilt, result = f"{folder}/spoilt.mkv", f"{folder}/result.mkv"
    step, how, repair = SETTINGS[name]
    ffmpeg("-i", clip, "-an", "-frames:v", args.frames, "-pix_fmt", "yuv420p", *how, spoilt)
    command = [args.program, spoilt, "-o", result, "--steps", step, "--network", args.network, "--json", *LOSSLESS]
    document = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    before, after = (decibels(clip, file, args.frames) for file in (spoilt, result))
    told = document["level"] if step == "deblock" else document["noise"]
    line = f"{clip.stem:20.20} {name:12} told {told:4.1f}  {before:.2f} -> {after:.2f}  {after - before:+.3f} dB"
    if repair:
        line += f"  {repair} {decibels(clip, spoilt, args.frames, repair):.2f}"
    ms = next(time["ms"] for time in document["times"] if time["step"] == step)
    print(f"{line}  {ms:.1f} ms a frame", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("clips", nargs="+", type=pathlib.Path)
    parser.add_argument("--frames", type=int, default=60)
    parser.add_argument("--network", default="fast", choices=["fast", "good", "best"])
    parser.add_argument("--settings", nargs="+", default=list(SETTINGS), choices=list(SETTINGS))
    args = parser.parse_args()
    for clip in args.clips:
        for name in args.settings:
            with tempfile.TemporaryDirectory() as folder:
                measure(args, clip, name, folder)


if __name__ == "__main__":
    main()
