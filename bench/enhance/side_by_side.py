"""fettle enhance beside what ffmpeg's filters (and networks by ONNX Runtime) make of the same clips, as a Markdown table.

side_by_side.py FETTLE_ENHANCE CLIP... [--frames N] [--network x2.onnx]: for each clip and step decibels of luma against the
source, processor time for each frame beyond that of decoding and coding the result without loss (one thread each), and how many of
the input's streams and chapters come out where nothing is said of them. --network: a network of luma, NHWC, twice the size.
"""

import argparse
import json
import pathlib
import re
import resource
import subprocess
import tempfile

from interpolation import ffmpeg, processor_time

LOSSLESS = ["-c:v", "libx264", "-crf", "0", "-preset", "ultrafast", "-threads", "1", "-pix_fmt", "yuv420p"]

# (task, how the input is made of the source, ours, theirs)
TASKS = (
    ("superres x2", ["-vf", "scale=iw/2:ih/2:flags=bicubic", "-c:v", "libx264", "-crf", "18"],
     [("superres, " + network, ["--steps", "superres", "--network", network]) for network in ("fast", "good", "best")],
     [(f"scale, {kind}", f"scale=2*iw:2*ih:flags={kind}") for kind in ("bicubic", "lanczos")]),
    ("H.264 at CRF 38", ["-c:v", "libx264", "-crf", "38"],
     [("deblock, " + network, ["--steps", "deblock", "--network", network]) for network in ("good", "best")],
     [("as decoded", "null"), ("deblock", "deblock"), ("pp=ac", "pp=ac"), ("spp, qp 15", "spp=4:15"), ("hqdn3d", "hqdn3d")]),
    ("noise of sigma 15", ["-vf", "geq=lum='clip(lum(X,Y)+15*sqrt(-2*log(random(0)+1e-9))*cos(6.2831853*random(1)),0,255)':"
                           "cb='cb(X,Y)':cr='cr(X,Y)'", "-c:v", "ffv1"],
     [("denoise, fast", ["--steps", "denoise", "--network", "fast"]), ("denoise, best", ["--steps", "denoise", "--network", "best"])],
     [("as it is", "null"), ("hqdn3d=8", "hqdn3d=8"), ("atadenoise", "atadenoise=0a=0.3:0b=0.3"),
      ("fftdnoiz", "fftdnoiz=sigma=15"), ("nlmeans", "nlmeans=s=15")]),
)  # fmt: skip


def decibels(made, source):
    """Of luma; inputs count their frames from 0."""
    text = ffmpeg("-i", made, "-i", source, "-lavfi", "[0:v]setpts=N/TB/25[a];[1:v]setpts=N/TB/25[b];[a][b]psnr", "-f", "null", "-")
    return float(re.findall(r"PSNR y:([\d.]+|inf)", text)[-1])


def reading(path):
    """Seconds of processor time that decoding takes."""
    return processor_time(lambda: ffmpeg("-threads", "1", "-i", path, "-map", "0:v", "-f", "null", "-"))


def parts(path):
    """Streams and chapters of a file."""
    said = subprocess.run(["ffprobe", "-v", "error", "-show_streams", "-show_chapters", "-of", "json", path], check=True,
                          capture_output=True, text=True).stdout  # fmt: skip
    document = json.loads(said)
    return len(document["streams"]) + len(document["chapters"])


def make_input(source, how, folder):
    """The source as `how` says, with a second voice, two subtitles, a font and two chapters."""
    target, words, notes, font = (folder / name for name in ("input.mkv", "words.srt", "notes.txt", "letters.ttf"))
    words.write_text("1\n00:00:00,100 --> 00:00:00,400\nwords\n")
    notes.write_text(";FFMETADATA1\n" + "".join(f"[CHAPTER]\nTIMEBASE=1/1000\nSTART={at}\nEND={at + 500}\n" for at in (0, 500)))
    font.write_bytes(bytes(1000))
    tone = ["-f", "lavfi", "-t", 2, "-i"]
    ffmpeg("-i", source, *tone, "sine=440", *tone, "sine=880", "-i", words, "-i", words, "-i", notes, "-map", "0:v", "-map", 1,
           "-map", 2, "-map", 3, "-map", 4, "-map_metadata", 5, *how, "-pix_fmt", "yuv420p", "-c:a", "flac", "-c:s", "srt",
           "-attach", font, "-metadata:s:t", "mimetype=font/ttf", target)  # fmt: skip
    return target


