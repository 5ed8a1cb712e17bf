"""Networks that nobody has seen, of the newer blocks and the first ones: made(seed) as in random_networks; name them newer/SEED."""

import math
import random

import newer_picture_blocks
import newer_sequence_blocks
import picture_blocks
import random_networks
import sequence_blocks
import torch
import torchvision
from newer_picture_blocks import groups_of
from picture_blocks import Call, act, attended, conv
from tensors import Tensors, words
from torch import nn
from torch.nn import functional


def pictures(r, c, count):
    """Blocks of which two of three are new."""
    table = {**newer_picture_blocks.BLOCKS} if r.random() < 0.67 else {**picture_blocks.BLOCKS}
    return nn.Sequential(*[r.choice(list(table.values()))(r, c) for _ in range(count)])


def sequences(r, d, t, count):
    layers = []
    for _ in range(count):
        table = newer_sequence_blocks.BLOCKS if r.random() < 0.7 else sequence_blocks.BLOCKS
        inner = r.choice(list(table.values()))(r, d, t)
        norm = sequence_blocks.norm(r, d)
        layers.append(picture_blocks.residual(nn.Sequential(norm, inner)))
    return nn.Sequential(*layers)


def body(r, stages):
    channels = [r.choice([32, 48, 64, 96])]
    layers = [nn.Sequential(random_networks.stem(r, channels[0]), pictures(r, channels[0], 1))]
    for _ in range(stages - 1):
        channels.append(channels[-1] + 16 * r.choice([1, 2, 4, 6]))
        layers.append(nn.Sequential(random_networks.smaller(r, *channels[-2:]), pictures(r, channels[-1], r.choice([1, 2]))))
    return channels, layers


def classifier(r):
    channels, layers = body(r, r.choice([2, 3]))
    s = random_networks.side(r, 224)
    head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels[-1], 1000))
    return nn.Sequential(*layers, head), (torch.randn(r.choice([1, 1, 2]), 3, s, s),)


def diffusion(r):
    """A step of a latent diffusion U-Net: time by sines, attention to a text, skips."""
    c, d, heads = r.choice([32, 64]), 48, 4

    def cross(x, text, part):
        n, c, h, w = x.shape
        y = functional.layer_norm(x.flatten(2).transpose(1, 2), (c,))
        q, (k, v) = part[0](y), part[1](text).chunk(2, -1)
        q, k, v = (one.unflatten(-1, (heads, -1)).transpose(1, 2) for one in (q, k, v))
        y = functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        return x + part[2](y).transpose(1, 2).reshape(x.shape)

    def block(x, time, part):
        y = part[1](functional.silu(part[0](x))) + part[2](functional.silu(time))[:, :, None, None]
        return part[5](x) + part[4](functional.silu(part[3](y)))

    def forward(self, x, t, text):
        rates = torch.exp(-math.log(10000) * torch.arange(32) / 32)
        angles = t[:, None].float() * rates[None]
        time = self.parts[0](torch.cat([angles.cos(), angles.sin()], -1))
        a = block(self.parts[1](x), time, self.parts[2])
        b = cross(block(self.parts[3](a), time, self.parts[4]), text, self.parts[5])
        y = cross(block(b, time, self.parts[6]), text, self.parts[5])
        y = block(torch.cat([y, b], 1), time, self.parts[7])
        y = self.parts[8](functional.interpolate(y, scale_factor=2.0, mode="nearest"))
        y = block(torch.cat([y, a], 1), time, self.parts[9])
        return self.parts[10](functional.silu(functional.group_norm(y, groups_of(c))))

    def unit(a, b):
        return nn.ModuleList([nn.GroupNorm(groups_of(a), a), nn.Conv2d(a, b, 3, 1, 1), nn.Linear(128, b), nn.GroupNorm(groups_of(b), b),
                              nn.Conv2d(b, b, 3, 1, 1), nn.Conv2d(a, b, 1)])
    e = 2 * c
    text = nn.ModuleList([nn.Linear(e, e, bias=False), nn.Linear(d, 2 * e, bias=False), nn.Linear(e, e)])
    network = Call(forward, nn.Sequential(nn.Linear(64, 128), nn.SiLU(), nn.Linear(128, 128)), nn.Conv2d(4, c, 3, 1, 1), unit(c, c),
                   nn.Conv2d(c, c, 3, 2, 1), unit(c, e), text, unit(e, e), unit(2 * e, c), nn.Conv2d(c, c, 3, 1, 1), unit(2 * c, c),
                   nn.Conv2d(c, 4, 3, 1, 1))
    network.forward = lambda x, t, words: forward(network, x, t, words)
    s = r.choice([32, 48, 64])
    return Tensors(network), (torch.randn(1, 4, s, s), torch.tensor([17]), torch.randn(1, r.choice([16, 77]), d))


