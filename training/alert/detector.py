"""The detector: 3x3 convolutions with ReLU down to a quarter of the resolution, and five planes there (CenterNet's: Zhou et al.,
Objects as Points, 2019). Training normalises by batch; `plain` folds that into the convolutions.

Planes [N, 6, H / 2, W / 2] of 0..1 (slices.packed) give [N, 5, H / 4, W / 4]: the logit of a phone's centre in the cell, the
box's width and height in `SIZE_UNIT` pixels, and where in the cell its centre is, from the cell's middle on, in cells.
"""

import torch
import torch.nn.functional as F
from torch import nn

STRIDE = 4
SIZE_UNIT = 16.0


class Detector(nn.Module):
    def __init__(self, channels, dilations, first=12):
        super().__init__()
        layers = [nn.Conv2d(6, first, 3, padding=1, bias=False), nn.Conv2d(first, channels, 3, stride=2, padding=1, bias=False)]
        layers += [nn.Conv2d(channels, channels, 3, padding=d, dilation=d, bias=False) for d in dilations]
        self.convs = nn.ModuleList(layers)
        self.norms = nn.ModuleList(nn.BatchNorm2d(conv.out_channels) for conv in layers)
        self.dilations = dilations
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
            factor = norm.weight / torch.sqrt(norm.running_var + norm.eps)
            arrays[f"w{i}"] = (conv.weight * factor.view(-1, 1, 1, 1)).detach().numpy()
            arrays[f"b{i}"] = (norm.bias - norm.running_mean * factor).detach().numpy()
        arrays[f"w{len(self.convs)}"], arrays[f"b{len(self.convs)}"] = self.head.weight.detach().numpy(), self.head.bias.detach().numpy()
        return arrays

    def weights(self):
        return sum(array.size for name, array in self.plain().items() if name != "dilations")


def loss(out, heat, values, there):
    """CenterNet's focal loss of the heat, and L1 of size and place in cells with a centre."""
    logit = out[:, :1]
    chance = torch.sigmoid(logit)
    right = F.logsigmoid(logit) * (1 - chance) ** 2 * (heat == 1)
    wrong = F.logsigmoid(-logit) * chance**2 * (1 - heat) ** 4 * (heat < 1)
    count = there.sum().clamp(min=1)
    return -(right + wrong).sum() / count + ((out[:, 1:] - values).abs() * there).sum() / count


def peaks(out, least):
    """Of each picture a list of (score, left, top, right, bottom): local maxima of 3x3 cells, best first."""
    logit = out[:, :1]
    best = (F.max_pool2d(logit, 3, 1, 1) == logit) & (torch.sigmoid(logit) >= least)
    result = [[] for _ in out]
    for i, _, row, column in best.nonzero().tolist():
        heat, width, height, dx, dy = out[i, :, row, column].tolist()
        cx, cy = (column + 0.5 + dx) * STRIDE, (row + 0.5 + dy) * STRIDE
        w, h = max(width, 0.1) * SIZE_UNIT / 2, max(height, 0.1) * SIZE_UNIT / 2
        score = 1 / (1 + 2.718281828 ** -heat)
        result[i].append((score, cx - w, cy - h, cx + w, cy + h))
    return [without_doubles(sorted(found, reverse=True)) for found in result]


def without_doubles(found):
    kept = []
    for one in found:
        if all(not same(one[1:], other[1:]) for other in kept):
            kept.append(one)
    return kept


def same(a, b):
    """Whether two boxes are of one thing: their middles are nearer than half of the larger one's longer side."""
    across, down = (a[0] + a[2] - b[0] - b[2]) / 2, (a[1] + a[3] - b[1] - b[3]) / 2
    side = max(a[2] - a[0], a[3] - a[1], b[2] - b[0], b[3] - b[1])
    return (across**2 + down**2) ** 0.5 < side / 2
