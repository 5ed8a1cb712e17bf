"""The luma, the low resolution and the measure that training and evaluation share.

Luma is BT.601 with its studio range (16..235 of 255), as the super-resolution field measures it, held as floats
of 0..1. Low resolution is an antialiased bicubic (Keys, a = -0.5, the kernel widened by the scale), as Pillow's
BICUBIC and MATLAB's imresize do.
"""

import math

import numpy as np
from PIL import Image

SCALE = 2
BORDER = SCALE


def studio_luma(rgb):
    """H x W x 3 bytes of RGB to H x W float64 luma of 0..1."""
    weights = np.array([65.481, 128.553, 24.966]) / 255.0
    return (rgb.astype(np.float64) @ weights + 16.0) / 255.0


def cubic(t, a=-0.5):
    t = abs(t)
    if t < 1:
        return ((a + 2) * t - (a + 3)) * t * t + 1
    if t < 2:
        return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
    return 0.0


def downscale_taps():
    """The eight weights that halve a line; output i is centred between inputs 2i and 2i + 1."""
    taps = np.array([cubic((k - 3.5) / SCALE) for k in range(8)])
    return taps / taps.sum()


def read_rgb(path):
    return np.asarray(Image.open(path).convert("RGB"))


def low_and_high(path):
    """(low-resolution RGB, luma of it, luma of the picture), the picture cropped to even sides."""
    rgb = read_rgb(path)
    height, width = rgb.shape[0] // SCALE * SCALE, rgb.shape[1] // SCALE * SCALE
    picture = Image.fromarray(rgb[:height, :width])
    low = np.asarray(picture.resize((width // SCALE, height // SCALE), Image.BICUBIC))
    return low, studio_luma(low), studio_luma(np.asarray(picture))


def bicubic_luma(low_rgb):
    """The luma of the low resolution enlarged by bicubic: the baseline."""
    height, width = low_rgb.shape[:2]
    large = Image.fromarray(low_rgb).resize((width * SCALE, height * SCALE), Image.BICUBIC)
    return studio_luma(np.asarray(large))


def psnr(a, b):
    """Decibels between two lumas of 0..1, a border of SCALE pixels left out."""
    difference = (np.asarray(a, np.float64) - b)[BORDER:-BORDER, BORDER:-BORDER]
    return -10.0 * math.log10(np.mean(difference**2) + 1e-12)
