"""Deinterlacing beside ffmpeg's yadif and bwdif: bench/enhance/deinterlace.py FETTLE_ENHANCE CLIP... [--frames 40]

Two frames of a clip, 640 columns wide, become the fields of one interlaced frame; the first of them is what a deinterlaced frame
should be. Prints PSNR of luma for both fields as they are, `fettle enhance --steps deinterlace`, yadif and bwdif.
"""

import argparse
import pathlib
import re
import subprocess
import tempfile

X264 = ["-c:v", "libx264", "-qp", "0", "-preset", "ultrafast"]
SAME_CLOCK = "settb=1/1000,setpts=N"


def ffmpeg(*words):
    done = subprocess.run(["ffmpeg", "-v", "info", "-nostdin", "-y", *map(str, words)], capture_output=True, text=True, check=True)
    return done.stderr


def decibels(folder, made, filters=""):
    graph = f"[0:v]{filters}{SAME_CLOCK}[a];[1:v]{SAME_CLOCK}[b];[a][b]psnr"
    said = ffmpeg("-i", made, "-i", folder / "first.mkv", "-lavfi", graph, "-f", "null", "-")
    return float(re.search(r"PSNR y:([0-9.]+)", said)[1])


def row(program, clip, frames, folder):
    ffmpeg("-i", clip, "-frames:v", frames, "-vf", "scale=640:-2,tinterlace=interleave_top,setfield=tff", *X264, "-flags", "+ildct+ilme",
           "-x264opts", "tff=1", folder / "fields.mkv")
    ffmpeg("-i", clip, "-frames:v", frames, "-vf", "scale=640:-2,select='not(mod(n,2))'", "-vsync", "passthrough", *X264, folder / "first.mkv")
    subprocess.run([program, folder / "fields.mkv", "-o", folder / "whole.mkv", "--steps", "deinterlace", "--encoder", "ffv1", "--overwrite"],
                   check=True, capture_output=True)
    return [decibels(folder, folder / "fields.mkv"), decibels(folder, folder / "whole.mkv"),
            *(decibels(folder, folder / "fields.mkv", f"{name}=0,") for name in ("yadif", "bwdif"))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("clips", type=pathlib.Path, nargs="+")
    parser.add_argument("--frames", type=int, default=40)
    options = parser.parse_args()
    print("| clip | as it is | `deinterlace` | yadif | bwdif |\n|---|---:|---:|---:|---:|")
    for clip in options.clips:
        with tempfile.TemporaryDirectory() as folder:
            figures = row(options.program.resolve(), clip, options.frames, pathlib.Path(folder))
        print(f"| {clip.stem} | " + " | ".join(f"{figure:.1f} dB" for figure in figures) + " |", flush=True)


if __name__ == "__main__":
    main()
