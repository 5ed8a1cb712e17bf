#!/usr/bin/env python3
"""Random clips through fettle-enhance: sizes, pixels, rates, B-frames, begins, streams, chapters and flags of every kind, in every
container, to every container by every encoder.

usage: tests/attack/clips.py FETTLE [--seed N] [--seconds S] [--count N] [--out FOLDER]

What is written is compared with its source packet by packet and decoded by ffprobe. It must be right and complete, or what is lost
must have been said before work, or the job must have been refused, then by --plan-only, too, and with nothing left behind. What is
said of times must be so. Some jobs are interrupted, and the same command must end in the same bytes; long clips have several segments
then. The same seed makes the same clips.
"""

import json
import os
import pathlib
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/enhance"))
sys.dont_write_bytecode = True
import attempts  # noqa: E402
import media  # noqa: E402  beside the tests of enhance
from clip_source import ALPHA, Clip  # noqa: E402

MOST_SECONDS = 60
ENCODERS = ["libx264", "libx265", "libvpx-vp9", "libsvtav1", "mpeg4", "prores_ks", "ffv1", "qtrle", "png"]
OUTPUTS = ["mp4", "mkv", "ts", "mov", "webm", "avi", "nut", "flv", "m4v", "mpg", "mxf", "ogv", "h264", "yuv", "y4m", "3gp", "gif", "mjpeg",
           "f4v", "asf", "wmv"]
ADTS = (".ts", ".mpg")
USUAL_OUTPUTS = ["mp4", "mkv", "ts", "mov"]


def job_of(chance):
    """The words after the input: output, encoder, steps."""
    output = chance.choice(USUAL_OUTPUTS if chance.random() < 0.6 else OUTPUTS)
    words = ["-o", f"result.{output}", "--steps", chance.choice(["sharpen"] * 4 + ["contrast", "superres", "interpolate,sharpen", "deinterlace=2,sharpen"])]
    words += ["--network", "fast"]
    if chance.random() < 0.6:
        words += ["--encoder", chance.choice(ENCODERS)]
    if chance.random() < 0.1:
        words += ["--strict"]
    return words


def run(program, folder, words):
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    return subprocess.run([program, *map(str, words), "--json", "--threads", "1"], cwd=folder, capture_output=True, text=True, env=environment,
                          stdin=subprocess.DEVNULL, timeout=MOST_SECONDS, check=False)


def packets_of(path, stream):
    """Of a stream, in their order: time, size, hash, whether it is hidden. Not those that have nothing in them."""
    packets = [p for p in media.probe(path)["packets_and_frames"] if p["type"] == "packet" and p["stream_index"] == stream["index"]]
    packets = [p for p in packets if p["size"] != "0"]
    return [(float(p["pts_time"]) if "pts_time" in p else None, int(p["size"]), p.get("data_hash"), "D" in p["flags"]) for p in packets]


def seconds_of(number, unit):
    return float(number) * (0.001 if unit == "ms" else 1)


def said_change(losses, what="frames"):
    """The largest change of times that was said of frames or of "stream 1", in seconds."""
    found = [re.search(rf"times of {what} change by up to ([\d.e-]+) (ms|s)", loss) for loss in losses]
    return max((seconds_of(*one.groups()) for one in found if one), default=0.0)


def said_shift(losses, what="times are"):
    """By how much all times, or those of "stream 1 is" beside the video, were said to be others, in seconds; None: not at all."""
    for loss in losses:
        found = re.match(rf"{what} (later|earlier) by ([\d.e-]+) (ms|s)", loss)
        if found:
            return seconds_of(found[2], found[3]) * (1 if found[1] == "later" else -1)
    return None


