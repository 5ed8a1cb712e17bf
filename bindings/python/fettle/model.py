"""Models: what an .onnx file or a .fettle package holds."""

from __future__ import annotations

import os
from typing import Any, NamedTuple, Optional, Tuple

import numpy

from . import _native, dtypes


class ValueInfo(NamedTuple):
    """An input or output of a model: `dtype` None where the model does not say, open extents of `shape` None, `shape`
    None where not even the rank is known."""

    name: str
    dtype: Optional[numpy.dtype]
    shape: Optional[Tuple[Optional[int], ...]]


class Model(_native.Model):
    """A model, immutable: any number of threads and sessions share one.

    `Model(path)` loads an .onnx file (external data beside it) or a .fettle package, which stays mapped while the
    model lives; `Model(data=bytes)` copies them. Raises NotFound, InputOutput, InvalidModel, Unsupported with all
    unsupported operators named, of packages Corrupt and VersionMismatch. `with` closes it; sessions made before keep
    what they need.
    """

    def __new__(cls, path: str | os.PathLike | None = None, *, data: Any = None, name: str = "model"):
        if (path is None) == (data is None):
            raise TypeError("Model: expected either a path or data")
        return super().__new__(cls, None if path is None else os.fsencode(path), data, name)

    @property
    def inputs(self) -> list[ValueInfo]:
        """The inputs that `Session.run` needs, without initialisers."""
        return [_info(row) for row in self._values(False)]

    @property
    def outputs(self) -> list[ValueInfo]:
        """The outputs of a run, in the file's order."""
        return [_info(row) for row in self._values(True)]

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _info(row) -> ValueInfo:
    name, dtype, shape, _ = row
    return ValueInfo(name, dtypes.find(dtype) if dtype else None, shape)
