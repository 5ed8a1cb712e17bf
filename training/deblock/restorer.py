"""The network of deblock and denoise: a chain of 3x3 convolutions at a half or a quarter of the resolution, in the training
form of training/superres/net.py.

Luma [N, 1, H, W] of 0..1 is unshuffled by B (2 or 4) to B * B planes, one more says how much is to be removed (level / 51: the
quantiser's level of deblock, the sigma of denoise), and what the chain gives is added to them and shuffled back. `packed`
below are all those planes, [N, B * B + 1, H / B, W / B].
"""

import pathlib
import sys

import torch
import torch.nn.functional as F
from torch import nn

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "superres"))
from net import BranchedConv, Chain, QuantisedChain  # noqa: E402

MOST = 51.0


def packed(luma, level, block):
    """`level` [N, 1, H / block, W / block], or what broadcasts to it."""
    planes = F.pixel_unshuffle(luma, block)
    return torch.cat([planes, (level / MOST).expand(planes[:, :1].shape)], 1)


class Restorer(Chain):
    """block^2 + 1 -> channels, `depth` times channels -> channels, -> block^2."""

    def __init__(self, channels, depth, block):
        super().__init__(channels, depth)
        self.block = block
        widths = [block**2 + 1] + [channels] * (depth + 1) + [block**2]
        gains = [1.0] * (depth + 1) + [0.1]
        self.convs = nn.ModuleList(BranchedConv(a, b, g) for a, b, g in zip(widths, widths[1:], gains))

    def forward(self, x, branches=False, clip=True):
        out = F.pixel_shuffle(self.residual(x, branches) + x[:, :-1], self.block)
        return out.clamp(0, 1) if clip else out


class QuantisedRestorer(QuantisedChain):
    """The same in bytes, as the int8 file computes it."""

    def __init__(self, plain, depth, block):
        super().__init__(plain, depth)
        self.block = block

    def shortcut(self, x):
        return x[:, :-1]
