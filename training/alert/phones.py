"""Draws what a small phone looks like in camera pictures, and what may be taken for one.

Everything is painted `FINE` times as large and averaged, turned, foreshortened and lit as the place is. `phone_layer` returns the box of
the phone alone, (left, top, right, bottom) in pixels of the picture, and what of it shines by itself: a screen that is on stays
bright where a room is dark.
"""

import math

import numpy as np
from PIL import Image, ImageDraw

FINE = 8
SKIN = [(236, 188, 158), (224, 172, 138), (198, 140, 106), (168, 112, 80), (120, 78, 54), (80, 52, 38)]
BODIES = [(18, 18, 20), (30, 31, 34), (24, 26, 40), (62, 64, 68), (205, 205, 208), (236, 234, 230), (150, 40, 44), (40, 70, 120)]


def jitter(rng, colour, by=12):
    return tuple(int(np.clip(c + rng.normal(0, by), 0, 255)) for c in colour)


def screen(rng, width, height):
    """A screen that is on: a page, a chat or a picture; or off, with the sheen of a window. Whether it is on."""
    kind = rng.random()
    if kind < 0.3:
        picture = Image.new("RGB", (width, height), jitter(rng, (14, 15, 18), 5))
        sheen = int(rng.integers(20, 90))
        ImageDraw.Draw(picture).polygon([(0, 0), (width * rng.random(), 0), (0, height * rng.random())], fill=(sheen,) * 3)
        return picture, False
    paper = jitter(rng, [(245, 246, 250), (225, 235, 250), (40, 60, 120), (235, 240, 235)][rng.integers(4)], 10)
    picture = Image.new("RGB", (width, height), paper)
    pen = ImageDraw.Draw(picture)
    if kind < 0.75:
        y = int(height * 0.08)
        while y < height * 0.92:
            line = max(1, int(height * rng.uniform(0.02, 0.07)))
            left = width * rng.uniform(0.04, 0.3)
            pen.rectangle([left, y, left + width * rng.uniform(0.2, 0.65), y + line], fill=jitter(rng, (120, 140, 170), 50))
            y += int(line * rng.uniform(1.5, 3))
        return picture, True
    for _ in range(5):
        x, y = rng.uniform(0, width), rng.uniform(0, height)
        r = rng.uniform(0.2, 0.6) * width
        pen.ellipse([x - r, y - r, x + r, y + r], fill=tuple(int(c) for c in rng.integers(0, 256, 3)))
    return picture, True


def reflected(rng, patch):
    """With a streak of a lamp or a window across it."""
    width, height = patch.size
    streak = Image.new("L", patch.size)
    x, broad, lean = width * rng.uniform(-0.3, 1), width * rng.uniform(0.15, 0.6), width * rng.uniform(-0.8, 0.8)
    corners = [(x, 0), (x + broad, 0), (x + broad + lean, height), (x + lean, height)]
    ImageDraw.Draw(streak).polygon(corners, fill=int(rng.integers(50, 190)))
    white = Image.new("RGBA", patch.size, jitter(rng, (240, 240, 236), 10) + (255,))
    lighter = Image.composite(white, patch, streak)
    lighter.putalpha(patch.getchannel("A"))
    return lighter


def phone_patch(rng, long_side):
    """RGBA, upright, `FINE` times as large as the phone is to be, and where it shines."""
    height = int(long_side * FINE)
    width = max(8, int(height / rng.uniform(1.75, 2.2)))
    patch = Image.new("RGBA", (width, height))
    pen = ImageDraw.Draw(patch)
    body = jitter(rng, BODIES[rng.integers(len(BODIES))])
    pen.rounded_rectangle([0, 0, width - 1, height - 1], radius=width * rng.uniform(0.08, 0.2), fill=body + (255,))
    shine = Image.new("L", (width, height))
    if rng.random() < 0.72:
        rim, ends = width * rng.uniform(0.03, 0.09), height * rng.uniform(0.02, 0.12)
        inside = [int(rim), int(ends), int(width - rim), int(height - ends)]
        picture, is_on = screen(rng, inside[2] - inside[0], inside[3] - inside[1])
        patch.paste(picture, inside[:2])
        if is_on:
            shine.paste(int(rng.integers(90, 256)), inside)
    else:  # its back, with cameras
        side, at = width * rng.uniform(0.25, 0.45), width * rng.uniform(0.06, 0.12)
        dark = tuple(max(0, c - int(rng.integers(20, 70))) for c in body)
        pen.rounded_rectangle([at, at, at + side, at + side * rng.uniform(1, 1.6)], radius=side / 4, fill=dark + (255,))
    return reflected(rng, patch) if rng.random() < 0.3 else patch, shine


