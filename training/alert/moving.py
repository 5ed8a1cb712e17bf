"""Clips with phones that rest or move in them, to measure by."""

import numpy as np

import phones


class Moving:
    """A phone on its way across a clip, or at rest."""

    def __init__(self, rng, size, picture, at_rest):
        layer, self.box, shine = phones.phone_layer(rng, size)
        n = layer.size[0] // phones.FINE
        room = np.array([picture.shape[1] - n, picture.shape[0] - n])
        self.path = phones.Path(rng, rng.uniform((0, 0), room), room, at_rest)
        x, y = self.path.at.astype(int)
        self.sprite = phones.lit(rng, layer, picture[y : y + n, x : x + n], shine)

    def draw(self, picture, shining):
        """Into RGB float arrays; returns where it is."""
        left, top = self.path.step()
        phones.put(picture, shining, self.sprite, left, top)
        return [self.box[0] + left, self.box[1] + top, self.box[2] + left, self.box[3] + top]


def composed(rng, frames, size, count, kind="day"):
    """The clip in a light of `kind` with `count` phones, every second one at rest, and of each where it is in each frame."""
    moving = [Moving(rng, size, frames[0], k % 2 == 0) for k in range(count)]
    light = phones.Light(rng, kind)
    result, truth = np.empty_like(frames), [[] for _ in moving]
    for i, frame in enumerate(frames):
        picture, shining = frame.astype(np.float32), np.zeros(frame.shape, np.float32)
        for phone, places in zip(moving, truth):
            places.append(phone.draw(picture, shining))
        result[i] = light.on(rng, picture, shining)
    return result, truth
