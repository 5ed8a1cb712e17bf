"""Blocks of networks for pictures and volumes: by name a function of a random generator and a number of channels C (a multiple of
16) that gives a module of [B, C, H, W] in and out. random_networks puts them together."""

import math

import torch
from torch import nn
from torch.nn import functional


class Call(nn.Module):
    """A forward pass written as a function of the parts and the input."""

    def __init__(self, forward, *parts, **named):
        super().__init__()
        self.parts, self.run = nn.ModuleList(parts), forward
        for name, value in named.items():
            self.register_parameter(name, nn.Parameter(value, value.is_floating_point()))

    def forward(self, x):
        return self.run(self, x)


class ChannelsLast(nn.LayerNorm):
    """LayerNorm over the channels of a picture, by two transposes (ConvNeXt)."""

    def forward(self, x):
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


def act(r):
    return r.choice([nn.ReLU, nn.ReLU, nn.SiLU, nn.GELU, nn.Hardswish, nn.Mish, nn.ELU, nn.PReLU, nn.ReLU6, nn.Softplus, nn.Tanh,
                     lambda: nn.LeakyReLU(0.1), lambda: nn.GELU("tanh")])()


def norm(r, c):
    return r.choice([nn.BatchNorm2d, nn.BatchNorm2d, nn.BatchNorm2d, ChannelsLast, lambda c: nn.GroupNorm(r.choice([1, 4, 8]), c),
                     lambda c: nn.InstanceNorm2d(c, affine=r.random() < 0.5)])(c)


