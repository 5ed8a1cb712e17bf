#!/usr/bin/env python3
"""Random frames through libfettle_enhance, by its C interface: sizes, pixels and steps of every kind, strides and planes that are wrong.

usage: tests/attack/frames.py FETTLE [--seed N] [--seconds S] [--count N] [--out FOLDER]

Each plane ends where memory that nobody may read begins. A frame that is right gives a result of the size and pixels that the enhancer
tells, of which each byte can be read; any other is refused in words and changes nothing. A case is a process of its own for 20 frames.
"""

import argparse
import ctypes as c
import mmap
import os
import random
import subprocess
import sys
import time

import attempts

FRAMES = 20
PAGE = mmap.PAGESIZE
# Of fettle_pixels: bytes of a sample, planes as (shift of columns, shift of rows, samples of a pixel).
PIXELS = [(1, [(0, 0, 1), (1, 1, 1), (1, 1, 1)]), (1, [(0, 0, 1), (1, 1, 2)]), (1, [(0, 0, 1), (1, 0, 1), (1, 0, 1)]), (1, [(0, 0, 1)] * 3),
          (2, [(0, 0, 1), (1, 1, 1), (1, 1, 1)]), (1, [(0, 0, 1)]), (1, [(0, 0, 3)]), (1, [(0, 0, 3)])]
STEPS = ["superres", "deblock", "denoise", "lowlight", "clarity", "contrast", "sharpen", "deepen", "deinterlace", "deinterlace=2", "interpolate", "alert",
         "nothing", "superres=2", ""]


class Frame(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("pixels", c.c_int), ("width", c.c_int32), ("height", c.c_int32), ("planes", c.c_void_p * 4),
                ("strides", c.c_int64 * 4), ("time", c.c_int64), ("owner", c.c_void_p)]


class Options(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("steps", c.c_char_p), ("network", c.c_char_p), ("latency_ms", c.c_double), ("level", c.c_double),
                ("full_range", c.c_int32)]


