"""Every encoder in every container: times as they were, files that can be decoded, or a refusal before work: containers_test.py FETTLE_ENHANCE"""

import concurrent.futures
import json
import pathlib
import subprocess
import sys

import media
from checks import check, run_parts

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "attack"))
import clips  # noqa: E402  which compares an output with its source, and with what was said of it

# Encoder -> containers that hold it; carrying_test.cc has all that do not.
HELD = {
    "libx264": ("mp4", "mkv", "ts", "mov", "avi", "h264"),
    "libx265": ("mp4", "mkv", "ts", "mov"),
    "libvpx-vp9": ("mp4", "mkv", "avi"),
    "libsvtav1": ("mp4", "mkv", "avi"),
    "mpeg4": ("mp4", "mkv", "ts", "mov", "avi"),
    "prores_ks": ("mkv", "mov"),
    "ffv1": ("mkv", "avi"),
    "qtrle": ("mov",),
    "png": ("mp4", "mov", "avi"),
}
# Some that are refused: each encoder and each container once.
REFUSED = (("libx264", "yuv"), ("libx264", "y4m"), ("libx265", "avi"), ("libvpx-vp9", "ts"), ("libsvtav1", "mov"), ("mpeg4", "ogv"),
           ("prores_ks", "mp4"), ("ffv1", "h264"), ("qtrle", "mkv"), ("png", "mkv"))


def run(program, *words):
    return subprocess.run([program, *map(str, words), "--steps", "sharpen", "--threads", "1", "--json"], capture_output=True, text=True,
                          timeout=100)


def make(folder):
    sound = ["-f", "lavfi", "-i", "sine=frequency=440:duration=0.6:r=48000"]
    usual = [*media.picture("96x64", 25, 0.6), *sound, "-c:v", "libx264", "-c:a", "aac"]
    media.ffmpeg(*usual, folder / "usual.mp4")
    media.ffmpeg(*usual, "-output_ts_offset", "1.4333", folder / "late.ts")
    media.ffmpeg(*media.picture("96x64", 50), "-vf", "select='not(mod(n,3))+not(mod(n,7))'", "-vsync", "vfr", "-c:v", "libx264",
                 folder / "vfr.mp4")
    media.ffmpeg(*media.picture("96x64", "30000/1001", 0.6), *sound, *sound, "-map", "0", "-map", "1", "-map", "2", "-c:v", "libx264",
                 "-c:a", "aac", folder / "two.mp4")
    media.ffmpeg(*media.picture("96x64", 25, 0.6), "-c:v", "mjpeg", "-timecode", "01:00:00:00", folder / "timecode.mov")


def sounds(path):
    return [[float(time) for time, _ in stream[5]] for stream in media.other_packets(path) if stream[0] == "audio"]


def check_times(name, source, result, tick):
    before, after = media.frame_times(source), media.frame_times(result)
    check(f"{name}: times", len(before) == len(after) and all(abs(a - b) < 2e-6 for a, b in zip(before, after)), f"{before} became {after}")
    for a, b in zip(sounds(source), sounds(result)):
        check(f"{name}: sound", len(a) == len(b) and all(abs(x - y) < tick for x, y in zip(a, b)), f"{a[:4]} became {b[:4]}")


def check_held(program, folder, encoder, container):
    result = folder / f"{encoder}.{container}"
    done = run(program, folder / "usual.mp4", "-o", result, "--encoder", encoder)
    name = f"{encoder} in {container}"
    check(f"{name}: exit code", done.returncode == 0, done.stderr)
    if done.returncode != 0:
        return
    read = subprocess.run(["ffmpeg", "-v", "error", "-i", result, "-map", "0:v", "-f", "null", "-"], capture_output=True, text=True)
    check(f"{name}: decodes", read.returncode == 0 and media.video_of(result)["width"] == 96, read.stderr)
    if container == "h264":  # of which there are no times
        check(f"{name}: no times", "holds no times" in done.stdout, done.stdout)
    elif container != "avi":
        check_times(name, folder / "usual.mp4", result, 0.0006 if container == "mkv" else 0.00003)
        losses = [loss for loss in json.loads(done.stdout)["losses"] if "RGB" not in loss]
        check(f"{name}: nothing lost", losses == [], losses)


