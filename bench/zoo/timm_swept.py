"""Any network of timm, by random choice: one of timm.list_models(), with fewer blocks where its class takes such a number, and a
picture of a side that it takes. made(seed) as in random_networks; name them timm/SEED."""

import importlib
import random

import torch
from tensors import Tensors

LARGEST = 40_000_000  # weights
#: What makes a network shallow; timm's functions refuse what their class does not take.
SHALLOW = ({"depth": 3}, {"depths": (1, 1, 2, 1)}, {"layers": (1, 1, 2, 1)}, {"depths": (1, 2, 1)})
SIDES = (96, 128, 160, 192, 224, 256, 288)


def weights_of(timm, name, changes):
    """How many weights, or None where the class does not take the changes."""
    try:
        with torch.device("meta"):
            return sum(one.numel() for one in timm.create_model(name, **changes).parameters())
    except (TypeError, ValueError, RuntimeError, AssertionError, IndexError, NotImplementedError):
        return None


def changes_of(timm, name):
    """The first change that makes the network smaller, none ({}) where it is small; None where it stays too large."""
    whole = weights_of(timm, name, {})
    if whole is not None and whole <= LARGEST / 4:
        return {}
    for changes in SHALLOW:
        count = weights_of(timm, name, changes)
        if count is not None and count < (whole or LARGEST) and count <= LARGEST:
            return changes
    return {} if whole is not None and whole <= LARGEST else None


def working(network, sides, channels):
    """The first picture that the network takes."""
    reason = None
    for side in dict.fromkeys(sides):
        picture = torch.randn(1, channels, side, side)
        try:
            with torch.no_grad():
                network(picture)
            return picture
        except Exception as error:  # of any class, as networks check sides by whatever fails
            reason = error
    raise ValueError(f"no side: {' '.join(str(reason).split())[:160]}")


def chosen(seed):
    """The name of a network that is not too large, its changes, and what chooses its side."""
    timm = importlib.import_module("timm")
    r = random.Random(int(seed))
    names = sorted(timm.list_models())
    while True:
        name = r.choice(names)
        changes = changes_of(timm, name)
        if changes is not None:
            return name, changes, r


def made(seed):
    """The network and its inputs. The caller seeds torch."""
    name, changes, r = chosen(seed)
    network = importlib.import_module("timm").create_model(name, **changes).eval()
    channels, side, _ = network.default_cfg.get("input_size", (3, 224, 224))
    sides = [side] if network.default_cfg.get("fixed_input_size") else [r.choice(SIDES)]
    return Tensors(network), (working(network, [*sides, side, 224, 256], channels),)
