"""What is told of a video is kept, or said to be lost, and nothing else is said: tags_test.py FETTLE_ENHANCE"""

import json
import re
import struct
import subprocess
import zlib

import media
from checks import check, run_parts

TAGS = ["-metadata", "title=T", "-metadata", "comment=C", "-metadata", "com.apple.quicktime.make=X", "-metadata", "FOO=bar"]


def run(program, *words, steps="sharpen"):
    steps = ["--steps", steps] if steps else []
    return subprocess.run([program, *map(str, words), *steps, "--threads", "2"], capture_output=True, text=True, timeout=100)


def losses_of(program, source, result, *words):
    done = run(program, source, "-o", result, "--json", *words)
    check(f"{source.name} {result.name}: exit code", done.returncode == 0, done.stderr)
    return json.loads(done.stdout).get("losses", [done.stderr])


def tags_of(path):
    shown = subprocess.run(["ffprobe", "-v", "error", "-show_entries", "format_tags", "-of", "json", str(path)], capture_output=True, text=True)
    return {name.lower(): value for name, value in json.loads(shown.stdout)["format"].get("tags", {}).items()}


def make(folder):
    media.ffmpeg(*media.picture(), *media.TONE, *media.X264, "-c:a", "aac", *TAGS, folder / "tags.mkv")
    media.ffmpeg("-i", folder / "tags.mkv", "-c", "copy", "-movflags", "use_metadata_tags", *TAGS, folder / "tags.mov")
    media.ffmpeg(*media.picture(pixels="yuvj420p"), *media.X264, "-color_primaries", "bt2020", "-color_trc", "smpte2084", "-colorspace", "bt2020nc",
                 folder / "colours.mkv")
    media.ffmpeg(*media.picture(), "-c:v", "libx264", "-preset", "ultrafast", "-x264-params", "frame-packing=3", folder / "views.mkv")


def check_tags(program, folder):
    """Each tag is in the output or in the list of those that are lost."""
    wanted = {"title": "T", "comment": "C", "com.apple.quicktime.make": "X", "foo": "bar"}
    for source in ("tags.mkv", "tags.mov"):
        for name, kept in (("a.mkv", True), ("b.mov", True), ("c.mp4", True), ("d.avi", False), ("e.ts", False)):
            result = folder / f"{source[5:]}_{name}"
            losses = losses_of(program, folder / source, result)
            said = " ".join(loss for loss in losses if loss.startswith(("tags are", "a tag is")))
            found = tags_of(result)
            for tag, value in wanted.items():
                check(f"{source} {name}: {tag}", (found.get(tag) == value) != (tag in said), f"{found} {losses}")
            check(f"{source} {name}: kept", kept == (said == ""), losses)


def check_colours(program, folder):
    """AVI with MPEG-4 has no place for what Matroska and H.264 tell."""
    source = folder / "colours.mkv"
    check("colours: kept", losses_of(program, source, folder / "colours.mp4") == [], "losses")
    told = " ".join(losses_of(program, source, folder / "poor.avi", "--encoder", "mpeg4"))
    check("colours: said", "no longer states its colours' primaries, transfer, matrix, full range" in told, told)
    strict = run(program, source, "-o", folder / "strict.avi", "--encoder", "mpeg4", "--strict")
    check("colours: strict", strict.returncode == 4 and not (folder / "strict.avi").exists(), strict.stderr)


def check_views(program, folder):
    """How two views are packed is told by frames of H.264; others lose it, and say so."""
    def views(path):
        return [data for frame in media.probe(path)["packets_and_frames"] for data in frame.get("side_data_list", [])
                if data.get("side_data_type") == "Stereo 3D"]  # fmt: skip

    check("views: source", views(folder / "views.mkv"), "none")
    losses = losses_of(program, folder / "views.mkv", folder / "kept.mkv")
    check("views: kept", losses == [] and views(folder / "kept.mkv"), losses)
    losses = losses_of(program, folder / "views.mkv", folder / "lost.avi", "--encoder", "mpeg4")
    check("views: said", any("stereo 3D" in loss for loss in losses), losses)


