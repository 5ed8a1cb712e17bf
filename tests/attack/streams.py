#!/usr/bin/env python3
"""Random live streams through fettle-enhance: of every kind, that change their size, codec, pixels and clock on the way, with damage,
ends in the middle of frames, senders that vanish and readers that go away.

usage: tests/attack/streams.py FETTLE [--seed N] [--seconds S] [--count N] [--out FOLDER]

The program must end by itself with an exit code of its own, and say in lines of its own why where that is not 0. What it wrote must
be decoded by ffprobe as one stream of one size, with the number of frames that it says, at rising times; of a whole stream no frame
may be missing. The same seed makes the same streams.
"""

import json
import os
import pathlib
import random
import re
import shlex
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/enhance"))
sys.dont_write_bytecode = True
import attempts  # noqa: E402
import media  # noqa: E402  beside the tests of enhance

MOST_SECONDS = 60
# kind -> (arguments of ffmpeg for the container, codecs)
KINDS = {
    "ts": (["-f", "mpegts"], [["libx264", "-preset", "ultrafast"], ["mpeg2video"], ["libx265", "-preset", "ultrafast", "-x265-params", "log-level=none"]]),
    "nut": (["-f", "nut"], [["ffv1"], ["rawvideo"], ["libx264", "-preset", "ultrafast"], ["mpeg4"]]),
    "mkv": (["-f", "matroska"], [["libx264", "-preset", "ultrafast"], ["mpeg4"]]),
    "flv": (["-f", "flv"], [["libx264", "-preset", "ultrafast"], ["flv"]]),
    "h264": (["-f", "h264"], [["libx264", "-preset", "ultrafast"]]),
    "mjpeg": (["-f", "mjpeg"], [["mjpeg"]]),
    "y4m": (["-f", "yuv4mpegpipe"], [["wrapped_avframe"]]),
    "raw": (["-f", "rawvideo"], [["rawvideo"]]),
}
STEPS = ["sharpen", "superres", "deblock,contrast", "denoise", "deinterlace=2,sharpen", "lowlight,deepen", "superres=0.5,clarity"]
OUTPUTS = [["-o", "-"], ["-o", "-", "--output-format", "y4m"], ["-o", "-", "--output-format", "ts"], ["-o", "-", "--output-format", "nut"],
           ["-o", "result.mkv"], ["-o", "result.ts"], ["-o", "result.nut"]]


class Part:
    """Some frames of one size, codec and clock."""

    def __init__(self, chance, kind, like=None):
        self.codec = chance.choice(KINDS[kind][1])
        # x265 of smaller ones reads behind its memory.
        self.size = [chance.choice([64, 80] if self.codec[0] == "libx265" else [32, 48, 64, 80]) for _ in range(2)]
        self.rate = chance.choice([12, 25, 30])
        self.frames = chance.choice([1, 2, 5, 12, 25, 40])
        self.shift = chance.choice([0, 0, 0, 5, 3600 * 7, 95000])  # seconds; MPEG-TS wraps after 26 hours
        self.pixels = chance.choice(["yuv420p"] * 4 + ["yuv444p", "yuvj420p"])
        if self.codec[0] in ("mpeg2video", "mpeg4", "flv") or kind == "flv":
            self.pixels = "yuv420p"
        if self.codec[0] == "mjpeg":
            self.pixels = "yuvj420p"
        if like is not None and chance.random() < 0.4:
            self.codec, self.size, self.pixels = like.codec, like.size, like.pixels
        if kind == "raw" and like is not None:
            self.size, self.pixels = like.size, like.pixels
        if self.codec[0] == "mpeg2video":
            self.rate = 25

    def bytes(self, kind, folder):
        path = folder / "part"
        pattern = f"testsrc2=s={self.size[0]}x{self.size[1]}:r={self.rate}:d=9,format={self.pixels}"
        shift = ["-output_ts_offset", str(self.shift)] if self.shift and kind in ("ts", "nut", "mkv", "flv") else []
        bframes = [] if self.codec[0] not in ("libx264", "libx265") else ["-bf", "0"]
        media.ffmpeg("-f", "lavfi", "-i", pattern, "-frames:v", self.frames, "-c:v", *self.codec, *bframes, "-threads", "1", "-strict", "-1",
                     *shift, *KINDS[kind][0], path)
        return path.read_bytes()