def hand(rng, pen, corners, centre, colour):
    """A palm behind and fingers over one long edge of the phone with these corners; `FINE` coordinates."""
    a, b = (corners[0], corners[3]) if rng.random() < 0.5 else (corners[1], corners[2])
    along = np.subtract(b, a)
    length = math.hypot(*along)
    out = np.subtract(np.add(a, b) / 2, centre)
    out = out / max(1e-6, math.hypot(*out))
    for t in np.arange(0.35, 0.95, 0.17) + rng.uniform(-0.05, 0.05):
        tip = np.add(a, along * t) - out * length * rng.uniform(0.02, 0.16)
        root = np.add(a, along * t) + out * length * rng.uniform(0.15, 0.3)
        pen.line([tuple(tip), tuple(root)], fill=jitter(rng, colour, 6) + (255,), width=max(1, int(length * 0.13)))


def palm(rng, pen, corners, centre, colour, length):
    towards = np.subtract(corners[2 if rng.random() < 0.5 else 3], centre)
    middle = np.add(centre, towards * rng.uniform(0.5, 1.1))
    for _ in range(3):
        x, y = middle + rng.normal(0, length * 0.12, 2)
        w, h = length * rng.uniform(0.22, 0.42, 2)
        pen.ellipse([x - w, y - h, x + w, y + h], fill=jitter(rng, colour, 8) + (255,))
    if rng.random() < 0.5:  # the arm
        end = middle + rng.normal(0, 1, 2) * length + np.array([0, 1.5 * length])
        pen.line([tuple(middle), tuple(end)], fill=jitter(rng, colour, 8) + (255,), width=int(length * 0.4))


def placed(rng, patches, side):
    """Patches of one size on clear squares, turned and foreshortened, with their corners there."""
    w, h = patches[0].size
    angle = rng.normal(0, 25) if rng.random() < 0.7 else rng.uniform(0, 360)
    angle += 90 if rng.random() < 0.2 else 0
    turn = math.radians(angle)
    narrow, short, skew = rng.uniform(0.6, 1), 1.0, rng.normal(0, 0.08)
    if rng.random() < 0.25:
        narrow, short = 1.0, rng.uniform(0.55, 1)
    linear = np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
    linear = linear @ np.array([[narrow, skew], [0, short]])
    middle = side * FINE / 2 + rng.uniform(-FINE / 2, FINE / 2, 2)
    back = np.linalg.inv(linear)
    shift = np.array([w / 2, h / 2]) - back @ middle
    numbers = (back[0, 0], back[0, 1], shift[0], back[1, 0], back[1, 1], shift[1])
    layers = [one.transform((side * FINE, side * FINE), Image.AFFINE, numbers, Image.BILINEAR) for one in patches]
    corners = [tuple(linear @ (np.array(p) - [w / 2, h / 2]) + middle) for p in ((0, 0), (w, 0), (w, h), (0, h))]
    return layers, corners, tuple(middle)