def check_refused(program, folder, encoder, container):
    done = run(program, folder / "usual.mp4", "-o", folder / f"{encoder}.{container}", "--encoder", encoder)
    name = f"{encoder} in {container}"
    check(f"{name}: refused", done.returncode == 4 and done.stderr.count("\n") == 1 and "cannot hold" in done.stderr, done.stderr)
    check(f"{name}: leaves nothing", not list(folder.glob(f"{encoder}.{container}*")))


def check_encoders(program, folder):
    media.probe(folder / "usual.mp4")  # once for all threads
    held = [(encoder, container) for encoder, containers in HELD.items() for container in containers]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda pair: check_held(program, folder, *pair), held))
        list(pool.map(lambda pair: check_refused(program, folder, *pair), REFUSED))


def check_begins(program, folder):
    """Late begins and variable rates."""
    for source in ("late.ts", "vfr.mp4"):
        for container in ("mp4", "mkv", "ts"):
            result = folder / f"begin_{source[:-3]}.{container}"
            done = run(program, folder / source, "-o", result)
            check(f"{source} in {container}: exit code", done.returncode == 0, done.stderr)
            said = "times of frames change" in done.stdout
            if not said:
                check_times(f"{source} in {container}", folder / source, result, 0.0006 if container == "mkv" else 0.00003)
            check(f"{source} in {container}: said", said == (source == "late.ts" and container == "mkv"), done.stdout)


def check_reordered(program, folder):
    """B-frames where no times before 0 are held: what is shown keeps its times, or the change is said before work."""
    media.ffmpeg(*media.picture("96x64", 25), "-c:v", "libx264", folder / "moving.mp4")
    done = run(program, folder / "moving.mp4", "-o", folder / "moving.flv", "--strict")
    check("reordered in flv: exit code", done.returncode == 0, done.stderr)
    check_times("reordered in flv", folder / "moving.mp4", folder / "moving.flv", 0.0006)
    strict = run(program, folder / "moving.mp4", "-o", folder / "strict.nut", "--strict")
    check("reordered in nut, strict", strict.returncode == 4 and "times are later by" in strict.stderr, strict.stderr)
    planned = run(program, folder / "moving.mp4", "-o", folder / "moving.nut", "--plan-only")
    check("reordered in nut: said", planned.returncode == 0 and "times are later by" in planned.stdout, planned.stdout)
    media.ffmpeg(*media.picture("96x64", 25), "-c:v", "libx264", "-output_ts_offset", "1.4333", folder / "alone.ts")
    late = run(program, folder / "alone.ts", "-o", folder / "late.avi", "--strict")
    check("late in avi, strict", late.returncode == 4 and "times are earlier by" in late.stderr, late.stderr)


SHIFTED = (("usual.mp4", "f4v"), ("usual.mp4", "avi"), ("usual.mp4", "asf"), ("usual.mp4", "mpg"), ("late.ts", "avi"), ("late.ts", "mxf"),
           ("vfr.mp4", "mxf"), ("old.avi", "nut"), ("old.avi", "mxf"), ("old.wmv", "nut"), ("brief.wmv", "mp4"))


