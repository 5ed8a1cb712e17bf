#!/usr/bin/env python3
"""Draws the compositions that the matting network learns from: prepare.py CLIPS MODELS OUT PICTURES... [--count N]

CLIPS holds the files of sources.json, MODELS the teachers (teachers.py), each of PICTURES is a folder. Where both teachers
agree on people they are cut out; pictures without people are what they are set before. OUT receives learn.npz and
checked.npz: `luma` [N, 160, 240], `chroma` [N, 2, 80, 120] (BT.601 studio range), `masks` [N, 2, 160, 240]
(person, head), all bytes. The same seed and files give the same bytes.
"""

import argparse
import io
import json
import pathlib
import subprocess

import numpy as np
from PIL import Image, ImageEnhance, ImageFilter, ImageSequence

from teachers import AGREE, Teachers

WIDTH, HEIGHT, LONG_SIDE = 240, 160, 480
HERE = pathlib.Path(__file__).resolve().parent


def clip_frames(path, every=1, most=10**6, size=None, long_side=LONG_SIDE):
    """RGB pictures of every so many frames, shrunk to `long_side`."""
    raw = ["-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", f"{size[0]}x{size[1]}"] if size else []
    scale = f"scale='if(gt(iw,ih),{long_side},-2)':'if(gt(iw,ih),-2,{long_side})':flags=area"
    command = ["ffmpeg", "-v", "error", *raw, "-i", str(path), "-vf", f"select='not(mod(n,{every}))',{scale}", "-vsync", "0"]
    command += ["-frames:v", str(most), "-f", "yuv4mpegpipe", "-pix_fmt", "yuv444p", "-"]
    data = subprocess.run(command, capture_output=True, check=True).stdout
    header = data[: data.index(b"\n")].decode().split()
    width, height = int(header[1][1:]), int(header[2][1:])
    at, frames = data.index(b"\n") + 1, []
    while at < len(data):
        at = data.index(b"\n", at) + 1  # past FRAME
        planes = np.frombuffer(data, np.uint8, 3 * width * height, at).reshape(3, height, width)
        frames.append(rgb_of(planes.astype(np.float32)))
        at += 3 * width * height
    return frames


def rgb_of(planes):
    y, u, v = 1.164 * (planes[0] - 16), planes[1] - 128, planes[2] - 128
    rgb = np.stack([y + 1.596 * v, y - 0.392 * u - 0.813 * v, y + 2.017 * u], -1)
    return Image.fromarray(np.clip(rgb, 0, 255).astype(np.uint8))