def add_captions(source, result):
    """A byte pair of captions (ATSC A/53) before each slice of an elementary stream of H.264."""
    message = bytes.fromhex("b5003147413934" "03c1fffc94aeff")
    unit = b"\0\0\0\1\6\4" + bytes([len(message)]) + message + b"\x80"
    parts = source.read_bytes().split(b"\0\0\1")
    is_slice = [part and part[0] & 31 in (1, 5) for part in parts]
    result.write_bytes(parts[0] + b"".join((unit if found else b"") + b"\0\0\1" + part for part, found in zip(parts[1:], is_slice[1:])))


def captions(path):
    return sum(data.get("side_data_type") == "ATSC A53 Part 4 Closed Captions" for frame in media.probe(path)["packets_and_frames"]
               for data in frame.get("side_data_list", []))  # fmt: skip


def check_captions(program, folder):
    """Captions inside of frames: kept by libx264, told once where frames are made between, and said to be lost elsewhere."""
    media.ffmpeg(*media.picture(), *media.X264, "-bf", "0", folder / "plain.264")
    add_captions(folder / "plain.264", folder / "told.264")
    media.ffmpeg("-r", "12", "-i", folder / "told.264", "-c", "copy", folder / "captions.mkv")
    count = captions(folder / "captions.mkv")
    check("captions: source", count == 12, count)
    losses = losses_of(program, folder / "captions.mkv", folder / "captions_kept.mkv")
    check("captions: kept", losses == [] and captions(folder / "captions_kept.mkv") == count, losses)
    between = [program, folder / "captions.mkv", "-o", folder / "captions_between.mkv", "--steps", "interpolate", "--threads", "2"]
    done = subprocess.run(between, capture_output=True, text=True)
    check("captions: once", captions(folder / "captions_between.mkv") == count, done.stderr)
    losses = losses_of(program, folder / "captions.mkv", folder / "captions_lost.avi", "--encoder", "mpeg4")
    check("captions: said", "closed captions are lost" in losses, losses)


def check_pictures(program, folder):
    """A colour profile and texts of a picture: the first is kept where it can be, the second is said to be lost."""
    media.ffmpeg(*media.picture(pixels="rgb24"), "-frames:v", "1", folder / "plain.png")
    plain = (folder / "plain.png").read_bytes()

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    profile = chunk(b"iCCP", b"name\0\0" + zlib.compress(b"\0" * 128))
    media.write_bytes(folder / "told.png", plain[:33] + profile + chunk(b"tEXt", b"Author\0me") + plain[33:])
    done = run(program, folder / "told.png", "-o", folder / "told_again.png")
    kept = b"iCCP" in (folder / "told_again.png").read_bytes()
    check("picture: profile", done.returncode == 0 and kept != ("colour profile is lost" in done.stderr), done.stderr)
    check("picture: texts", "texts" in done.stderr, done.stderr)
    done = run(program, folder / "plain.png", "-o", folder / "plain_again.png", "--strict")
    check("picture: nothing lost", done.returncode == 0, done.stderr)


def check_interlaced(program, folder):
    media.ffmpeg(*media.picture(rate=25), "-vf", "interlace", *media.X264, "-flags", "+ildct", folder / "fields.mkv")
    strict = run(program, folder / "fields.mkv", "-o", folder / "progressive.mkv", "--strict")
    check("interlaced: strict", strict.returncode == 4 and "interlaced" in strict.stderr, strict.stderr)
    whole = run(program, folder / "fields.mkv", "-o", folder / "whole.mkv", "--strict", steps="deinterlace,sharpen")
    check("deinterlace: strict", whole.returncode == 0 and "interlaced" not in whole.stderr, whole.stderr)
    said = media.probe(folder / "whole.mkv")
    frames = [p for p in said["packets_and_frames"] if p["type"] == "frame" and p["media_type"] == "video"]
    check("deinterlace: frames", len(frames) > 10 and not any(frame["interlaced_frame"] for frame in frames), frames[:1])
    advised = run(program, folder / "fields.mkv", "-o", folder / "advised.mkv", "--plan-only", "--explain", steps=None)
    check("deinterlace: advised", re.search("deinterlace.*\\n?.*frames are marked", advised.stdout), advised.stdout)
    late = run(program, folder / "fields.mkv", "-o", folder / "late.mkv", steps="sharpen,deinterlace")
    check("deinterlace: first", late.returncode == 2 and "comes first" in late.stderr, late.stderr)


if __name__ == "__main__":
    run_parts(check_tags, check_colours, check_views, check_captions, check_pictures, check_interlaced, make=make)