class Stream:
    """What is sent, how, and what is asked for."""

    def __init__(self, chance, folder):
        self.kind = chance.choice(list(KINDS))
        parts = [Part(chance, self.kind)]
        while len(parts) < 4 and chance.random() < 0.4:
            parts.append(Part(chance, self.kind, parts[0]))
        if self.kind in ("y4m", "mkv", "flv") and chance.random() < 0.7:
            del parts[1:]  # a second header is damage there
        content = b"".join(part.bytes(self.kind, folder) for part in parts)
        self.whole = len(parts) == 1
        self.frames = parts[0].frames
        self.damage = chance.choice(["none", "none", "cut", "cut", "flip", "gap", "twice", "front"])
        self.content = self.damaged(chance, content)
        self.sound = False
        self.way = chance.choice(["pipe", "pipe", "slow", "tcp"])
        self.reader_goes = chance.random() < 0.1
        self.words = ["--steps", chance.choice(STEPS), "--network", "fast", "--threads", str(chance.choice([1, 2]))]
        self.words += chance.choice(OUTPUTS)
        if self.kind == "raw":
            self.words += ["--input-format", f"raw:{parts[0].size[0]}x{parts[0].size[1]}:{parts[0].pixels}:{parts[0].rate}"]
        elif chance.random() < 0.3:
            self.words += ["--input-format", self.kind]
        if chance.random() < 0.3:
            self.words += ["--latency", str(chance.choice([0.001, 5, 50, 1000]))]
        if chance.random() < 0.2:
            self.words += ["--size", chance.choice(["64x64", "50x30", "2x2", "320x100"])]
        if chance.random() < 0.2:
            self.words += ["--budget", "best"]
            del self.words[2:4]

    def damaged(self, chance, content):
        at, to = sorted(chance.randrange(len(content) + 1) for _ in range(2))
        if self.damage == "none":
            return content
        self.whole = False
        if self.damage == "cut":
            return content[:at]
        if self.damage == "gap":
            return content[:at] + content[to:]
        if self.damage == "twice":
            return content[:to] + content[at:]
        if self.damage == "front":
            return chance.randbytes(chance.choice([1, 100, 5000])) + content
        content = bytearray(content)
        for _ in range(chance.choice([1, 10, 200])):
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        return bytes(content)


