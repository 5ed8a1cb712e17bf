"""Streams enhanced while they come, through pipes and local sockets: live_test.py FETTLE_ENHANCE"""

import json
import os
import signal
import socket
import subprocess
import time

import media
from checks import check, run_parts

PICTURE, LONG = media.picture(size="64x48", rate=12), media.picture(size="64x48", rate=12, seconds=4)
STEPS = ["--steps", "superres", "--network", "fast", "--threads", "2"]


def live(program, given, *words, steps=STEPS):
    """`given`: the bytes of standard input."""
    return subprocess.run([program, "-", *map(str, words), *steps], input=given, capture_output=True, timeout=120)


def document(done):
    """Of --json beside frames on standard output: behind the warnings."""
    text = done.stderr.decode()
    return json.loads(text[text.index("{\n"):])


def refused(name, code, words, done):
    text = done.stderr.decode()
    check(f"{name}: refused", done.returncode == code and text.count("\n") == 1 and words in text, (done.returncode, text))


def make(folder):
    media.ffmpeg(*PICTURE, "-f", "yuv4mpegpipe", folder / "a.y4m")
    media.ffmpeg(*PICTURE, *media.TONE, *media.X264, "-bf", "0", "-c:a", "mp2", folder / "a.ts")
    media.ffmpeg(*PICTURE, "-f", "nut", "-c:v", "ffv1", folder / "a.nut")
    media.ffmpeg(*PICTURE, "-f", "rawvideo", folder / "a.raw")
    # Longer than what is looked at before frames are read.
    media.ffmpeg(*LONG, *media.X264, "-bf", "0", folder / "long.ts")
    media.ffmpeg(*LONG, "-c:v", "mpeg2video", "-bf", "0", "-tables_version", "3", "-streamid", "0:300", folder / "other.ts")
    media.ffmpeg(*media.picture(size="96x64", rate=12), *media.X264, "-bf", "0", folder / "large.ts")


