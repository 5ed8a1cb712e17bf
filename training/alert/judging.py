"""How good a detector is on held-out slices and frames: what rounds compare."""

import numpy as np
import torch

from detector import peaks, same

BANDS = ((6, 8), (8, 12), (12, 16), (16, 28))


@torch.no_grad()
def found_in(net, planes, least, batch=8):
    result = []
    for i in range(0, len(planes), batch):
        result += peaks(net(torch.from_numpy(planes[i : i + batch]).float() / 255), least)
    return result


def score_for(found, frames, each):
    """The score that `each` wrong finds a frame reach."""
    scores = sorted((one[0] for frame in found for one in frame), reverse=True)
    most = int(each * frames)
    return scores[most] if most < len(scores) else 0.05


def recall(found, boxes, least):
    """The share of the boxes of each band that was found with `least`."""
    hits = {band: [] for band in BANDS}
    for here, wanted in zip(found, boxes):
        for box in wanted[wanted[:, 0] > -1]:
            side = max(box[2] - box[0], box[3] - box[1])
            band = next((b for b in BANDS if b[0] <= side < b[1]), None)
            if band:
                hits[band].append(any(one[0] >= least and same(one[1:], box) for one in here))
    return {band: float(np.mean(h)) if h else float("nan") for band, h in hits.items()}


def judged(net, held):
    """Recall on held-out slices at 0.1 wrong finds for each held-out frame without phones."""
    least = score_for(found_in(net, held["frames"], 0.05), len(held["frames"]), 0.1)
    by_band = recall(found_in(net, held["slices"], 0.05), held["boxes"], least)
    return {"recall": by_band, "score": least, "mean": float(np.mean(list(by_band.values())))}


def row(number, name, net, steps, value, judgement):
    bands = " | ".join(f"{100 * v:.0f} %" for v in judgement["recall"].values())
    return f"| {number} | {name} | {net.weights()} | {steps} | {value:.2f} | {judgement['score']:.2f} | {bands} |"
