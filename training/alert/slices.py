"""Slices of 160x160 with phones of known boxes, coded by H.264 as cameras code, as planes of YUV 4:2:0.

A slice is stored as the detector reads it: [6, 80, 80] bytes, the four phases of luma, then U and V.
"""

import subprocess

import numpy as np
from PIL import Image

import phones

SIDE = 160
ACROSS, DOWN = 8, 5
MOST_BOXES = 3


def window(rng, picture):
    """A part of a picture at a random scale, `SIDE` + 4 pixels on each side, as floats."""
    n = SIDE + 4
    scale = rng.uniform(0.55, 1.2)
    wanted = int(np.clip(n / scale, n / 2, min(picture.shape[:2])))
    y, x = (int(rng.integers(0, size - wanted + 1)) for size in picture.shape[:2])
    part = Image.fromarray(picture[y : y + wanted, x : x + wanted]).resize((n, n), Image.BILINEAR)
    if rng.random() < 0.5:
        part = part.transpose(Image.FLIP_LEFT_RIGHT)
    return np.asarray(part, np.float32) * rng.uniform(0.7, 1.1)


def composed(rng, background, sizes, phones_wanted=None):
    """Two frames a moment apart, and the phones' boxes in the second one."""
    count = rng.choice([0, 1, 2], p=[0.3, 0.5, 0.2]) if phones_wanted is None else phones_wanted
    both = [background[2 : 2 + SIDE, 2 : 2 + SIDE].copy() for _ in range(2)]
    dx, dy = rng.integers(-2, 3, 2)
    both[0] = background[2 + dy : 2 + dy + SIDE, 2 + dx : 2 + dx + SIDE].copy()
    boxes = []
    things = [False] * rng.integers(0, 4) + [True] * count
    rng.shuffle(things)
    for is_phone in things:
        long_side = rng.uniform(*sizes) if is_phone else rng.uniform(sizes[0], 1.6 * sizes[1])
        layer, box = phones.phone_layer(rng, long_side) if is_phone else (phones.decoy_layer(rng, long_side), None)
        n = layer.size[0] // phones.FINE
        left, top = (int(v) for v in rng.integers(-n // 4, SIDE - 3 * n // 4, 2))
        if any(abs(left + n / 2 - (b[0] + b[2]) / 2) < n and abs(top + n / 2 - (b[1] + b[3]) / 2) < n for b in boxes):
            continue
        under = background[max(0, top) : top + n, max(0, left) : left + n]
        made = phones.lit(rng, layer, under)
        move = rng.integers(-2, 3, 2)
        phones.put(both[0], made, left + int(move[0]), top + int(move[1]))
        phones.put(both[1], made, left, top)
        if rng.random() < 0.2 and is_phone:  # smeared by its motion
            ghost = both[1].copy()
            phones.put(ghost, made, left + int(np.sign(move[0])), top + int(np.sign(move[1])))
            both[1] = (both[1] + ghost) / 2
        if box is not None:
            boxes.append((box[0] + left, box[1] + top, box[2] + left, box[3] + top))
    sigma = rng.uniform(0, 5) if rng.random() < 0.6 else 0
    both = [np.clip(f + rng.normal(0, sigma, f.shape[:2] + (1,)), 0, 255).astype(np.uint8) for f in both]
    inside = [b for b in boxes if 2 <= (b[0] + b[2]) / 2 < SIDE - 2 and 2 <= (b[1] + b[3]) / 2 < SIDE - 2]
    return both, inside


def recoded(frames, crf, preset):
    """The last of some RGB frames after H.264, as (Y, U, V)."""
    height, width = frames[0].shape[:2]
    raw = ["-f", "rawvideo", "-s", f"{width}x{height}"]
    coder = ["ffmpeg", "-v", "error", "-nostdin", *raw, "-pix_fmt", "rgb24", "-i", "-", "-pix_fmt", "yuv420p", "-c:v", "libx264",
             "-preset", preset, "-crf", str(crf), "-bf", "0", "-threads", "1", "-f", "h264", "-"]  # fmt: skip
    data = subprocess.run(coder, input=b"".join(f.tobytes() for f in frames), check=True, capture_output=True).stdout
    reader = ["ffmpeg", "-v", "error", "-f", "h264", "-i", "-", "-f", "rawvideo", "-pix_fmt", "yuv420p", "-"]
    planes = np.frombuffer(subprocess.run(reader, input=data, check=True, capture_output=True).stdout, np.uint8)
    planes = planes[-width * height * 3 // 2 :]
    luma, chroma = planes[: width * height].reshape(height, width), planes[width * height :].reshape(2, height // 2, width // 2)
    return luma, chroma[0], chroma[1]


def packed(luma, u, v):
    """[6, height / 2, width / 2]."""
    return np.stack([luma[0::2, 0::2], luma[0::2, 1::2], luma[1::2, 0::2], luma[1::2, 1::2], u, v])


def sheet_of_slices(rng, backgrounds, sizes, phones_wanted=None):
    """ACROSS x DOWN slices that were coded as one picture: [n, 6, 80, 80] and [n, MOST_BOXES, 4], -1 where there is none."""
    sheets = np.zeros((2, DOWN * SIDE, ACROSS * SIDE, 3), np.uint8)
    boxes = np.full((ACROSS * DOWN, MOST_BOXES, 4), -1, np.float32)
    for i in range(len(boxes)):
        background = window(rng, backgrounds[rng.integers(len(backgrounds))])
        both, found = composed(rng, background, sizes, phones_wanted)
        y, x = i // ACROSS * SIDE, i % ACROSS * SIDE
        sheets[:, y : y + SIDE, x : x + SIDE] = both
        for k, box in enumerate(found[:MOST_BOXES]):
            boxes[i, k] = box
    planes = packed(*recoded(list(sheets), int(rng.integers(17, 37)), "veryfast"))
    half = SIDE // 2
    slices = planes.reshape(6, DOWN, half, ACROSS, half).transpose(1, 3, 0, 2, 4).reshape(-1, 6, half, half)
    return slices, boxes


def make(seed, backgrounds, count, sizes=(6, 20), phones_wanted=None):
    rng = np.random.default_rng(seed)
    parts = [sheet_of_slices(rng, backgrounds, sizes, phones_wanted) for _ in range(-(-count // (ACROSS * DOWN)))]
    return np.concatenate([p[0] for p in parts])[:count], np.concatenate([p[1] for p in parts])[:count]
