"""More blocks of networks for pictures, with the interface of picture_blocks: what timm, diffusers, Ultralytics and detectors have
and the first ones have not. newer_networks puts them together."""

import math

import torch
from picture_blocks import Call, act, attended, conv, residual
from torch import nn
from torch.nn import functional


def groups_of(c):
    return next(g for g in (32, 16, 8) if c % g == 0)


def timed(r, c):
    """A residual block of a diffusion U-Net: GroupNorm, SiLU, a shift and a scale by the time."""
    scaled = r.random() < 0.5

    def forward(self, x):
        t = self.parts[2](functional.silu(self.time))[:, :, None, None]
        y = self.parts[1](functional.silu(self.parts[0](x)))
        if scaled:
            scale, shift = t.chunk(2, 1)
            y = self.parts[3](y) * (1 + scale) + shift
        else:
            y = self.parts[3](y + t[:, :c])
        return x + self.parts[4](functional.silu(y))
    norms = [nn.GroupNorm(groups_of(c), c, eps=1e-6) for _ in range(2)]
    return Call(forward, norms[0], nn.Conv2d(c, c, 3, 1, 1), nn.Linear(64, 2 * c), norms[1], nn.Conv2d(c, c, 3, 1, 1),
                time=torch.randn(1, 64))


def table_index(side):
    """Of Swin: the row of a table of (2 side - 1) squared offsets for each pair of places."""
    at = torch.stack(torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")).flatten(1)
    away = (at[:, :, None] - at[:, None, :]) + side - 1
    return away[0] * (2 * side - 1) + away[1]


def masked_windows(side, h, w, shift):
    """Of Swin: -100 between places of one window that were not neighbours before the roll."""
    region = torch.zeros(1, h, w, 1)
    cuts = (slice(0, -side), slice(-side, -shift), slice(-shift, None))
    for i, rows in enumerate(cuts):
        for j, columns in enumerate(cuts):
            region[:, rows, columns] = 3 * i + j
    cut = region.reshape(1, h // side, side, w // side, side, 1).permute(0, 1, 3, 2, 4, 5).reshape(-1, side * side)
    return (cut[:, None] - cut[:, :, None]).ne(0).float() * -100.0


def swin(r, c):
    """Rolled windows with a table of relative positions; cosines and positions by a small MLP in half of them (Swin v2)."""
    side, heads, shift, cosine = r.choice([4, 7, 8]), r.choice([2, 4]), r.choice([0, 2]), r.random() < 0.5
    index = table_index(side).reshape(-1)
    line = torch.arange(1 - side, side).float() * 8 / max(side - 1, 1)
    grid = torch.stack(torch.meshgrid(line, line, indexing="ij"), -1)
    grid = torch.sign(grid) * torch.log2(grid.abs() + 1) / 3

    def forward(self, x):
        n, c, h, w = x.shape
        y = functional.pad(x.permute(0, 2, 3, 1), (0, 0, 0, -w % side, 0, -h % side))
        high, wide = y.shape[1:3]
        if shift:
            y = torch.roll(y, (-shift, -shift), (1, 2))
        y = y.reshape(n, high // side, side, wide // side, side, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, side * side, c)
        q, k, v = self.parts[0](y).reshape(-1, side * side, 3, heads, c // heads).permute(2, 0, 3, 1, 4)
        rows = 16 * torch.sigmoid(self.parts[2](self.grid).reshape(-1, heads)) if cosine else self.table
        bias = rows[self.index].reshape(side * side, side * side, heads).permute(2, 0, 1)[None]
        if cosine:
            scores = functional.normalize(q, dim=-1) @ functional.normalize(k, dim=-1).transpose(-2, -1)
            scores = scores * self.heat.clamp(max=math.log(100)).exp() + bias
        else:
            scores = (q * (c // heads) ** -0.5) @ k.transpose(-2, -1) + bias
        if shift:
            mask = masked_windows(side, high, wide, shift)
            scores = (scores.reshape(n, mask.shape[0], heads, side * side, -1) + mask[None, :, None]).reshape(scores.shape)
        y = self.parts[1]((scores.softmax(-1) @ v).transpose(1, 2).reshape(-1, side * side, c))
        y = y.reshape(n, high // side, wide // side, side, side, c).permute(0, 1, 3, 2, 4, 5).reshape(n, high, wide, c)
        if shift:
            y = torch.roll(y, (shift, shift), (1, 2))
        return x + y[:, :h, :w].permute(0, 3, 1, 2)
    small = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, heads, bias=False))
    return Call(forward, nn.Linear(c, 3 * c), nn.Linear(c, c), small, table=torch.randn((2 * side - 1) ** 2, heads),
                heat=torch.rand(heads, 1, 1), grid=grid, index=index)


def channel_line(r, c):
    """A convolution along the channels as their gate (ECA), or a sum over places by softmax (GCNet)."""
    k = r.choice([3, 5])
    if r.random() < 0.5:
        return Call(lambda self, x: x * torch.sigmoid(self.parts[0](x.mean((2, 3))[:, None]))[:, 0, :, None, None],
                    nn.Conv1d(1, 1, k, 1, k // 2, bias=False))

    def forward(self, x):
        share = torch.softmax(self.parts[0](x).flatten(2), -1)
        whole = (x.flatten(2) @ share.transpose(1, 2))[..., None]
        return x + self.parts[1](whole)
    return Call(forward, nn.Conv2d(c, 1, 1), nn.Sequential(nn.Conv2d(c, c // 4, 1), nn.GroupNorm(1, c // 4), act(r), nn.Conv2d(c // 4, c, 1)))


def cascade(r, c):
    """Parts of the channels, each with the one before it (Res2Net), of one width or of odd ones."""
    widths = [c // 4] * 4 if r.random() < 0.5 else [c // 4 + 3, c // 4 - 3, c // 4 + 5, c // 4 - 5]

    def forward(self, x):
        parts, done = list(x.split(widths, 1)), []
        for part, layer in zip(parts, self.parts):
            done.append(layer(part if not done else functional.pad(done[-1], (0,) * 4 + (0, 8))[:, :part.shape[1]] + part))
        return x + torch.cat(done, 1)
    return Call(forward, *[nn.Sequential(nn.Conv2d(w, w, 3, 1, 1, bias=False), nn.BatchNorm2d(w), nn.ReLU()) for w in widths])


def split_attention(r, c):
    """Cardinal groups with a softmax between their parts (ResNeSt)."""
    radix = 2

    def forward(self, x):
        y = self.parts[0](x)
        n, _, h, w = y.shape
        parts = y.reshape(n, radix, c, h, w)
        share = self.parts[1](parts.sum(1).mean((2, 3), keepdim=True)).reshape(n, 1, radix, c).transpose(1, 2).softmax(1)
        return x + (parts * share.reshape(n, radix, c, 1, 1)).sum(1)
    return Call(forward, conv(r, c, radix * c, 3, groups=radix), nn.Sequential(nn.Conv2d(c, c // 2, 1), nn.ReLU(), nn.Conv2d(c // 2, radix * c, 1)))


def recursive_gates(r, c):
    """Widths that double at each step (HorNet)."""
    widths = [c // 4, c // 2, c]
    last = sum(widths)

    def forward(self, x):
        y = self.parts[0](x)
        first, rest = y.split((widths[0], last), 1)
        parts = torch.split(self.parts[1](rest) * self.scale, widths, 1)
        y = first * parts[0]
        for layer, part in zip(self.parts[3:], parts[1:]):
            y = layer(y) * part
        return x + self.parts[2](y)
    ups = [nn.Conv2d(a, b, 1) for a, b in zip(widths, widths[1:])]
    return Call(forward, nn.Conv2d(c, widths[0] + last, 1), nn.Conv2d(last, last, 7, 1, 3, groups=last), nn.Conv2d(c, c, 1), *ups,
                scale=torch.rand(1))


def focal(r, c):
    """Contexts of growing reach, each with its gate (FocalNet)."""
    levels = 3

    def forward(self, x):
        q, context, gates = self.parts[0](x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2).split((c, c, levels + 1), 1)
        total = 0
        for level in range(levels):
            context = functional.gelu(self.parts[2 + level](context))
            total = total + context * gates[:, level:level + 1]
        whole = functional.gelu(context.mean((2, 3), keepdim=True))
        return x + self.parts[1](q * (total + whole * gates[:, levels:]))
    depth = [nn.Conv2d(c, c, 3 + 2 * i, 1, 1 + i, groups=c, bias=False) for i in range(levels)]
    return Call(forward, nn.Linear(c, 2 * c + levels + 1), nn.Conv2d(c, c, 1), *depth)


def weighted_join(r, c):
    """Nodes of a BiFPN: weights that sum to one, separable convolutions."""
    def forward(self, x):
        low = functional.max_pool2d(x, 3, 2, 1)
        share = torch.relu(self.share)
        share = share / (share.sum() + 1e-4)
        up = functional.interpolate(low, x.shape[2:], mode="nearest")
        y = self.parts[0](functional.silu(share[0] * x + share[1] * up))
        down = functional.max_pool2d(y, 3, 2, 1)
        low = self.parts[1](functional.silu(share[0] * low + share[1] * down))
        return y + functional.interpolate(low, x.shape[2:], mode="nearest")

    def separable():
        return nn.Sequential(nn.Conv2d(c, c, 3, 1, 1, groups=c, bias=False), nn.Conv2d(c, c, 1), nn.BatchNorm2d(c, eps=1e-3))
    return Call(forward, separable(), separable(), share=torch.rand(2))


def c2f(r, c):
    """Ultralytics' C2f or C3k2 with a fast pyramid of poolings, and attention over places in some."""
    half, count, pools, attends = c // 2, r.choice([1, 2]), r.random() < 0.5, r.random() < 0.5

    def silu(a, b, k=1):
        return nn.Sequential(nn.Conv2d(a, b, k, 1, k // 2, bias=False), nn.BatchNorm2d(b, eps=1e-3), nn.SiLU())

    def forward(self, x):
        parts = list(self.parts[0](x).chunk(2, 1))
        for layer in self.parts[4:]:
            parts.append(layer(parts[-1]))
        y = self.parts[1](torch.cat(parts, 1))
        if pools:
            steps = [y[:, :half]]
            for _ in range(3):
                steps.append(functional.max_pool2d(steps[-1], 5, 1, 2))
            y = y + self.parts[2](torch.cat(steps, 1))
        if attends:
            n, c, h, w = y.shape
            q, k, v = self.parts[3](y).reshape(n, 2, c, h * w).split((c // 4, c // 4, c // 2), 2)
            share = (q.transpose(-2, -1) @ k * (c // 4) ** -0.5).softmax(-1)
            y = y + (v @ share.transpose(-2, -1)).reshape(n, c, h, w)
        return y
    inner = [residual(nn.Sequential(silu(half, half, 3), silu(half, half, 3))) for _ in range(count)]
    return Call(forward, silu(c, c), silu((2 + count) * half, c), silu(4 * half, c), nn.Conv2d(c, 2 * c, 1), *inner)


def sampled(r, c):
    """Samples where offsets point, as a grid (deformable attention, DAT)."""
    def forward(self, x):
        n, c, h, w = x.shape
        y, z = torch.meshgrid(torch.linspace(-1, 1, h), torch.linspace(-1, 1, w), indexing="ij")
        points = torch.tanh(self.parts[0](x)).reshape(n * 4, 2, h, w).permute(0, 2, 3, 1) * 0.2 + torch.stack([z, y], -1)
        got = functional.grid_sample(self.parts[1](x).reshape(n * 4, c // 4, h, w), points, align_corners=False)
        share = torch.sigmoid(self.parts[2](x))
        return x + self.parts[3](got.reshape(n, c, h, w) * share)
    return Call(forward, nn.Conv2d(c, 8, 3, 1, 1), nn.Conv2d(c, c, 1), nn.Conv2d(c, c, 1), nn.Conv2d(c, c, 1))


def reassembled(r, c):
    """Upsampling by filters of each place (CARAFE), and down again."""
    k = 5

    def forward(self, x):
        n, c, h, w = x.shape
        share = functional.pixel_shuffle(self.parts[1](self.parts[0](x)), 2).softmax(1)
        near = functional.unfold(x, k, padding=k // 2).reshape(n, c * k * k, h, w)
        near = functional.interpolate(near, scale_factor=2, mode="nearest").reshape(n, c, k * k, 2 * h, 2 * w)
        return x + functional.avg_pool2d((near * share[:, None]).sum(2), 2)
    return Call(forward, nn.Conv2d(c, 32, 1), nn.Conv2d(32, 4 * k * k, 3, 1, 1))


def relu_attention(r, c):
    """Linear attention by ReLU over two scales (EfficientViT)."""
    d = 16

    def forward(self, x):
        qkv = self.parts[0](x)
        n, _, h, w = x.shape
        both = torch.cat([qkv, self.parts[1](qkv)], 1).reshape(n, -1, 3 * d, h * w).transpose(-1, -2)
        q, k, v = both[..., :d].relu(), both[..., d:2 * d].relu(), both[..., 2 * d:]
        v = functional.pad(v, (0, 1), value=1.0)
        y = q @ (k.transpose(-1, -2) @ v)
        y = y[..., :-1] / (y[..., -1:] + 1e-6)
        return x + self.parts[2](y.transpose(-1, -2).reshape(n, -1, h, w))
    scale = nn.Sequential(nn.Conv2d(3 * c, 3 * c, 5, 1, 2, groups=3 * c, bias=False), nn.Conv2d(3 * c, 3 * c, 1, groups=3 * c // d, bias=False))
    return Call(forward, nn.Conv2d(c, 3 * c, 1, bias=False), scale, nn.Sequential(nn.Conv2d(2 * c, c, 1, bias=False), nn.BatchNorm2d(c)))


def wavelets(r, c):
    """Haar's wavelets as a grouped convolution, layers between, and back (Wavelet U-Nets)."""
    haar = torch.tensor([[1, 1, 1, 1], [1, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1.0]]).reshape(4, 1, 2, 2) / 2
    filters = haar.repeat(c, 1, 1, 1)

    def forward(self, x):
        y = functional.conv2d(functional.pad(x, (0, x.shape[3] % 2, 0, x.shape[2] % 2), mode="replicate"), filters, stride=2, groups=c)
        y = functional.conv_transpose2d(self.parts[0](y), filters, stride=2, groups=c)
        return x + y[:, :, :x.shape[2], :x.shape[3]]
    return Call(forward, conv(r, 4 * c, 4 * c, 3, groups=r.choice([4, c])))


def inception_next(r, c):
    """Parts of odd widths by a square, a row and a column (InceptionNeXt); the rest stays (FasterNet)."""
    part = max(c // 8 + r.choice([0, 1, 3]), 4)
    k = r.choice([7, 11])

    def forward(self, x):
        rest, a, b, d = x.split((c - 3 * part, part, part, part), 1)
        y = torch.cat([rest, self.parts[0](a), self.parts[1](b), self.parts[2](d)], 1)
        return x + self.parts[3](y) * self.scale[:, None, None]
    mlp = nn.Sequential(nn.BatchNorm2d(c), nn.Conv2d(c, 2 * c, 1), act(r), nn.Conv2d(2 * c, c, 1))
    return Call(forward, nn.Conv2d(part, part, 3, 1, 1, groups=part), nn.Conv2d(part, part, (1, k), 1, (0, k // 2), groups=part),
                nn.Conv2d(part, part, (k, 1), 1, (k // 2, 0), groups=part), mlp, scale=torch.rand(c))


def products(r, c):
    """Two branches multiplied, with wide depthwise filters (StarNet)."""
    layers = [nn.Conv2d(c, 3 * c, 1), nn.Conv2d(c, 3 * c, 1), nn.Conv2d(3 * c, c, 1), nn.Conv2d(c, c, 7, 1, 3, groups=c)]
    return Call(lambda self, x: x + self.parts[3](self.parts[2](functional.relu6(self.parts[0](x)) * self.parts[1](x))), *layers)


def spectral(r, c):
    """A convolution between spectra of the picture (FFC of LaMa)."""
    def forward(self, x):
        n, _, h, w = x.shape
        both = torch.view_as_real(torch.fft.rfft2(x, norm="ortho")).permute(0, 1, 4, 2, 3).reshape(n, 2 * c, h, -1)
        both = self.parts[0](both).reshape(n, c, 2, h, -1).permute(0, 1, 3, 4, 2).contiguous()
        return x + torch.fft.irfft2(torch.view_as_complex(both), s=(h, w), norm="ortho")
    return Call(forward, nn.Sequential(nn.Conv2d(2 * c, 2 * c, 1, bias=False), nn.BatchNorm2d(2 * c), nn.ReLU()))


def rotary_attention(r, c):
    """Attention over places with rotary positions of both axes (SAM 2, Pixtral, EVA-02)."""
    heads, pairs = 2, r.random() < 0.5

    def turned(x, cos, sin):
        if pairs:
            a, b = x.unflatten(-1, (-1, 2)).unbind(-1)
            return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)
        a, b = x.chunk(2, -1)
        return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)

    def forward(self, x):
        small = functional.avg_pool2d(x, 2, ceil_mode=True)
        n, _, h, w = small.shape
        q, k, v = self.parts[0](small.flatten(2).transpose(1, 2)).unflatten(-1, (3, heads, c // heads)).permute(2, 0, 3, 1, 4)
        rates = 1 / 100 ** (torch.arange(0, c // heads // 4) / (c // heads // 4))
        y, z = torch.meshgrid(torch.arange(h).float(), torch.arange(w).float(), indexing="ij")
        angles = torch.cat([y.reshape(-1, 1) * rates, z.reshape(-1, 1) * rates], -1)
        q, k = (turned(one, angles.cos(), angles.sin()) for one in (q, k))
        y = attended(q, k, v).transpose(1, 2).flatten(2).transpose(1, 2).reshape(small.shape)
        return x + functional.interpolate(self.parts[1](y), x.shape[2:], mode="nearest")
    return Call(forward, nn.Linear(c, 3 * c), nn.Conv2d(c, c, 1))


BLOCKS = {f.__name__: f for f in [
    timed, swin, channel_line, cascade, split_attention, recursive_gates, focal, weighted_join, c2f, sampled, reassembled, relu_attention,
    wavelets, inception_next, products, spectral, rotary_attention]}
