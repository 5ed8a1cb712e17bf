"""More blocks of networks for sequences, with the interface of sequence_blocks: what language models, sound and series of the last
years have and the first ones have not. newer_networks puts them together."""

import math

import torch
from picture_blocks import Call, attended
from torch import nn
from torch.nn import functional


def heads_of(x, count):
    return x.unflatten(-1, (count, -1)).transpose(1, 2)


def joined(x):
    return x.transpose(1, 2).flatten(2)


def buckets(r, d, t):
    """Biases of distances in buckets (T5), or of each distance from a table by a shift (Transformer-XL)."""
    heads, shifted = 4, r.random() < 0.5
    away = torch.arange(t)[None, :] - torch.arange(t)[:, None]
    far = 8 + (torch.log(away.abs().clamp(min=1) / 8) / math.log(16) * 8).long()
    index = torch.where(away.abs() < 8, away.abs(), far.clamp(max=15)) + (away > 0) * 16

    def forward(self, x):
        q, k, v = (heads_of(one, heads) for one in self.parts[0](x).chunk(3, -1))
        if shifted:
            y = (q @ heads_of(self.places[None], heads).transpose(-1, -2))
            n, h, rows, columns = y.shape
            bias = functional.pad(y, (1, 0)).reshape(n, h, columns + 1, rows)[:, :, 1:].reshape(y.shape)[..., :rows] / math.sqrt(d)
        else:
            bias = self.table[index].permute(2, 0, 1)[None]
        return self.parts[1](joined(attended(q, k, v, bias)))
    return Call(forward, nn.Linear(d, 3 * d), nn.Linear(d, d), table=torch.randn(32, heads), places=torch.randn(2 * t - 1, d))


