"""Odd frames of clips made anew from the even ones: fettle enhance against ffmpeg's minterpolate (aobmc, bidir).
interpolation.py FETTLE_ENHANCE CLIP... [--frames N]: decibels of luma over the odd frames, seconds of processor time a frame."""

import argparse
import pathlib
import re
import resource
import subprocess
import tempfile


def ffmpeg(*words):
    return subprocess.run(["ffmpeg", "-v", "info", "-hide_banner", "-nostdin", "-y", *map(str, words)], check=True,
                          capture_output=True, text=True).stderr  # fmt: skip


def processor_time(run):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def decibels(made, whole, count):
    """Of the odd frames; both clips count their frames from 0."""
    odd = f"trim=end_frame={count},select='mod(n,2)',setpts=N/TB/25"
    text = ffmpeg("-i", made, "-i", whole, "-lavfi", f"[0]{odd}[a];[1]{odd}[b];[a][b]psnr", "-f", "null", "-")
    return float(re.findall(r"PSNR y:([\d.]+|inf)", text)[-1])


def compare(program, clip, frames, folder):
    whole, half, ours, theirs = (folder / f"{name}.mkv" for name in ("whole", "half", "ours", "theirs"))
    lossless = ["-c:v", "ffv1", "-pix_fmt", "yuv420p"]
    ffmpeg("-i", clip, "-an", "-vf", f"setpts=N/25/TB,trim=end_frame={frames}", "-r", 25, *lossless, whole)
    ffmpeg("-i", whole, "-vf", "select='not(mod(n,2))',setpts=N/12.5/TB", "-r", 12.5, *lossless, half)
    words = [program, half, "-o", ours, "--steps", "interpolate", "--network", "fast", "--encoder", "libx264", "--crf", "0",
             "--preset", "ultrafast", "--overwrite", "--threads", "1"]  # fmt: skip
    enhance = processor_time(lambda: subprocess.run(list(map(str, words)), check=True, capture_output=True))
    filtering = "minterpolate=fps=25:mi_mode=mci:mc_mode=aobmc:me_mode=bidir"
    coded = ["-c:v", "libx264", "-crf", "0", "-preset", "ultrafast", "-threads", "1"]
    minterpolate = processor_time(lambda: ffmpeg("-threads", "1", "-i", half, "-vf", filtering, *coded, theirs))
    count = frames - 2  # minterpolate leaves out the last pair
    made = count // 2
    print(f"{clip.name:45} enhance {decibels(ours, whole, count):6.2f} dB {enhance / made:6.3f} s"
          f"   minterpolate {decibels(theirs, whole, count):6.2f} dB {minterpolate / made:6.3f} s", flush=True)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("clips", nargs="+", type=pathlib.Path)
    parser.add_argument("--frames", type=int, default=61)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for clip in arguments.clips:
            compare(arguments.program, clip, arguments.frames | 1, pathlib.Path(folder))


if __name__ == "__main__":
    main()
