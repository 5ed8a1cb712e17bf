"""Digits that the recipe draws itself: strokes, bent and turned, among lines of clutter, in noise. No data set is needed.

    pictures.py OUT --seed 0 --count 500     writes OUT/pictures.npy (f32 [count, 1, 32, 32], 0..1) and OUT/labels.npy (i64)
    pictures.py OUT --separate               a file for each picture, as fettle quantise reads them
    pictures.py OUT --mosaic                 OUT/digits.png, rows of 20 pictures, and OUT/digits.txt, as tests read them

Equal seeds give equal pictures. Seed 0 is held out: training draws from seeds 1 and up.
"""

import argparse
import pathlib
import struct
import zlib

import numpy as np

SIDE = 32
HELD_OUT_SEED = 0
CHUNK = 50

# Strokes of each digit through these points, x to the right and y down, in -1..1; curves are smooth.
STROKES = {
    0: [[(0, -1), (-0.6, -0.6), (-0.65, 0.3), (-0.3, 0.9), (0.3, 0.9), (0.65, 0.3), (0.6, -0.6), (0, -1)]],
    1: [[(-0.4, -0.6), (0.1, -1), (0.1, -0.3), (0.1, 0.3), (0.1, 1)]],
    2: [[(-0.55, -0.6), (-0.2, -1), (0.4, -0.9), (0.5, -0.4), (0, 0.3), (-0.6, 0.95)], [(-0.6, 0.95), (0.65, 0.95)]],
    3: [[(-0.5, -0.85), (0.1, -1), (0.5, -0.6), (0, -0.1)], [(0, -0.1), (0.55, 0.25), (0.45, 0.8), (-0.1, 1), (-0.6, 0.75)]],
    4: [[(0.2, -1), (-0.3, -0.2), (-0.65, 0.35)], [(-0.65, 0.35), (0.7, 0.35)], [(0.3, -0.2), (0.3, 0.4), (0.3, 1)]],
    5: [[(0.5, -0.95), (-0.4, -0.95)], [(-0.4, -0.95), (-0.5, -0.1)],
        [(-0.5, -0.1), (0.1, -0.25), (0.6, 0.2), (0.4, 0.8), (-0.1, 1), (-0.6, 0.75)]],
    6: [[(0.4, -1), (-0.2, -0.5), (-0.55, 0.3), (-0.2, 0.95), (0.4, 0.8), (0.55, 0.3), (0.1, 0), (-0.5, 0.3)]],
    7: [[(-0.6, -0.95), (0.6, -0.95)], [(0.6, -0.95), (0.1, -0.1), (-0.2, 1)]],
    8: [[(0, -0.05), (-0.5, -0.5), (0, -1), (0.5, -0.5), (0, -0.05), (-0.55, 0.5), (0, 1), (0.55, 0.5), (0, -0.05)]],
    9: [[(0.5, -0.4), (0, -0.05), (-0.5, -0.4), (-0.1, -0.95), (0.4, -0.85), (0.5, -0.4), (0.4, 0.4), (0.1, 1)]],
}
STEPS = 3  # segments between two points of a curve


def smooth(points):
    """The Catmull-Rom curve through `points`, as segments [n, 2 ends, xy]; two points are a straight line."""
    p = np.array(points, np.float64)
    p = np.concatenate([p[:1], p, p[-1:]])
    curve = [p[1]]
    for a, b, c, d in zip(p, p[1:], p[2:], p[3:]):
        for t in np.arange(1, STEPS + 1) / STEPS:
            curve.append(0.5 * (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t**2
                                + (3 * b - a - 3 * c + d) * t**3))
    curve = np.array(curve)
    return np.stack([curve[:-1], curve[1:]], axis=1)


def glyphs():
    """[10, segments, 2, 2]: shorter digits repeat their last segment."""
    drawn = [np.concatenate([smooth(stroke) for stroke in STROKES[digit]]) for digit in range(10)]
    length = max(map(len, drawn))
    return np.stack([np.concatenate([d, np.repeat(d[-1:], length - len(d), axis=0)]) for d in drawn])


