"""The network of deblock and denoise: a chain of 3x3 convolutions at half the resolution, in the training form of
training/superres/net.py.

Luma [N, 1, H, W] of 0..1 is unshuffled to four planes of half the sides, a fifth says how much is to be removed (level /
51: the quantiser's level of deblock, the sigma of denoise), and what the chain gives is added to the four and shuffled back.
`packed` below are those five planes, [N, 5, H / 2, W / 2].
"""

import pathlib
import sys

import torch
import torch.nn.functional as F
from torch import nn

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "superres"))
from net import BranchedConv, Chain, QuantisedChain  # noqa: E402

MOST = 51.0


def packed(luma, level):
    """`level` [N, 1, H / 2, W / 2], or what broadcasts to it."""
    planes = F.pixel_unshuffle(luma, 2)
    return torch.cat([planes, (level / MOST).expand(planes[:, :1].shape)], 1)


class Restorer(Chain):
    """5 -> channels, `depth` times channels -> channels, -> 4."""

    def __init__(self, channels, depth):
        super().__init__(channels, depth)
        widths = [5] + [channels] * (depth + 1) + [4]
        gains = [1.0] * (depth + 1) + [0.1]
        self.convs = nn.ModuleList(BranchedConv(a, b, g) for a, b, g in zip(widths, widths[1:], gains))

    def forward(self, x, branches=False, clip=True):
        out = F.pixel_shuffle(self.residual(x, branches) + x[:, :4], 2)
        return out.clamp(0, 1) if clip else out


class QuantisedRestorer(QuantisedChain):
    """The same in bytes, as the int8 file computes it."""

    def shortcut(self, x):
        return x[:, :4]