def anchors(maps, strides):
    places = []
    for level, stride in zip(maps, strides):
        h, w = level.shape[2:]
        y, x = torch.meshgrid(torch.arange(h) + 0.5, torch.arange(w) + 0.5, indexing="ij")
        places.append((torch.stack([x, y], -1).reshape(-1, 2), torch.full((h * w, 1), float(stride))))
    return torch.cat([p for p, _ in places]).T, torch.cat([s for _, s in places]).T


def yolo(r):
    """Distances as sums over bins, boxes of all levels, the best without those that overlap (Ultralytics)."""
    channels, layers = body(r, 3)
    classes, bins, suppressed = r.choice([3, 20, 80]), 16, r.random() < 0.5
    joins = [conv(r, channels[2] + channels[1], channels[1], 1), conv(r, channels[1], channels[1], 3, 2), conv(r, channels[1] + channels[2], channels[2], 1)]
    heads = [nn.Sequential(conv(r, c, 64, 3), nn.Conv2d(64, 4 * bins + classes, 1)) for c in channels[1:]]

    def forward(self, x):
        kept = []
        for layer in self.parts[:3]:
            x = layer(x)
            kept.append(x)
        top = functional.interpolate(kept[2], kept[1].shape[2:], mode="nearest")
        high = self.parts[3](torch.cat([top, kept[1]], 1))
        low = self.parts[4](high)
        low = functional.interpolate(low, kept[2].shape[2:], mode="nearest") if low.shape[2:] != kept[2].shape[2:] else low
        maps = [self.parts[6](high), self.parts[7](self.parts[5](torch.cat([low, kept[2]], 1)))]
        places, strides = anchors(maps, [8, 16])
        flat = torch.cat([level.flatten(2) for level in maps], 2)
        box, scores = flat.split((4 * bins, classes), 1)
        share = box.reshape(-1, 4, bins, box.shape[2]).transpose(1, 2).softmax(1)
        away = functional.conv2d(share, torch.arange(bins).float().reshape(1, bins, 1, 1)).reshape(-1, 4, box.shape[2])
        a, b = away.chunk(2, 1)
        corners = torch.cat([places[None] - a, places[None] + b], 1) * strides
        scores = scores.sigmoid()
        if not suppressed:
            return torch.cat([(corners[:, :2] + corners[:, 2:]) / 2, corners[:, 2:] - corners[:, :2], scores], 1)
        best = scores[0].amax(0)
        index = torch.topk(best, min(60, best.shape[0])).indices
        boxes, best = corners[0].T[index], best[index]
        chosen = torchvision.ops.nms(boxes, best, 0.6)
        return boxes[chosen], best[chosen]
    s = r.choice([96, 128, 160, 192])
    return Call(forward, *layers, *joins, *heads), (torch.randn(1, 3, s, s),)


