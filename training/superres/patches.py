"""The training pictures on the GPU, and random patches of them.

All pictures lie in flat byte tensors: the high resolution, its antialiased bicubic half, and, once a teacher has
been trained, the teacher's answer. Drawing a batch only gathers, so a CUDA graph can hold it.
"""

import pathlib

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image

from luma import downscale_taps

STRIDE = 8  # between candidate patches, in low-resolution pixels
# Further reductions of the stored pictures, which sharpen them, and how often each one's patches count.
LEVELS = ((1.0, 1), (1 / 1.5, 2), (0.5, 3), (0.4, 4))
FLAT = 0.45  # the share of patches with least detail that is never drawn


def halve(x):
    """Antialiased bicubic half of [N, 1, H, W]; outside the picture no weight counts, as in Pillow."""
    taps = torch.tensor(downscale_taps(), dtype=x.dtype, device=x.device)
    for shape in ((1, 1, 8, 1), (1, 1, 1, 8)):
        vertical = shape[2] == 8
        stride, padding = ((2, 1), (3, 0)) if vertical else ((1, 2), (0, 3))
        kernel = taps.view(shape)
        total = F.conv2d(x, kernel, stride=stride, padding=padding)
        x = total / F.conv2d(torch.ones_like(x), kernel, stride=stride, padding=padding)
    return x


def studio(x):
    """Full-range bytes to studio luma of 0..1."""
    return (x * (219.0 / 255.0) + 16.0) / 255.0


class Patches:
    def __init__(self, folder, device, size, limit=None):
        """`size` is the side of a low-resolution patch."""
        self.size, self.device = size, device
        highs, lows, tables = [], [], []
        self.shapes = []
        offset = 0
        files = sorted(pathlib.Path(folder).glob("*.png"))[:limit]
        for path in files:
            stored = torch.from_numpy(np.array(Image.open(path))).to(device).float()[None, None]
            for level, repeats in LEVELS:
                picture = stored
                if level == 0.5:
                    picture = F.avg_pool2d(stored, 2)
                elif level < 1:
                    picture = F.interpolate(stored, scale_factor=level, mode="bicubic", antialias=True).clamp(0, 255)
                height, width = (side // 16 * 16 for side in picture.shape[2:])
                if min(height, width) < 2 * size:
                    continue
                high = studio(picture[:, :, :height, :width].round())
                low = (halve(high) * 255).round().clamp(0, 255)
                tables += [self.candidates(high, low / 255, offset)] * repeats
                highs.append(high.half().flatten())
                lows.append(low.to(torch.uint8).flatten())
                self.shapes.append((offset, height // 2, width // 2))
                offset += low.numel()
        self.high, self.low = torch.cat(highs), torch.cat(lows)
        self.teacher = None
        table = torch.cat(tables)
        detail = table[:, 3]
        # A shuffle makes the order of pictures irrelevant; the flattest patches teach nothing.
        keep = detail > torch.quantile(detail[torch.randperm(len(detail), device=device)[:1_000_000]], FLAT)
        self.table = table[keep][:, :3].long()
        self.steps = torch.arange(size, device=device)
        self.steps2 = torch.arange(2 * size, device=device)

    def candidates(self, high, low, offset):
        """[K, 4]: flat positions of the patch's corner in low and high, width of low, detail bicubic loses."""
        height, width = low.shape[2:]
        error = (F.interpolate(low, scale_factor=2, mode="bicubic") - high) ** 2
        detail = F.avg_pool2d(error, 2 * self.size, stride=2 * STRIDE)[0, 0]
        ys = torch.arange(detail.shape[0], device=self.device) * STRIDE
        xs = torch.arange(detail.shape[1], device=self.device) * STRIDE
        corner = offset + ys[:, None] * width + xs[None, :]
        corner2 = 4 * offset + 4 * ys[:, None] * width + 2 * xs[None, :]
        columns = [corner, corner2, torch.full_like(corner, width), detail]
        return torch.stack([column.double() for column in columns], dim=-1).reshape(-1, 4)

    def draw(self, count):
        """(low [N,1,S,S], high [N,1,2S,2S], teacher or None), flipped, turned and darkened at random."""
        device = self.device
        chosen = self.table[torch.randint(len(self.table), (count,), device=device)]
        flips = torch.randint(2, (3, count, 1, 1), device=device, dtype=torch.bool)
        gain = 1 - 0.4 * torch.rand(count, 1, 1, device=device) ** 2

        def gather(flat, steps, scale, unit):
            last = scale * self.size - 1
            rows, columns = steps[None, :, None], steps[None, None, :]
            y, x = torch.where(flips[2], columns, rows), torch.where(flips[2], rows, columns)
            y, x = torch.where(flips[0], last - y, y), torch.where(flips[1], last - x, x)
            corner, width = chosen[:, scale - 1, None, None], chosen[:, 2, None, None] * scale
            values = flat[corner + y * width + x].float() * unit
            return ((values - 16 / 255) * gain + 16 / 255)[:, None]

        low = gather(self.low, self.steps, 1, 1 / 255)
        high = gather(self.high, self.steps2, 2, 1)
        teacher = None if self.teacher is None else gather(self.teacher, self.steps2, 2, 1)
        return low, high, teacher

    @torch.no_grad()
    def ask(self, teacher):
        """Keeps the teacher's answer, averaged over the eight flips and turns, for every picture."""
        answers = []
        for offset, height, width in self.shapes:
            low = self.low[offset : offset + height * width].view(1, 1, height, width).float() / 255
            total = 0
            for turn in range(4):
                for mirror in (False, True):
                    x = torch.rot90(low, turn, (2, 3))
                    x = x.flip(3) if mirror else x
                    y = teacher(x)
                    y = y.flip(3) if mirror else y
                    total = total + torch.rot90(y, -turn, (2, 3)).float()
            answers.append((total / 8).half().flatten())
        self.teacher = torch.cat(answers)
