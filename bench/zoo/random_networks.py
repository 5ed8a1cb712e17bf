"""Networks that nobody has seen: made(seed) puts random blocks of pictures, sequences, volumes, graphs and tables together. The
same seed makes the same network; name them random/SEED."""

import math
import random

import picture_blocks
import sequence_blocks
import torch
from picture_blocks import Call, act, conv
from tensors import Tensors, words
from torch import nn
from torch.nn import functional


def width(r, most=256):
    return min(most, r.choice([32, 48, 64, 96, 128, 160, 192, 256]))


def side(r, most=256):
    return r.choice([s for s in (48, 64, 72, 96, 112, 128, 160, 192, 224, 256) if s <= most])


def stem(r, to):
    """A picture to an eighth, a quarter or half of its sides."""
    kind = r.choice(["patches", "seven", "deep", "unshuffled"])
    if kind == "patches":
        k = r.choice([4, 8])
        return nn.Conv2d(3, to, k, k)
    if kind == "seven":
        return nn.Sequential(conv(r, 3, to, 7, 2), r.choice([nn.MaxPool2d(3, 2, 1), nn.AvgPool2d(2), nn.Identity()]))
    if kind == "deep":
        return nn.Sequential(conv(r, 3, to // 2, 3, 2), conv(r, to // 2, to // 2, 3), conv(r, to // 2, to, 3, 2))
    return nn.Sequential(nn.PixelUnshuffle(4), nn.Conv2d(48, to, 3, 1, 1))


def smaller(r, c, to):
    """Half the sides."""
    return r.choice([
        lambda: conv(r, c, to, 3, 2), lambda: nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(c, to, 1)),
        lambda: nn.Sequential(nn.AvgPool2d(2), nn.Conv2d(c, to, 1)), lambda: nn.Conv2d(c, to, 2, 2),
        lambda: nn.Sequential(nn.MaxPool2d(3, 2, 1, ceil_mode=True), conv(r, c, to, 1)),
        lambda: nn.Sequential(Call(lambda self, x: x[..., :x.shape[2] // 2 * 2, :x.shape[3] // 2 * 2]), nn.PixelUnshuffle(2),
                              nn.Conv2d(4 * c, to, 1)),
        lambda: nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(c, c, 3, 2, groups=c, bias=False), nn.Conv2d(c, to, 1))])()


def larger(r, c, to):
    """Twice the sides."""
    return r.choice([
        lambda: nn.ConvTranspose2d(c, to, 2, 2), lambda: nn.ConvTranspose2d(c, to, 4, 2, 1),
        lambda: nn.Sequential(nn.Upsample(scale_factor=2, mode="nearest"), conv(r, c, to, 3)),
        lambda: nn.Sequential(nn.Conv2d(c, to, 1), nn.Upsample(scale_factor=2, mode="bilinear", align_corners=r.random() < 0.5)),
        lambda: nn.Sequential(nn.Conv2d(c, 4 * to, 1), nn.PixelShuffle(2))])()


def stage(r, c, count):
    return nn.Sequential(*[r.choice(list(picture_blocks.BLOCKS.values()))(r, c) for _ in range(count)])


def body(r, stages):
    """A stem and stages of fewer and fewer pixels: their channels, the layers one after the other."""
    channels, layers = [width(r, 96)], []
    layers.append(nn.Sequential(stem(r, channels[0]), stage(r, channels[0], r.choice([1, 2]))))
    for _ in range(stages - 1):
        channels.append(min(384, channels[-1] + 16 * r.choice([1, 2, 4, 6])))
        layers.append(nn.Sequential(smaller(r, *channels[-2:]), stage(r, channels[-1], r.choice([1, 2, 3]))))
    return channels, layers


def classifier(r):
    channels, layers = body(r, r.choice([2, 3, 4]))
    c = channels[-1]
    head = r.choice([
        lambda: nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(c, 1000)),
        lambda: nn.Sequential(nn.Flatten(2), Call(lambda self, x: x.clamp(min=1e-6).pow(3).mean(-1).pow(1 / 3)), nn.Linear(c, 100)),
        lambda: nn.Sequential(nn.Conv2d(c, 10, 1), nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.LogSoftmax(1)),
        lambda: nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(4 * c, 64), Call(lambda self, x: functional.normalize(x)))])()
    s = side(r, 224)
    return nn.Sequential(*layers, head), (torch.randn(r.choice([1, 1, 1, 2, 4]), 3, s, s),)