def sines(h, w, d):
    y, x = torch.meshgrid(torch.arange(1, h + 1).float(), torch.arange(1, w + 1).float(), indexing="ij")
    rates = 10000 ** (2 * (torch.arange(d // 2) // 2) / (d // 2))
    parts = []
    for at, most in ((y, h), (x, w)):
        angles = (at / (most + 1e-6) * 2 * math.pi)[..., None] / rates
        parts.append(torch.stack([angles[..., 0::2].sin(), angles[..., 1::2].cos()], -1).flatten(-2))
    return torch.cat(parts, -1).flatten(0, 1)


def queries(r):
    """Learned queries beside a picture: self-attention, attention by samples or over all, boxes from references (DETR)."""
    channels, layers = body(r, 3)
    d, heads, count, deformable = 64, 4, r.choice([20, 50]), r.random() < 0.5
    parts = [nn.Conv2d(channels[-1], d, 1), nn.MultiheadAttention(d, heads, batch_first=True), nn.MultiheadAttention(d, heads, batch_first=True),
             nn.Linear(d, 2 * heads * 4), nn.Linear(d, heads * 4), nn.Linear(d, d), nn.Sequential(nn.Linear(d, 2 * d), nn.ReLU(), nn.Linear(2 * d, d)),
             nn.Linear(d, 21), nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, 4))]

    def sampled(self, query, refs, memory, h, w):
        n = memory.shape[0]
        values = self.parts[8](memory).reshape(n, h * w, heads, d // heads).permute(0, 2, 3, 1).reshape(n * heads, d // heads, h, w)
        offsets = self.parts[6](query).reshape(n, count, heads, 4, 2)
        share = self.parts[7](query).reshape(n, count, heads, 4).softmax(-1)
        at = 2 * (refs[:, :, None, None] + offsets / torch.tensor([w, h])) - 1
        got = functional.grid_sample(values, at.transpose(1, 2).flatten(0, 1), mode="bilinear", padding_mode="zeros", align_corners=False)
        got = (got * share.transpose(1, 2).reshape(n * heads, 1, count, 4)).sum(-1)
        return got.reshape(n, d, count).transpose(1, 2)

    def forward(self, x):
        for layer in self.parts[:3]:
            x = layer(x)
        y = self.parts[3](x)
        n, _, h, w = y.shape
        memory, places = y.flatten(2).transpose(1, 2), sines(h, w, d)
        query, target = self.queries.expand(n, -1, -1), torch.zeros(n, count, d)
        refs = torch.sigmoid(self.refs).expand(n, -1, -1)
        for _ in range(2):
            q = target + query
            target = functional.layer_norm(target + self.parts[4](q, q, target, need_weights=False)[0], (d,))
            got = sampled(self, target + query, refs, memory, h, w) if deformable else \
                self.parts[5](target + query, memory + places, memory, need_weights=False)[0]
            target = functional.layer_norm(target + got, (d,))
            target = functional.layer_norm(target + self.parts[9](target), (d,))
            boxes = self.parts[11](target)
            inverse = torch.log(refs.clamp(min=1e-5) / (1 - refs).clamp(min=1e-5))
            boxes = torch.cat([boxes[..., :2] + inverse, boxes[..., 2:]], -1).sigmoid()
            refs = boxes[..., :2]
        return self.parts[10](target), boxes
    s = r.choice([96, 128, 192])
    network = Call(forward, *layers, *parts, queries=torch.randn(1, count, d), refs=torch.randn(1, count, 2))
    return network, (torch.randn(1, 3, s, s),)


def matching(r):
    """Two pictures: all pairs or shifted products of their features, samples where a field points (RAFT, PWC-Net, stereo)."""
    c, stereo = r.choice([32, 48]), r.random() < 0.5
    encoder = nn.Sequential(nn.Conv2d(3, c, 7, 4, 3), nn.InstanceNorm2d(c), nn.ReLU(), pictures(r, c, 1))

    def forward(self, a, b):
        x, y = self.parts[0](a), self.parts[0](b)
        n, c, h, w = x.shape
        if stereo:
            cost = torch.stack([functional.pad((x[..., i:] * y[..., :w - i]).mean(1), (i, 0)) for i in range(12)], 1)
            share = torch.softmax(self.parts[1](cost), 1)
            return functional.interpolate((share * torch.arange(12.0)[:, None, None]).sum(1, True), scale_factor=4, mode="bilinear")
        flow = self.parts[2](torch.cat([x, y], 1))
        for _ in range(2):
            v, u = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
            grid = torch.stack([(u + flow[:, 0]) * 2 / (w - 1) - 1, (v + flow[:, 1]) * 2 / (h - 1) - 1], -1)
            moved = functional.grid_sample(y, grid, align_corners=True)
            near = functional.unfold(moved, 5, padding=2).reshape(n, c, 25, h, w)
            cost = functional.leaky_relu((near * x[:, :, None]).mean(1), 0.1)
            flow = flow + self.parts[3](torch.cat([cost, x, flow], 1))
        return functional.interpolate(flow, scale_factor=4, mode="bilinear", align_corners=True) * 4
    network = Call(forward, encoder, nn.Sequential(conv(r, 12, 24), nn.Conv2d(24, 12, 3, 1, 1)), nn.Conv2d(2 * c, 2, 3, 1, 1),
                   nn.Sequential(conv(r, c + 27, 64), nn.Conv2d(64, 2, 3, 1, 1)))
    network.forward = lambda a, b: forward(network, a, b)
    s = r.choice([64, 96, 128])
    return Tensors(network), (torch.randn(1, 3, s, s), torch.randn(1, 3, s, s))


def keypoints(r):
    """Maps of heat and where each is on average; regions aligned to boxes in some."""
    channels, layers = body(r, 2)
    count, regions = 17, r.random() < 0.4

    def forward(self, x, boxes):
        for layer in self.parts[:2]:
            x = layer(x)
        if regions:
            got = torchvision.ops.roi_align(x, [boxes], (7, 7), 0.25, 2, True)
            return self.parts[3](got.flatten(1))
        heat = self.parts[2](x)
        share = heat.flatten(2).softmax(-1).reshape(heat.shape)
        u = (share.sum(2) * torch.linspace(0, 1, heat.shape[3])).sum(-1)
        v = (share.sum(3) * torch.linspace(0, 1, heat.shape[2])).sum(-1)
        return torch.stack([u, v], -1) + boxes.mean() * 0, heat.flatten(2).amax(-1)
    network = Call(forward, *layers, nn.Sequential(nn.ConvTranspose2d(channels[-1], 64, 4, 2, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
                                                   nn.Conv2d(64, count, 1)), nn.Linear(49 * channels[-1], 64))
    network.forward = lambda x, boxes: forward(network, x, boxes)
    s = r.choice([96, 128, 192])
    corner = torch.rand(8, 2) * s / 2
    return Tensors(network), (torch.randn(1, 3, s, s), torch.cat([corner, corner + 8 + torch.rand(8, 2) * s / 3], 1))


def spectrogram(r):
    """A waveform by windows and transforms to a spectrum of mels, then pictures' or sequences' layers."""
    size, d, mels = r.choice([256, 400, 512]), r.choice([64, 96]), r.choice([40, 64, 80])
    frames = r.choice([60, 100])
    layers, planes = sequences(r, d, frames + 1, 3), pictures(r, 32, 2)
    flat = r.random() < 0.6

    def forward(self, x):
        wave = torch.stft(x, size, size // 2, window=torch.hann_window(size), return_complex=True, pad_mode="reflect")
        power = torch.view_as_real(wave).square().sum(-1)
        y = torch.log10(torch.clamp(self.bank @ power, min=1e-10))
        y = (torch.maximum(y, y.amax((1, 2), keepdim=True) - 8.0) + 4.0) / 4.0
        if flat:
            return self.parts[1](self.parts[0](functional.gelu(self.parts[2](y)).transpose(1, 2))).log_softmax(-1)
        return self.parts[4](self.parts[3](y[:, None]).mean((2, 3)))
    network = Call(forward, layers, nn.Linear(d, 29), nn.Conv1d(mels, d, 3, 1, 1), nn.Sequential(nn.Conv2d(1, 32, 3, 2, 1), planes), nn.Linear(32, 50),
                   bank=torch.rand(mels, size // 2 + 1) / size)
    return network, (torch.randn(1, frames * (size // 2)),)


def text(r):
    d, t, known = r.choice([64, 128, 192, 256, 384]), r.choice([16, 32, 48, 77, 128, 160]), r.choice([1000, 8000])
    layers, pooled = sequences(r, d, t, r.choice([3, 4, 6])), r.random() < 0.5

    def forward(self, x):
        y = self.parts[1](self.parts[0](x) * d ** 0.5)
        return torch.tanh(self.parts[2](y[:, 0])) if pooled else y @ self.parts[0].weight.T
    return Call(forward, nn.Embedding(known, d), layers, nn.Linear(d, d)), (words(known, t, r.choice([1, 1, 2, 4])),)


def pair(r):
    """An encoder and a decoder with attention from the one to the other."""
    d, t, u, heads = r.choice([64, 128]), r.choice([24, 48, 80]), r.choice([8, 16]), 4
    before, after = sequences(r, d, t, 2), sequences(r, d, u, 2)

    def forward(self, source, target):
        memory = self.parts[1](self.parts[0](source))
        y = self.parts[2](self.parts[0](target))
        q, (k, v) = self.parts[3](y), self.parts[4](memory).chunk(2, -1)
        q, k, v = (one.unflatten(-1, (heads, -1)).transpose(1, 2) for one in (q, k, v))
        y = functional.layer_norm(y + attended(q, k, v).transpose(1, 2).flatten(2), (d,))
        return (y @ self.parts[0].weight.T).log_softmax(-1).topk(5).values
    network = Call(forward, nn.Embedding(2000, d), before, after, nn.Linear(d, d), nn.Linear(d, 2 * d))
    network.forward = lambda a, b: forward(network, a, b)
    return Tensors(network), (words(2000, t, 1), words(2000, u, 1))


def patches(r):
    """Tokens of a picture with one that reads all, two of three blocks new."""
    c, s = r.choice([64, 96, 192]), r.choice([96, 128, 160, 224])
    t = (s // 16) ** 2 + 1
    layers = sequences(r, c, t, r.choice([3, 4]))

    def forward(self, x):
        x = self.parts[0](x).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(x.shape[0], -1, -1), x], 1) + self.places
        return self.parts[2](self.parts[1](x)[:, 0])
    return Call(forward, nn.Conv2d(3, c, 16, 16), layers, nn.Linear(c, 100), first=torch.randn(1, 1, c), places=torch.randn(1, t, c)), \
        (torch.randn(r.choice([1, 1, 2]), 3, s, s),)


def segmenter(r):
    """Features of several depths brought to one width and size, joined (SegFormer, FPN, LR-ASPP, PSP)."""
    channels, layers = body(r, 3)
    d, parts = r.choice([48, 64]), r.choice([2, 3])
    count = 3 if r.random() < 0.5 else 6

    def forward(self, x):
        size, kept = x.shape[2:], []
        for layer in self.parts[:3]:
            x = layer(x)
            kept.append(x)
        at = kept[0].shape[2:]
        y = [functional.interpolate(self.parts[3 + i](one), at, mode="bilinear", align_corners=False) for i, one in enumerate(kept)]
        y.append(functional.interpolate(self.parts[6](functional.adaptive_avg_pool2d(kept[2], parts)), at, mode="bilinear"))
        y = self.parts[7](torch.cat(y, 1))
        y = functional.interpolate(self.parts[8](y), size, mode="bilinear", align_corners=False)
        return y.softmax(1) if count == 3 else y.argmax(1)
    sides = [nn.Conv2d(c, d, 1) for c in channels]
    s = r.choice([96, 128, 160, 192])
    return Call(forward, *layers, *sides, nn.Sequential(nn.Conv2d(channels[-1], d, 1), act(r)), conv(r, 4 * d, d, 1),
                nn.Conv2d(d, count, 1)), (torch.randn(1, 3, s, s),)


FAMILIES = [classifier, classifier, classifier, diffusion, yolo, queries, matching, keypoints, spectrogram, text, text, text, pair, patches, segmenter]


def made(seed):
    """The network and its inputs. The caller seeds torch."""
    r = random.Random(int(seed))
    return r.choice(FAMILIES)(r)
