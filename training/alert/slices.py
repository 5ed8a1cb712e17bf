"""Slices of 160x160 with phones of known boxes, as `FRAMES` frames of a moving picture coded by H.264 as cameras code, as planes of YUV 4:2:0.

A slice is stored as the detector reads it, [6, 80, 80] bytes: the four phases of luma, then U and V; of its frames those of `KEPT`.
"""

import ctypes
import os
import pathlib

import cv2
import numpy as np
from PIL import Image

import phones

SIDE = 160
ACROSS, DOWN = 8, 5
MOST_BOXES = 3
DECOYS = float(os.environ.get("ALERT_DECOYS", "0.6"))  # of the sheets
FRAMES, KEPT = 9, (0, 4, 8)
CODER = os.environ.get("ALERT_CODER", str(pathlib.Path(__file__).resolve().parents[2] / "build/alert/libcoder.so"))


class Material:
    """Pictures, and clips as [frames, height, width, 3]."""

    def __init__(self, pictures, clips):
        self.pictures, self.clips = pictures, clips
        self.chances = np.sqrt([len(clip) for clip in clips])
        self.chances /= self.chances.sum()


def enlarged(part, n, flip):
    picture = Image.fromarray(part).resize((n, n), Image.BILINEAR)
    return np.asarray(picture.transpose(Image.FLIP_LEFT_RIGHT) if flip else picture, np.float32)


def window(rng, material):
    """A part of a clip or of a picture at a random scale: [FRAMES, SIDE + 4, SIDE + 4, 3], floats."""
    n = SIDE + 4
    if rng.random() < 0.5 and material.clips:
        clip = material.clips[rng.choice(len(material.clips), p=material.chances)]
        first = int(rng.integers(0, max(1, len(clip) - FRAMES)))
        frames = clip[first : first + FRAMES]
    else:
        frames = material.pictures[rng.integers(len(material.pictures))][None]
    wanted = int(np.clip(n / rng.uniform(0.55, 1.2), n / 2, min(frames.shape[1:3])))
    y, x = (int(rng.integers(0, size - wanted + 1)) for size in frames.shape[1:3])
    flip, light = rng.random() < 0.5, rng.uniform(0.7, 1.1)
    parts = [enlarged(frame[y : y + wanted, x : x + wanted], n, flip) * light for frame in frames]
    return np.stack([parts[min(i, len(parts) - 1)] for i in range(FRAMES)])


def things(rng, background, light, sizes, phones_wanted, decoys):
    """(sprite, place, speed, box or none) of what is drawn; phones of which nothing could be seen are not."""
    count = rng.choice([0, 1, 2], p=[0.3, 0.5, 0.2]) if phones_wanted is None else phones_wanted
    kinds = [False] * (rng.integers(0, 4) if decoys else 0) + [True] * count
    rng.shuffle(kinds)
    result, taken = [], []
    for is_phone in kinds:
        long_side = rng.uniform(*sizes) if is_phone else rng.uniform(sizes[0], 1.6 * sizes[1])
        layer, box, shine = phones.phone_layer(rng, long_side) if is_phone else (phones.decoy_layer(rng, long_side), None, None)
        n = layer.size[0] // phones.FINE
        place = rng.integers(-n // 4, SIDE - 3 * n // 4, 2)
        if any(np.abs(place + n / 2 - other).max() < n for other in taken):
            continue
        taken.append(place + n / 2)
        left, top = place.clip(0, SIDE - n)
        under = background[0, top : top + n, left : left + n]
        sprite = phones.lit(rng, layer, under, shine)
        if box is None or light.shows(sprite, under, box):
            result.append((sprite, place, rng.normal(0, 0.8, 2) * (rng.random() < 0.5), box))
    return result


def composed(rng, background, sizes, phones_wanted=None, decoys=True):
    """[FRAMES, SIDE, SIDE, 3] bytes, the phones' boxes in the last one, and the light's gain."""
    light = phones.Light(rng)
    drift = np.cumsum(rng.integers(-1, 2, (FRAMES, 2)) * (rng.random() < 0.3), 0).clip(-2, 2) + 2
    drawn = things(rng, background, light, sizes, phones_wanted, decoys)
    frames = np.empty((FRAMES, SIDE, SIDE, 3), np.uint8)
    for i, (y, x) in enumerate(drift):
        picture, shining = background[i, y : y + SIDE, x : x + SIDE].copy(), np.zeros((SIDE, SIDE, 3), np.float32)
        boxes = []
        for sprite, place, speed, box in drawn:
            left, top = place + speed * (i + 1 - FRAMES) + rng.normal(0, 0.15, 2)
            phones.put(picture, shining, sprite, left, top)
            if box is not None:
                boxes.append((box[0] + left, box[1] + top, box[2] + left, box[3] + top))
        frames[i] = light.on(rng, picture, shining)
    inside = [b for b in boxes if 2 <= (b[0] + b[2]) / 2 < SIDE - 2 and 2 <= (b[1] + b[3]) / 2 < SIDE - 2]
    return frames, inside, light.gain


def recoded(frames, crf, preset="veryfast"):
    """RGB frames [n, height, width, 3] after H.264, as rows of bytes of YUV 4:2:0."""
    count, height, width = frames.shape[:3]
    planes = np.stack([cv2.cvtColor(frame, cv2.COLOR_RGB2YUV_I420).reshape(-1) for frame in frames])
    if crf:
        place = planes.ctypes.data_as(ctypes.c_void_p)
        if ctypes.CDLL(CODER).CodeInPlace(place, count, width, height, ctypes.c_float(crf), preset.encode()):
            raise RuntimeError("x264 failed")
    return planes


def packed(planes, width, height):
    """Rows of bytes of YUV 4:2:0 as the detector reads them, [n, 6, height / 2, width / 2]."""
    luma = planes[:, : width * height].reshape(-1, height, width)
    chroma = planes[:, width * height :].reshape(-1, 2, height // 2, width // 2)
    phases = [luma[:, y::2, x::2] for y in (0, 1) for x in (0, 1)]
    return np.stack([*phases, chroma[:, 0], chroma[:, 1]], 1)


def sheet_of_slices(rng, material, sizes=(6, 20), phones_wanted=None):
    """ACROSS x DOWN slices that were coded as one picture: [n, kept, 6, 80, 80], [n, MOST_BOXES, 4], -1 where there is none, and
    [n, 2]: the light's gain, and whether things that are no phones were drawn."""
    sheets = np.zeros((FRAMES, DOWN * SIDE, ACROSS * SIDE, 3), np.uint8)
    boxes = np.full((ACROSS * DOWN, MOST_BOXES, 4), -1, np.float32)
    about = np.zeros((ACROSS * DOWN, 2), np.float32)
    decoys = rng.random() < DECOYS
    for i in range(len(boxes)):
        frames, found, gain = composed(rng, window(rng, material), sizes, phones_wanted, decoys)
        y, x = i // ACROSS * SIDE, i % ACROSS * SIDE
        sheets[:, y : y + SIDE, x : x + SIDE] = frames
        about[i] = gain, decoys
        for k, box in enumerate(found[:MOST_BOXES]):
            boxes[i, k] = box
    planes = packed(recoded(sheets, rng.uniform(17, 36)), ACROSS * SIDE, DOWN * SIDE)[list(KEPT)]
    half = SIDE // 2
    planes = planes.reshape(len(KEPT), 6, DOWN, half, ACROSS, half).transpose(2, 4, 0, 1, 3, 5)
    return planes.reshape(-1, len(KEPT), 6, half, half), boxes, about