def check_shifts(program, folder):
    """Containers that hold other times, or none, and sources that tell times of decoding alone: what is said is what happens."""
    sound = ["-f", "lavfi", "-i", "sine=frequency=440:duration=0.6:r=48000"]
    media.ffmpeg(*media.picture("96x64", 25, 0.6), *sound, "-c:v", "mpeg4", "-bf", "2", "-c:a", "libmp3lame", folder / "old.avi")
    media.ffmpeg(*media.picture("96x64", 25, 0.6), *sound, "-c:v", "wmv2", "-c:a", "wmav2", folder / "old.wmv")
    media.ffmpeg(*media.picture("96x64", 30), "-frames:v", "2", "-c:v", "wmv2", folder / "brief.wmv")

    def shifted(source, container):
        result = folder / f"shifted_{source}.{container}"
        done = run(program, folder / source, "-o", result)
        wrong = [done.stderr] if done.returncode else list(clips.problems_of_result(folder / source, result, json.loads(done.stdout), []))
        check(f"{source} in {container}: times are as they are said to be", not wrong, wrong)

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda pair: shifted(*pair), SHIFTED))


def check_moved(program, folder):
    """Sound whose packets the container moves one by one, behind the first of them: said with the largest change, and refused."""
    sound = ["-f", "lavfi", "-i", "sine=frequency=440:duration=1:r=48000"]
    media.ffmpeg(*media.picture("48x32", 25, 0.4), *sound, "-c:v", "mpeg4", "-c:a", "flac", folder / "flac.nut")
    done = run(program, folder / "flac.nut", "-o", folder / "flac.wmv")
    wrong = list(clips.problems_of_result(folder / "flac.nut", folder / "flac.wmv", json.loads(done.stdout), [])) or done.stderr
    check("flac in wmv: said", "times of stream 1 change by up to" in done.stderr and isinstance(wrong, str), wrong)
    for words in ([], ["--plan-only"]):
        strict = run(program, folder / "flac.nut", "-o", folder / "moved.wmv", "--strict", *words)
        check(f"flac in wmv, strict {words}", strict.returncode == 4 and ".wmv moves them (--strict)" in strict.stderr, strict.stderr)
    check("flac in wmv: leaves nothing", not list(folder.glob("moved.wmv*")))


def check_few_bytes(program, folder):
    """A file of two small frames is known for what it is."""
    media.ffmpeg("-f", "lavfi", "-i", "color=gray:s=32x16:r=25:d=0.08", "-c:v", "mpeg2video", folder / "brief.mpg")
    for encoder in ("mpeg4", "libx264"):
        result = folder / f"brief_{encoder}.ts"
        done = run(program, folder / "brief.mpg", "-o", result, "--encoder", encoder)
        frames = len(media.frame_times(result)) if done.returncode == 0 else done.stderr
        check(f"few bytes of {encoder} in ts", frames == 2, frames)


def check_last_packet(program, folder):
    """Sound whose last packet tells no length, as that of a late MP4: it is there again."""
    sound = ["-f", "lavfi", "-i", "sine=frequency=440:duration=0.5:r=48000"]
    media.ffmpeg(*media.picture("96x64", 25, 0.4), *sound, "-c:v", "libx264", "-c:a", "libopus", "-strict", "-2", "-output_ts_offset",
                 "1.4333", folder / "opus.mp4")
    for container in ("mp4", "mkv"):
        done = run(program, folder / "opus.mp4", "-o", folder / f"opus_out.{container}", "--strict" if container == "mp4" else "--json")
        before, after = (media.other_packets(path)[0][5] for path in (folder / "opus.mp4", folder / f"opus_out.{container}"))
        check(f"last packet in {container}", done.returncode == 0 and [p[1] for p in before] == [p[1] for p in after],
              f"{done.stderr} {before[-2:]} became {after[-2:]}")


def check_opus(program, folder):
    """Matroska takes what Opus is decoded from off the times of its packets: they are beside the video as they were."""
    sound = ["-f", "lavfi", "-i", "sine=frequency=440:duration=0.5:r=48000"]
    media.ffmpeg(*media.picture("96x64", 25, 0.4), *sound, "-c:v", "libx264", "-c:a", "libopus", "-strict", "-2", folder / "delayed.mp4")
    media.ffmpeg(*media.picture("96x64", 25, 0.4), *sound, "-c:v", "libvpx-vp9", "-c:a", "libopus", folder / "delayed.webm")
    for source, container in (("delayed.mp4", "mkv"), ("delayed.mp4", "webm"), ("delayed.webm", "webm"), ("delayed.webm", "mp4")):
        result = folder / f"{source[8:]}_out.{container}"
        done = run(program, folder / source, "-o", result, "--strict")
        check(f"opus of {source} in {container}: strict", done.returncode == 0, done.stderr)
        if done.returncode == 0:
            check_times(f"opus of {source} in {container}", folder / source, result, 0.0011)


