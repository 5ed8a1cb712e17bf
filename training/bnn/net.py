"""A residual network of binary convolutions (as Bi-Real Net), and the same with Relu and floats: its teacher and twin."""

import torch
from torch import nn
from torch.nn import functional

WIDTHS = (64, 64, 128, 128, 128)  # of the blocks; where the width doubles, sides are halved
CLASSES = 10


class SignOfActivation(torch.autograd.Function):
    """1 where x >= 0, else -1; backward the slope of a piecewise parabola (Bi-Real Net, Liu et al. 2018)."""

    @staticmethod
    def forward(context, x):
        context.save_for_backward(x)
        return torch.where(x >= 0, 1.0, -1.0)

    @staticmethod
    def backward(context, grad):
        (x,) = context.saved_tensors
        return grad * (2 - 2 * x.abs()).clamp(min=0)


class SignOfWeight(torch.autograd.Function):
    """1 where w >= 0, else -1; backward straight through within -1..1."""

    @staticmethod
    def forward(context, w):
        context.save_for_backward(w)
        return torch.where(w >= 0, 1.0, -1.0)

    @staticmethod
    def backward(context, grad):
        (w,) = context.saved_tensors
        return grad * (w.abs() <= 1)


class Block(nn.Module):
    """x -> shortcut(x) + norm(conv(act(x))). `bits`: what is binary, of "" (act is Relu), "x" and "xw"."""

    def __init__(self, inputs, outputs, bits):
        super().__init__()
        self.bits = bits
        self.stride = 2 if outputs != inputs else 1
        self.conv = nn.Conv2d(inputs, outputs, 3, self.stride, 1, bias=False)
        self.norm = nn.BatchNorm2d(outputs)
        self.shortcut = nn.Sequential() if inputs == outputs else nn.Sequential(
            nn.AvgPool2d(2), nn.Conv2d(inputs, outputs, 1, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        active = SignOfActivation.apply(x) if "x" in self.bits else functional.relu(x)
        weight = SignOfWeight.apply(self.conv.weight) if "w" in self.bits else self.conv.weight
        return self.shortcut(x) + self.norm(functional.conv2d(active, weight, None, self.stride, 1))


class Net(nn.Module):
    def __init__(self, bits=""):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
                                  nn.Conv2d(16, WIDTHS[0], 3, 2, 1, bias=False), nn.BatchNorm2d(WIDTHS[0]))
        self.blocks = nn.Sequential(*(Block(i, o, bits) for i, o in zip((WIDTHS[0], *WIDTHS), WIDTHS)))
        self.head = nn.Linear(WIDTHS[-1], CLASSES)

    def forward(self, x):
        return self.head(functional.relu(self.blocks(self.stem(x))).mean((2, 3)))