def problems_of_times(before, after, losses):
    """Of frames; `before` has what is wanted."""
    if len(before) != len(after):
        yield f"{len(before)} frames became {len(after)}: {before[:4]} ... {after[:4]}"
        return
    if any("holds no times" in loss for loss in losses):
        return
    shift, said = said_shift(losses), said_change(losses)
    changes = [b - a - (shift or 0) for a, b in zip(before, after) if a is not None and b is not None]
    largest = max(map(abs, changes), default=0)
    # Three digits are said of a shift, and ticks of the container are none.
    slack = said * 0.01 + 3e-6 + (abs(shift) * 0.006 + 0.0006 if shift else 0)
    if largest > said + slack:
        yield f"times change by {largest:.6f} s more than {shift} s, said was {said:.6f}: {before[:5]} became {after[:5]}"
    if said > largest + slack:
        yield f"times change by {largest:.6f} s, and {said:.6f} was said"


def problems_of_streams(source, result, losses):
    """Of those beside the video: each is found again in its order, or was named."""
    old, new = media.probe(source)["streams"], media.probe(result)["streams"]
    video, after = media.video_of(source)["index"], media.video_of(result)["index"]
    left = [s for s in new if s["index"] != after]
    for stream in old:
        kind, index = stream["codec_type"], stream["index"]
        if index == video or any(loss.startswith(f"stream {index} (") for loss in losses):
            continue
        alike = [s for s in left if s["codec_type"] == kind]
        # A track of chapters that a container makes may stand before a timecode.
        found = next((s for s in alike if s.get("codec_tag_string") == stream.get("codec_tag_string")), alike[0] if alike else None)
        if found is None:
            # What a container makes anew of tags and chapters.
            if kind != "data":
                yield f"stream {index} ({kind}) is gone"
            continue
        left.remove(found)
        if found.get("codec_name") != stream.get("codec_name"):
            yield f"stream {index}: {stream.get('codec_name')} became {found.get('codec_name')}"
        elif kind in ("audio", "subtitle"):
            yield from problems_of_packets(stream, packets_of(source, stream), packets_of(result, found), (source, result), losses)


def is_same(one, other, headers):
    """Of two packets; `headers`: one of two containers may give each packet of AAC a header, of seven bytes."""
    return one[2] == other[2] or headers and abs(one[1] - other[1]) == 7


def one_hides_the_first(before, after, headers):
    """Both lists of packets without those that are hidden, and without the one that sound is decoded from first where one container
    alone hides it, which then must be there all the same."""
    shown = [[p for p in packets if not p[3]] for packets in (before, after)]
    for more, fewer, all_of_fewer in ((0, 1, after), (1, 0, before)):
        if len(shown[more]) != len(shown[fewer]) + 1:
            continue
        first = next((i for i, p in enumerate(all_of_fewer) if not p[3]), len(all_of_fewer))
        if first > 0 and is_same(all_of_fewer[first - 1], shown[more][0], headers):
            del shown[more][0]
    return shown


def problems_of_packets(stream, before, after, paths, losses):
    """Of sound and subtitles: each packet is there again, at its time."""
    index, name = stream["index"], stream["codec_name"]
    if name.startswith("pcm"):  # cut into packets as each container likes, those that an edit list hides left out or not
        sums = [(sum(p[1] for p in packets), sum(p[1] for p in packets if not p[3])) for packets in (before, after)]
        if sums[0][0] != sums[1][0] and sums[0][1] != sums[1][1]:
            yield f"stream {index}: {sums[0][0]} bytes of sound became {sums[1][0]}"
        return
    headers = name == "aac" and (paths[0].suffix in ADTS) != (paths[1].suffix in ADTS)
    before, after = one_hides_the_first(before, after, headers)
    lost = [int(number) for loss in losses for number in re.findall(rf"^(\d+) of \d+ packets of stream {index} are lost", loss)]
    if len(before) != len(after) + sum(lost):
        yield f"stream {index}: {len(before)} packets of {name} became {len(after)}, {lost} were said to be lost"
    if lost or len(before) != len(after):
        return
    if not all(is_same(a, b, headers) for a, b in zip(before, after)):
        yield f"stream {index}: packets of {name} are others"
    if not any("holds no times" in loss for loss in losses):
        yield from problems_of_stream_times(stream, before, after, paths, losses)


