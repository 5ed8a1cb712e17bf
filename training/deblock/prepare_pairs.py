#!/usr/bin/env python3
"""Makes the training pairs: prepare_pairs.py STILLS CLIPS OUT.npz [--as-sources] [--seed 1] [--jobs 2] [--most-mib 46]

STILLS holds the PNGs of training/superres/prepare.py, CLIPS the files of clips.json. Each still becomes four clips of 20
frames, a window that moves and zooms, half of them with a part of another still moving across it; each clip of clips.json
gives runs of 20 frames, shrunk where its own coding shows. Every run is coded five times, and crops of its frames are
kept: the original, and for each coding what was decoded and the level of each 16 x 16 block.

OUT.npz: `originals` and `decoded` are the bytes of lossless WebP mosaics (crops side by side); `levels` float16, one map for
each crop of `decoded`; `owner` the original of each decoded crop; `coding` the name of each one's coding.
"""

import argparse
import concurrent.futures
import io
import json
import pathlib

import numpy as np
from PIL import Image

import coding

WIDTH, HEIGHT, FRAMES = 640, 352, 20
CROP_WIDTH, CROP_HEIGHT, CROPS = 320, 176, 4
RUNS = 5  # of a clip
TURNS = 4  # of a still
SOFTENED, CODED_BEFORE = 0.75, 0.5  # shares of runs, with --as-sources


def codings(random):
    """Four of H.264 from fine to coarse, and one of another codec; where the decoder is silent, the level is given."""
    presets = ["medium", "medium", "medium", "veryfast", "ultrafast"]
    for low in (18, 26, 32, 37):
        crf = int(random.integers(low, low + (8 if low < 30 else 6 if low < 37 else 8)))
        yield "libx264", {"crf": crf, "preset": random.choice(presets)}, None
    if random.random() < 0.6:
        q = int(random.integers(3, 31))
        # Frames that are copies of others come without quantisers.
        yield "mpeg4", {"qmin": q, "qmax": q, "bf": int(random.integers(0, 3))}, 6 * np.log2(q * 2 / 0.625)
    else:
        qp = int(random.integers(24, 42))
        yield "libx265", {"preset": "veryfast", "x265-params": f"qp={qp}:log-level=none:pools=1"}, qp


def moving_window(picture, random):
    """A function of time that gives float H x W windows of `picture`."""
    height, width = picture.shape
    picture = Image.fromarray(picture)
    scale = min(random.uniform(0.8, 1.2), 0.98 * width / WIDTH, 0.98 * height / HEIGHT)
    speed = random.normal(0, random.choice([0.3, 2, 6]), 2)
    zoom, turn = random.normal(0, 0.003), random.normal(0, 0.002)
    centre = np.array([random.uniform(0.3, 0.7) * width, random.uniform(0.3, 0.7) * height])

    def at(time):
        size, angle = scale * (1 + zoom * time), turn * time
        a, b = size * np.cos(angle), size * np.sin(angle)
        x, y = centre + speed * time
        half = np.array([WIDTH / 2 * size, HEIGHT / 2 * size]) * 1.02
        x, y = np.clip(x, half[0], max(half[0], width - half[0])), np.clip(y, half[1], max(half[1], height - half[1]))
        matrix = (a, -b, x - a * WIDTH / 2 + b * HEIGHT / 2, b, a, y - b * WIDTH / 2 - a * HEIGHT / 2)
        return np.asarray(picture.transform((WIDTH, HEIGHT), Image.AFFINE, matrix, Image.BICUBIC), np.float32)

    return at


def run_of_stills(picture, other, random):
    behind = moving_window(picture, random)
    front = moving_window(other, random) if random.random() < 0.5 else None
    place = np.array([random.uniform(0.2, 0.8) * WIDTH, random.uniform(0.2, 0.8) * HEIGHT])
    step, radius = random.normal(0, 4, 2), random.uniform(40, 130, 2)
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    frames = []
    for time in range(FRAMES):
        frame = behind(time)
        if front is not None:
            distance = np.hypot((x - place[0] - step[0] * time) / radius[0], (y - place[1] - step[1] * time) / radius[1])
            share = np.clip((1 - distance) * radius.mean(), 0, 1)
            frame = frame + share * (front(time) - frame)
        frames.append(np.clip(np.rint(frame), 0, 255).astype(np.uint8))
    return [studio(frame) for frame in frames]


def softened(frame, sigma):
    """As lenses, scalers and coders leave it: a Gaussian of `sigma` pixels."""
    taps = np.exp(-(np.arange(-3, 4) ** 2) / (2 * sigma**2))
    for axis in (0, 1):
        padded = np.pad(frame, [(3, 3) if a == axis else (0, 0) for a in (0, 1)], mode="edge")
        parts = np.lib.stride_tricks.sliding_window_view(padded, 7, axis)
        frame = parts @ (taps / taps.sum())
    return frame


def as_sources(frames, random):
    """What videos are before they are coded again: soft, and coded once before."""
    if random.random() < SOFTENED:
        sigma = random.uniform(0.3, 1.2)
        frames = [np.rint(softened(frame.astype(np.float32), sigma)).astype(np.uint8) for frame in frames]
    if random.random() < CODED_BEFORE:
        options = {"crf": int(random.integers(17, 29)), "preset": random.choice(["medium", "fast", "veryfast"])}
        frames = [luma for luma, _ in coding.decode(coding.encode(frames, "libx264", options), "libx264")]
    return frames


def studio(luma):
    """Full range, as the stills are, to 16..235."""
    return np.rint(luma * (219 / 255) + 16).astype(np.uint8)


