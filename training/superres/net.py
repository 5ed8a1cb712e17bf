"""The networks: a chain of 3x3 convolutions in a training form and the plain form it collapses to.

Shapes: luma [N, 1, H, W] of 0..1 in, [N, 1, 2H, 2W] of 0..1 out. Every convolution is trained as a sum of linear
branches (3x3; 1x1 then 3x3; Sobel x and y; Laplacian; identity where the widths agree), which is again one 3x3
convolution (Zhang, Zeng, Zhang: Edge-oriented Convolution Block for Real-time Super Resolution, 2021). Training
computes with the collapsed kernel in every step, which costs one convolution and has the same gradients;
`forward_branches` computes branch by branch and exists to prove the equality.
"""

import torch
import torch.nn.functional as F
from torch import nn

EDGES = torch.tensor(
    [
        [[1, 0, -1], [2, 0, -2], [1, 0, -1]],
        [[1, 2, 1], [0, 0, 0], [-1, -2, -1]],
        [[0, 1, 0], [1, -4, 1], [0, 1, 0]],
    ],
    dtype=torch.float32,
)


class BranchedConv(nn.Module):
    """A 3x3 convolution with zero padding, trained as a sum of branches."""

    def __init__(self, inputs, outputs, gain=1.0):
        super().__init__()
        middle = 2 * outputs

        def kernel(*shape, fan):
            return nn.Parameter(torch.randn(*shape) * gain * (0.5 / fan) ** 0.5)

        self.identity = inputs == outputs
        self.weight = kernel(outputs, inputs, 3, 3, fan=9 * inputs)
        self.bias = nn.Parameter(torch.zeros(outputs))
        self.expand = kernel(middle, inputs, fan=inputs)
        self.expand_bias = nn.Parameter(torch.zeros(middle))
        self.reduce = kernel(outputs, middle, 3, 3, fan=9 * middle)
        self.edge = kernel(3, outputs, inputs, fan=8 * inputs)
        self.edge_bias = nn.Parameter(torch.zeros(3, outputs))
        self.edge_scale = nn.Parameter(torch.randn(3, outputs) * 0.1)
        self.register_buffer("masks", EDGES.clone(), persistent=False)
        centre = torch.zeros(outputs, inputs, 3, 3)
        if self.identity:
            centre[range(outputs), range(outputs), 1, 1] = 1.0
        self.register_buffer("centre", centre, persistent=False)

    def collapsed(self):
        """(kernel, bias) of the one convolution that equals all branches."""
        kernel = self.weight + torch.einsum("omyx,mi->oiyx", self.reduce, self.expand)
        bias = self.bias + torch.einsum("omyx,m->o", self.reduce, self.expand_bias)
        # The masks sum to zero, so the biases before them vanish.
        kernel = kernel + torch.einsum("eoi,eo,eyx->oiyx", self.edge, self.edge_scale, self.masks)
        return kernel + self.centre, bias

    @torch.no_grad()
    def hold(self, kernel, bias):
        """Sets the 3x3 branch so that all branches together are this convolution."""
        own_kernel, own_bias = self.collapsed()
        self.weight += kernel - own_kernel
        self.bias += bias - own_bias

    def forward_branches(self, x):
        x = F.pad(x, (1, 1, 1, 1))
        total = F.conv2d(x, self.weight, self.bias)
        total = total + F.conv2d(F.conv2d(x, self.expand[:, :, None, None], self.expand_bias), self.reduce)
        outputs = self.weight.shape[0]
        for edge in range(3):
            mixed = F.conv2d(x, self.edge[edge][:, :, None, None], self.edge_bias[edge])
            mask = self.edge_scale[edge].view(-1, 1, 1, 1) * self.masks[edge]
            total = total + F.conv2d(mixed, mask, groups=outputs)
        if self.identity:
            total = total + x[:, :, 1:-1, 1:-1]
        return total

    def forward(self, x):
        with torch.autocast(x.device.type, enabled=False):
            kernel, bias = self.collapsed()
        return F.conv2d(x, kernel.contiguous(memory_format=torch.channels_last), bias, padding=1)