def send(write, content, slow):
    try:
        step = max(1, len(content) // 7) if slow else len(content) or 1
        for begin in range(0, len(content), step):
            write(content[begin : begin + step])
            if slow:
                time.sleep(0.02)
    except OSError:
        pass  # the program has ended before its input


def run(program, folder, stream):
    """(exit code, what was written to standard output, messages). The sender of a TCP stream closes behind its last byte."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    server, name = None, "-"
    if stream.way == "tcp":
        server = socket.create_server(("127.0.0.1", 0))
        name = f"tcp://127.0.0.1:{server.getsockname()[1]}"
    process = subprocess.Popen([program, name, *stream.words, "--json"], cwd=folder, env=environment, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def give():
        if server is None:
            send(lambda part: (process.stdin.write(part), process.stdin.flush()), stream.content, stream.way == "slow")
        else:
            server.settimeout(MOST_SECONDS)
            try:
                link, _ = server.accept()
            except OSError:
                return
            with link:
                send(link.sendall, stream.content, False)
        try:
            process.stdin.close()
        except OSError:
            pass

    sender = threading.Thread(target=give)
    sender.start()
    errors = []
    listener = threading.Thread(target=lambda: errors.append(process.stderr.read()))
    listener.start()
    killer = threading.Timer(MOST_SECONDS, process.kill)
    killer.start()
    if stream.reader_goes:
        out = process.stdout.read(1000)
        process.stdout.close()
    else:
        out = process.stdout.read()
    code = process.wait()
    killer.cancel()
    listener.join()
    if server is not None:
        server.close()
    sender.join()
    return code, out, errors[0].decode("utf-8", "replace")


def document_of(out, messages):
    """The JSON, of standard output or behind the messages; None without one."""
    for text in (messages, out.decode("utf-8", "replace") if out[:1] == b"{" else ""):
        at = text.find("{\n")
        if at >= 0:
            return json.JSONDecoder().raw_decode(text[at:])[0]
    return None


def problems_of(stream, folder, code, out, messages):
    if code not in (0, 1, 2, 3, 4):
        yield f"ends with {code}: {messages[-300:]}"
        return
    said = re.sub(r"^\{\n.*?^\}\n", "", messages, flags=re.M | re.S)
    lines = [line for line in said.splitlines() if line]
    if not all(line.startswith("fettle: ") for line in lines):
        yield f"lines that are not its own: {said[:300]}"
    if code != 0 and not lines:
        yield f"ends with {code} without a word"
    if re.search("Invalid argument|Generic error|Unknown error|bad_alloc", said):
        yield f"words of nobody: {said[:300]}"
    if stream.reader_goes:
        return
    document = document_of(out, messages)
    to_file = "-" not in stream.words
    path = folder / next(word for word in stream.words if word.startswith("result.")) if to_file else folder / "out"
    if not to_file and out:
        path.write_bytes(out)
    if stream.whole and stream.frames > 1 and (code != 0 or document is None or document["frames_out"] != stream.frames):
        yield f"{stream.frames} whole frames and {code}: {document and (document['frames_in'], document['frames_out'])} {said[:300]}"
    if document is None or code in (2, 3, 4):
        return
    if document["frames_in"] != document["frames_out"]:
        yield f"{document['frames_in']} frames in, {document['frames_out']} out: {said[:200]}"
    if document["container"] == ".raw" or (document["container"] == ".ts" and document["frames_out"] < 4):
        if document["frames_out"] and (not path.stat().st_size or document["container"] == ".raw" and path.stat().st_size % document["frames_out"]):
            yield f"{path.stat().st_size} bytes of {document['frames_out']} frames"
    elif document["frames_out"] > 0:
        yield from problems_of_result(path, document["frames_out"])


def problems_of_result(path, frames):
    try:
        shown = media.probe(path)
    except (subprocess.CalledProcessError, ValueError) as error:
        yield f"what was written cannot be read: {error}"
        return
    seen = [part for part in shown["packets_and_frames"] if part["type"] == "frame" and part["media_type"] == "video"]
    if len(seen) != frames:
        yield f"{frames} frames out, and ffprobe finds {len(seen)}"
    if len({(frame["width"], frame["height"]) for frame in seen}) > 1:
        yield "frames of several sizes"
    times = [float(frame["pts_time"]) for frame in seen if "pts_time" in frame]
    if any(b <= a for a, b in zip(times, times[1:])):
        yield f"times that do not rise: {times[:10]}"


def attempt(program, seed, number, out):
    chance = random.Random(f"{seed}-{number}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        try:
            stream = Stream(chance, folder)
        except subprocess.CalledProcessError:
            return None
        code, written, messages = run(program, folder, stream)
        problems = list(problems_of(stream, folder, code, written, messages))
        told = f"{stream.kind}, {stream.damage}, {stream.way}: fettle enhance - {shlex.join(stream.words)}"
        if problems and out:
            kept = out / f"stream{number}"
            kept.mkdir(parents=True, exist_ok=True)
            (kept / f"sent.{stream.kind}").write_bytes(stream.content)
            (kept / "job.txt").write_text(told + "\n" + "\n".join(problems) + "\n" + messages)
        return told, problems, f"ended with {code}"


if __name__ == "__main__":
    sys.exit(attempts.attack(__doc__, "fettle-enhance", media.tools_missing, attempt))