def capped(r, d, t):
    """Grouped queries with norms, pairs that turn, a window, a soft cap and a sink (Gemma, gpt-oss)."""
    heads, shared, cap, sink, window = 4, r.choice([1, 2, 4]), r.random() < 0.5, r.random() < 0.5, r.choice([8, 32])
    e = d // heads
    some = e if r.random() < 0.5 else e // 2

    def turned(x):
        angles = torch.arange(x.shape[2])[:, None] / 10000 ** (torch.arange(0, some, 2)[None, :] / some)
        part, rest = x[..., :some], x[..., some:]
        a, b = part[..., ::2], part[..., 1::2]
        part = torch.stack([a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()], -1).flatten(-2)
        return torch.cat([part, rest], -1)

    def forward(self, x):
        n = x.shape[1]
        q, k, v = self.parts[0](x).split((d, shared * e, shared * e), -1)
        q, k, v = turned(heads_of(q, heads)), turned(heads_of(k, shared)), heads_of(v, shared)
        k, v = (one[:, :, None].expand(-1, -1, heads // shared, -1, -1).flatten(1, 2) for one in (k, v))
        scores = q @ k.transpose(-1, -2) / math.sqrt(e)
        if cap:
            scores = 30 * torch.tanh(scores / 30)
        away = torch.arange(n)[:, None] - torch.arange(n)[None, :]
        scores = scores.masked_fill(~((away >= 0) & (away < window)), torch.finfo(torch.float32).min)
        if sink:
            scores = torch.cat([scores, self.sinks.expand(x.shape[0], -1, n, 1)], -1)
            return self.parts[1](joined(scores.softmax(-1)[..., :-1] @ v))
        return self.parts[1](joined(scores.softmax(-1) @ v))
    return Call(forward, nn.Linear(d, d + 2 * shared * e, bias=False), nn.Linear(d, d, bias=False), sinks=torch.randn(1, heads, 1, 1))


def selective(r, d, t):
    """A selective state-space model: a step after the other over a few, or chunks by decays of sums (Mamba, Mamba 2)."""
    states, chunk, whole = 8, 16, t % 16 == 0
    heads = d // 16

    def mixed(self, x):
        y, gate = self.parts[0](x).chunk(2, -1)
        y = functional.silu(functional.pad(y.transpose(1, 2), (3, 0)).unfold(2, 4, 1).mul(self.taps[:, None]).sum(-1)).transpose(1, 2)
        step, b, c = self.parts[1](y).split((heads, states, states), -1)
        return y, gate, functional.softplus(step), b, c

    def summed(a):
        line = a.cumsum(-1)
        return (line[..., :, None] - line[..., None, :]).masked_fill(torch.ones(a.shape[-1], a.shape[-1], dtype=torch.bool).triu(1), -math.inf)

    def forward(self, x):
        y, gate, step, b, c = mixed(self, x)
        n = x.shape[0]
        value = (y.unflatten(-1, (heads, 16)) * step[..., None])
        decay = -torch.exp(self.rate) * step
        if not whole:
            total = decay.cumsum(1)
            share = torch.exp((total[:, :, None] - total[:, None]).clamp(max=0)).permute(0, 3, 1, 2).tril()
            out = torch.einsum("btn,bsn,bhts,bshp->bthp", c, b, share, value)
            return self.parts[2](out.flatten(2) * functional.silu(gate))
        value, b, c = (one.unflatten(1, (-1, chunk)) for one in (value, b, c))
        decay = decay.unflatten(1, (-1, chunk)).permute(0, 3, 1, 2)
        line = decay.cumsum(-1)
        inner = torch.einsum("bcln,bcsn,bhcls,bcshp->bclhp", c, b, torch.exp(summed(decay)), value)
        state = torch.einsum("bcln,bhcl,bclhp->bchpn", b, torch.exp(line[..., -1:] - line), value)
        state = torch.cat([torch.zeros_like(state[:, :1]), state], 1)
        across = torch.exp(summed(functional.pad(line[..., -1], (1, 0))))
        state = torch.einsum("bhzc,bchpn->bzhpn", across, state)[:, :-1]
        outer = torch.einsum("bcln,bchpn,bhcl->bclhp", c, state, torch.exp(line))
        return self.parts[2]((inner + outer).reshape(n, -1, d) * functional.silu(gate))
    return Call(forward, nn.Linear(d, 2 * d, bias=False), nn.Linear(d, heads + 2 * states), nn.Linear(d, d), taps=torch.rand(d, 4), rate=torch.rand(heads))


def delta(r, d, t):
    """A state that forgets and learns, one position after the other (DeltaNet, RWKV 7), over the last few."""
    heads, steps = 2, 12
    e = d // heads

    def forward(self, x):
        q, k, v = (heads_of(one, heads) for one in self.parts[0](x[:, -steps:]).chunk(3, -1))
        k = functional.normalize(k, dim=-1)
        beta = torch.sigmoid(self.parts[1](x[:, -steps:])).transpose(1, 2)[..., None]
        state, done = torch.zeros(x.shape[0], heads, e, e), []
        for i in range(steps):
            known = (state * k[:, :, i, :, None]).sum(-2)
            state = state * 0.95 + k[:, :, i, :, None] * ((v[:, :, i] - known) * beta[:, :, i])[:, :, None]
            done.append((state * q[:, :, i, :, None]).sum(-2))
        y = torch.stack(done, 2)
        return functional.pad(self.parts[2](joined(y)), (0, 0, x.shape[1] - steps, 0))
    return Call(forward, nn.Linear(d, 3 * d), nn.Linear(d, heads), nn.Linear(d, d))


def stacked(r, d, t):
    """Layers of LSTM or GRU one after the other, one or both ways, from a state that is learned."""
    both, layers = r.random() < 0.5, r.choice([2, 3])
    cell = r.choice([nn.LSTM, nn.GRU])
    width = d // 2 if both else d
    count = layers * (1 + both)

    def forward(self, x):
        start = self.start.expand(-1, x.shape[0], -1).contiguous()
        y, last = self.parts[0](x, (start, start.tanh()) if cell is nn.LSTM else start)
        last = last[0] if cell is nn.LSTM else last
        return y + self.parts[1](last[-1])[:, None]
    return Call(forward, cell(d, width, layers, batch_first=True, bidirectional=both), nn.Linear(width, d), start=torch.rand(count, 1, width))


def features(r, d, t):
    """Attention by random features (Performer), by projected lengths (Linformer) or by landmarks (Nystromformer)."""
    heads, kind = 4, r.choice(["random", "projected", "landmarks"])
    e = d // heads
    marks = next(m for m in (8, 7, 10, 6, 5, 11, 4, 3, 2, 1) if t % m == 0)

    def kernel(x, matrix):
        x = x / e ** 0.25
        scores = x @ matrix.T
        return torch.exp(scores - x.square().sum(-1, keepdim=True) / 2 - scores.amax((-1, -2), keepdim=True)) + 1e-4

    def forward(self, x):
        q, k, v = (heads_of(one, heads) for one in self.parts[0](x).chunk(3, -1))
        if kind == "random":
            q, k = kernel(q, self.matrix), kernel(k, self.matrix)
            scale = 1 / torch.einsum("...nd,...d->...n", q, k.sum(-2))
            return self.parts[1](joined(torch.einsum("...de,...nd,...n->...ne", k.transpose(-1, -2) @ v, q, scale)))
        if kind == "projected":
            k, v = (torch.einsum("bhtd,tk->bhkd", one, self.lengths) for one in (k, v))
            return self.parts[1](joined(attended(q, k, v)))
        short = [one.reshape(x.shape[0], heads, marks, -1, e).mean(3) for one in (q, k)]
        a, b, c = (torch.softmax(one, -1) for one in (q @ short[1].mT, short[0] @ short[1].mT, short[0] @ k.mT))
        inverse = b.mT / b.sum(-1).amax() / b.sum(-2).amax()
        one = torch.eye(marks)
        for _ in range(4):
            y = b @ inverse
            inverse = 0.25 * inverse @ (13 * one - y @ (15 * one - y @ (7 * one - y)))
        return self.parts[1](joined(a @ inverse @ (c @ v)))
    return Call(forward, nn.Linear(d, 3 * d), nn.Linear(d, d), matrix=torch.randn(2 * e, e), lengths=torch.randn(t, 16) / math.sqrt(t))


def routed(r, d, t):
    """Chosen experts alone: tokens that are gathered, weighed and added where they came from (Mixtral, DeepSeek)."""
    count, chosen, each = 4, r.choice([1, 2]), 16

    def forward(self, x):
        flat = x.reshape(-1, d)
        scores = torch.sigmoid(self.parts[0](flat)) + self.lift
        values, places = torch.topk(scores.transpose(0, 1), min(each, flat.shape[0]), -1)  # experts choose their tokens
        best = torch.topk(scores, chosen, -1).values[:, -1]
        share = values * (values >= best[places])
        tokens = flat[places]
        hidden = torch.bmm(tokens, self.first)
        a, b = hidden.chunk(2, -1)
        y = torch.bmm(functional.silu(a) * b, self.second) * share[..., None]
        return torch.zeros_like(flat).index_add(0, places.reshape(-1), y.reshape(-1, d)).reshape(x.shape)
    return Call(forward, nn.Linear(d, count), lift=torch.rand(count), first=torch.randn(count, d, 2 * d) / math.sqrt(d),
                second=torch.randn(count, d, d) / math.sqrt(d))


def odd_gates(r, d, t):
    """A gated MLP whose parts are of odd widths, one projection in and one out (parallel blocks, ReGLU, squared ReLU)."""
    m = d * 3 // 2 + r.choice([1, 5, 7])
    active = r.choice([lambda x: functional.relu(x).square(), functional.silu, lambda x: functional.gelu(x, approximate="tanh"), functional.mish,
                       lambda x: x * torch.sigmoid(1.702 * x), lambda x: torch.clamp(x, max=7.0) * torch.sigmoid(1.7 * x)])

    def forward(self, x):
        gate, up, skip = self.parts[0](x).split((m, m, d), -1)
        return self.parts[1](active(gate) * (up + 1)) + skip * torch.sigmoid(self.share)
    return Call(forward, nn.Linear(d, 2 * m + d), nn.Linear(m, d), share=torch.randn(d))


def residual_codes(r, d, t):
    """Books of codes one after the other, each of what the one before left (EnCodec), or rounded levels (FSQ)."""
    books, rounded = 3, r.random() < 0.4

    def forward(self, x):
        y = self.parts[0](x)
        if rounded:
            return self.parts[1](torch.round(torch.tanh(y) * 3.5 - 0.5) / 4)
        total = 0
        for book in self.books.unbind(0):
            away = torch.cdist(y, book[None].expand(y.shape[0], -1, -1)) if rounded else \
                y.square().sum(-1, keepdim=True) - 2 * y @ book.T + book.square().sum(-1)[None, None]
            got = functional.embedding((-away).max(-1).indices, book)
            total, y = total + got, y - got
        return self.parts[1](total)
    return Call(forward, nn.Linear(d, 16), nn.Linear(16, d), books=torch.randn(books, r.choice([64, 256]), 16))


def decomposed(r, d, t):
    """A series as its trend and the rest, and the best lags by a spectrum (Autoformer)."""
    k = r.choice([5, 13, 25])

    def forward(self, x):
        line = torch.cat([x[:, :1].expand(-1, k // 2, -1), x, x[:, -1:].expand(-1, k // 2, -1)], 1)
        trend = functional.avg_pool1d(line.transpose(1, 2), k, 1).transpose(1, 2)
        rest = x - trend
        n = x.shape[1]
        spectrum = torch.fft.rfft(rest, dim=1)
        same = torch.fft.irfft(spectrum * torch.conj(spectrum), n, dim=1).mean(-1)
        share, lags = torch.topk(same, 3, -1)
        at = (torch.arange(n)[None, :, None] + lags[:, None]) % n
        moved = torch.gather(rest, 1, at.reshape(x.shape[0], -1)[..., None].expand(-1, -1, d)).unflatten(1, (n, 3))
        return self.parts[0]((moved * torch.softmax(share, -1)[:, None, :, None]).sum(2)) + self.parts[1](trend)
    return Call(forward, nn.Linear(d, d), nn.Linear(d, d))


def patched(r, d, t):
    """Patches of each channel's series, normed by their own mean and deviation (RevIN, PatchTST)."""
    size, step = 8, 4
    count = (t - size) // step + 1

    def forward(self, x):
        mean, scale = x.mean(1, keepdim=True), torch.sqrt(x.var(1, keepdim=True, unbiased=False) + 1e-5)
        y = ((x - mean) / scale).transpose(1, 2).unfold(-1, size, step)
        y = self.parts[1](functional.gelu(self.parts[0](y)).flatten(2)).transpose(1, 2)
        return y * scale + mean
    return Call(forward, nn.Linear(size, 16), nn.Linear(16 * count, t))


def padded(r, d, t):
    """Attention that a mask of lengths hides, with -inf or a large number, and means of what is left (BERT-like poolers)."""
    heads, large = 4, r.random() < 0.5

    def forward(self, x):
        kept = (x.square().mean(-1) < 4.0) | (torch.arange(x.shape[1]) < 4)
        q, k, v = (heads_of(layer(x), heads) for layer in self.parts[:3])
        mask = kept[:, None, None, :]
        bias = (1.0 - mask.float()) * torch.finfo(torch.float32).min if large else torch.zeros_like(mask, dtype=x.dtype).masked_fill(~mask, -1e4)
        y = joined(functional.scaled_dot_product_attention(q, k, v, attn_mask=bias))
        mean = (y * kept[..., None]).sum(1, keepdim=True) / kept.sum(1, keepdim=True)[..., None].clamp(min=1)
        return self.parts[3](torch.cat([y, mean.expand_as(y)], -1))
    return Call(forward, nn.Linear(d, d), nn.Linear(d, d, bias=False), nn.Linear(d, d), nn.Linear(2 * d, d))


def waves(r, d, t):
    """Places as sines of a learned rate (Time2Vec, SIREN) and snake's activation (vocoders)."""
    def forward(self, x):
        at = torch.arange(x.shape[1]).float()[:, None] / x.shape[1]
        y = self.parts[0](torch.cat([x + torch.sin(at * self.rate + self.phase), torch.cos(at * self.rate).expand_as(x)], -1))
        y = y + torch.sin(y * torch.exp(self.alpha)).square() / (torch.exp(self.alpha) + 1e-9)
        return self.parts[1](functional.pad(y.transpose(1, 2), (2, 2), mode="reflect")).transpose(1, 2)
    return Call(forward, nn.Linear(2 * d, d), nn.Conv1d(d, d, 5), rate=torch.rand(d) * 30, phase=torch.rand(d), alpha=torch.randn(d) * 0.1)


BLOCKS = {f.__name__: f for f in [
    buckets, capped, selective, delta, stacked, features, routed, odd_gates, residual_codes, decomposed, patched, padded, waves]}
