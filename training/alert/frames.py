"""Frames without phones that networks are shown while they learn: those of the clips, and parts of pictures as a camera at rest sees them."""

import numpy as np
from PIL import Image

import phones
import slices
from backgrounds import HEIGHT, WIDTH


def still(rng, picture, count=slices.FRAMES, light=None):
    """A part of a picture at a random scale, seen for `count` frames: [count, HEIGHT, WIDTH, 3]."""
    scale = rng.uniform(0.6, max(0.61, min(picture.shape[1] / WIDTH, picture.shape[0] / HEIGHT)))
    w, h = (min(int(side * scale), most) for side, most in ((WIDTH, picture.shape[1]), (HEIGHT, picture.shape[0])))
    x, y = int(rng.integers(0, picture.shape[1] - w + 1)), int(rng.integers(0, picture.shape[0] - h + 1))
    part = Image.fromarray(picture[y : y + h, x : x + w]).resize((WIDTH + 4, HEIGHT + 4), Image.BILINEAR)
    part, light = np.asarray(part, np.float32), phones.Light(rng, light)
    drift = np.cumsum(rng.integers(-1, 2, (count, 2)) * (rng.random() < 0.3), 0).clip(-2, 2) + 2
    return np.stack([light.on(rng, part[dy : dy + HEIGHT, dx : dx + WIDTH], np.float32(0)) for dy, dx in drift])


def stills_of(job):
    """The kept frames of a still, packed, from (seed, picture)."""
    rng = np.random.default_rng(job[0])
    planes = slices.recoded(still(rng, job[1]), rng.uniform(17, 34))
    return slices.packed(planes, WIDTH, HEIGHT)[list(slices.KEPT)]


def packed_clip(clip):
    return slices.packed(slices.recoded(clip, 0), WIDTH, HEIGHT)


def without_phones(material, each, pool):
    """(frames [n, 6, HEIGHT / 2, WIDTH / 2], for each the two before it); `each` stills of each picture, by a pool of processes."""
    frames, before, count = [], [], 0
    gap = slices.KEPT[1] - slices.KEPT[0]
    for planes in pool.map(packed_clip, material.clips, 8):
        index = np.arange(len(planes))
        before.append(count + np.stack([(index - 2 * gap).clip(0), (index - gap).clip(0)], 1))
        frames.append(planes)
        count += len(planes)
    jobs = [((5, i, k), picture) for i, picture in enumerate(material.pictures) for k in range(each)]
    for planes in pool.map(stills_of, jobs, 8):
        frames.append(planes)
        before.append(count + np.array([[0, 0], [0, 0], [0, 1]]))
        count += len(planes)
    return np.concatenate(frames), np.concatenate(before)