def yuv_of(rgb):
    """Studio BT.601 of float H x W x 3: luma, chroma at half of the sides."""
    r, g, b = np.moveaxis(rgb.astype(np.float32), -1, 0)
    luma = 16 + 0.257 * r + 0.504 * g + 0.098 * b
    chroma = np.stack([128 - 0.148 * r - 0.291 * g + 0.439 * b, 128 + 0.439 * r - 0.368 * g - 0.071 * b])
    height, width = luma.shape
    chroma = chroma.reshape(2, height // 2, 2, width // 2, 2).mean((2, 4))
    return np.rint(luma).clip(0, 255).astype(np.uint8), np.rint(chroma).clip(0, 255).astype(np.uint8)


def small(picture):
    picture.draft("RGB", (2 * LONG_SIDE, 2 * LONG_SIDE))  # JPEG is decoded at a part of its size
    picture = picture.convert("RGB")
    picture.thumbnail((LONG_SIDE, LONG_SIDE), Image.BOX if min(picture.size) > 960 else Image.BILINEAR)
    return picture


def pictures_of(args, sources):
    """(name, role, picture) of all there is to read, without what is held out."""
    for clip in sources["clips"]:
        if clip.get("role") != "held_out":
            for picture in clip_frames(args.clips / clip["file"], clip["every"], clip["most"], clip.get("size")):
                yield clip["file"], clip.get("role", "learnt"), picture
    for folder in args.pictures:
        for path in sorted(p for p in folder.rglob("*") if p.suffix.lower() in (".jpg", ".jpeg", ".png", ".gif")):
            try:
                picture = Image.open(path)
                role = "checked" if path.name in sources["checked_pictures"] else "learnt"
                if min(picture.size) < 200 or picture.mode == "L" or path.name in sources["not_people"]:
                    continue
                for frame in list(ImageSequence.Iterator(picture))[:: 2 if path.suffix == ".gif" else 1]:
                    yield path.name, role, small(frame.copy() if path.suffix == ".gif" else frame)
            except OSError:
                continue


def collect(args):
    """{role: (people, rooms)}: people with their masks, and pictures without any."""
    teachers, found = Teachers(args.models), {"learnt": ([], []), "checked": ([], [])}
    log, rooms = {}, 0
    for count, (name, role, picture) in enumerate(pictures_of(args, json.loads((HERE / "sources.json").read_text()))):
        if count % 100 == 0:
            print(f"{count} read, at {name}", flush=True)
        person, head, agree = teachers.masks(picture)
        share = (person > 0.5).mean()
        entry = log.setdefault(name, [0, 0, 0])
        if share > 0.01 and agree > AGREE:
            found[role][0].append((name, np.asarray(picture), person, head))
            entry[0] += 1
        elif share < 0.002 and (teachers.bodypix(picture)[0] > 0.5).mean() < 0.002:
            rooms += 1
            found["checked" if rooms % 8 == 0 else role][1].append(np.asarray(picture))
            entry[1] += 1
        else:
            entry[2] += 1
    (args.out / "log.json").write_text(json.dumps(log, indent=1))
    for role, (people, rooms) in found.items():
        print(f"{role}: {len(people)} with people of {len({p[0] for p in people})} sources, {len(rooms)} without", flush=True)
    return found


def by_source(people, random):
    """A person, each source about as likely as any other, however much it gives."""
    names = sorted({p[0] for p in people})
    weights = np.array([sum(p[0] == name for p in people) for name in names], float) ** 0.2
    name = random.choice(names, p=weights / weights.sum())
    rows = [p for p in people if p[0] == name]
    return rows[random.integers(len(rows))]


def window(arrays, random, least):
    """The same random part of each, of the target's shape, flipped by chance."""
    height, width = arrays[0].shape[:2]
    fit = min(width / WIDTH, height / HEIGHT)
    size = fit * random.uniform(least, 1)
    w, h = int(WIDTH * size), int(HEIGHT * size)
    x, y = random.integers(0, width - w + 1), random.integers(0, height - h + 1)
    flip = random.random() < 0.5
    results = []
    for array in arrays:
        part = Image.fromarray(array[y : y + h, x : x + w]).resize((WIDTH, HEIGHT), Image.BILINEAR)
        part = np.asarray(part, np.float32)
        results.append(part[:, ::-1] if flip else part)
    return results


def lit(pixels, random):
    """Another light: gain, gamma, a cast of colour."""
    gain, gamma = random.uniform(0.6, 1.3), np.exp(random.normal(0, 0.25))
    cast = np.exp(random.normal(0, 0.06, 3))
    return 255 * np.clip(gain * cast * (np.clip(pixels, 0, 255) / 255) ** gamma, 0, 1)


def tinted(pixels, random):
    """Other colours: chroma turned."""
    angle = random.uniform(0.3, 2 * np.pi - 0.3)
    luma = pixels @ np.array([0.299, 0.587, 0.114], np.float32)
    u, v = 0.564 * (pixels[:, :, 2] - luma), 0.713 * (pixels[:, :, 0] - luma)
    u, v = u * np.cos(angle) - v * np.sin(angle), u * np.sin(angle) + v * np.cos(angle)
    return np.stack([luma + 1.403 * v, luma - 0.344 * u - 0.714 * v, luma + 1.773 * u], -1)


def set_before(canvas, masks, entry, random):
    """Pastes a person: cut-off bodies stand on the lower edge, whole ones anywhere."""
    _, pixels, person, head = entry
    rows, columns = np.flatnonzero((person > 0.5).any(1)), np.flatnonzero((person > 0.5).any(0))
    top, bottom, left, right = rows[0], rows[-1] + 1, columns[0], columns[-1] + 1
    cut = bottom > pixels.shape[0] - 4
    margin = 6
    box = (max(0, left - margin), max(0, top - margin), min(pixels.shape[1], right + margin), min(pixels.shape[0], bottom + margin))
    size = HEIGHT * np.exp(random.uniform(np.log(0.25), np.log(1.5))) / (bottom - top)
    faces = np.flatnonzero((head > 0.5).any(1))
    near = len(faces) > 8 and random.random() < 0.3  # as a caller before the camera
    if near:
        size = min(3.0, HEIGHT * random.uniform(0.35, 0.9) / (faces[-1] - faces[0]))
    stretch = random.uniform(0.9, 1.1)
    w, h = max(4, int((box[2] - box[0]) * size * stretch)), max(4, int((box[3] - box[1]) * size))
    flip = random.random() < 0.5

    def layer(array):
        part = Image.fromarray(array[box[1] : box[3], box[0] : box[2]]).resize((w, h), Image.BOX if size < 0.5 else Image.BILINEAR)
        part = np.asarray(part, np.float32)
        return part[:, ::-1] if flip else part

    x = int(-0.4 * w + random.random() * (WIDTH - 0.2 * w))
    y = HEIGHT - h + int(margin * size) if cut else int(-0.1 * h + random.random() * (HEIGHT - 0.6 * h))
    if near:
        y = int(random.uniform(0, 0.25) * HEIGHT - (faces[0] - box[1]) * size)
    into = (slice(max(0, y), min(HEIGHT, y + h)), slice(max(0, x), min(WIDTH, x + w)))
    out = (slice(into[0].start - y, into[0].stop - y), slice(into[1].start - x, into[1].stop - x))
    alpha, face = layer(person)[out], layer(head)[out]
    alpha = np.clip((alpha - 0.25) / 0.6, 0, 1)  # a little tighter: without the seam of the old room
    if alpha.size == 0:
        return
    own = layer(pixels)[out]
    own = lit(own, random) if random.random() < 0.7 else own
    own = tinted(own, random) if random.random() < 0.25 else own
    canvas[into] += alpha[:, :, None] * (own - canvas[into])
    masks[0][into] = np.maximum(masks[0][into], alpha)
    masks[1][into] = np.maximum(np.minimum(masks[1][into], 1 - alpha), np.minimum(alpha, face))


def composition(people, rooms, random):
    """(RGB, masks [2, H, W] of 0..1)."""
    kind = random.random()
    if kind < 0.3:  # people where they were
        _, pixels, person, head = by_source(people, random)
        pixels, person, head = window((pixels, person, head), random, 0.6)
        return pixels, np.stack([person, head])
    (canvas,) = window((rooms[random.integers(len(rooms))],), random, 0.4)
    canvas, masks = canvas.copy(), np.zeros((2, HEIGHT, WIDTH), np.float32)
    for _ in range(0 if kind < 0.4 else 1 if random.random() < 0.75 else 2):
        set_before(canvas, masks, by_source(people, random), random)
    return canvas, masks


def spoilt(pixels, random):
    """As a camera and a codec would: light, blur, noise, JPEG."""
    image = lit(pixels, random) if random.random() < 0.7 else pixels
    image = Image.fromarray(np.clip(image, 0, 255).astype(np.uint8))
    if random.random() < 0.3:
        image = image.filter(ImageFilter.GaussianBlur(random.uniform(0.3, 1.5)))
    if random.random() < 0.2:
        image = ImageEnhance.Color(image).enhance(random.uniform(0, 1))
    if random.random() < 0.4:
        noisy = np.asarray(image, np.float32) + random.normal(0, random.uniform(1, 9), (HEIGHT, WIDTH, 3))
        image = Image.fromarray(np.clip(noisy, 0, 255).astype(np.uint8))
    if random.random() < 0.5:
        file = io.BytesIO()
        image.save(file, "JPEG", quality=int(random.integers(15, 95)))
        image = Image.open(file)
    return np.asarray(image.convert("RGB"))


def recoded(luma, chroma, crf):
    """The same frames through H.264, in place."""
    raw = ["-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", f"{WIDTH}x{HEIGHT}"]
    frames = np.concatenate([luma.reshape(len(luma), -1), chroma.reshape(len(chroma), -1)], 1)
    code = ["ffmpeg", "-v", "error", *raw, "-i", "-", "-c:v", "libx264", "-preset", "veryfast", "-threads", "1", "-g", "1"]
    coded = subprocess.run([*code, "-crf", str(crf), "-f", "h264", "-"], input=frames.tobytes(), capture_output=True, check=True).stdout
    back = ["ffmpeg", "-v", "error", "-threads", "1", "-f", "h264", "-i", "-", "-f", "rawvideo", "-pix_fmt", "yuv420p", "-"]
    data = np.frombuffer(subprocess.run(back, input=coded, capture_output=True, check=True).stdout, np.uint8)
    data = data.reshape(len(luma), -1)
    luma[:] = data[:, : WIDTH * HEIGHT].reshape(luma.shape)
    chroma[:] = data[:, WIDTH * HEIGHT :].reshape(chroma.shape)


def draw(people, rooms, count, seed, path):
    random = np.random.default_rng(seed)
    luma, chroma = np.zeros((count, HEIGHT, WIDTH), np.uint8), np.zeros((count, 2, HEIGHT // 2, WIDTH // 2), np.uint8)
    masks = np.zeros((count, 2, HEIGHT, WIDTH), np.uint8)
    for i in range(count):
        pixels, mask = composition(people, rooms, random)
        luma[i], chroma[i] = yuv_of(spoilt(pixels, random))
        masks[i] = np.rint(255 * mask)
    for start in range(0, count, 50):
        if random.random() < 0.4:
            recoded(luma[start : start + 50], chroma[start : start + 50], int(random.integers(20, 42)))
    np.savez(path, luma=luma, chroma=chroma, masks=masks)
    print(f"{path}: {count} compositions", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clips", type=pathlib.Path)
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("pictures", type=pathlib.Path, nargs="+")
    parser.add_argument("--count", type=int, default=7000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    found = collect(args)
    draw(*found["checked"], max(1, args.count // 20), args.seed + 1, args.out / "checked.npz")
    draw(*found["learnt"], args.count, args.seed, args.out / "learn.npz")


if __name__ == "__main__":
    main()
