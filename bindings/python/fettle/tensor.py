"""Tensors: row-major elements in host memory."""

from __future__ import annotations

from typing import Any, Sequence

import numpy

from . import _native, dtypes, errors


class Tensor(_native.Tensor):
    """Row-major elements in host memory: its own (`Tensor.zeros`), an array's or another library's.

    Ownership: a tensor keeps the memory it lies in alive, and arrays over it keep the tensor. Nothing is copied by
    `from_numpy`, `numpy`, `from_dlpack` and `__dlpack__`. Any thread may use it; who reads and writes the elements is
    the caller's to order, also while a run uses them.
    """

    __slots__ = ()

    @classmethod
    def zeros(cls, shape: Sequence[int], dtype: Any = "float32") -> Tensor:
        """A tensor of `shape` filled with zeros. InvalidArgument, OutOfMemory, TypeError for unknown types."""
        return cls(dtypes.number_of(dtype), tuple(int(extent) for extent in shape))

    @classmethod
    def from_numpy(cls, array: Any, *, writable: bool = False, dtype: Any = None) -> Tensor:
        """A tensor over the memory of `array` (any C-contiguous buffer).

        `writable`: what outputs are written into; of a read-only array InvalidArgument. `dtype` tells what the bytes
        of an integer array mean ('bfloat16', 'float8_e4m3fn', 'int4' ...). InvalidArgument where the elements are not
        contiguous, aligned, in this machine's byte order or of a type that tensors have.
        """
        number = 0 if dtype is None else dtypes.number_of(dtype)
        if isinstance(array, numpy.ndarray):
            bits = dtypes.as_bits(array) if array.flags.c_contiguous else None
            if bits is not None:
                number, array = bits
            elif number == 0 and array.dtype.hasobject:
                raise errors.InvalidArgument("an array of objects has no elements that tensors have")
        try:
            return cls._wrap(array, number, writable)
        except TypeError as error:
            raise errors.InvalidArgument(f"neither an array nor a buffer: {error}") from None
        except (BufferError, ValueError) as error:
            if isinstance(error, errors.Error):
                raise
            raise errors.InvalidArgument(f"{error}; numpy.ascontiguousarray makes a copy that fits") from None

    @classmethod
    def from_dlpack(cls, other: Any) -> Tensor:
        """A tensor over the memory of any object with `__dlpack__` (torch, jax, cupy's pinned memory ...), or of a
        capsule. Unsupported for memory of a device, InvalidArgument where elements are not contiguous or the object
        refuses (a torch tensor that requires a gradient)."""
        if not hasattr(other, "__dlpack__"):
            return cls._from_capsule(other)
        try:
            try:
                capsule = other.__dlpack__(max_version=(1, 0))
            except TypeError:
                capsule = other.__dlpack__()
        except (BufferError, RuntimeError) as error:
            raise errors.InvalidArgument(f"{type(other).__name__}.__dlpack__: {error}") from None
        return cls._from_capsule(capsule)

    @property
    def dtype(self) -> numpy.dtype:
        """The NumPy type of its elements."""
        return dtypes.find(self._dtype)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def __dlpack__(self, *, stream: Any = None, max_version: tuple[int, int] | None = None,
                   dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> Any:
        if dl_device not in (None, (1, 0)):
            raise BufferError("the tensor is in the host's memory")
        if copy:
            return Tensor.from_numpy(self.numpy().copy()).__dlpack__(max_version=max_version)
        return self._capsule(max_version is not None and max_version[0] >= 1)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> numpy.ndarray:
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def __repr__(self) -> str:
        return f"fettle.Tensor(shape={self.shape}, dtype={self.dtype})"


def as_tensor(value: Any) -> Tensor:
    """`value` as a tensor over the same memory: tensors, arrays, buffers and what has `__dlpack__`."""
    if isinstance(value, Tensor):
        return value
    if not isinstance(value, numpy.ndarray) and hasattr(value, "__dlpack__"):
        return Tensor.from_dlpack(value)
    return Tensor.from_numpy(value)
