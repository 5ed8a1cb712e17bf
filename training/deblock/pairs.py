"""The pairs of prepare_pairs.py on the GPU, and random patches of them as superres/train.py's Run draws them."""

import io

import numpy as np
import torch
from PIL import Image

from restorer import MOST, packed

CROP_WIDTH, CROPS = 320, 4
PATCH = 128
HELD_OUT = 16  # one run of so many is measured, not trained on


def crops_of(data):
    mosaic = np.asarray(Image.open(io.BytesIO(data.tobytes())))[:, :, 0]
    return [mosaic[:, i * CROP_WIDTH : (i + 1) * CROP_WIDTH] for i in range(CROPS)]


class Crops:
    """All crops of a part of the file: `original`, `decoded` [n, height, width] bytes, `levels` [n, rows, columns]."""

    def __init__(self, archive, keep, device):
        runs = [i for i in range(len(archive["original_ends"]) - 1) if keep(i)]
        index = {run: i for i, run in enumerate(runs)}
        original = [c for i in runs for c in crops_of(archive["originals"][slice(*archive["original_ends"][i : i + 2])])]
        decoded, levels, owner, self.coding = [], [], [], []
        all_levels, ends, data = archive["levels"], archive["decoded_ends"], archive["decoded"]
        for i, run in enumerate(archive["owner"]):
            if int(run) not in index:
                continue
            decoded += crops_of(data[ends[i] : ends[i + 1]])
            levels.append(all_levels[i * CROPS : (i + 1) * CROPS])
            owner += [index[int(run)] * CROPS + k for k in range(CROPS)]
            self.coding += [str(archive["coding"][i])] * CROPS
        self.device = device
        self.original = torch.from_numpy(np.stack(original)).to(device)
        self.decoded = torch.from_numpy(np.stack(decoded)).to(device)
        self.levels = torch.from_numpy(np.concatenate(levels).astype(np.float32)).to(device)
        self.mean_level = self.levels.mean((1, 2))
        self.owner = torch.tensor(owner, device=device)


class Patches:
    """Random patches, flipped and turned. Everything is drawn on the device, so a CUDA graph can hold it."""

    def __init__(self, crops, block):
        """`block` is that of the networks: corners of patches lie on it."""
        self.crops, self.device, self.block = crops, crops.device, block
        steps = torch.arange(PATCH, device=self.device)
        self.rows, self.columns = steps.view(1, -1, 1), steps.view(1, 1, -1)

    def places(self, count, of):
        """(crop, y, x), broadcast to [count, PATCH, PATCH]; corners lie on blocks."""
        def random(end):
            return torch.randint(end, (count, 1, 1), device=self.device)

        crop = random(len(of))
        height, width = of.shape[1:]
        turn, flip_y, flip_x = (random(2).bool() for _ in range(3))
        y, x = torch.where(turn, self.columns, self.rows), torch.where(turn, self.rows, self.columns)
        y, x = torch.where(flip_y, PATCH - 1 - y, y), torch.where(flip_x, PATCH - 1 - x, x)
        return crop, y + self.block * random((height - PATCH) // self.block + 1), x + self.block * random((width - PATCH) // self.block + 1)


class DeblockPatches(Patches):
    """Decoded luma and its levels; for a third of the patches the levels are one rough guess, as where the decoder is silent."""

    def draw(self, count):
        crops = self.crops
        crop, y, x = self.places(count, crops.decoded)
        decoded = crops.decoded[crop, y, x].float() / 255
        original = crops.original[crops.owner[crop], y, x].float() / 255
        step = self.block
        levels = crops.levels[crop, y[:, ::step, ::step] // 16, x[:, ::step, ::step] // 16]
        guess = crops.mean_level[crop] + 1.5 * torch.randn(crop.shape, device=self.device)
        levels = torch.where(torch.rand(crop.shape, device=self.device) < 1 / 3, guess, levels).clamp(0, MOST)
        return packed(decoded[:, None], levels[:, None], step), original[:, None], None


class DenoisePatches(Patches):
    """Originals with white noise, rounded to bytes; the level is its sigma, of 255."""

    MOST_SIGMA = 25

    def draw(self, count):
        crop, y, x = self.places(count, self.crops.original)
        original = self.crops.original[crop, y, x].float()
        sigma = torch.rand(crop.shape, device=self.device) * self.MOST_SIGMA
        noisy = (original + sigma * torch.randn(original.shape, device=self.device)).round().clamp(0, 255) / 255
        return packed(noisy[:, None], sigma[:, None], self.block), original[:, None] / 255, None

