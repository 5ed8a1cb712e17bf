"""Batches of slices with phones and of frames without, on the device, and where something was found in these."""

import torch

from detector import SIZE_UNIT, STRIDE

MIRRORED = [1, 0, 3, 2, 4, 5]  # the planes
PARTS, MOST_ERRORS, LEAST = 6, 3000, 0.1


def crops(source, index, y, x, part):
    """[n, frames, 6, part, part] of [*, 6, height, width] by [n, frames] indices of the first."""
    side, planes = torch.arange(part, device=source.device), torch.arange(6, device=source.device)
    rows, columns = (y[:, None] + side)[:, None, None, :, None], (x[:, None] + side)[:, None, None, None, :]
    return source[index[:, :, None, None, None], planes[None, None, :, None, None], rows, columns]


def targets(boxes, part):
    """On the boxes' device, for parts of `part` planes a side: heat, values, and where these count."""
    ys, xs = torch.meshgrid(*[torch.arange(part // 2, device=boxes.device) + 0.5] * 2, indexing="ij")
    exists = (boxes[..., 0] > -1)[..., None, None]
    left, top, right, bottom = (boxes[..., i][..., None, None] for i in range(4))
    cx, cy = (left + right) / 2 / STRIDE, (top + bottom) / 2 / STRIDE
    sigma = (torch.maximum(right - left, bottom - top) / STRIDE / 4).clamp(0.55, 1.5)
    bell = torch.exp(-((xs - cx) ** 2 + (ys - cy) ** 2) / (2 * sigma**2)) * exists
    cell = (xs.floor() == cx.floor()) & (ys.floor() == cy.floor()) & exists
    sizes = [((right - left) / SIZE_UNIT).expand_as(bell), ((bottom - top) / SIZE_UNIT).expand_as(bell)]
    values = torch.stack([*sizes, cx - xs, cy - ys], 2) * cell[:, :, None]
    heat = torch.where(cell, torch.ones_like(bell), bell).amax(1, keepdim=True)
    return heat, values.sum(1) / cell[:, :, None].sum(1).clamp(min=1), cell.any(1, keepdim=True).float()


class Source:
    """`sides` are those of a part, in planes, the size of a batch, and how many of it are without phones. `frames` are without phones, [n, 6, height, width] bytes, and `before` says of each which two are before it."""

    def __init__(self, rows, kept, frames, before, nets, device, sides):
        self.part, self.batch_size, self.wrong = sides
        self.off = 14 if self.part < 40 else self.part - 8  # how far a phone is from the middle
        self.device, self.filled, self.kept = device, 0, kept
        self.slices = torch.zeros((rows * kept, 6, 80, 80), dtype=torch.uint8, device=device)
        self.boxes = torch.full((rows, 3, 4), -1.0, device=device)
        self.about = torch.zeros((rows, 2), device=device)
        self.frames, self.before = frames, before
        self.errors = torch.zeros(nets, PARTS, MOST_ERRORS, 3, dtype=torch.long, device=device)
        self.counts = torch.zeros(nets, PARTS, device=device)

    def add(self, pool):
        for rows in pool.news():
            made = {name: torch.from_numpy(pool.rows[name][rows]).to(self.device) for name in pool.rows}
            n = len(made["boxes"])
            self.slices[self.filled * self.kept : (self.filled + n) * self.kept] = made["slices"].flatten(0, 1)
            self.boxes[self.filled : self.filled + n], self.about[self.filled : self.filled + n] = made["boxes"], made["about"]
            self.filled += n

    def rand(self, *shape):
        return torch.rand(*shape, device=self.device)

    def with_phones(self, count):
        """Parts of slices, most often around a phone."""
        index = (self.rand(count) * self.filled).long()
        boxes = self.boxes[index]
        here = (boxes[..., 0] > -1).float()
        one = (here + self.rand(count, boxes.shape[1])).argmax(1)
        middle = (boxes[..., :2] + boxes[..., 2:])[torch.arange(count, device=self.device), one] / 4
        around = (self.rand(count) < 0.8) & (here.sum(1) > 0)
        room = self.slices.shape[-1] - self.part
        corner = torch.where(around[:, None], middle - self.part / 2 - (self.rand(count, 2) - 0.5) * self.off, self.rand(count, 2) * (room + 1))
        corner = corner.clamp(0, room).long() & ~1
        moved = boxes - 2.0 * torch.cat([corner, corner], 1)[:, None]
        middles = (moved[..., :2] + moved[..., 2:]) / 2
        inside = (middles > 1).all(-1) & (middles < 2 * self.part - 1).all(-1) & (here > 0)
        moved = torch.cat([moved[..., :1].clamp(min=-0.9), moved[..., 1:]], -1)
        frames = index[:, None] * self.kept + torch.arange(self.kept, device=self.device)
        parts = crops(self.slices, frames, corner[:, 1], corner[:, 0], self.part)
        return parts, torch.where(inside[..., None], moved, torch.full_like(moved, -1)), self.about[index, 1]

    def without_phones(self, count):
        """Three of four around what was found in frames without phones."""
        rows, columns = (size - self.part for size in self.frames.shape[2:])
        net, part = (self.rand(count) * self.counts.shape[0]).long(), (self.rand(count) * PARTS).long()
        errors = self.counts[net, part]
        error = self.errors[net, part, (self.rand(count) * errors.clamp(min=1)).long()]
        chosen = (self.rand(count) < 0.75) & (errors > 0)
        index = torch.where(chosen, error[:, 0], (self.rand(count) * len(self.frames)).long())
        shift = ((self.rand(count, 2) - 0.5) * self.off * 0.8).long()
        y = torch.where(chosen, (error[:, 1] + shift[:, 0]).clamp(0, rows), (self.rand(count) * rows).long()) & ~1
        x = torch.where(chosen, (error[:, 2] + shift[:, 1]).clamp(0, columns), (self.rand(count) * columns).long()) & ~1
        return crops(self.frames, torch.cat([self.before[index], index[:, None]], 1), y, x, self.part)

    def batch(self):
        """[batch, frames * 6, part, part] and targets, and which of it has look-alikes drawn; some mirrored, lighter, paler or noisier."""
        parts, boxes, decoys = self.with_phones(self.batch_size - self.wrong)
        none = torch.full((self.wrong, *boxes.shape[1:]), -1.0, device=self.device)
        planes, boxes = torch.cat([parts, self.without_phones(self.wrong)]).float() / 255, torch.cat([boxes, none])
        turn = self.rand(self.batch_size) < 0.5
        planes = torch.where(turn.view(-1, 1, 1, 1, 1), planes[:, :, MIRRORED].flip(-1), planes)
        left, right = (2 * self.part - boxes[..., 2]).clamp(min=-0.9), 2 * self.part - boxes[..., 0]
        mirrored = torch.stack([left, boxes[..., 1], right, boxes[..., 3]], -1)
        boxes = torch.where((turn[:, None] & (boxes[..., 0] > -1))[..., None], mirrored, boxes)
        one = (self.batch_size, 1, 1, 1, 1)
        dark = torch.cat([torch.ones(self.batch_size - self.wrong, device=self.device), 0.25 + 0.75 * self.rand(self.wrong).sqrt()]).view(one)
        light = ((planes[:, :, :4] - 0.5) * (0.75 + 0.5 * self.rand(*one)) + 0.5 + 0.1 * (self.rand(*one) - 0.5)) * dark
        colour = (planes[:, :, 4:] - 0.5) * (0.3 + self.rand(*one)) * dark + 0.5
        planes = torch.cat([light, colour], 2)
        planes = (planes + 0.012 * self.rand(*one) * torch.randn_like(planes)).clamp(0, 1)
        return planes.flatten(1, 2), targets(boxes, self.part), torch.cat([decoys, torch.zeros(self.wrong, device=self.device)])

    @torch.no_grad()
    def mine(self, number, look, part):
        """Looks at one of `PARTS` of the frames without phones with net `number`, and keeps the worst places."""
        found = []
        for i in range(part * len(self.frames) // PARTS, (part + 1) * len(self.frames) // PARTS, 64):
            index = torch.arange(i, min(i + 64, (part + 1) * len(self.frames) // PARTS), device=self.device)
            stack = torch.cat([self.before[index], index[:, None]], 1)
            heat = torch.sigmoid(look(self.frames[stack].flatten(1, 2).float() / 255)[:, :1].float())
            peak = (torch.nn.functional.max_pool2d(heat, 3, 1, 1) == heat) & (heat >= LEAST)
            frame, _, row, column = peak.nonzero(as_tuple=True)
            found.append(torch.stack([heat[frame, 0, row, column], index[frame].float(), 2.0 * row, 2.0 * column], 1))
        found = torch.cat(found)
        found = found[found[:, 0].argsort(descending=True)][:MOST_ERRORS]
        corner = (found[:, 2:].long() - self.part // 2).clamp(min=0)
        limit = torch.tensor([size - self.part for size in self.frames.shape[2:]], device=self.device)
        self.errors[number, part, : len(found)] = torch.cat([found[:, 1:2].long(), torch.minimum(corner, limit)], 1)
        self.counts[number, part] = len(found)
        return [int((found[:, 0] >= least).sum()) for least in (LEAST, 0.3, 0.5)]