def problems_of_stream_times(stream, before, after, paths, losses):
    """Each change is within a tick of the container, or was said with the largest one."""
    index = stream["index"]
    shifts = [said_shift(losses) or 0, said_shift(losses, f"stream {index} is") or 0]
    shift, said = sum(shifts), said_change(losses, f"stream {index}")
    tick = (0.0011 if {path.suffix for path in paths} & {".mkv", ".webm", ".flv", ".asf", ".wmv"} else 0.00005) + said * 0.006
    # Three digits are said, and a shift of a tick or two of another stream is none.
    tick += sum(map(abs, shifts)) * 0.006 + (0.0011 if shift else 0)
    times = [(a[0], b[0]) for a, b in zip(before, after) if a[0] is not None and b[0] is not None]
    far = [(a, b) for a, b in times if abs(b - a - shift) > said + tick]
    name = stream["codec_name"]
    if far:
        yield f"stream {index} ({name}): times {far[0][0]} became {far[0][1]}, in {len(far)} packets of {len(before)}, said was {said} s"
    if times and said > max(abs(b - a - shift) for a, b in times) + tick:
        yield f"stream {index} ({name}): times change by less than the {said} s that were said: {times[:4]} ... {times[-4:]}"


def problems_of_result(source, result, document, words):
    losses = document["losses"]
    try:
        media.probe(result)
        after = media.frame_times(result)
    except (subprocess.CalledProcessError, StopIteration, ValueError) as error:
        yield f"cannot be read: {error}"
        return
    before = media.frame_times(source)
    if any("interpolate" in str(word) for word in words) and None not in before:
        before = [t for a, b in zip(before, before[1:]) for t in (a, (a + b) / 2)] + before[-1:]
    if not any("had no time" in warning for warning in document.get("warnings", [])):
        yield from problems_of_times(before, after, losses)
    yield from problems_of_streams(source, result, losses)
    if media.chapters(source) and not media.chapters(result) and not any("chapters" in loss for loss in losses):
        yield "chapters are gone"
    old, new = media.tags(source), media.tags(result)
    if old["rotation"] != new["rotation"] and not any("rotation" in loss for loss in losses):
        yield f"rotation {old['rotation']} became {new['rotation']}"
    same = {"yuvj420p": "yuv420p"}
    if same.get(old["pix_fmt"], old["pix_fmt"]) != same.get(new["pix_fmt"], new["pix_fmt"]) and not losses and not wider(old, new):
        yield f"{old['pix_fmt']} became {new['pix_fmt']} without a word"
    noise = subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-i", str(result), "-map", "0:v:0", "-f", "null", "-"], capture_output=True,
                           text=True, check=False)
    if noise.returncode != 0 or noise.stderr and not re.search(r"non monoton|DTS", noise.stderr):
        yield f"ffmpeg decodes it with: {noise.stderr[:200]}"


def wider(old, new):
    """Whether the new pixels hold all of the old ones: gray in colour, less chroma in more."""
    bits = [10 if "10" in tags["pix_fmt"] else 12 if "12" in tags["pix_fmt"] else 16 if "16" in tags["pix_fmt"] else 8 for tags in (old, new)]
    chroma = [next((n for n, text in ((3, "444"), (2, "422"), (1, "420")) if text in tags["pix_fmt"]), 0) for tags in (old, new)]
    keeps_alpha = new["pix_fmt"].startswith(ALPHA) or not old["pix_fmt"].startswith(ALPHA)
    return bits[1] >= bits[0] and (chroma[1] >= chroma[0] or not chroma[1]) and keeps_alpha