def check_words(program, folder):
    """What is said of streams, presets and times."""
    two = run(program, folder / "two.mp4", "-o", folder / "two.flv")
    check("two sounds in flv", two.returncode == 0 and "stream 2 (audio aac) is left out: .flv does not hold it" in two.stderr, two.stderr)
    media.texts(folder)
    media.ffmpeg(*media.picture("96x64", 25, 0.4), "-i", folder / "words.srt", "-map", "0", "-map", "1", "-c:v", "libx264", "-c:s", "srt",
                 folder / "subs.mkv")
    subs = run(program, folder / "subs.mkv", "-o", folder / "subs.m4v", "--plan-only")
    check("subtitles in m4v", "left out: .m4v cannot hold SubRip subtitles" in subs.stdout, subs.stdout)
    alone = run(program, folder / "two.mp4", "-o", folder / "two.mxf", "--plan-only")
    check("sound that mxf never holds", "left out: .mxf cannot hold AAC" in alone.stdout, alone.stdout)
    strict = run(program, folder / "two.mp4", "-o", folder / "strict.flv", "--strict")
    check("two sounds in flv, strict", strict.returncode == 4 and not list(folder.glob("strict.flv*")), strict.stderr)
    rounded = run(program, folder / "two.mp4", "-o", folder / "two.mkv")
    check("29.97 in mkv", "times of frames change by up to 0.5 ms" in rounded.stderr or "0.4" in rounded.stderr, rounded.stderr)
    media.ffmpeg(*media.picture("96x64", 25, 0.4), "-c:v", "libx264", "-output_ts_offset", "0.007", folder / "late.mkv")
    late = run(program, folder / "late.mkv", "-o", folder / "late.mxf")
    check("less than a frame late, in mxf", "times are earlier by 7 ms in .mxf" in late.stderr, late.stderr)
    exact = run(program, folder / "usual.mp4", "-o", folder / "exact.mkv", "--strict")
    check("25 in mkv, strict", exact.returncode == 0, exact.stderr)
    carried = run(program, folder / "timecode.mov", "-o", folder / "carried.mov", "--strict", "--plan-only")
    check("timecode", carried.returncode == 0, carried.stderr)
    check("timecode: counts", all(stream["carried"] for stream in json.loads(carried.stdout)["streams"]), carried.stdout)
    media.ffmpeg(*media.picture("40x40", 25, 0.2, "yuv444p10le"), "-c:v", "ffv1", folder / "small.mkv")
    for encoder in ("libx265", "libsvtav1"):
        done = run(program, folder / "small.mkv", "-o", folder / f"small_{encoder}.mkv", "--encoder", encoder)
        check(f"{encoder}: small", done.returncode == 4 and "64x64 and more" in done.stderr, f"{done.returncode}: {done.stderr}")
    for encoder, preset, there in (("libsvtav1", "fast", "0 to 12"), ("libvpx-vp9", "99", "-8 to 8"), ("libx264", "swift", "veryfast")):
        done = run(program, folder / "usual.mp4", "-o", folder / "preset.mkv", "--encoder", encoder, "--preset", preset)
        check(f"--preset {preset} of {encoder}", done.returncode == 2 and "--preset" in done.stderr and there in done.stderr, done.stderr)


if __name__ == "__main__":
    run_parts(check_encoders, check_begins, check_reordered, check_shifts, check_moved, check_few_bytes, check_last_packet, check_opus, check_words, make=make)