def check_formats(program, folder):
    """The output has the kind of the input, or that which is named; every frame comes, at twice the size."""
    for suffix, words in (("y4m", []), ("ts", []), ("nut", []), ("nut", ["--output-format", "y4m"]), ("y4m", ["--output-format", "ts"])):
        done = live(program, (folder / f"a.{suffix}").read_bytes(), "-o", "-", *words)
        kind = words[1] if words else suffix
        result = folder / f"{suffix}_to.{kind}"
        result.write_bytes(done.stdout)
        check(f"{suffix} to {kind}", done.returncode == 0 and b"latency: p50" in done.stderr, done.stderr)
        stream = next(s for s in media.probe(result)["streams"] if s["codec_type"] == "video")
        check(f"{suffix} to {kind}: frames", len(media.frame_times(result)) == 12, len(media.frame_times(result)))
        check(f"{suffix} to {kind}: size", (stream["width"], stream["height"]) == (128, 96), stream)
        rate = stream["r_frame_rate"]
        check(f"{suffix} to {kind}: rate", rate == "12/1", rate)
    done = live(program, (folder / "a.ts").read_bytes(), "-o", "-", "--output-format", "y4m")
    check("ts to y4m: rate", b" F12:1 " in done.stdout[:80], done.stdout[:80])
    sound = [s["codec_name"] for s in media.probe(folder / "y4m_to.ts")["streams"]]
    check("y4m has no sound", sound == ["h264"], sound)
    done = live(program, (folder / "a.raw").read_bytes(), "-o", "-", "--input-format", "raw:64x48:yuv420p:12", "--json")
    check("raw", done.returncode == 0 and len(done.stdout) == 12 * 128 * 96 * 3 // 2, (len(done.stdout), done.stderr))
    got = document(done)
    check("raw: counts", (got["frames_in"], got["frames_out"], got["damaged"]) == (12, 12, 0), got)
    check("raw: latency", 0 < got["latency_ms"]["p50"] <= got["latency_ms"]["p99"] <= got["latency_ms"]["most"] + 0.1, got)


def check_files(program, folder):
    """From a stream into a file with its sound, and from a file to standard output."""
    done = live(program, (folder / "a.ts").read_bytes(), "-o", folder / "sound.mkv")
    streams = sorted(s["codec_name"] for s in media.probe(folder / "sound.mkv")["streams"])
    check("sound is carried", done.returncode == 0 and streams == ["h264", "mp2"], (streams, done.stderr))
    refused("there already", 2, "already exists", live(program, b"", "-o", folder / "sound.mkv"))
    done = subprocess.run([program, folder / "a.ts", "-o", "-", "--output-format", "y4m", *STEPS], capture_output=True, timeout=120)
    check("file to y4m", done.returncode == 0 and done.stdout.startswith(b"YUV4MPEG2 W128 H96"), done.stderr)
    check("sound that is left out", b"stream 1 (audio mp2) is left out: .y4m does not hold it" in done.stderr, done.stderr)


def check_less(program, folder):
    """A bound that no step keeps: every frame goes through all the same, and it is said; without bound all steps are done."""
    given = subprocess.run(["ffmpeg", "-v", "error", "-i", folder / "a.y4m", "-vf", "scale=320:240", "-f", "yuv4mpegpipe", "-"],
                           capture_output=True, check=True).stdout
    done = live(program, given, "-o", "-", "--latency", "0.001", "--json")
    got = document(done)
    check("less", done.returncode == 0 and [r["frames"] for r in got["rungs"]] == [0, 12] and got["late_frames"] == 12, got)
    check("less: size", done.stdout.startswith(b"YUV4MPEG2 W640 H480") and got["frames_out"] == 12, got)
    text = live(program, given, "-o", "-", "--latency", "0.001").stderr.decode()
    check("less: said", "Lanczos alone, as they would have been late" in text, text)
    got = document(live(program, given, "-o", "-", "--latency", "0.001", "--budget", "best", "--json", steps=["--steps", "superres"]))
    check("all", got["rungs"][0]["frames"] == 12 and got["rungs"][0]["by"] == "superres by best", got)


def check_changes(program, folder):
    """Streams that change on their way: a line each, and frames go on."""
    plain = (folder / "long.ts").read_bytes()
    for name, other, words, most in (("size", "large.ts", "change from 64x48 to 96x64; they are shown at 128x96", 60),
                                     ("codec", "other.ts", "its video changes from h264 to mpeg2video", 96),
                                     ("clock", "long.ts", "its clock jumps by -", 96)):
        result = folder / f"{name}.mkv"
        done = live(program, plain + (folder / other).read_bytes(), "-o", result)
        text = done.stderr.decode()
        times = media.frame_times(result)
        check(f"{name}: said", words in text, text)
        # Up to two frames of a stream that is replaced are never given by FFmpeg.
        check(f"{name}: frames", most - 2 <= len(times) <= most and times == sorted(set(times)), times)
    cut = (folder / "a.raw").read_bytes()[:-1000]
    done = live(program, cut, "-o", "-", "--input-format", "raw:64x48:yuv420p:12")
    check("cut", done.returncode == 1 and b"1 damaged place" in done.stderr and len(done.stdout) >= 11 * 128 * 96 * 3 // 2, done.stderr)


def check_fields(program, folder):
    """Interlaced frames come one frame later, and each of them, whole."""
    for codec in (["-c:v", "mpeg2video", "-bf", "2"], [*media.X264, "-bf", "0", "-pix_fmt", "yuv420p10le"]):
        media.ffmpeg(*media.picture(size="64x48", rate=24), "-vf", "interlace", *codec, "-flags", "+ildct", folder / "fields.ts")
        result = folder / f"{codec[1]}_whole.mkv"
        done = live(program, (folder / "fields.ts").read_bytes(), "-o", result, "--json", "--overwrite", steps=["--steps", "deinterlace,sharpen"])
        got = json.loads(done.stdout)
        check("fields: counts", (got["frames_in"], got["frames_out"]) == (12, 12), got)
        frames = [p for p in media.probe(result)["packets_and_frames"] if p["type"] == "frame" and p["media_type"] == "video"]
        check("fields: whole", len(frames) == 12 and not any(frame["interlaced_frame"] for frame in frames), frames[:1])


def check_ends(program, folder):
    """A stop, a reader that goes away and a camera that vanishes: what was enhanced can be played."""
    result = folder / "stopped.mkv"
    source = subprocess.Popen(["ffmpeg", "-v", "quiet", "-re", *media.picture(rate=25, seconds=60), "-f", "nut", "-c:v", "rawvideo", "-"],
                              stdout=subprocess.PIPE)
    job = subprocess.Popen([program, "-", "-o", result, *STEPS], stdin=source.stdout, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not result.exists() or result.stat().st_size < 2000:
        time.sleep(0.05)
    job.send_signal(signal.SIGINT)
    out, error = job.communicate(timeout=60)
    source.kill()
    source.wait()
    check("stop", job.returncode == 0 and b"latency" in out and len(media.frame_times(result)) > 0, error)

    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([program, "-", "-o", "-", *STEPS], input=(folder / "a.y4m").read_bytes(), stdout=writer, stderr=subprocess.PIPE,
                          timeout=60)
    os.close(writer)
    check("reader gone", done.returncode == 1 and b"standard output: cannot write: Broken pipe" in done.stderr, done.stderr)

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    result = folder / "camera.ts"
    job = subprocess.Popen([program, f"udp://127.0.0.1:{port}", "-o", result, "--json", *STEPS], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    sender = subprocess.Popen(["ffmpeg", "-v", "quiet", "-re", *media.picture(rate=25, seconds=3), "-c:v", "mpeg2video", "-f", "mpegts",
                               f"udp://127.0.0.1:{port}?pkt_size=1316"])
    out, error = job.communicate(timeout=60)
    sender.wait()
    got = json.loads(out)
    check("vanished", job.returncode == 1 and got["broken"] == "nothing arrived for 10 s" and b"frames until then are in" in error, error)
    check("vanished: kept", got["frames_out"] > 0 and len(media.frame_times(result)) == got["frames_out"], got)


def check_refusals(program, folder):
    plain = (folder / "a.ts").read_bytes()
    refused("no stream", 3, "standard input: no stream of video begins there; --input-format", live(program, b"nothing", "-o", "-"))
    refused("no such stream", 3, "no stream of video of the kind h264 begins there", live(program, b"nothing", "-o", "-", "--input-format", "h264"))
    refused("no output", 2, "-o: a stream has no default output", live(program, plain))
    refused("kind", 2, "--output-format: there is no 'tz', did you mean 'ts'?", live(program, plain, "-o", "-", "--output-format", "tz"))
    refused("raw without size", 2, "expected raw:WIDTHxHEIGHT", live(program, plain, "-o", "-", "--input-format", "raw"))
    for raw, words in (("raw:0x4", "not a size of 1"), ("raw:64x48:yuv", "no pixels 'yuv'"), ("raw:64x48:nv12:x", "not a rate"), ("y4m:2", "takes no value")):
        refused(raw, 2, words, live(program, plain, "-o", "-", "--input-format", raw))
    for steps in ("interpolate", "privacy", "alert"):
        refused(steps, 4, f"--steps: {steps} is not for live streams", live(program, plain, "-o", "-", steps=["--steps", steps]))
    for words in (["--report", "x.html"], ["--start", "1"], ["--preview"], ["--strict"]):
        refused(words[0], 2, "is for files", live(program, plain, "-o", "-", *words))
    refused("pixels with an encoder", 2, ".y4m holds plain pixels", live(program, plain, "-o", "-", "--output-format", "y4m", "--crf", "20"))
    for words in (["--latency", "9"], ["--input-format", "ts"], ["--output-format", "ts"]):
        done = subprocess.run([program, folder / "a.ts", "-o", folder / "x.mkv", *words], capture_output=True, timeout=60)
        refused(f"file with {words[0]}", 2, f"{words[0]}: is for streams", done)
    done = subprocess.run([program, "/dev/video987", "-o", folder / "x.mkv"], capture_output=True, timeout=60)
    refused("no camera", 4 if b"this build cannot read" in done.stderr else 3, "/dev/video987: ", done)


run_parts(check_formats, check_files, check_less, check_changes, check_fields, check_ends, check_refusals, make=make)