class Chain(nn.Module):
    """1 -> channels, `depth` times channels -> channels, -> 4; the input is added to each of the four. Channels may
    also be a list of depth + 1 widths, as trimming leaves them."""

    def __init__(self, channels, depth, prelu=False):
        super().__init__()
        inner = list(channels) if isinstance(channels, (list, tuple)) else [channels] * (depth + 1)
        self.depth = depth
        widths = [1] + inner + [4]
        gains = [1.0] * (depth + 1) + [0.1]
        self.convs = nn.ModuleList(BranchedConv(a, b, g) for a, b, g in zip(widths, widths[1:], gains))
        slopes = [nn.Parameter(torch.full((width, 1, 1), 0.1)) for width in inner] if prelu else []
        self.slopes = nn.ParameterList(slopes)

    def activate(self, x, index):
        if len(self.slopes):
            return F.relu(x) - self.slopes[index] * F.relu(-x)
        return F.relu(x)

    def residual(self, x, branches=False):
        for index, conv in enumerate(self.convs):
            x = conv.forward_branches(x) if branches else conv(x)
            if index <= self.depth:
                x = self.activate(x, index)
        return x

    def forward(self, x, branches=False, clip=True):
        out = F.pixel_shuffle(self.residual(x, branches) + x, 2)
        return out.clamp(0, 1) if clip else out

    @classmethod
    def holding(cls, arrays):
        """The training form of a collapsed ReLU chain."""
        depth = sum(name.startswith("w") for name in arrays) - 2
        net = cls([len(arrays[f"b{index}"]) for index in range(depth + 1)], depth)
        for index, conv in enumerate(net.convs):
            conv.hold(torch.tensor(arrays[f"w{index}"]), torch.tensor(arrays[f"b{index}"]))
        return net

    def plain(self):
        """The collapsed weights, as export.py reads them: arrays by name."""
        arrays = {}
        with torch.no_grad():
            for index, conv in enumerate(self.convs):
                kernel, bias = conv.collapsed()
                arrays[f"w{index}"], arrays[f"b{index}"] = kernel.cpu().numpy(), bias.cpu().numpy()
            for index, slope in enumerate(self.slopes):
                arrays[f"s{index}"] = slope.detach().cpu().numpy()
        return arrays


def rounded(x):
    """Rounds; the gradient passes."""
    return x + (x.round() - x).detach()


class QuantisedChain(nn.Module):
    """A collapsed ReLU chain that computes as the int8 file will: inputs and activations in unsigned bytes with
    learned scales (Esser et al.: Learned Step Size Quantization, 2020), kernels in signed bytes with a scale for
    each output channel, the residual in bytes around 128, the output in bytes of 1/255."""

    block = 2  # the answer's pixels for one of the input, along a side

    def __init__(self, plain, depth):
        super().__init__()
        self.depth = depth
        self.kernels = nn.ParameterList(nn.Parameter(torch.tensor(plain[f"w{i}"])) for i in range(depth + 2))
        self.biases = nn.ParameterList(nn.Parameter(torch.tensor(plain[f"b{i}"])) for i in range(depth + 2))
        self.log_scales = nn.Parameter(torch.zeros(depth + 2))

    @torch.no_grad()
    def calibrate(self, x):
        """Sets the scales from a batch of the unquantised chain's activations."""
        value = x
        for index, (kernel, bias) in enumerate(zip(self.kernels, self.biases)):
            value = F.conv2d(value, kernel, bias, padding=1)
            if index <= self.depth:
                value = F.relu(value)
                top = torch.quantile(value.flatten()[:: max(1, value.numel() // 4_000_000)], 0.9999) / 255
            else:
                top = value.abs().max() / 127
            self.log_scales[index] = torch.log(top.clamp_min(1e-6))

    def shortcut(self, x):
        """What the chain's answer is added to."""
        return x

    def quantised_kernel(self, index):
        kernel = self.kernels[index]
        scale = (kernel.detach().abs().amax(dim=(1, 2, 3), keepdim=True) / 127).clamp_min(1e-8)
        return rounded((kernel / scale).clamp(-127, 127)) * scale

    def forward(self, x, clip=True):
        x = rounded(x.clamp(0, 1) * 255) / 255
        value = x
        for index in range(self.depth + 2):
            kernel = self.quantised_kernel(index).contiguous(memory_format=torch.channels_last)
            value = F.conv2d(value, kernel, self.biases[index], padding=1)
            scale = self.log_scales[index].exp()
            low, high = (0, 255) if index <= self.depth else (-128, 127)
            value = rounded((value / scale).clamp(low, high)) * scale
        out = F.pixel_shuffle(value + self.shortcut(x), self.block)
        out = rounded(out * 255) / 255
        return out.clamp(0, 1) if clip else out

    def plain(self):
        arrays = {}
        for index in range(self.depth + 2):
            arrays[f"w{index}"] = self.kernels[index].detach().cpu().numpy()
            arrays[f"b{index}"] = self.biases[index].detach().cpu().numpy()
        arrays["scales"] = self.log_scales.detach().exp().cpu().numpy()
        return arrays