class Memory:
    """Bytes that end where a page begins that cannot be read."""

    def __init__(self, libc, size, chance):
        room = -(-max(size, 1) // PAGE) * PAGE
        self.libc, self.room = libc, room + PAGE
        self.start = libc.mmap(None, self.room, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
        libc.mprotect(self.start + room, PAGE, 0)
        self.address = self.start + room - size
        self.size = size
        c.memmove(self.address, chance.randbytes(size), size)

    def free(self):
        self.libc.munmap(self.start, self.room)


def row_bytes(pixels, width, plane):
    size, planes = PIXELS[pixels]
    across, _, samples = planes[plane]
    return -(-width // (1 << across)) * samples * size


def filled(libc, chance, pixels, width, height):
    """A right frame, and its memory."""
    frame, memory = Frame(c.sizeof(Frame), pixels, width, height), []
    size, planes = PIXELS[pixels]
    for i, (_, down, _) in enumerate(planes):
        row = row_bytes(pixels, width, i)
        stride = row + size * chance.choice([0, 0, 1, 7, 32, 1000])
        rows = -(-height // (1 << down))
        memory.append(Memory(libc, stride * (rows - 1) + row, chance))
        if size == 2:  # ten bits
            words = (c.c_uint16 * (memory[-1].size // 2)).from_address(memory[-1].address)
            words[:] = [word & 0x3FF for word in words]
        frame.planes[i], frame.strides[i] = memory[-1].address, stride
    frame.time = chance.randrange(1 << 40)
    return frame, memory


def spoil(chance, frame):
    """Makes the frame wrong; what is wrong."""
    plane = chance.randrange(len(PIXELS[frame.pixels][1]))
    row = row_bytes(frame.pixels, frame.width, plane)
    what = chance.choice(["stride", "stride", "plane", "width", "height", "pixels", "size"])
    if what == "stride":
        frame.strides[plane] = chance.choice([0, -1, -row, row - 1, 1 << 31, 1 << 40, -(1 << 63), (1 << 63) - 1])
    elif what == "plane":
        frame.planes[plane] = None
    elif what in ("width", "height"):
        setattr(frame, what, chance.choice([getattr(frame, what) + 1, 0, -1, (1 << 31) - 1, -(1 << 31)]))
    elif what == "pixels":
        frame.pixels = chance.choice([(frame.pixels + 1) % 8, -1, 99, (1 << 31) - 1])
    else:
        what = "struct_size"
        frame.struct_size = chance.choice([0, 8, c.sizeof(Frame) - 1])
    return what


def check_result(lib, frame, result, told):
    assert (result.pixels, result.width, result.height, result.time) == (told.pixels, told.width, told.height, frame.time), "another shape"
    for i, (_, down, _) in enumerate(PIXELS[result.pixels][1]):
        row = row_bytes(result.pixels, result.width, i)
        assert result.strides[i] >= row, "a stride below a row"
        for y in range(-(-result.height // (1 << down))):
            c.string_at(result.planes[i] + y * result.strides[i], row)
    lib.fettle_frame_release(c.byref(result))
    assert not result.planes[0] and not result.owner, "a frame that was released"


def one_case(library, seed):
    chance = random.Random(seed)
    lib, libc = c.CDLL(library), c.CDLL(None)
    lib.fettle_enhancer_error.restype = c.c_char_p
    libc.mmap.restype, libc.mmap.argtypes = c.c_void_p, [c.c_void_p, c.c_size_t, c.c_int, c.c_int, c.c_int, c.c_long]
    libc.mprotect.argtypes, libc.munmap.argtypes = [c.c_void_p, c.c_size_t, c.c_int], [c.c_void_p, c.c_size_t]
    lib.fettle_enhancer_free.argtypes = [c.c_void_p]
    steps = ",".join(chance.sample(STEPS[:9], chance.choice([1, 1, 2, 3]))) if chance.random() < 0.8 else chance.choice(STEPS)
    pixels = chance.choice([0, 1, 2, 3, 4, 5, 6, 7])
    width, height = (chance.choice([1, 2, 3, 5, 8, 17, 31, 32, 64, 100]) for _ in range(2))
    odd = chance.random() < 0.2
    options = Options(c.sizeof(Options), steps.encode(), chance.choice([b"none", None] if odd else [None, b"fast", b"good", b"best"]),
                      chance.choice([-1, float("nan"), float("inf")] if odd else [0, 0, 0.001, 10]),
                      chance.choice([-5, float("nan"), 1e300] if odd else [0, 20, 40]), chance.choice([0, 1]))
    print(f"{steps} of {width}x{height}, pixels {pixels}, {options.network}, {options.latency_ms} ms, level {options.level}", file=sys.stderr, flush=True)
    enhancer = c.c_void_p()
    status = lib.fettle_enhancer_create(pixels, width, height, c.byref(options), c.byref(enhancer))
    if status:
        assert lib.fettle_enhancer_error(), "no words"
        print("refused", steps, lib.fettle_enhancer_error().decode())
        return
    told = Frame(c.sizeof(Frame))
    assert lib.fettle_enhancer_result(enhancer, c.byref(told)) == 0
    for number in range(FRAMES):
        frame, memory = filled(libc, chance, pixels, width, height)
        wrong = spoil(chance, frame) if chance.random() < 0.4 else None
        result = Frame(c.sizeof(Frame), 7, 77)
        status = lib.fettle_enhancer_run(enhancer, c.byref(frame), c.byref(result))
        if status:
            assert wrong, f"a right frame is refused: {lib.fettle_enhancer_error()}"
            assert lib.fettle_enhancer_error() and (result.pixels, result.width) == (7, 77), "a refusal without words, or that changes its result"
        else:
            assert not wrong, f"taken though wrong: {wrong} {list(frame.strides)} {width}x{height} of {pixels}"
            check_result(lib, frame, result, told)
        for one in memory:
            one.free()
        if chance.random() < 0.1:
            assert lib.fettle_enhancer_reset(enhancer) == 0
    lib.fettle_enhancer_free(enhancer)
    print("done", steps)


def main():
    parser = attempts.parser(__doc__)
    parser.add_argument("--only", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    library = options.fettle.resolve().parent.parent / "lib/libfettle_enhance.so"
    if not library.exists():
        print(f"no {library}\n0 passed, 0 failed, 1 skipped")
        return 0
    if options.only is not None:
        one_case(str(library), f"{options.seed}-{options.only}")
        return 0
    ends, counts, ended = time.monotonic() + options.seconds, [0, 0], {}
    for number in range(options.count or 1 << 20):
        if time.monotonic() > ends:
            break
        command = [sys.executable, __file__, str(options.fettle), "--seed", str(options.seed), "--only", str(number)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
        counts[done.returncode != 0] += 1
        word = done.stdout.split(" ")[0] or f"ended with {done.returncode}"
        ended[word] = ended.get(word, 0) + 1
        if done.returncode != 0:
            print(f"{' '.join(command)}\n  ends with {done.returncode}: {done.stderr[-300:]}", flush=True)
    print(", ".join(f"{count} {word}" for word, count in sorted(ended.items())))
    print("{} passed, {} failed, 0 skipped".format(*counts))
    return 1 if counts[1] else 0


if __name__ == "__main__":
    sys.exit(main())