def phone_layer(rng, long_side):
    """(RGBA layer of `side` pixels premade at FINE, box in pixels of the layer, what shines of it)."""
    side = int(long_side * 2.4) + 6
    (layer, shine), corners, middle = placed(rng, phone_patch(rng, long_side), side)
    length = long_side * FINE
    colour = SKIN[rng.integers(len(SKIN))]
    whole = Image.new("RGBA", layer.size)
    held = rng.random() < 0.7
    if held:
        palm(rng, ImageDraw.Draw(whole), corners, middle, colour, length)
    whole.alpha_composite(layer)
    if held and rng.random() < 0.8:
        fingers = Image.new("RGBA", layer.size)
        hand(rng, ImageDraw.Draw(fingers), corners, middle, colour)
        whole.alpha_composite(fingers)
        shine.paste(0, mask=fingers.getchannel("A"))
    xs, ys = [c[0] / FINE for c in corners], [c[1] / FINE for c in corners]
    return whole, (min(xs), min(ys), max(xs), max(ys)), shine


def decoy_layer(rng, long_side):
    """Things that are no phones: badges, papers, books, remotes, window panes, buttons, mice, pens, lamps, faces, empty hands."""
    side = int(long_side * 2.4) + 6
    n = int(long_side * FINE)
    kind = rng.integers(11)
    whole = Image.new("RGBA", (side * FINE, side * FINE))
    if kind == 6:
        palm(rng, ImageDraw.Draw(whole), [(side * FINE / 2 + n / 4,) * 2] * 4, (side * FINE / 2,) * 2, SKIN[rng.integers(6)], n)
        return whole
    colour = tuple(int(c) for c in rng.integers(20, 250, 3)) + (255,)
    white = jitter(rng, (228, 228, 224), 14) + (255,)
    aspect = [1.3, 1.35, 1.4, 4.5, 1.2, 1.0, 1.0, 1.7, 9, 1.0, 1.3][kind] * rng.uniform(0.9, 1.15)
    patch = Image.new("RGBA", (max(6, int(n / aspect)), n))
    w, h = patch.size
    pen = ImageDraw.Draw(patch)
    if kind == 0:  # a badge on a band
        pen.rectangle([0, h * 0.2, w, h], fill=white)
        pen.line([(w / 2, 0), (w / 2, h * 0.2)], fill=colour, width=max(2, w // 8))
        pen.rectangle([w * 0.15, h * 0.35, w * 0.5, h * 0.7], fill=jitter(rng, SKIN[rng.integers(6)]) + (255,))
    elif kind == 1:  # a sheet
        pen.rectangle([0, 0, w, h], fill=white)
    elif kind == 2:  # a book
        pen.rectangle([0, 0, w, h], fill=colour)
        pen.rectangle([0, 0, w * 0.12, h], fill=tuple(c // 2 for c in colour[:3]) + (255,))
    elif kind == 3:  # a remote control
        pen.rounded_rectangle([0, 0, w, h], radius=w / 3, fill=jitter(rng, (28, 28, 30)) + (255,))
        for y in np.arange(0.1, 0.9, 0.12):
            pen.ellipse([w * 0.3, h * y, w * 0.6, h * y + w * 0.3], fill=white)
    elif kind == 4:  # panes
        pen.rectangle([0, 0, w, h], fill=colour)
        for x in (0.08, 0.54):
            for y in (0.06, 0.53):
                pen.rectangle([w * x, h * y, w * (x + 0.38), h * (y + 0.41)], fill=white)
    elif kind == 7:  # a mouse
        pen.ellipse([0, 0, w, h], fill=jitter(rng, BODIES[rng.integers(6)]) + (255,))
        pen.line([(0, h * 0.4), (w, h * 0.4)], fill=jitter(rng, (90, 90, 92)) + (255,), width=max(1, w // 12))
    elif kind == 8:  # a pen
        pen.rectangle([0, 0, w, h], fill=colour)
    elif kind == 9:  # a lamp
        pen.ellipse([0, 0, w, h], fill=jitter(rng, (252, 248, 236), 4) + (255,))
    elif kind == 10:  # a head
        pen.ellipse([0, 0, w, h], fill=jitter(rng, SKIN[rng.integers(6)]) + (255,))
        pen.chord([0, 0, w, h], 180 + 20 * rng.normal(), 360 + 20 * rng.normal(), fill=jitter(rng, (50, 36, 28), 20) + (255,))
    else:  # a button
        pen.ellipse([0, 0, w, h], fill=colour)
    (layer,), _, _ = placed(rng, [patch], side)
    whole.alpha_composite(layer)
    return whole


def lit(rng, layer, under, shine=None):
    """Averaged to pixels as floats in the light of the place `under`, a little blurred: [side, side, 7] of colour (premultiplied),
    alpha, and the colour that shines by itself."""
    side = layer.size[0] // FINE
    fine = (side, FINE, side, FINE)
    rgba = np.asarray(layer, np.float32).reshape(*fine, 4)
    alpha = rgba[..., 3:] / 255
    glow = np.zeros((*fine, 1), np.float32) if shine is None else np.asarray(shine, np.float32).reshape(*fine, 1) / 255
    colour, shining = (rgba[..., :3] * alpha).mean((1, 3)), (rgba[..., :3] * alpha * glow).mean((1, 3))
    light = 0.45 + 0.75 * under.mean() / 255 + rng.normal(0, 0.1)
    both = np.concatenate([colour * np.clip(light, 0.3, 1.25), alpha.mean((1, 3)), shining], 2)
    blur = rng.uniform(0, 0.6)
    for axis in (0, 1):
        both = (1 - blur) * both + blur / 2 * (np.roll(both, 1, axis) + np.roll(both, -1, axis))
    return both


def put(picture, shining, sprite, x, y):
    """Over an RGB float array and what shines in it, clipped at their borders; places may lie between pixels."""
    left, top = math.floor(x), math.floor(y)
    for axis, part in ((1, x - left), (0, y - top)):
        sprite = (1 - part) * sprite + part * np.roll(sprite, 1, axis)
    height, width = picture.shape[:2]
    n = sprite.shape[0]
    x0, y0, x1, y1 = max(0, left), max(0, top), min(width, left + n), min(height, top + n)
    if x0 >= x1 or y0 >= y1:
        return
    part = sprite[y0 - top : y1 - top, x0 - left : x1 - left]
    for target, colour in ((picture, part[..., :3]), (shining, part[..., 4:])):
        target[y0:y1, x0:x1] = target[y0:y1, x0:x1] * (1 - part[..., 3:4]) + colour


class Light:
    """Of a scene: day, or a dim or dark room, in which screens shine and cameras are noisy."""

    KINDS = {"day": (1.0, 1.0), "dim": (0.4, 0.7), "dark": (0.18, 0.35)}
    NOISE = {"day": (0, 4), "dim": (1, 5), "dark": (2, 6)}

    def __init__(self, rng, kind=None):
        self.kind = kind or rng.choice(list(self.KINDS), p=[0.5, 0.25, 0.25])
        self.gain = rng.uniform(*self.KINDS[self.kind])
        self.noise = rng.uniform(*self.NOISE[self.kind])
        self.shine = rng.uniform(0.5, 0.9) * (1 - self.gain)

    def on(self, rng, picture, shining):
        """What the camera sees, as bytes."""
        seen = picture * self.gain + shining * self.shine
        noise = rng.standard_normal((*seen.shape[:2], 1), np.float32) * self.noise
        return np.clip(seen + noise, 0, 255).astype(np.uint8)


    def shows(self, sprite, under, box):
        """Whether of a sprite over what is `under` it, of the same size, something can be seen in its box: five levels in the mean."""
        alpha = sprite[..., 3:4]
        change = np.abs(sprite[..., :3] - alpha * under) * self.gain + sprite[..., 4:] * self.shine
        left, top, right, bottom = (round(v) for v in box)
        return change[top : bottom + 1, left : right + 1].mean() > 5


class Path:
    """Of a thing: at rest but for a trembling hand, or on its way; turns back at the ends of its room."""

    def __init__(self, rng, start, room, at_rest):
        self.rng, self.at, self.room = rng, np.array(start, float), room
        self.speed = np.zeros(2) if at_rest else rng.normal(0, 0.8, 2)

    def step(self):
        self.at = self.at + self.speed + self.rng.normal(0, 0.08, 2)
        self.speed = np.where((self.at < 0) | (self.at > self.room), -self.speed, self.speed)
        return np.clip(self.at, 0, self.room)