def shrunk(luma, box):
    height, width = (side // box // 16 * 16 for side in luma.shape)
    cut = luma[: height * box, : width * box].astype(np.float32)
    return np.rint(cut.reshape(height, box, width, box).mean(axis=(1, 3))).astype(np.uint8)


def runs_of_clip(path, box):
    frames = []
    with coding.av.open(str(path)) as container:
        for frame in container.decode(video=0):
            frames.append(shrunk(coding.luma_of(frame), box))
            if len(frames) == 400:
                break
    starts = np.linspace(0, len(frames) - FRAMES, min(RUNS, len(frames) // FRAMES)).astype(int)
    return [frames[start : start + FRAMES] for start in starts]


def crop_places(frames, random):
    """Times and corners; corners lie on blocks."""
    height, width = frames[0].shape
    for time in [0, *random.choice(np.arange(1, FRAMES), CROPS - 1, replace=False)]:
        y = 16 * int(random.integers(0, max(0, (height - CROP_HEIGHT) // 16) + 1))
        x = 16 * int(random.integers(0, max(0, (width - CROP_WIDTH) // 16) + 1))
        yield int(time), y, x


def coded_crops(frames, random):
    """(originals, [(index of its original, decoded, levels, name)])."""
    places = list(crop_places(frames, random))

    def cut(plane, y, x, size=1):
        return plane[y // size : (y + CROP_HEIGHT) // size, x // size : (x + CROP_WIDTH) // size]

    originals = [cut(frames[time], y, x) for time, y, x in places]
    pairs = []
    for codec, options, level in codings(random):
        decoded = coding.decode(coding.encode(frames, codec, options), codec)
        for index, (time, y, x) in enumerate(places):
            luma, levels = decoded[time]
            if levels is None:
                levels = np.full((luma.shape[0] // 16, luma.shape[1] // 16), level, np.float32)
            pairs.append((index, cut(luma, y, x), cut(levels, y, x, 16), codec))
    return originals, pairs


def webp(planes):
    file = io.BytesIO()
    mosaic = np.concatenate(planes, axis=1)
    Image.fromarray(np.repeat(mosaic[:, :, None], 3, 2)).save(file, "WEBP", lossless=True, quality=30, method=1)
    return np.frombuffer(file.getvalue(), np.uint8)


def work(job):
    kind, source, seed, sources = job
    random = np.random.default_rng(seed)
    if kind == "still":
        picture, other = (np.asarray(Image.open(path)) for path in source)
        if min(picture.shape[0] / HEIGHT, picture.shape[1] / WIDTH, other.shape[0] / HEIGHT, other.shape[1] / WIDTH) < 0.7:
            return []
        runs = [run_of_stills(picture, other, random)]
    else:
        runs = runs_of_clip(*source)
    results = []
    for frames in runs:
        if frames[0].shape[0] < CROP_HEIGHT or frames[0].shape[1] < CROP_WIDTH:
            continue
        originals, pairs = coded_crops(as_sources(frames, random) if sources else frames, random)
        by_coding = [pairs[i : i + CROPS] for i in range(0, len(pairs), CROPS)]
        results.append((webp(originals), [(webp([p[1] for p in group]), [p[2] for p in group], group[0][3]) for group in by_coding]))
    return results


def bytes_of(run):
    return len(run[0]) + sum(len(group[0]) for group in run[1])


def fitting(runs, most, random):
    """As many of the runs, in their order, as a random choice puts into `most` bytes."""
    kept, total = [], 0
    for index in random.permutation(len(runs)):
        if total + bytes_of(runs[index]) < most:
            kept.append(index)
            total += bytes_of(runs[index])
    return [runs[index] for index in sorted(kept)]


def write(path, runs):
    originals, decoded, levels, owner, names = [], [], [], [], []
    for mosaic, groups in runs:
        for data, maps, name in groups:
            decoded.append(data)
            levels += maps
            names.append(name)
            owner.append(len(originals))
        originals.append(mosaic)

    def ends(items):
        return np.cumsum([0] + [len(item) for item in items])

    np.savez(path, originals=np.concatenate(originals), original_ends=ends(originals), decoded=np.concatenate(decoded),
             decoded_ends=ends(decoded), levels=np.array(levels, np.float16), owner=np.array(owner), coding=np.array(names))  # fmt: skip
    print(f"{path}: {path.stat().st_size / 2**20:.1f} MiB, {len(originals)} runs, {len(decoded)} codings")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stills", type=pathlib.Path)
    parser.add_argument("clips", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--as-sources", action="store_true", help="runs are softened and coded once before, as videos are")
    parser.add_argument("--most-mib", type=float, default=1e9, help="runs are left out at random until the file fits")
    args = parser.parse_args()
    stills = sorted(args.stills.glob("*.png"))
    random = np.random.default_rng(args.seed)
    jobs = [("still", (path, stills[random.integers(len(stills))]), random.integers(2**31), args.as_sources) for path in stills * TURNS]
    listed = json.loads((pathlib.Path(__file__).parent / "clips.json").read_text())["clips"]
    jobs += [("clip", (args.clips / clip["file"], clip["shrink"]), random.integers(2**31), args.as_sources) for clip in listed]
    runs = []
    with concurrent.futures.ProcessPoolExecutor(args.jobs) as pool:
        for done, results in enumerate(pool.map(work, jobs)):
            runs += results
            if done % 10 == 0:
                print(f"{done} of {len(jobs)}: {len(runs)} runs, {sum(map(bytes_of, runs)) / 2**20:.1f} MiB", flush=True)
    write(args.out, fitting(runs, args.most_mib * 2**20, random))


if __name__ == "__main__":
    main()