def problems_of_resume(program, folder, source, words, chance, seconds):
    """A job that is killed or stopped at some moment, and the same command again: the bytes of the whole one."""
    whole = folder / f"whole{pathlib.Path(words[1]).suffix}"
    (folder / words[1]).rename(whole)
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    begun = subprocess.Popen([program, source.name, *words, "--threads", "1"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             stdin=subprocess.DEVNULL, env=environment)
    try:
        begun.wait(chance.uniform(0.3, 1) * seconds)
    except subprocess.TimeoutExpired:
        begun.send_signal(chance.choice([signal.SIGKILL, signal.SIGINT]))
        begun.wait(MOST_SECONDS)
    result = folder / words[1]
    waits = pathlib.Path(str(result) + ".fettle-job").exists()
    again = run(program, folder, [source.name, *words]) if waits or not result.exists() else None
    if again and again.returncode != 0:
        yield f"interrupted, the same command ends with {again.returncode}: {again.stderr[-300:]}"
    elif result.read_bytes() != whole.read_bytes():
        yield f"interrupted, it ends in other bytes after {json.loads(again.stdout)['resumed_frames'] if again else 'all'} frames"
    if pathlib.Path(str(result) + ".fettle-job").exists():
        yield "interrupted, it leaves its folder"


def problems_of_job(program, folder, source, words, chance=None):
    """What is wrong with a job, and how it ended: "written", "refused". `chance`: it is interrupted and goes on, too."""
    try:
        planned = run(program, folder, [source.name, *words, "--plan-only"])
        begin = time.monotonic()
        done = run(program, folder, [source.name, *words])
        seconds = time.monotonic() - begin
    except subprocess.TimeoutExpired:
        return [f"took over {MOST_SECONDS} s"], "hung"
    result, code = folder / words[1], done.returncode
    problems = []
    if planned.returncode != code:
        problems.append(f"--plan-only ends with {planned.returncode}, the job with {code}: {planned.stderr[-200:]} {done.stderr[-300:]}")
    if pathlib.Path(str(result) + ".fettle-job").exists():
        problems.append("leaves its folder")
    if code == 0:
        problems += problems_of_result(source, result, json.loads(done.stdout), words)
        if chance:
            problems += problems_of_resume(program, folder, source, words, chance, seconds)
    elif code not in (2, 4):
        problems.append(f"ends with {code}: {done.stderr[-300:]}")
    elif result.exists() or done.stderr.count("\n") != 1 or "Invalid argument" in done.stderr:
        problems.append(f"a refusal of another kind: {done.stderr[-300:]}")
    return problems, "written" if code == 0 else "refused"


def is_whole(source):
    """Whether ffmpeg decodes the video that it made: MPEG-2 of a few pixels may be damaged from the start."""
    done = subprocess.run(["ffmpeg", "-v", "error", "-i", source, "-map", "0:v", "-f", "null", "-"], capture_output=True, text=True, check=False)
    return not re.search("damaged|Invalid mb type|concealing|[Ee]rror while decoding", done.stderr)


def attempt(program, seed, number, out):
    """One clip through one job: how it ended and what is wrong; None where ffmpeg makes no such clip."""
    chance = random.Random(f"{seed}-{number}")
    clip, words = Clip(chance), job_of(chance)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        media.texts(folder)
        try:
            source = clip.make(folder)
            media.video_of(source)
            if not is_whole(source):
                return None
        except (subprocess.CalledProcessError, StopIteration):
            return None
        problems, end = problems_of_job(program, folder, source, words, chance if clip.long or chance.random() < 0.2 else None)
        if problems and out:
            kept = out / f"clip{number}"
            kept.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, kept)
            (kept / "job.txt").write_text(shlex.join(["fettle", "enhance", source.name, *words]) + "\n" + "\n".join(problems) + "\n")
        return f"fettle enhance {source.name} {shlex.join(words)}", problems, end


if __name__ == "__main__":
    sys.exit(attempts.attack(__doc__, "fettle-enhance", media.tools_missing, attempt))
