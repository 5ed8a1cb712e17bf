"""Frames of a camera or a call in, better ones out: libfettle_enhance, which FFmpeg's libraries are in.

The library is `$FETTLE_ENHANCE_LIBRARY`, else `libfettle_enhance.so.0` where the loader finds it. No wheel brings it.
"""

from __future__ import annotations

import ctypes
import functools
import os
import weakref
from typing import Any, Sequence

import numpy

from . import errors

_PLANES = 4
# name -> (number, bytes of a sample, samples across and rows of each plane for a size)
_PIXELS = {
    "i420": (0, 1, lambda w, h: [(w, h), ((w + 1) // 2, (h + 1) // 2), ((w + 1) // 2, (h + 1) // 2)]),
    "nv12": (1, 1, lambda w, h: [(w, h), ((w + 1) // 2 * 2, (h + 1) // 2)]),
    "i422": (2, 1, lambda w, h: [(w, h), ((w + 1) // 2, h), ((w + 1) // 2, h)]),
    "i444": (3, 1, lambda w, h: [(w, h)] * 3),
    "i420p10": (4, 2, lambda w, h: [(w, h), ((w + 1) // 2, (h + 1) // 2), ((w + 1) // 2, (h + 1) // 2)]),
    "gray8": (5, 1, lambda w, h: [(w, h)]),
    "rgb24": (6, 1, lambda w, h: [(3 * w, h)]),
    "bgr24": (7, 1, lambda w, h: [(3 * w, h)]),
}
_NAMES = {number: name for name, (number, _, _) in _PIXELS.items()}


class _Frame(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("pixels", ctypes.c_int), ("width", ctypes.c_int32), ("height", ctypes.c_int32),
                ("planes", ctypes.c_void_p * _PLANES), ("strides", ctypes.c_int64 * _PLANES), ("time", ctypes.c_int64),
                ("owner", ctypes.c_void_p)]  # fmt: skip


class _Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("steps", ctypes.c_char_p), ("network", ctypes.c_char_p), ("latency_ms", ctypes.c_double),
                ("level", ctypes.c_double), ("full_range", ctypes.c_int32)]  # fmt: skip


class _Facts(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("frames", ctypes.c_int64), ("reduced", ctypes.c_int64), ("copied_in", ctypes.c_int64),
                ("copied_out", ctypes.c_int64)]  # fmt: skip


@functools.lru_cache(maxsize=1)
def _library() -> ctypes.CDLL:
    name = os.environ.get("FETTLE_ENHANCE_LIBRARY") or "libfettle_enhance.so.0"
    try:
        library = ctypes.CDLL(name)
    except OSError as error:
        raise errors.NotFound(f"{name}: {error}; FETTLE_ENHANCE_LIBRARY may name it (docs/enhance-live.md)") from None
    pointer = ctypes.POINTER
    library.fettle_enhancer_error.restype = ctypes.c_char_p
    library.fettle_enhancer_create.argtypes = [ctypes.c_int, ctypes.c_int32, ctypes.c_int32, pointer(_Options), pointer(ctypes.c_void_p)]
    library.fettle_enhancer_free.argtypes = [ctypes.c_void_p]
    library.fettle_enhancer_free.restype = None
    library.fettle_enhancer_result.argtypes = [ctypes.c_void_p, pointer(_Frame)]
    library.fettle_enhancer_run.argtypes = [ctypes.c_void_p, pointer(_Frame), pointer(_Frame)]
    library.fettle_frame_release.argtypes = [pointer(_Frame)]
    library.fettle_frame_release.restype = None
    library.fettle_enhancer_reset.argtypes = [ctypes.c_void_p]
    library.fettle_enhancer_facts_of.argtypes = [ctypes.c_void_p, pointer(_Facts)]
    return library


def _check(status: int) -> None:
    if status != 0:
        raise errors.BY_CODE.get(status, errors.Error)(_library().fettle_enhancer_error().decode())


def _shape(pixels: str, width: int, height: int) -> list[tuple[int, int]]:
    return [(rows, across) for across, rows in _PIXELS[pixels][2](width, height)]


class Enhancer:
    """The steps of one stream, and their state: `enhancer.run(frame)` for each frame. One thread's at a time.

    `pixels` is i420, nv12, i422, i444, i420p10, gray8, rgb24 or bgr24 (OpenCV's). A frame is an array of its only plane (gray8; rgb24 and
    bgr24 as height x width x 3), or a sequence of planes, each with contiguous rows; it is not copied unless its pixels have to be
    converted, and is not written. Results are alike, and lie in memory of the library, which they keep.
    """

    def __init__(self, width: int, height: int, pixels: str = "i420", *, steps: str = "superres", network: str = "fast",
                 latency_ms: float = 0, level: float = 0, full_range: bool = False):  # fmt: skip
        self._free = lambda: None
        if pixels not in _PIXELS:
            raise errors.InvalidArgument(f"unknown pixels '{pixels}'; there are {', '.join(_PIXELS)}")
        options = _Options(ctypes.sizeof(_Options), steps.encode(), network.encode(), latency_ms, level, int(full_range))
        made = ctypes.c_void_p()
        _check(_library().fettle_enhancer_create(_PIXELS[pixels][0], width, height, ctypes.byref(options), ctypes.byref(made)))
        self._handle, self._pixels, self._size = made, pixels, (width, height)
        self._free = weakref.finalize(self, _library().fettle_enhancer_free, made)

    def run(self, frame: Any) -> Any:
        """The frame by all steps: one array, or a tuple of planes. InvalidArgument for a frame of another shape or type."""
        given = self._frame(frame)
        result = _Frame(ctypes.sizeof(_Frame))
        _check(_library().fettle_enhancer_run(self._handle, ctypes.byref(given), ctypes.byref(result)))
        return _arrays(result)

    def reset(self) -> None:
        """The next frame begins a new stream."""
        _check(_library().fettle_enhancer_reset(self._handle))

    @property
    def facts(self) -> dict[str, int]:
        """frames, reduced (with fewer steps, for latency_ms), copied_in and copied_out."""
        facts = _Facts(ctypes.sizeof(_Facts))
        _check(_library().fettle_enhancer_facts_of(self._handle, ctypes.byref(facts)))
        return {name: getattr(facts, name) for name, _ in _Facts._fields_[1:]}

    def _frame(self, frame: Any) -> _Frame:
        planes: Sequence[Any] = frame if isinstance(frame, (list, tuple)) else [frame]
        number, size, _ = _PIXELS[self._pixels]
        shapes = _shape(self._pixels, *self._size)
        if len(planes) != len(shapes):
            raise errors.InvalidArgument(f"{self._pixels} has {len(shapes)} planes, and the frame {len(planes)}")
        given = _Frame(ctypes.sizeof(_Frame), number, *self._size)
        for i, (plane, (rows, across)) in enumerate(zip(planes, shapes)):
            wanted = (rows, across // 3, 3) if number >= 6 else (rows, across)
            if not isinstance(plane, numpy.ndarray) or plane.dtype != (numpy.uint16 if size == 2 else numpy.uint8):
                raise errors.InvalidArgument(f"plane {i}: expected an array of uint{8 * size}")
            if plane.shape != wanted:
                raise errors.InvalidArgument(f"plane {i}: expected {wanted}, got {plane.shape}")
            if plane.strides[1:] != ((3, 1) if number >= 6 else (size,)):
                raise errors.InvalidArgument(f"plane {i}: its rows are not contiguous; numpy.ascontiguousarray copies it")
            given.planes[i], given.strides[i] = plane.ctypes.data, plane.strides[0]
        return given


class _Lent:
    """A result's memory, until no array is over it."""

    def __init__(self, frame: _Frame):
        self._frame = frame
        weakref.finalize(self, _library().fettle_frame_release, ctypes.byref(frame))


def _arrays(frame: _Frame) -> Any:
    pixels, lent, planes = _NAMES[frame.pixels], _Lent(frame), []
    size = _PIXELS[pixels][1]
    for i, (rows, across) in enumerate(_shape(pixels, frame.width, frame.height)):
        bytes_ = (ctypes.c_uint8 * (frame.strides[i] * (rows - 1) + across * size)).from_address(frame.planes[i])
        bytes_.lent = lent  # numpy keeps the buffer's owner, and that the frame
        shape, steps = ((rows, across // 3, 3), (3, 1)) if frame.pixels >= 6 else ((rows, across), (size,))
        planes.append(numpy.ndarray(shape, numpy.uint16 if size == 2 else numpy.uint8, bytes_, 0, (frame.strides[i], *steps)))
    return planes[0] if len(planes) == 1 else tuple(planes)
