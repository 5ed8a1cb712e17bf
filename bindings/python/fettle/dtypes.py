"""Element types: NumPy's, and those of `ml_dtypes` where that is installed."""

from __future__ import annotations

import importlib
from typing import Any

import numpy

#: fettle_dtype (the numbers of ONNX's TensorProto.DataType) -> numpy.dtype
NUMPY: dict[int, numpy.dtype] = {
    1: numpy.dtype(numpy.float32),
    2: numpy.dtype(numpy.uint8),
    3: numpy.dtype(numpy.int8),
    4: numpy.dtype(numpy.uint16),
    5: numpy.dtype(numpy.int16),
    6: numpy.dtype(numpy.int32),
    7: numpy.dtype(numpy.int64),
    9: numpy.dtype(numpy.bool_),
    10: numpy.dtype(numpy.float16),
    11: numpy.dtype(numpy.float64),
    12: numpy.dtype(numpy.uint32),
    13: numpy.dtype(numpy.uint64),
}

# fettle_dtype -> the name in ml_dtypes, and the type of the same bytes that stands in without it
_OTHERS: dict[int, tuple[str, Any]] = {
    16: ("bfloat16", numpy.uint16),
    17: ("float8_e4m3fn", numpy.uint8),
    19: ("float8_e5m2", numpy.uint8),
    21: ("uint4", numpy.uint8),
    22: ("int4", numpy.int8),
}
_NUMBER_OF_OTHER: dict[str, tuple[int, Any]] = {name: (number, bits) for number, (name, bits) in _OTHERS.items()}
_NUMBER = {dtype: number for number, dtype in NUMPY.items()}


def find(number: int) -> numpy.dtype:
    """The NumPy type of a fettle_dtype: of those that NumPy lacks ml_dtypes' (bytes alone without it)."""
    if number not in NUMPY:
        name, bits = _OTHERS[number]
        try:
            NUMPY[number] = numpy.dtype(getattr(importlib.import_module("ml_dtypes"), name))
        except (ImportError, AttributeError):
            NUMPY[number] = numpy.dtype(bits)
    return NUMPY[number]


def number_of(dtype: Any) -> int:
    """The fettle_dtype of a NumPy type or its name ('float32', 'bfloat16'); TypeError for others."""
    if isinstance(dtype, str) and dtype in _NUMBER_OF_OTHER:
        return _NUMBER_OF_OTHER[dtype][0]
    given = numpy.dtype(dtype)
    number = _NUMBER.get(given) or _NUMBER_OF_OTHER.get(given.name, (0,))[0]
    if number == 0 or not given.isnative:
        raise TypeError(f"tensors have no elements of type {given}")
    return number


def as_bits(array: numpy.ndarray) -> tuple[int, numpy.ndarray] | None:
    """(fettle_dtype, the same memory as integers) of an array of ml_dtypes; None for other types.

    4-bit elements are copied: what ml_dtypes leaves in the upper half of their bytes is undefined.
    """
    number, bits = _NUMBER_OF_OTHER.get(array.dtype.name, (0, None))
    if number == 0:
        return None
    return number, array.astype(bits) if array.dtype.name.endswith("int4") else array.view(bits)


def bits_of(dtype: numpy.dtype):
    """The NumPy type that holds the bytes of one of ml_dtypes; None for other types."""
    return _NUMBER_OF_OTHER.get(dtype.name, (0, None))[1]
