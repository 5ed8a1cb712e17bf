#!/usr/bin/env python3
"""Gathers what data.json names in one folder, small enough to travel: prepare.py CLIPS PACKAGES OUT [--teacher TEACHER]

PACKAGES holds the unpacked packages, each in a folder of its name. OUT receives `pictures` (JPEG), `clips` (640x360, chunks of 24
frames one after another, nearly lossless H.264), and the same of what is held out in `held`, its clips whole and as they are. Pictures
in which the teacher sees a phone are left out.
"""

import argparse
import pathlib
import shutil
import subprocess

import numpy as np
from PIL import Image

import backgrounds
from backgrounds import CHUNK, HEIGHT, WIDTH


def write_chunks(path, target, most):
    """At most `most` chunks of a clip, evenly spaced."""
    frames = backgrounds.decoded(path, WIDTH, HEIGHT, 1, 1_000_000)
    count = max(1, min(most, len(frames) // CHUNK))
    firsts = np.linspace(0, max(0, len(frames) - CHUNK), count).astype(int)
    chosen = np.concatenate([frames[first : first + CHUNK] for first in firsts])
    command = ["ffmpeg", "-v", "error", "-y", "-f", "rawvideo", "-s", f"{WIDTH}x{HEIGHT}", "-pix_fmt", "rgb24", "-i", "-", "-pix_fmt", "yuv420p",
               "-c:v", "libx264", "-preset", "medium", "-crf", "19", str(target)]  # fmt: skip
    subprocess.run(command, input=chosen.tobytes(), check=True)
    return len(chosen)


def write_pictures(files, folder, side, teacher):
    folder.mkdir(parents=True, exist_ok=True)
    written = 0
    for i, path in enumerate(files):
        picture = backgrounds.read_picture(path, side)
        if min(picture.shape[:2]) < 200 or (teacher and teacher.sees_phone_in(picture)):
            continue
        Image.fromarray(picture).save(folder / f"{i:03d}.jpg", quality=80)
        written += 1
    return written


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clips", type=pathlib.Path)
    parser.add_argument("packages", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--chunks", type=int, default=14, help="of each clip")
    parser.add_argument("--side", type=int, default=800, help="of pictures, at most")
    parser.add_argument("--teacher", type=pathlib.Path, help="yolox_nano_416.onnx")
    args = parser.parse_args()
    teacher = None
    if args.teacher:
        from teacher import Teacher

        teacher = Teacher(args.teacher)
    for held in (False, True):
        folder = args.out / ("held" if held else ".")
        (folder / "clips").mkdir(parents=True, exist_ok=True)
        for path in backgrounds.clips(args.clips, held) + backgrounds.package_clips(args.packages, held):
            if held:
                shutil.copy(path, folder / "clips" / path.name)
            else:
                print(path.stem, write_chunks(path, folder / "clips" / f"{path.stem}.mp4", args.chunks), flush=True)
        files = backgrounds.picture_files(args.packages, held)
        print(folder, write_pictures(files, folder / "pictures", args.side, teacher), "of", len(files), "pictures", flush=True)


if __name__ == "__main__":
    main()
