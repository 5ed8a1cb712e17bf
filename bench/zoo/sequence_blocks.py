"""Blocks of networks for sequences: by name a function of a random generator, a width D (a multiple of 32) and a length T that gives
a module of [B, T, D] in and out. random_networks puts them together."""

import math

import torch
from picture_blocks import Call, act, attended, residual
from torch import nn
from torch.nn import functional


class Rms(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(d) + 0.5)

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


def norm(r, d):
    return r.choice([nn.LayerNorm, nn.LayerNorm, Rms, nn.RMSNorm])(d)


def rotated(x):
    """Rotary positions over [B, H, T, D], by halves."""
    t, d = x.shape[-2:]
    angles = torch.arange(t)[:, None] / 10000 ** (torch.arange(0, d, 2)[None, :] / d)
    angles = torch.cat([angles, angles], -1)
    a, b = x.chunk(2, -1)
    return x * angles.cos() + torch.cat([-b, a], -1) * angles.sin()


def attention(r, d, t):
    heads = r.choice([2, 4, 8])
    shared = r.choice([heads, heads, heads // 2, 1])
    causal, rotary, own_norm, fused = (r.random() < 0.5 for _ in range(4))
    slopes = r.random() < 0.3
    e = d // heads

    def forward(self, x):
        q = self.parts[0](x).unflatten(-1, (heads, e)).transpose(1, 2)
        k, v = (self.parts[i](x).unflatten(-1, (shared, e)).transpose(1, 2) for i in (1, 2))
        if own_norm:
            q, k = self.parts[4](q), self.parts[4](k)
        if rotary:
            q, k = rotated(q), rotated(k)
        if shared != heads:
            k, v = (one.repeat_interleave(heads // shared, 1) for one in (k, v))
        n = x.shape[1]
        if fused and not slopes:
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        else:
            bias = torch.zeros(n, n)
            if slopes:
                away = torch.arange(n)[None, :] - torch.arange(n)[:, None]
                bias = -away.abs() * 2.0 ** -torch.arange(1, heads + 1)[:, None, None]
            if causal:
                bias = bias.masked_fill(torch.ones(n, n, dtype=torch.bool).triu(1), -math.inf)
            y = attended(q, k, v, bias)
        return self.parts[3](y.transpose(1, 2).flatten(2))
    return Call(forward, nn.Linear(d, d, bias=r.random() < 0.5), nn.Linear(d, shared * e), nn.Linear(d, shared * e), nn.Linear(d, d), Rms(e))


def linear_attention(r, d, t):
    heads = r.choice([2, 4])
    causal = r.random() < 0.4

    def forward(self, x):
        q, k, v = self.parts[0](x).unflatten(-1, (3, heads, d // heads)).permute(2, 0, 3, 1, 4)
        q, k = functional.elu(q) + 1, functional.elu(k) + 1
        if causal:
            y = ((q @ k.transpose(-1, -2)).tril() @ v) / ((q * k.cumsum(-2)).sum(-1, keepdim=True) + 1e-6)
        else:
            y = (q @ (k.transpose(-1, -2) @ v)) / ((q * k.sum(-2, keepdim=True)).sum(-1, keepdim=True) + 1e-6)
        return self.parts[1](y.transpose(1, 2).flatten(2))
    return Call(forward, nn.Linear(d, 3 * d), nn.Linear(d, d))


def retention(r, d, t):
    heads = 4

    def forward(self, x):
        q, k, v = self.parts[0](x).unflatten(-1, (3, heads, d // heads)).permute(2, 0, 3, 1, 4)
        away = torch.arange(x.shape[1])[:, None] - torch.arange(x.shape[1])[None, :]
        decay = torch.where(away >= 0, (1 - 2.0 ** -(5 + torch.arange(heads)))[:, None, None] ** away.clamp(min=0), 0.0)
        y = (q @ k.transpose(-1, -2) / math.sqrt(d // heads) * decay) @ v
        return self.parts[1](self.parts[2](y.transpose(1, 2)).flatten(2) * functional.silu(self.parts[3](x)))
    return Call(forward, nn.Linear(d, 3 * d), nn.Linear(d, d), nn.LayerNorm(d // heads), nn.Linear(d, d))


def local_attention(r, d, t):
    """Each position beside its neighbours, by an unfolded sequence."""
    reach, heads = r.choice([4, 8]), 4

    def forward(self, x):
        q, k, v = self.parts[0](x).chunk(3, -1)
        k, v = (functional.pad(one, (0, 0, reach, reach)).unfold(1, 2 * reach + 1, 1).unflatten(2, (heads, d // heads)) for one in (k, v))
        q = q.unflatten(-1, (heads, d // heads))
        scores = torch.softmax(torch.einsum("bthd,bthdk->bthk", q, k) / math.sqrt(d // heads), -1)
        return self.parts[1](torch.einsum("bthk,bthdk->bthd", scores, v).flatten(2))
    return Call(forward, nn.Linear(d, 3 * d), nn.Linear(d, d))


def latents(r, d, t):
    """Learned queries read the sequence, the sequence reads them (Perceiver, Set Transformer, object queries)."""
    def forward(self, x):
        k, v = self.parts[0](x).chunk(2, -1)
        middle = attended(self.queries, k, v)
        k, v = self.parts[1](middle).chunk(2, -1)
        return attended(self.parts[2](x), k, v)
    return Call(forward, nn.Linear(d, 2 * d), nn.Linear(d, 2 * d), nn.Linear(d, d), queries=torch.randn(1, r.choice([8, 16, 32]), d))


def mlp(r, d, t):
    return nn.Sequential(nn.Linear(d, 4 * d), act(r), nn.Linear(4 * d, d))


def glu(r, d, t):
    active = r.choice([functional.silu, functional.gelu, torch.sigmoid, torch.relu, torch.tanh])
    packed = r.random() < 0.5
    m = r.choice([2, 3]) * d

    def forward(self, x):
        a, b = self.parts[0](x).chunk(2, -1) if packed else (self.parts[1](x), self.parts[2](x))
        return self.parts[3](active(a) * b)
    return Call(forward, nn.Linear(d, 2 * m), nn.Linear(d, m), nn.Linear(d, m), nn.Linear(m, d))


def experts(r, d, t):
    """All experts, those that a token does not choose by 0 (what exporters make of a mixture of experts)."""
    count, chosen = 4, 2

    def forward(self, x):
        values, indices = torch.topk(torch.softmax(self.parts[0](x), -1), chosen, -1)
        share = torch.zeros(*x.shape[:2], count).scatter(-1, indices, values / values.sum(-1, keepdim=True))
        hidden = functional.silu(torch.einsum("btd,edh->ebth", x, self.first))
        return torch.einsum("ebth,ehd,bte->btd", hidden, self.second, share)
    return Call(forward, nn.Linear(d, count), first=torch.randn(count, d, d) / math.sqrt(d), second=torch.randn(count, d, d) / math.sqrt(d))


def convolved(r, d, t):
    k = r.choice([3, 7, 15, 31])

    def forward(self, x):
        y = functional.glu(self.parts[0](x), -1).transpose(1, 2)
        return self.parts[3](functional.silu(self.parts[2](self.parts[1](y))).transpose(1, 2))
    return Call(forward, nn.Linear(d, 2 * d), nn.Conv1d(d, d, k, 1, k // 2, groups=d), nn.BatchNorm1d(d), nn.Linear(d, d))


def dilated(r, d, t):
    rate, k = r.choice([1, 2, 4, 8]), 3

    def forward(self, x):
        y = functional.pad(x.transpose(1, 2), (rate * (k - 1), 0))
        a, b = self.parts[0](y).chunk(2, 1)
        return self.parts[1](torch.tanh(a) * torch.sigmoid(b)).transpose(1, 2)
    return Call(forward, nn.Conv1d(d, 2 * d, k, dilation=rate), nn.Conv1d(d, d, 1))


def recurrent(r, d, t):
    kind = r.choice([nn.LSTM, nn.GRU, nn.LSTM, nn.RNN])
    both = r.random() < 0.4
    return Call(lambda self, x: self.parts[0](x)[0], kind(d, d // 2 if both else d, batch_first=True, bidirectional=both))


def scanned(r, d, t):
    """A gated sum over time in logarithms (minGRU, HGRN)."""
    def forward(self, x):
        gate, value = self.parts[0](x).chunk(2, -1)
        log = functional.logsigmoid(gate).cumsum(1)
        return self.parts[1](torch.exp(log - log.amax(1, True)) * (torch.tanh(value)).cumsum(1) / x.shape[1])
    return Call(forward, nn.Linear(d, 2 * d), nn.Linear(d, d))


def states(r, d, t):
    """A diagonal state-space model as a long convolution by FFT (S4D, Hyena)."""
    def forward(self, x):
        n = x.shape[1]
        kernel = torch.exp(-torch.arange(n)[:, None] * functional.softplus(self.decay)) * self.scale
        y = torch.fft.irfft(torch.fft.rfft(x, 2 * n, dim=1) * torch.fft.rfft(kernel, 2 * n, dim=0), 2 * n, dim=1)[:, :n]
        return self.parts[0](functional.gelu(y))
    return Call(forward, nn.Linear(d, d), decay=torch.rand(d), scale=torch.rand(d))


def spatial_gate(r, d, t):
    def forward(self, x):
        a, b = functional.gelu(self.parts[0](x)).chunk(2, -1)
        return self.parts[2](a * (self.mix @ self.parts[1](b)))
    return Call(forward, nn.Linear(d, 2 * d), nn.LayerNorm(d), nn.Linear(d, d), mix=torch.randn(t, t) / math.sqrt(t))


def token_shift(r, d, t):
    def forward(self, x):
        before = functional.pad(x, (0, 0, 1, -1))
        k = torch.square(torch.relu(self.parts[0](x * self.share + before * (1 - self.share))))
        return torch.sigmoid(self.parts[1](x)) * self.parts[2](k)
    return Call(forward, nn.Linear(d, 2 * d), nn.Linear(d, d), nn.Linear(2 * d, d), share=torch.rand(d))


def memory(r, d, t):
    """The nearest of many learned keys (product keys, memory layers)."""
    def forward(self, x):
        scores, indices = torch.topk(x @ self.keys, 4, -1)
        return (torch.softmax(scores, -1)[..., None] * self.values[indices]).sum(-2)
    return Call(forward, keys=torch.randn(d, 256) / math.sqrt(d), values=torch.randn(256, d))


def codes(r, d, t):
    """The nearest code of a book (vector quantisation)."""
    def forward(self, x):
        away = x.pow(2).sum(-1, keepdim=True) - 2 * x @ self.book.T + self.book.pow(2).sum(-1)
        return self.book[away.argmin(-1)]
    return Call(forward, book=torch.randn(r.choice([128, 512]), d))


def modulated(r, d, t):
    def forward(self, x):
        shift, scale = self.parts[0](functional.silu(x.mean(1))).chunk(2, -1)
        return self.parts[1](functional.layer_norm(x, x.shape[-1:]) * (1 + scale[:, None]) + shift[:, None])
    return Call(forward, nn.Linear(d, 2 * d), nn.Linear(d, d))


def splines(r, d, t):
    """Radial bases of each channel (Kolmogorov-Arnold networks)."""
    def forward(self, x):
        bases = torch.exp(-((x[..., None] - torch.linspace(-2, 2, 5)) * 1.25) ** 2)
        return self.parts[0](bases.flatten(2)) + functional.silu(x)
    return Call(forward, nn.Linear(5 * d, d))


BLOCKS = {f.__name__: f for f in [
    attention, attention, linear_attention, retention, local_attention, latents, mlp, glu, experts, convolved, dilated, recurrent, scanned,
    states, spatial_gate, token_shift, memory, codes, modulated, splines]}


def block(r, d, t, kind):
    """A block with a norm before or behind it."""
    inner = BLOCKS[kind](r, d, t)
    return residual(nn.Sequential(norm(r, d), inner)) if r.random() < 0.7 else nn.Sequential(residual(inner), norm(r, d))
