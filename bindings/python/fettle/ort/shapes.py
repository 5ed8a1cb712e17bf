"""Inputs and outputs by ONNX Runtime's names, and the extents that options give to their open axes."""

from __future__ import annotations

from typing import Any, Callable, Mapping, NamedTuple

from . import exceptions
from .values import TYPE_NAMES


class NodeArg(NamedTuple):
    """An input or output: its name, type ('tensor(float)' ...) and shape (a symbol's name, None where it has none)."""

    name: str
    type: str
    shape: list[int | str | None] | None


class Overrides:
    """Extents by a symbol's name and by an axis's denotation."""

    def __init__(self, names: Mapping[str, int], denotations: Mapping[str, int], read_denotations: Callable[[], dict]):
        self._names, self._denotations = names, denotations
        self._axes = read_denotations() if denotations else {}
        self._set: dict[str, dict[int, int]] = {}
        self.used: set[str] = set()

    def node_arg(self, row) -> NodeArg:
        """What `Model._values` says of a value, with the extents that were set."""
        name, dtype, shape, symbols = row
        if shape is None:
            return NodeArg(name, TYPE_NAMES[dtype], None)
        return NodeArg(name, TYPE_NAMES[dtype],
                       [self._extent(name, axis, extent, symbols[axis]) for axis, extent in enumerate(shape)])

    def unused(self) -> list[str]:
        """Those that no value has, in words."""
        return [f"the free dimension '{name}', which no input has" for name in (*self._names, *self._denotations)
                if name not in self.used]

    def check(self, tensors: Mapping[str, Any]) -> None:
        """InvalidArgument where an axis whose extent was set has another."""
        for name, extents in self._set.items():
            shape = getattr(tensors.get(name), "shape", ())
            for axis, wanted in extents.items():
                if axis < len(shape) and shape[axis] != wanted:
                    raise exceptions.InvalidArgument(f"input '{name}': axis {axis} is {shape[axis]}, expected {wanted}, "
                                                     "to which its free dimension was set")

    def _extent(self, name: str, axis: int, extent: int | None, symbol: str) -> int | str | None:
        if extent is not None:
            return extent
        for key, given in ((symbol, self._names), (self._axes.get(name, {}).get(axis), self._denotations)):
            if key in given:
                self.used.add(key)
                self._set.setdefault(name, {})[axis] = given[key]
                return given[key]
        return symbol or None