def dense_prediction(r):
    """A U-Net or a pyramid of features: a value for each pixel."""
    channels, layers = body(r, r.choice([2, 3]))
    ups = [larger(r, a, b) for a, b in zip(channels[::-1], channels[-2::-1])]
    merges = [conv(r, 2 * c, c, r.choice([1, 3])) for c in channels[-2::-1]]
    classes, added = r.choice([1, 2, 19, 21]), r.random() < 0.5

    def forward(self, x):
        kept, size = [], x.shape[2:]
        for layer in self.parts[:len(layers)]:
            x = layer(x)
            kept.append(x)
        for i in range(len(ups)):
            skip = kept[-2 - i]
            y = functional.interpolate(self.parts[len(layers) + 2 * i](x), skip.shape[2:], mode="bilinear")
            x = y + skip if added else self.parts[len(layers) + 2 * i + 1](torch.cat([y, skip], 1))
        x = functional.interpolate(self.parts[-1](x), size, mode="bilinear", align_corners=False)
        return torch.sigmoid(x) if classes == 1 else x.argmax(1)
    pairs = [one for pair in zip(ups, merges) for one in pair]
    s = side(r, 192)
    return Call(forward, *layers, *pairs, nn.Conv2d(channels[0], classes, 1)), (torch.randn(1, 3, s, s),)


def detector(r):
    """Boxes and classes of a grid, the best of them, as heads of detectors decode them."""
    channels, layers = body(r, 3)
    classes, best = r.choice([1, 20, 80]), r.choice([50, 100])
    heads = [nn.Conv2d(c, 4 + classes, 1) for c in channels[-2:]]

    def forward(self, x):
        maps = []
        for i, layer in enumerate(self.parts[:3]):
            x = layer(x)
            if i:
                maps.append(self.parts[2 + i](x))
        boxes, scores = [], []
        for level in maps:
            n, _, h, w = level.shape
            y, x = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
            grid = torch.stack([x, y], -1).reshape(1, -1, 2)
            flat = level.flatten(2).transpose(1, 2)
            middle, half = (torch.sigmoid(flat[..., :2]) + grid) * 8, torch.exp(flat[..., 2:4].clamp(max=4)) * 4
            boxes.append(torch.cat([middle - half, middle + half], -1))
            scores.append(torch.sigmoid(flat[..., 4:]))
        boxes, scores = torch.cat(boxes, 1), torch.cat(scores, 1)
        most, kinds = scores.max(-1)
        values, indices = torch.topk(most, min(best, most.shape[1]), 1)
        return values, kinds.gather(1, indices), boxes.gather(1, indices[..., None].expand(-1, -1, 4))
    s = side(r, 192)
    return Call(forward, *layers, *heads), (torch.randn(1, 3, s, s),)


def restorer(r):
    """A picture to a picture, of the same or twice the size."""
    c, by = r.choice([16, 32, 48]), r.choice([1, 2, 3])
    layers = [stage(r, c, 2), stage(r, c, 2)]

    def forward(self, x):
        y = first = self.parts[0](x)
        for layer in self.parts[1:3]:
            y = layer(y) + first
        y = functional.pixel_shuffle(self.parts[3](y), by)
        return (y + functional.interpolate(x, scale_factor=by, mode="bicubic")).clamp(0, 1)
    s = side(r, 128)
    return Call(forward, nn.Conv2d(3, c, 3, 1, 1), *layers, nn.Conv2d(c, 3 * by * by, 3, 1, 1)), (torch.rand(1, 3, s, s),)


def blocks_of_sequences(r, d, t):
    kinds = r.sample(list(sequence_blocks.BLOCKS), r.choice([2, 3]))
    return nn.Sequential(*[sequence_blocks.block(r, d, t, kind) for _ in range(r.choice([1, 2, 3])) for kind in kinds])


