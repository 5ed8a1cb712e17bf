"""Pictures and clips without phones, as data.json names them, in RGB."""

import json
import pathlib
import subprocess

import cv2
import numpy as np
from PIL import Image

HERE = pathlib.Path(__file__).resolve().parent
DATA = json.loads((HERE / "data.json").read_text())
HELD_PICTURE = 7
WIDTH, HEIGHT = 640, 360
CHUNK = 24  # frames of a clip in a row


def decoded(file, width, height, every, most, pixels="rgb24"):
    """Frames of a clip, each a row of bytes."""
    chosen = f"select='not(mod(n,{every}))',scale={width}:{height}:flags=area"
    command = ["ffmpeg", "-v", "error", "-nostdin", "-i", str(file), "-vf", chosen, "-vsync", "0", "-frames:v", str(most),
               "-f", "rawvideo", "-pix_fmt", pixels, "-"]  # fmt: skip
    data = np.frombuffer(subprocess.run(command, check=True, capture_output=True).stdout, np.uint8)
    return data.reshape(-1, width * height * 3 // (1 if pixels == "rgb24" else 2))


def read_clip(file):
    """All frames of what prepare.py wrote, [n, height, width, 3]."""
    reader, frames = cv2.VideoCapture(str(file)), []
    while (read := reader.read())[0]:
        frames.append(cv2.cvtColor(read[1], cv2.COLOR_BGR2RGB))
    return np.stack(frames)


def clips(folder, held):
    """Paths of the clips that are, or are not, held out."""
    return [folder / row["file"] for row in DATA["clips"] if row["held"] == held]


def package_clips(folder, held=False):
    """Of the unpacked packages that are there."""
    rows = DATA["held_package_clips" if held else "package_clips"]
    return [folder / row["file"] for row in rows if (folder / row["file"]).exists()]


def picture_files(folder, held):
    """Photographs of the unpacked packages; every seventh, by name, is held out."""
    found = []
    for row in DATA["pictures"]:
        files = sorted(p for p in (folder / row["folder"]).rglob("*") if p.suffix.lower() in (".jpg", ".jpeg", ".png"))
        found += [p for p in files if p.stat().st_size > 40_000]
    return [p for i, p in enumerate(found) if (i % HELD_PICTURE == HELD_PICTURE - 1) == held]


def read_picture(path, most_side=1400):
    picture = Image.open(path).convert("RGB")
    picture.thumbnail((most_side, most_side))
    return np.asarray(picture)
