"""Networks whose patterns no package of those used has: NETWORKS, by name a function that gives a module and its inputs."""

import math

import torch
from tensors import words
from torch import nn
from torch.nn import functional


class Pooled(nn.Module):
    """Token mixing by pooling (PoolFormer) beside spatial products (MLP-Mixer, gMLP)."""

    def __init__(self, width=96, side=28):
        super().__init__()
        self.patch = nn.Conv2d(3, width, 7, 8, 3)
        self.norms = nn.ModuleList(nn.GroupNorm(1, width) for _ in range(4))
        self.mix = nn.ModuleList(nn.Conv2d(width, width, 1) for _ in range(4))
        self.scale = nn.Parameter(torch.rand(4, width, 1, 1))
        self.tokens = nn.Linear(side * side, side * side)

    def forward(self, x):
        x = self.patch(x)
        for i, (norm, mix) in enumerate(zip(self.norms, self.mix)):
            y = norm(x)
            x = x + self.scale[i] * (functional.avg_pool2d(y, 3, 1, 1, count_include_pad=False) - y)
            x = x + functional.gelu(mix(x))
        return x + self.tokens(x.flatten(2)).reshape(x.shape)


class Unfolded(nn.Module):
    """Linear attention over patches of an unfolded picture (MobileViT v2 as timm writes it)."""

    def __init__(self, width=64, patch=2):
        super().__init__()
        self.patch, self.width = patch, width
        self.first = nn.Conv2d(3, width, 4, 4)
        self.qkv = nn.ModuleList(nn.Conv2d(width, 1 + 2 * width, 1) for _ in range(2))
        self.out = nn.ModuleList(nn.Conv2d(width, width, 1) for _ in range(2))

    def forward(self, x):
        x = self.first(x)
        b, c, h, w = x.shape
        p = self.patch
        x = x.reshape(b, c, h // p, p, w // p, p).permute(0, 1, 3, 5, 2, 4).reshape(b, c, p * p, -1)
        for qkv, out in zip(self.qkv, self.out):
            q, k, v = qkv(x).split([1, self.width, self.width], dim=1)
            context = (k * functional.softmax(q, dim=-1)).sum(-1, keepdim=True)
            x = x + out(functional.relu(v) * context.expand_as(v))
        x = x.reshape(b, c, p, p, h // p, w // p).permute(0, 1, 4, 2, 5, 3).reshape(b, c, h, w)
        return functional.fold(functional.unfold(x, 2, stride=2), (h, w), 2, stride=2)


class Relative(nn.Module):
    """Attention over a picture with relative positions by Einsum (BoTNet, HaloNet, SAM)."""

    def __init__(self, side=16, width=128, heads=4):
        super().__init__()
        self.heads, self.side, self.d = heads, side, width // heads
        self.first = nn.Conv2d(3, width, 8, 8)
        self.qkv = nn.Conv2d(width, 3 * width, 1, bias=False)
        self.rows = nn.Parameter(torch.randn(2 * side - 1, self.d) * 0.1)
        self.columns = nn.Parameter(torch.randn(2 * side - 1, self.d) * 0.1)

    def relative(self, q, table):
        """From offsets to positions by padding and reshaping: q [b, h, i, j, d], table [2 side - 1, d]."""
        b, h, i, j, _ = q.shape
        x = torch.einsum("bhijd,rd->bhijr", q, table).reshape(b * h * i, j, -1)
        x = functional.pad(x, [0, 1]).flatten(1)
        x = functional.pad(x, [0, 2 * j - 1 - j]).reshape(b * h * i, j + 1, 2 * j - 1)
        return x[:, :j, j - 1:].reshape(b, h, i, 1, j, j).expand(-1, -1, -1, i, -1, -1)

    def forward(self, x):
        x = self.first(x)
        b, c, n, _ = x.shape
        q, k, v = (t.reshape(b, self.heads, self.d, n * n).transpose(2, 3) for t in self.qkv(x).chunk(3, dim=1))
        grid = q.reshape(b, self.heads, n, n, self.d)
        wide = self.relative(grid, self.columns).permute(0, 1, 2, 4, 3, 5)
        high = self.relative(grid.transpose(2, 3), self.rows).permute(0, 1, 4, 2, 5, 3)
        scores = torch.einsum("bhid,bhjd->bhij", q, k) * self.d**-0.5
        scores = scores + (wide + high).reshape(b, self.heads, n * n, n * n)
        return x + torch.einsum("bhij,bhjd->bhid", scores.softmax(-1), v).transpose(2, 3).reshape(b, c, n, n)


class Projected(nn.Module):
    """Attention whose queries, keys and values are depthwise convolutions (CvT, LeViT, CoAtNet), two axes in turn (MaxViT)."""

    def __init__(self, width=96, heads=3):
        super().__init__()
        self.heads = heads
        self.first = nn.Conv2d(3, width, 4, 4)
        self.project = nn.ModuleList(nn.Sequential(nn.Conv2d(width, width, 3, s, 1, groups=width, bias=False),
                                                   nn.BatchNorm2d(width), nn.Conv2d(width, width, 1)) for s in (1, 2, 2))
        self.out = nn.Linear(width, width)
        self.axes = nn.MultiheadAttention(width, heads, batch_first=True)
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        x = self.first(x)
        b, c, h, w = x.shape
        q, k, v = (p(x).flatten(2).transpose(1, 2).reshape(b, -1, self.heads, c // self.heads).transpose(1, 2)
                   for p in self.project)
        y = functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, h * w, c)
        x = x.flatten(2).transpose(1, 2) + self.out(y)
        window = x.reshape(b, h // 8, 8, w // 8, 8, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, 64, c)
        window = window + self.axes(self.norm(window), self.norm(window), self.norm(window), need_weights=False)[0]
        grid = window.reshape(b, h // 8, w // 8, 8, 8, c).permute(0, 3, 4, 1, 2, 5).reshape(-1, (h // 8) * (w // 8), c)
        return grid + self.axes(grid, grid, grid, need_weights=False)[0]


class Spectrogram(nn.Module):
    """Log-mel features by STFT in front of a small convolutional network."""

    def __init__(self, bins=512, mels=64):
        super().__init__()
        self.bins = bins
        self.register_buffer("window", torch.hann_window(bins))
        self.register_buffer("mels", torch.rand(mels, bins // 2 + 1) / bins)
        self.net = nn.Sequential(nn.Conv2d(1, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 64, 3, 2, 1),
                                 nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))

    def forward(self, x):
        spectrum = torch.view_as_real(torch.stft(x, self.bins, self.bins // 2, window=self.window, return_complex=True))
        power = spectrum.square().sum(-1)
        return self.net(torch.log(self.mels @ power + 1e-6)[:, None])


class Fourier(nn.Module):
    """Mixing by FFT (FNet, GFNet, AFNO): real transforms over a picture, multiplied by learned spectra."""

    def __init__(self, side=28, width=64):
        super().__init__()
        self.patch = nn.Conv2d(3, width, 8, 8)
        self.filter = nn.Parameter(torch.randn(side, side // 2 + 1, width, 2) * 0.02)
        self.norm = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = self.patch(x).permute(0, 2, 3, 1)
        y = torch.fft.rfft2(self.norm(x), dim=(1, 2), norm="ortho") * torch.view_as_complex(self.filter)
        x = x + torch.fft.irfft2(y, s=x.shape[1:3], dim=(1, 2), norm="ortho")
        return x + self.mlp(self.norm(x))


class Recurrent(nn.Module):
    """Recurrent networks over features: LSTM both ways, GRU, projected LSTM (CRNN, Tacotron, RNN-T)."""

    def __init__(self, kind, width=128):
        super().__init__()
        self.front = nn.Sequential(nn.Conv1d(40, width, 3, 2, 1), nn.BatchNorm1d(width), nn.ReLU())
        both = kind == "bidirectional"
        of = {"lstm": nn.LSTM, "bidirectional": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}[kind]
        self.cells = of(width, width, 2, batch_first=True, bidirectional=both)
        self.last = nn.Linear(width * (1 + both), 50)

    def forward(self, x):
        return functional.log_softmax(self.last(self.cells(self.front(x).transpose(1, 2))[0]), -1)


class Crnn(nn.Module):
    """Text of a line: convolutions, then LSTM both ways over columns."""

    def __init__(self):
        super().__init__()
        layers, channels = [], 1
        for width, pool in ((32, (2, 2)), (64, (2, 2)), (128, (2, 1)), (256, (2, 1))):
            layers += [nn.Conv2d(channels, width, 3, 1, 1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(pool, pool)]
            channels = width
        self.net = nn.Sequential(*layers)
        self.cells = nn.LSTM(512, 128, 1, bidirectional=True)
        self.last = nn.Linear(256, 100)

    def forward(self, x):
        x = self.net(x)
        x = x.permute(3, 0, 1, 2).flatten(2)
        return self.last(self.cells(x)[0]).softmax(-1)


class Conformer(nn.Module):
    """Half feed-forward, relative attention by shifting, convolution with GLU, half feed-forward."""

    def __init__(self, width=144, heads=4):
        super().__init__()
        self.heads, self.d = heads, width // heads
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(5))
        self.feed = nn.ModuleList(nn.Sequential(nn.Linear(width, 4 * width), nn.SiLU(), nn.Linear(4 * width, width))
                                  for _ in range(2))
        self.qkv, self.out, self.place = nn.Linear(width, 3 * width), nn.Linear(width, width), nn.Linear(width, width)
        self.u, self.v = (nn.Parameter(torch.randn(heads, self.d)) for _ in range(2))
        self.wide, self.narrow = nn.Conv1d(width, 2 * width, 1), nn.Conv1d(width, width, 1)
        self.depth, self.batch = nn.Conv1d(width, width, 31, 1, 15, groups=width), nn.BatchNorm1d(width)

    def shift(self, x):
        b, h, n, m = x.shape
        x = functional.pad(x, (1, 0)).reshape(b, h, m + 1, n)
        return x[:, :, 1:].reshape(b, h, n, m)[..., :n]

    def forward(self, x, positions):
        x = x + 0.5 * self.feed[0](self.norms[0](x))
        y = self.norms[1](x)
        b, n, c = y.shape
        q, k, v = (t.reshape(b, n, self.heads, self.d) for t in self.qkv(y).chunk(3, -1))
        p = self.place(positions).reshape(1, -1, self.heads, self.d).permute(0, 2, 3, 1)
        content = (q + self.u).transpose(1, 2) @ k.permute(0, 2, 3, 1)
        scores = (content + self.shift((q + self.v).transpose(1, 2) @ p)) / math.sqrt(self.d)
        x = x + self.out((scores.softmax(-1) @ v.transpose(1, 2)).transpose(1, 2).reshape(b, n, c))
        y = functional.glu(self.wide(self.norms[2](x).transpose(1, 2)), 1)
        x = x + self.narrow(functional.silu(self.batch(self.depth(y)))).transpose(1, 2)
        return self.norms[4](x + 0.5 * self.feed[1](self.norms[3](x)))


class Causal(nn.Module):
    """Linear attention with running sums (Performer, RetNet) and a decay by positions made in the graph."""

    def __init__(self, width=128, heads=4):
        super().__init__()
        self.heads = heads
        self.embed, self.qkv, self.out = nn.Embedding(500, width), nn.Linear(width, 3 * width), nn.Linear(width, 500)

    def forward(self, ids):
        x = self.embed(ids)
        b, n, c = x.shape
        q, k, v = (t.reshape(b, n, self.heads, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        q, k = functional.elu(q) + 1, functional.elu(k) + 1
        sums = torch.cumsum(k, 2)
        mask = torch.tril(torch.ones(n, n, device=x.device))
        place = torch.arange(n, device=x.device)
        decay = torch.where(place[:, None] >= place, 0.97 ** (place[:, None] - place).clamp(min=0), 0.0)
        y = ((q @ k.transpose(2, 3)) * (mask * decay)) @ v / (q * sums).sum(-1, keepdim=True)
        return self.out(x + y.transpose(1, 2).reshape(b, n, c))


class Diffusion(nn.Module):
    """A step of a diffusion U-Net: GroupNorm, SiLU, time embedding, attention over pixels, skips, nearest resize."""

    def __init__(self, width=64):
        super().__init__()
        self.first, self.last = nn.Conv2d(4, width, 3, 1, 1), nn.Conv2d(width, 4, 3, 1, 1)
        self.time = nn.Sequential(nn.Linear(width, 4 * width), nn.SiLU(), nn.Linear(4 * width, width))
        self.norms = nn.ModuleList(nn.GroupNorm(32, width) for _ in range(6))
        self.convs = nn.ModuleList(nn.Conv2d(width, width, 3, 1, 1) for _ in range(4))
        self.down, self.join = nn.Conv2d(width, width, 3, 2, 1), nn.Conv2d(2 * width, width, 1)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.width = width

    def block(self, x, i, time):
        y = self.convs[2 * i](functional.silu(self.norms[2 * i](x))) + time
        return x + self.convs[2 * i + 1](functional.silu(self.norms[2 * i + 1](y)))

    def forward(self, x, t):
        steps = torch.exp(-math.log(10000) * torch.arange(self.width // 2, device=x.device) / (self.width // 2))
        angles = t[:, None].float() * steps[None]
        time = self.time(torch.cat([torch.cos(angles), torch.sin(angles)], -1))[:, :, None, None]
        x = self.block(self.first(x), 0, time)
        y = self.down(x)
        b, c, h, w = y.shape
        q, k, v = (t.reshape(b, h * w, 4, c // 4).transpose(1, 2)
                   for t in self.qkv(self.norms[4](y).flatten(2).transpose(1, 2)).chunk(3, -1))
        z = functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, h * w, c)
        y = self.block(y + self.out(z).transpose(1, 2).reshape(b, c, h, w), 1, time)
        y = functional.interpolate(y, scale_factor=2.0, mode="nearest")
        return self.last(functional.silu(self.norms[5](self.join(torch.cat([x, y], 1)))))


NETWORKS = {
    "written/pooled_mixer": lambda: (Pooled(), (torch.randn(1, 3, 224, 224),)),
    "written/unfolded_attention": lambda: (Unfolded(), (torch.randn(1, 3, 256, 256),)),
    "written/relative_attention": lambda: (Relative(), (torch.randn(1, 3, 128, 128),)),
    "written/projected_attention": lambda: (Projected(), (torch.randn(1, 3, 128, 128),)),
    "written/spectrogram": lambda: (Spectrogram(), (torch.randn(1, 16000),)),
    "written/fourier_filter": lambda: (Fourier(), (torch.randn(1, 3, 224, 224),)),
    **{f"written/{kind}": lambda kind=kind: (Recurrent(kind), (torch.randn(1, 40, 100),))
       for kind in ("lstm", "bidirectional", "gru", "rnn")},
    "written/crnn": lambda: (Crnn(), (torch.randn(1, 1, 32, 160),)),
    "written/conformer": lambda: (Conformer(), (torch.randn(1, 80, 144), torch.randn(1, 159, 144))),
    "written/causal_linear": lambda: (Causal(), (words(500, 96),)),
    "written/diffusion_unet": lambda: (Diffusion(), (torch.randn(1, 4, 32, 32), torch.tensor([37]))),
}