def conv(r, c, to=None, k=3, stride=1, groups=1, dilation=1, active=True):
    to = to or c
    return nn.Sequential(nn.Conv2d(c, to, k, stride, dilation * (k // 2), dilation, groups, bias=r.random() < 0.5), norm(r, to),
                         *([act(r)] if active else []))


def squeeze(r, c, by=4):
    gate = r.choice([nn.Sigmoid, nn.Hardsigmoid])()
    layers = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(c, c // by, 1), act(r), nn.Conv2d(c // by, c, 1), gate)
    return Call(lambda self, x: x * self.parts[0](x), layers)


def residual(module):
    return Call(lambda self, x: x + self.parts[0](x), module)


def plain(r, c):
    return conv(r, c, k=r.choice([1, 3, 3, 5, 7]))


def bottleneck(r, c):
    m = r.choice([c // 2, c // 4, c])
    groups = r.choice([1, 1, 2, 4, m // 8 or 1])
    return residual(nn.Sequential(conv(r, c, m, 1), conv(r, m, m, 3, groups=groups, dilation=r.choice([1, 1, 2, 4])),
                                  conv(r, m, c, 1, active=False)))


def inverted(r, c):
    m = c * r.choice([2, 3, 4, 6])
    k = r.choice([3, 3, 5, 7])
    return residual(nn.Sequential(conv(r, c, m, 1), conv(r, m, m, k, groups=m), *([squeeze(r, m)] if r.random() < 0.5 else []),
                                  conv(r, m, c, 1, active=False)))


def next_block(r, c):
    mix = nn.Conv2d(c, c, 7, 1, 3, groups=c)
    layers = nn.Sequential(nn.LayerNorm(c), nn.Linear(c, 4 * c), act(r), nn.Linear(4 * c, c))

    def forward(self, x):
        return x + (self.parts[1](self.parts[0](x).permute(0, 2, 3, 1)) * self.scale).permute(0, 3, 1, 2)
    return Call(forward, mix, layers, scale=torch.rand(c))


def ghost(r, c):
    first, cheap = conv(r, c, c // 2, 1), conv(r, c // 2, c // 2, r.choice([3, 5]), groups=c // 2)

    def forward(self, x):
        y = self.parts[0](x)
        return torch.cat([y, self.parts[1](y)], 1)
    return Call(forward, first, cheap)


def dense(r, c):
    grow = 16
    layers = [conv(r, c + i * grow, grow, 3) for i in range(3)]

    def forward(self, x):
        for layer in self.parts[:-1]:
            x = torch.cat([x, layer(x)], 1)
        return self.parts[-1](x)
    return Call(forward, *layers, conv(r, c + 3 * grow, c, 1))


def partial(r, c):
    inner = nn.Sequential(conv(r, c // 2, c // 2), conv(r, c // 2, c // 2))

    def forward(self, x):
        a, b = self.parts[1](x).chunk(2, 1)
        return self.parts[2](torch.cat([a, b, self.parts[0](b)], 1))
    return Call(forward, inner, conv(r, c, c, 1), conv(r, c + c // 2, c, 1))


def fire(r, c):
    def forward(self, x):
        x = self.parts[0](x)
        return torch.cat([self.parts[1](x), self.parts[2](x)], 1)
    return Call(forward, conv(r, c, c // 4, 1), conv(r, c // 4, c // 2, 1), conv(r, c // 4, c // 2, 3))


def shuffled(r, c):
    half = nn.Sequential(conv(r, c // 2, k=1), conv(r, c // 2, k=3, groups=c // 2, active=False), conv(r, c // 2, k=1))

    def forward(self, x):
        a, b = x.chunk(2, 1)
        x = torch.cat([a, self.parts[0](b)], 1)
        n, c, h, w = x.shape
        return x.reshape(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)
    return Call(forward, half)


def pyramid(r, c):
    rates = r.sample([2, 3, 4, 6, 8], 2)
    whole = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(c, c // 4, 1), act(r))

    def forward(self, x):
        wide = functional.interpolate(self.parts[3](x), x.shape[2:], mode="bilinear", align_corners=False)
        return self.parts[4](torch.cat([self.parts[0](x), self.parts[1](x), self.parts[2](x), wide], 1))
    return Call(forward, conv(r, c, c // 4, 1), *[conv(r, c, c // 4, 3, dilation=rate) for rate in rates], whole, conv(r, c, c, 1))


def both_attentions(r, c):
    channel = nn.Sequential(nn.Linear(c, c // 4), act(r), nn.Linear(c // 4, c))
    spatial = nn.Conv2d(2, 1, 7, 1, 3)

    def forward(self, x):
        x = x * torch.sigmoid(self.parts[0](x.mean((2, 3))) + self.parts[0](x.amax((2, 3))))[:, :, None, None]
        return x * torch.sigmoid(self.parts[1](torch.cat([x.mean(1, True), x.amax(1, True)], 1)))
    return Call(forward, channel, spatial)


def coordinates(r, c):
    first, high, wide = conv(r, c, 16, 1), nn.Conv2d(16, c, 1), nn.Conv2d(16, c, 1)

    def forward(self, x):
        h, w = x.shape[2:]
        y = self.parts[0](torch.cat([x.mean(3, True), x.mean(2, True).transpose(2, 3)], 2))
        a, b = y.split([h, w], 2)
        return x * torch.sigmoid(self.parts[1](a)) * torch.sigmoid(self.parts[2](b.transpose(2, 3)))
    return Call(forward, first, high, wide)


def large_kernel(r, c):
    layers = nn.Sequential(nn.Conv2d(c, c, 5, 1, 2, groups=c), nn.Conv2d(c, c, 7, 1, 9, 3, c), nn.Conv2d(c, c, 1))
    return Call(lambda self, x: x * self.parts[0](x), layers)


def branches(r, c):
    active = act(r)

    def forward(self, x):
        return self.parts[3](self.parts[0](x) + self.parts[1](x) + self.parts[2](x))
    return Call(forward, conv(r, c, k=3, active=False), conv(r, c, k=1, active=False), nn.BatchNorm2d(c), active)


def asymmetric(r, c):
    k = r.choice([3, 5, 7, 11])
    return residual(nn.Sequential(nn.Conv2d(c, c, (1, k), 1, (0, k // 2), groups=r.choice([1, c])), act(r),
                                  nn.Conv2d(c, c, (k, 1), 1, (k // 2, 0), groups=r.choice([1, c])), norm(r, c)))


def attended(q, k, v, bias=0.0):
    return torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]) + bias, -1) @ v


def windows(r, c):
    side, heads = 7, r.choice([2, 4])

    def forward(self, x):
        n, c, h, w = x.shape
        y = functional.pad(x, (0, -w % side, 0, -h % side))
        rows, columns = y.shape[2] // side, y.shape[3] // side
        y = y.reshape(n, c, rows, side, columns, side).permute(0, 2, 4, 3, 5, 1).reshape(-1, side * side, c)
        q, k, v = self.parts[0](y).reshape(-1, side * side, 3, heads, c // heads).permute(2, 0, 3, 1, 4)
        y = self.parts[1](attended(q, k, v, self.bias).transpose(1, 2).reshape(-1, side * side, c))
        y = y.reshape(n, rows, columns, side, side, c).permute(0, 5, 1, 3, 2, 4).reshape(n, c, rows * side, columns * side)
        return x + y[:, :, :h, :w]
    return Call(forward, nn.Linear(c, 3 * c), nn.Linear(c, c), bias=torch.rand(heads, side * side, side * side))


def axial(r, c):
    heads = r.choice([2, 4])

    def along(layer, x):
        q, k, v = layer(x).unflatten(-1, (3, heads, -1)).permute(3, 0, 1, 4, 2, 5)
        return attended(q, k, v).transpose(2, 3).flatten(3)

    def forward(self, x):
        y = x.permute(0, 2, 3, 1)
        y = y + along(self.parts[0], y)
        y = y.transpose(1, 2)
        return (y + along(self.parts[1], y)).permute(0, 3, 2, 1)
    return Call(forward, nn.Linear(c, 3 * c), nn.Linear(c, 3 * c))


def non_local(r, c):
    def forward(self, x):
        y = functional.avg_pool2d(x, 2, 2, ceil_mode=True)
        q, (k, v) = self.parts[0](x).flatten(2).transpose(1, 2), self.parts[1](y).flatten(2).transpose(1, 2).chunk(2, -1)
        return x + self.parts[2](attended(q, k, v).transpose(1, 2).reshape(*x.shape[:1], -1, *x.shape[2:]))
    return Call(forward, nn.Conv2d(c, c // 2, 1), nn.Conv2d(c, c, 1), nn.Conv2d(c // 2, c, 1))


def expert_filters(r, c):
    """Filters that are a mixture by what the picture shows (CondConv, dynamic convolution)."""
    def forward(self, x):
        share = torch.softmax(self.parts[0](x.mean((2, 3))), -1)
        filters = torch.einsum("be,eoikl->oikl", share, self.filters)
        return functional.relu(functional.conv2d(x, filters, padding=1))
    return Call(forward, nn.Linear(c, 4), filters=torch.randn(4, c, c, 3, 3) / (3 * math.sqrt(c)))


def two_scales(r, c):
    mode = r.choice(["nearest", "bilinear"])

    def forward(self, x):
        low = self.parts[1](functional.avg_pool2d(x, 2))
        return self.parts[0](x) + functional.interpolate(low, x.shape[2:], mode=mode)
    return Call(forward, conv(r, c), conv(r, c))


def involution(r, c):
    groups, k = 4, 3

    def forward(self, x):
        n, c, h, w = x.shape
        weights = self.parts[0](x).reshape(n, groups, 1, k * k, h, w)
        patches = functional.unfold(x, k, padding=1).reshape(n, groups, c // groups, k * k, h, w)
        return (weights * patches).sum(3).reshape(n, c, h, w)
    return Call(forward, nn.Sequential(nn.Conv2d(c, c // 4, 1), act(r), nn.Conv2d(c // 4, groups * k * k, 1)))


def selected(r, c):
    def forward(self, x):
        a, b = self.parts[0](x), self.parts[1](x)
        share = torch.softmax(self.parts[2]((a + b).mean((2, 3))).reshape(-1, 2, x.shape[1]), 1)
        return a * share[:, 0, :, None, None] + b * share[:, 1, :, None, None]
    return Call(forward, conv(r, c, k=3, groups=4), conv(r, c, k=3, groups=4, dilation=2), nn.Linear(c, 2 * c))


def shifted(r, c):
    def forward(self, x):
        parts = x.chunk(4, 1)
        y = torch.cat([torch.roll(parts[0], 1, 2), torch.roll(parts[1], -1, 2), torch.roll(parts[2], 1, 3), torch.roll(parts[3], -1, 3)], 1)
        return x + self.parts[0](y.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
    return Call(forward, nn.Sequential(nn.Linear(c, 2 * c), act(r), nn.Linear(2 * c, c)))


def gated(r, c):
    def forward(self, x):
        a, b = self.parts[1](self.parts[0](x)).chunk(2, 1)
        return x + self.parts[2](functional.gelu(a) * b)
    return Call(forward, nn.Conv2d(c, 4 * c, 1), nn.Conv2d(4 * c, 4 * c, 3, 1, 1, groups=4 * c), nn.Conv2d(2 * c, c, 1))


def normed_responses(r, c):
    def forward(self, x):
        size = x.pow(2).sum((2, 3), True).sqrt()
        return x + self.gamma * x * size / (size.mean(1, True) + 1e-6) + self.beta
    return Call(forward, gamma=torch.rand(1, c, 1, 1), beta=torch.rand(1, c, 1, 1))


def pooled(r, c):
    k = r.choice([3, 5])
    kind = r.choice([nn.MaxPool2d(k, 1, k // 2), nn.AvgPool2d(k, 1, k // 2, count_include_pad=False)])
    return Call(lambda self, x: x + self.parts[0](x) - x * self.scale, kind, scale=torch.rand(c, 1, 1))


def channel_attention(r, c):
    """Attention between channels (Restormer, XCiT)."""
    heads = 4

    def forward(self, x):
        q, k, v = self.parts[1](self.parts[0](x)).reshape(x.shape[0], 3, heads, -1, x.shape[2] * x.shape[3]).unbind(1)
        y = torch.softmax(functional.normalize(q, dim=-1) @ functional.normalize(k, dim=-1).transpose(-1, -2) * self.heat, -1) @ v
        return x + self.parts[2](y.reshape(x.shape))
    return Call(forward, nn.Conv2d(c, 3 * c, 1), nn.Conv2d(3 * c, 3 * c, 3, 1, 1, groups=3 * c), nn.Conv2d(c, c, 1), heat=torch.rand(heads, 1, 1))


BLOCKS = {f.__name__: f for f in [
    plain, bottleneck, inverted, next_block, ghost, dense, partial, fire, shuffled, pyramid, both_attentions, coordinates, large_kernel,
    branches, asymmetric, windows, axial, non_local, expert_filters, two_scales, involution, selected, shifted, gated, normed_responses, pooled,
    channel_attention]}