def by_network(path, source, target, frames):
    """Luma through an ONNX network; seconds of processor time."""
    import numpy
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options)
    name = session.get_inputs()[0].name
    width, height = map(int, subprocess.run(["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "stream=width,height",
                                             "-of", "csv=p=0", source], capture_output=True, text=True).stdout.split(","))  # fmt: skip
    luma = subprocess.run(["ffmpeg", "-v", "error", "-i", source, "-map", "0:v", "-f", "rawvideo", "-pix_fmt", "gray", "-"],
                          check=True, capture_output=True).stdout  # fmt: skip
    pictures = numpy.frombuffer(luma, numpy.uint8).reshape(-1, 1, height, width, 1).astype(numpy.float32) / 255
    made = bytearray()

    before = resource.getrusage(resource.RUSAGE_SELF)
    for picture in pictures[:frames]:
        (result,) = session.run(None, {name: picture})
        made.extend(numpy.clip(result.reshape(2 * height, 2 * width) * 255 + 0.5, 0, 255).astype(numpy.uint8).tobytes())
    after = resource.getrusage(resource.RUSAGE_SELF)
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-f", "rawvideo", "-pix_fmt", "gray", "-s", f"{2 * width}x{2 * height}", "-i", "-",
                    *LOSSLESS, target], input=bytes(made), check=True)  # fmt: skip
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare(program, clip, frames, network, folder):
    source, made = folder / "source.mkv", folder / "made.mkv"
    even = "scale=trunc(iw/4)*4:trunc(ih/4)*4:flags=bicubic"
    ffmpeg("-i", clip, "-an", "-vf", f"setpts=N/25/TB,trim=end_frame={frames},{even}", "-r", 25, "-c:v", "ffv1", "-pix_fmt", "yuv420p",
           source)  # fmt: skip
    for task, how, ours, theirs in TASKS:
        given = make_input(source, how, folder)

        def row(name, run, seconds=None):
            if seconds is None:
                seconds = processor_time(run)
                seconds -= reading(given) + processor_time(lambda: ffmpeg("-threads", "1", "-i", made, "-map", "0:v", *LOSSLESS,
                                                                          folder / "again.mkv")) - reading(made)  # fmt: skip
            print(f"| {clip.stem} | {task} | {name} | {decibels(made, source):.2f} | {1e3 * max(seconds, 0) / frames:.1f} | "
                  f"{parts(made)} of {parts(given)} |", flush=True)  # fmt: skip

        def filtered(words):
            return lambda: ffmpeg("-threads", "1", "-filter_threads", "1", "-i", given, "-vf", words, *LOSSLESS, made)

        for name, words in ours:
            command = [program, given, "-o", made, *words, "--encoder", "libx264", "--crf", "0", "--preset", "ultrafast",
                       "--overwrite", "--threads", "1"]  # fmt: skip
            row(f"`{name}`", lambda command=command: subprocess.run(list(map(str, command)), check=True, capture_output=True))
        for name, words in theirs:
            row(name, filtered(words))
        if network and task.startswith("superres"):
            row(f"{pathlib.Path(network).stem}, ONNX Runtime", None, by_network(network, given, made, frames))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("clips", nargs="+", type=pathlib.Path)
    parser.add_argument("--frames", type=int, default=30)
    parser.add_argument("--network")
    arguments = parser.parse_args()
    print("| clip | input | by | luma, dB | ms a frame | streams and chapters |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for clip in arguments.clips:
            compare(arguments.program, clip, arguments.frames, arguments.network, pathlib.Path(folder))


if __name__ == "__main__":
    main()