def ink(segments, width):
    """How dark strokes [n, s, 2, 2] of half width [n, 1, 1] are on a grid of SIDE x SIDE, 0..1."""
    axis = ((np.arange(SIDE) + 0.5) / SIDE * 2 - 1).astype(np.float32)
    x, y = np.tile(axis, SIDE)[:, None], np.repeat(axis, SIDE)[:, None]
    x0, y0 = (segments[:, None, :, 0, i] for i in range(2))
    dx, dy = (segments[:, None, :, 1, i] - segments[:, None, :, 0, i] for i in range(2))
    over = 1 / (dx * dx + dy * dy + np.float32(1e-6))
    along = np.clip(x * (dx * over) + y * (dy * over) - (x0 * dx + y0 * dy) * over, 0, 1)
    square = (x - (x0 + along * dx)) ** 2 + (y - (y0 + along * dy)) ** 2
    distance = np.sqrt(square.min(-1)).reshape(-1, SIDE, SIDE)
    return np.clip((width - distance) * SIDE / 2 + 0.5, 0, 1)


def draw_some(rng, count, shapes):
    labels = rng.integers(0, 10, count)
    uniform = lambda low, high, *shape: rng.uniform(low, high, (count, *shape)).astype(np.float32)
    points = shapes[labels].astype(np.float32)  # [n, s, 2, 2]
    # Bent by a wave, then sheared, turned, stretched and moved.
    wave = np.sin((points * uniform(0.5, 2.5, 1, 1, 2)).sum(-1, keepdims=True) + uniform(0, 6.3, 1, 1, 1))
    points = points + wave * uniform(-0.25, 0.25, 1, 1, 2)
    angle, shear = uniform(-0.45, 0.45), uniform(-0.35, 0.35)
    scale_x, scale_y = uniform(0.4, 0.8), uniform(0.45, 0.8)
    turn = np.stack([np.cos(angle) * scale_x, -np.sin(angle) * scale_y + shear * scale_x,
                     np.sin(angle) * scale_x, np.cos(angle) * scale_y], axis=-1).reshape(-1, 1, 1, 2, 2)
    points = (turn @ points[..., None])[..., 0] + uniform(-0.22, 0.22, 1, 1, 2)
    pictures = ink(points, uniform(0.04, 0.13, 1, 1))
    # Three short lines of clutter, some of them too faint to see.
    start = uniform(-1, 1, 3, 1, 2)
    lines = np.concatenate([start, start + uniform(-0.6, 0.6, 3, 1, 2)], axis=2)
    for i in range(3):
        pictures = np.maximum(pictures, ink(lines[:, i:i + 1], uniform(0.02, 0.07, 1, 1)) * uniform(0, 0.9, 1, 1))
    background, contrast = uniform(0, 0.45, 1, 1), uniform(0.3, 0.55, 1, 1)
    pictures = background + contrast * pictures
    inverted = uniform(0, 1, 1, 1) < 0.5
    pictures = np.where(inverted, 1 - pictures, pictures) + uniform(0.02, 0.12, 1, 1) * rng.standard_normal(pictures.shape)
    return np.clip(np.rint(pictures * 255), 0, 255).astype(np.uint8), labels


def draw(seed, count):
    """`count` pictures, bytes [count, SIDE, SIDE], and their digits."""
    rng, shapes = np.random.default_rng(seed), glyphs()
    chunks = [draw_some(rng, min(CHUNK, count - first), shapes) for first in range(0, count, CHUNK)]
    return np.concatenate([c[0] for c in chunks]), np.concatenate([c[1] for c in chunks])


def as_input(pictures):
    """What the networks take: f32 [n, 1, SIDE, SIDE], 0..1."""
    return pictures[:, None].astype(np.float32) / np.float32(255)


def write_mosaic(pictures, labels, out, columns=20):
    """A grey PNG of rows of pictures, and their digits as a line for each row."""
    tiles = pictures.reshape(-1, columns, SIDE, SIDE).transpose(0, 2, 1, 3).reshape(-1, columns * SIDE)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", columns * SIDE, len(tiles), 8, 0, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + row.tobytes() for row in tiles), 9)
    (out / "digits.png").write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b""))
    (out / "digits.txt").write_text("".join("".join(map(str, row)) + "\n" for row in labels.reshape(-1, columns)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=HELD_OUT_SEED)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--separate", action="store_true")
    parser.add_argument("--mosaic", action="store_true")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    pictures, labels = draw(arguments.seed, arguments.count)
    if arguments.separate:
        for i, picture in enumerate(as_input(pictures)):
            np.save(arguments.out / f"{i:05}.npy", picture[None])
    elif arguments.mosaic:
        write_mosaic(pictures, labels, arguments.out)
    else:
        np.save(arguments.out / "pictures.npy", as_input(pictures))
        np.save(arguments.out / "labels.npy", labels.astype(np.int64))


if __name__ == "__main__":
    main()
