"""The detector: 3x3 convolutions with ReLU down to a quarter of the resolution, and five planes there (CenterNet's: Zhou et al.,
Objects as Points, 2019). Training normalises by batch; `plain` folds that into the convolutions.

Planes [N, 6, H / 2, W / 2] of 0..1 (slices.packed) give [N, 5, H / 4, W / 4]: the logit of a phone's centre in the cell, the
box's width and height in `SIZE_UNIT` pixels, and where in the cell its centre is, from the cell's middle on, in cells. A network that
sees several frames takes the planes of each, the newest last.
"""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

STRIDE = 4
SIZE_UNIT = 16.0


class Detector(nn.Module):
    def __init__(self, channels, dilations, first=12, frames=1):
        super().__init__()
        layers = [nn.Conv2d(6 * frames, first, 3, padding=1, bias=False), nn.Conv2d(first, channels, 3, stride=2, padding=1, bias=False)]
        layers += [nn.Conv2d(channels, channels, 3, padding=d, dilation=d, bias=False) for d in dilations]
        self.convs = nn.ModuleList(layers)
        self.norms = nn.ModuleList(nn.BatchNorm2d(conv.out_channels) for conv in layers)
        self.dilations, self.frames = dilations, frames
        self.head = nn.Conv2d(channels, 5, 1)
        for conv in self.convs:
            nn.init.kaiming_normal_(conv.weight, nonlinearity="relu")
        nn.init.normal_(self.head.weight, std=0.01)
        with torch.no_grad():
            self.head.bias.copy_(torch.tensor([-4.0, 0.7, 0.7, 0.0, 0.0]))

    def forward(self, planes):
        value = planes - 0.5
        for conv, norm in zip(self.convs, self.norms):
            value = F.relu(norm(conv(value)))
        return self.head(value)

    def plain(self):
        """Arrays w0, b0, w1, ... of the convolutions alone, the head last, and `dilations` of those between."""
        arrays = {"dilations": list(self.dilations)}
        for i, (conv, norm) in enumerate(zip(self.convs, self.norms)):
            if isinstance(norm, nn.Identity):
                arrays[f"w{i}"], arrays[f"b{i}"] = conv.weight.detach().numpy(), conv.bias.detach().numpy()
                continue
            factor = norm.weight / torch.sqrt(norm.running_var + norm.eps)
            arrays[f"w{i}"] = (conv.weight * factor.view(-1, 1, 1, 1)).detach().numpy()
            arrays[f"b{i}"] = (norm.bias - norm.running_mean * factor).detach().numpy()
        arrays[f"w{len(self.convs)}"], arrays[f"b{len(self.convs)}"] = self.head.weight.detach().numpy(), self.head.bias.detach().numpy()
        return arrays

    def weights(self):
        return sum(array.size for name, array in self.plain().items() if name != "dilations")


def loaded(path):
    """A network of the arrays of `plain`, which normalises no more."""
    arrays = dict(np.load(path))
    first, seen = arrays["w0"].shape[:2]
    net = Detector(arrays["w1"].shape[0], tuple(int(d) for d in arrays["dilations"]), first, seen // 6)
    net.norms = nn.ModuleList(nn.Identity() for _ in net.norms)
    for i, conv in enumerate([*net.convs, net.head]):
        conv.weight, conv.bias = (nn.Parameter(torch.from_numpy(arrays[f"{kind}{i}"])) for kind in "wb")
    return net.eval()


def loss(out, heat, values, there, weight=None):
    """CenterNet's focal loss of the heat, and L1 of size and place in cells with a centre; `weight` of each picture."""
    weight = torch.ones_like(there[:, :, :1, :1]) if weight is None else weight
    logit = out[:, :1]
    chance = torch.sigmoid(logit)
    right = F.logsigmoid(logit) * (1 - chance) ** 2 * (heat == 1)
    wrong = F.logsigmoid(-logit) * chance**2 * (1 - heat) ** 4 * (heat < 1)
    count = (there * weight).sum().clamp(min=1)
    return -((right + wrong) * weight).sum() / count + ((out[:, 1:] - values).abs() * there * weight).sum() / count
