"""The matting network: a small U-Net at half of the input's resolution and below.

`luma` [N, 1, H, W] and `chroma` [N, 2, H / 2, W / 2], of 0..1 (255), H and W multiples of 16, give logits
[N, 2, H, W]: person, head. Luma is unshuffled to four planes beside which chroma stands; all convolutions but the 1x1 of the
way up are 3x3 with ReLU, sizes change by strides, nearest-neighbour Resize and pixel-shuffle.
"""

import torch
import torch.nn.functional as F
from torch import nn

WIDTHS = (12, 20, 32, 40)  # at 1/2, 1/4, 1/8, 1/16


class Conv(nn.Sequential):
    """3x3 (or 1x1), batch norm, which `to_onnx.py` folds away, and ReLU."""

    def __init__(self, inputs, outputs, size=3, stride=1, act=True):
        layers = [nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False), nn.BatchNorm2d(outputs)]
        super().__init__(*layers, *([nn.ReLU(inplace=True)] if act else []))


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.first, self.second = Conv(channels, channels), Conv(channels, channels, act=False)

    def forward(self, x):
        return F.relu(x + self.second(self.first(x)))


class Matting(nn.Module):
    def __init__(self, widths=WIDTHS):
        super().__init__()
        a, b, c, d = widths
        self.stem = Conv(6, a)
        self.down4 = nn.Sequential(Conv(a, b, stride=2), Conv(b, b))
        self.down8 = nn.Sequential(Conv(b, c, stride=2), Conv(c, c))
        self.down16 = nn.Sequential(Conv(c, d, stride=2), Residual(d), Residual(d))
        self.up8, self.join8 = Conv(d, c, 1, act=False), Conv(c, c)
        self.up4, self.join4 = Conv(c, b, 1, act=False), Conv(b, b)
        self.up2, self.join2 = Conv(b, a, 1, act=False), Conv(a, a)
        self.head = nn.Conv2d(a, 8, 3, padding=1)

    def forward(self, luma, chroma):
        half = self.stem(torch.cat([F.pixel_unshuffle(luma, 2), chroma], 1))
        quarter = self.down4(half)
        eighth = self.down8(quarter)
        x = self.down16(eighth)
        for up, join, skip in ((self.up8, self.join8, eighth), (self.up4, self.join4, quarter), (self.up2, self.join2, half)):
            x = join(F.relu(skip + F.interpolate(up(x), scale_factor=2.0, mode="nearest")))
        return F.pixel_shuffle(self.head(x), 2)


def folded(convolution, norm):
    """(kernel, bias) of a convolution with its batch norm."""
    gain = norm.weight / torch.sqrt(norm.running_var + norm.eps)
    return convolution.weight * gain[:, None, None, None], norm.bias - norm.running_mean * gain