def text(r):
    d, t, known = r.choice([64, 128, 256, 384]), r.choice([16, 48, 77, 128, 200]), r.choice([1000, 8000])
    layers = blocks_of_sequences(r, d, t)
    tied, pooled = r.random() < 0.5, r.random() < 0.5

    def forward(self, x):
        y = self.parts[1](self.parts[0](x) + (self.places[:x.shape[1]] if r_places else 0))
        if pooled:
            return self.parts[2](y.mean(1))
        return y @ self.parts[0].weight.T if tied else self.parts[2](y)
    r_places = r.random() < 0.6
    network = Call(forward, nn.Embedding(known, d), layers, nn.Linear(d, 64), places=torch.randn(t, d))
    return network, (words(known, t, r.choice([1, 1, 2, 8])),)


def patches(r):
    """A picture as a sequence of patches, with blocks of both kinds."""
    c, s = r.choice([64, 96, 192]), r.choice([96, 128, 160, 224])
    t = (s // 16) ** 2
    first = nn.Sequential(nn.Conv2d(3, c, 8, 8), stage(r, c, 1), nn.Conv2d(c, c, 2, 2))
    layers = blocks_of_sequences(r, c, t)

    def forward(self, x):
        x = self.parts[0](x)
        n, c, h, w = x.shape
        y = self.parts[1](x.flatten(2).transpose(1, 2))
        return self.parts[2](y.mean(1)), y.transpose(1, 2).reshape(n, c, h, w)
    return Call(forward, first, layers, nn.Linear(c, 100)), (torch.randn(r.choice([1, 1, 2]), 3, s, s),)


def sound(r):
    """A waveform through frames (strided or a spectrogram by convolution), blocks of sequences, and up again or to classes."""
    d, hop = r.choice([64, 128, 192]), r.choice([64, 160])
    frames = r.choice([50, 100, 150])
    layers = blocks_of_sequences(r, d, frames)
    up = r.random() < 0.4

    def forward(self, x):
        y = self.parts[0](x)
        y = torch.log1p(y.pow(2))
        y = self.parts[1](self.parts[2](y).transpose(1, 2))
        return torch.tanh(self.parts[3](y.transpose(1, 2))) if up else self.parts[4](y).log_softmax(-1)
    return Call(forward, nn.Conv1d(1, 128, hop, hop, bias=False), layers, nn.Conv1d(128, d, 3, 1, 1), nn.ConvTranspose1d(d, 1, hop, hop),
                nn.Linear(d, 29)), (torch.randn(1, 1, frames * hop),)


def volume(r):
    """Clips or scans."""
    c = r.choice([16, 32])

    def unit(a, b, stride):
        kind = r.choice(["whole", "apart", "each"])
        last = [r.choice([nn.BatchNorm3d, nn.InstanceNorm3d, lambda n: nn.GroupNorm(4, n)])(b), act(r)]
        if kind == "whole":
            return nn.Sequential(nn.Conv3d(a, b, 3, stride, 1), *last)
        if kind == "apart":
            return nn.Sequential(nn.Conv3d(a, b, (1, 3, 3), (1, stride, stride), (0, 1, 1)), act(r),
                                 nn.Conv3d(b, b, (3, 1, 1), (stride, 1, 1), (1, 0, 0)), *last)
        return nn.Sequential(nn.Conv3d(a, b, 1), nn.Conv3d(b, b, 3, stride, 1, groups=b), *last)
    layers = [unit(r.choice([1, 3]), c, r.choice([1, 2])), unit(c, 2 * c, 2), unit(2 * c, 2 * c, 1), unit(2 * c, 4 * c, 2)]
    inputs = next(m for m in layers[0].modules() if isinstance(m, nn.Conv3d)).in_channels
    head = r.choice([nn.Sequential(nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(4 * c, 50)),
                     nn.Sequential(nn.ConvTranspose3d(4 * c, 4, 2, 2), nn.Softmax(1)),
                     nn.Sequential(nn.Upsample(scale_factor=2, mode="trilinear"), nn.Conv3d(4 * c, 2, 1))])
    return nn.Sequential(*layers, head), (torch.randn(1, inputs, r.choice([8, 16]), *[r.choice([32, 48, 64])] * 2),)


def graph(r):
    """Messages along edges: gathered and summed by index, or by a dense matrix of neighbours."""
    n, d, edges, heads = r.choice([64, 200, 500]), r.choice([32, 64, 128]), 2000, 4
    dense = r.random() < 0.4

    def forward(self, x, pairs):
        x = self.parts[0](x)
        for layer, update in zip(self.parts[1:4], self.parts[4:7]):
            if dense:
                near = torch.zeros(n, n).index_put((pairs[0], pairs[1]), torch.ones(edges))
                q, k = layer(torch.cat([x, x], -1)).unflatten(-1, (heads, -1)).transpose(0, 1), x.unflatten(-1, (heads, -1)).transpose(0, 1)
                share = (q @ k.transpose(-1, -2)).masked_fill(near == 0, -1e9).softmax(-1)
                y = (share @ k).transpose(0, 1).flatten(1)
            else:
                message = functional.silu(layer(torch.cat([x[pairs[0]], x[pairs[1]]], -1)))
                y = torch.zeros(n, d).index_add(0, pairs[1], message)
            x = functional.layer_norm(x + update(y), (d,))
        return x, x.amax(0)
    network = Call(forward, nn.Linear(16, d), *[nn.Linear(2 * d, d) for _ in range(3)], *[nn.Linear(d, d) for _ in range(3)])
    network.forward = lambda x, pairs: forward(network, x, pairs)
    return Tensors(network), (torch.randn(n, 16), torch.randint(0, n, (2, edges)))


def points(r):
    """Points and their nearest neighbours (PointNet++, DGCNN)."""
    n, near, d = r.choice([128, 256, 512]), r.choice([8, 16]), r.choice([32, 64])

    def forward(self, x):
        for layer in self.parts[:-1]:
            away = torch.cdist(x, x) if r_cdist else (x.pow(2).sum(-1)[:, :, None] - 2 * x @ x.transpose(1, 2) + x.pow(2).sum(-1)[:, None])
            index = away.topk(near, -1, largest=False).indices
            batch = torch.arange(x.shape[0])[:, None, None]
            beside = x[batch, index]
            x = layer(torch.cat([beside - x[:, :, None], x[:, :, None].expand_as(beside)], -1)).amax(2)
        return self.parts[-1](x.amax(1))
    r_cdist = r.random() < 0.5
    layers = [nn.Sequential(nn.Linear(2 * a, b), act(r), nn.Linear(b, b)) for a, b in [(3, d), (d, d)]]
    return Call(forward, *layers, nn.Linear(d, 40)), (torch.randn(r.choice([1, 2]), n, 3),)


def table(r):
    """Columns of numbers and of categories (DLRM, DCN, FT-Transformer)."""
    columns, d, batch = r.choice([8, 26]), r.choice([16, 32]), r.choice([1, 32, 256])
    kind = r.choice(["pairs", "crossed", "tokens"])
    wide = (columns + 1) * d

    def forward(self, numbers, kinds):
        x = torch.cat([self.parts[1](numbers)[:, None], self.parts[0](kinds + torch.arange(columns) * 100)], 1)
        if kind == "pairs":
            i, j = torch.triu_indices(columns + 1, columns + 1, 1)
            return self.parts[3]((x @ x.transpose(1, 2))[:, i, j]).sigmoid()
        if kind == "tokens":
            return self.parts[5](self.parts[4](x).mean(1)).sigmoid()
        x = start = x.flatten(1)
        for _ in range(3):
            x = start * self.parts[2](x) + x
        return x.sum(-1).sigmoid()
    network = Call(forward, nn.Embedding(100 * columns, d), nn.Linear(13, d), nn.Linear(wide, wide),
                   nn.Sequential(nn.Linear((columns + 1) * columns // 2, 64), act(r), nn.Linear(64, 1)),
                   nn.Sequential(nn.TransformerEncoderLayer(d, 4, 4 * d, batch_first=True)), nn.Linear(d, 1))
    network.forward = lambda numbers, kinds: forward(network, numbers, kinds)
    return Tensors(network), (torch.rand(batch, 13), torch.randint(0, 100, (batch, columns)))


FAMILIES = [classifier, classifier, classifier, dense_prediction, dense_prediction, detector, restorer, text, text, text, patches, sound,
            volume, graph, points, table]


def made(seed):
    """The network and its inputs. The caller seeds torch."""
    r = random.Random(int(seed))
    return r.choice(FAMILIES)(r)
