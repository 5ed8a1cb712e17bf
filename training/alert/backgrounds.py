"""Pictures and clips without phones, as data.json names them, in RGB."""

import json
import pathlib
import subprocess

import numpy as np
from PIL import Image

HERE = pathlib.Path(__file__).resolve().parent
DATA = json.loads((HERE / "data.json").read_text())
HELD_PICTURE = 7


def decoded(file, width, height, every, most, pixels="rgb24"):
    """Frames of a clip, each a row of bytes."""
    chosen = f"select='not(mod(n,{every}))',scale={width}:{height}:flags=area"
    command = ["ffmpeg", "-v", "error", "-nostdin", "-i", str(file), "-vf", chosen, "-vsync", "0", "-frames:v", str(most),
               "-f", "rawvideo", "-pix_fmt", pixels, "-"]  # fmt: skip
    data = np.frombuffer(subprocess.run(command, check=True, capture_output=True).stdout, np.uint8)
    return data.reshape(-1, width * height * 3 // (1 if pixels == "rgb24" else 2))


def clips(folder, held):
    """Paths by name."""
    return [folder / row["file"] for row in DATA["clips"] if row["held"] == held]


def package_clips(folder):
    """Of the unpacked packages that are there; for training."""
    return [folder / row["file"] for row in DATA["package_clips"] if (folder / row["file"]).exists()]


def pictures(folder, held, most_side=1400):
    """Photographs of the unpacked packages; every seventh, by name, is held out."""
    found = []
    for row in DATA["pictures"]:
        files = sorted(p for p in (folder / row["folder"]).rglob("*") if p.suffix.lower() in (".jpg", ".jpeg", ".png"))
        found += [p for p in files if p.stat().st_size > 40_000]
    result = []
    for i, path in enumerate(found):
        if (i % HELD_PICTURE == HELD_PICTURE - 1) != held:
            continue
        picture = Image.open(path).convert("RGB")
        picture.thumbnail((most_side, most_side))
        if min(picture.size) >= 200:
            result.append(np.asarray(picture))
    return result


def frames(clips_folder, pictures_folder, held, every=25, most=20):
    """A list of RGB arrays: pictures, and frames of clips at a size at which a phone would be small in them."""
    result = pictures(pictures_folder, held)
    for path in [] if held else package_clips(pictures_folder):
        result += list(decoded(path, 640, 360, every, most // 2).reshape(-1, 360, 640, 3))
    for path in clips(clips_folder, held):
        result += list(decoded(path, 640, 360, every, most).reshape(-1, 360, 640, 3))
        result += list(decoded(path, 960, 540, 3 * every, most // 4).reshape(-1, 540, 960, 3))
    return result


def packed(planes, width, height):
    """Rows of bytes of yuv420p as the detector reads them, [n, 6, height / 2, width / 2]."""
    luma = planes[:, : width * height].reshape(-1, height, width)
    chroma = planes[:, width * height :].reshape(-1, 2, height // 2, width // 2)
    phases = [luma[:, y::2, x::2] for y in (0, 1) for x in (0, 1)]
    return np.stack([*phases, chroma[:, 0], chroma[:, 1]], 1)


def as_read(path, every, most, width=640, height=360):
    """Frames of a clip without phones, packed."""
    return packed(decoded(path, width, height, every, most, "yuv420p"), width, height)


def coded_pictures(rng, found, each, width=640, height=360):
    """Parts of pictures at random scales, coded by x264 as frames of one clip, packed."""
    parts = []
    for picture in found:
        for _ in range(each):
            scale = rng.uniform(1, max(1.01, min(picture.shape[1] / width, picture.shape[0] / height)))
            w, h = (min(int(side * scale), most) for side, most in ((width, picture.shape[1]), (height, picture.shape[0])))
            x, y = int(rng.integers(0, picture.shape[1] - w + 1)), int(rng.integers(0, picture.shape[0] - h + 1))
            part = Image.fromarray(picture[y : y + h, x : x + w]).resize((width, height), Image.BILINEAR)
            parts.append(np.asarray(part).tobytes())
    coder = ["ffmpeg", "-v", "error", "-f", "rawvideo", "-s", f"{width}x{height}", "-pix_fmt", "rgb24", "-i", "-", "-pix_fmt", "yuv420p",
             "-c:v", "libx264", "-preset", "veryfast", "-crf", "27", "-bf", "0", "-threads", "1", "-f", "h264", "-"]  # fmt: skip
    data = subprocess.run(coder, input=b"".join(parts), check=True, capture_output=True).stdout
    reader = ["ffmpeg", "-v", "error", "-f", "h264", "-i", "-", "-f", "rawvideo", "-pix_fmt", "yuv420p", "-"]
    planes = np.frombuffer(subprocess.run(reader, input=data, check=True, capture_output=True).stdout, np.uint8)
    return packed(planes.reshape(len(parts), -1), width, height)
