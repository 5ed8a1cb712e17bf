"""OrtValue: a tensor in host memory by ONNX Runtime's names."""

from __future__ import annotations

import ctypes
from typing import Any, Sequence

import numpy

from .. import dtypes
from ..tensor import Tensor
from . import exceptions
from .devices import need_host

# fettle_dtype -> what ONNX calls a tensor of it
TYPE_NAMES = {
    0: "undefined", 1: "tensor(float)", 2: "tensor(uint8)", 3: "tensor(int8)", 4: "tensor(uint16)",
    5: "tensor(int16)", 6: "tensor(int32)", 7: "tensor(int64)", 9: "tensor(bool)", 10: "tensor(float16)",
    11: "tensor(double)", 12: "tensor(uint32)", 13: "tensor(uint64)", 16: "tensor(bfloat16)",
    17: "tensor(float8e4m3fn)", 19: "tensor(float8e5m2)", 21: "tensor(uint4)", 22: "tensor(int4)",
}  # fmt: skip


def number_of(element_type: Any) -> int:
    """The fettle_dtype of a NumPy type or of a number of TensorProto.DataType, which is the same."""
    return element_type if isinstance(element_type, int) else dtypes.number_of(element_type)


def at_address(address: int, element_type: Any, shape: Sequence[int]) -> Tensor:
    """A tensor over memory of the caller's, who keeps it."""
    number = number_of(element_type)
    count = int(numpy.prod(shape, dtype=numpy.int64))
    size = count * dtypes.find(number).itemsize
    memory = (ctypes.c_char * size).from_address(address)
    bits = numpy.frombuffer(memoryview(memory).cast("B"), numpy.uint8).view(dtypes.find(number)).reshape(tuple(shape))
    return Tensor.from_numpy(bits, writable=True)


def tensor_of(value: Any, what: str) -> Tensor:
    """The tensor of an OrtValue. InvalidArgument of anything else."""
    if not isinstance(value, OrtValue):
        raise exceptions.InvalidArgument(f"{what}: expected an OrtValue, got {type(value).__name__}")
    return value._tensor


class OrtValue:
    """A tensor, in memory of its own or of the array that it was made of; nothing is copied."""

    def __init__(self, tensor: Tensor):
        self._tensor = tensor

    @classmethod
    def ortvalue_from_numpy(cls, numpy_obj, device_type="cpu", device_id=0, vendor_id=-1) -> OrtValue:
        """Over the array's memory; one that is not contiguous is copied. NotImplemented for other devices than the CPU."""
        need_host(device_type)
        return cls(Tensor.from_numpy(numpy.ascontiguousarray(numpy_obj).reshape(numpy.shape(numpy_obj))))

    @classmethod
    def ortvalue_from_numpy_with_onnx_type(cls, data, /, onnx_element_type: int) -> OrtValue:
        """The same; its bytes are elements of that type."""
        return cls(Tensor.from_numpy(data, dtype=dtypes.find(onnx_element_type).name))

    @classmethod
    def ortvalue_from_shape_and_type(cls, shape, element_type, device_type="cpu", device_id=0, vendor_id=-1,
                                     memory_info=None) -> OrtValue:
        """Of memory of its own, zeros. NotImplemented for other devices than the CPU."""
        need_host(device_type)
        return cls(Tensor(number_of(element_type), tuple(int(extent) for extent in shape)))

    @classmethod
    def from_dlpack(cls, data, /) -> OrtValue:
        """Over another library's memory."""
        return cls(Tensor.from_dlpack(data))

    def numpy(self) -> numpy.ndarray:
        """An array over the same memory."""
        return self._tensor.numpy()

    def shape(self) -> list[int]:
        """Extents."""
        return list(self._tensor.shape)

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self._tensor.data_ptr

    def data_type(self) -> str:
        """'tensor(float)' ..."""
        return TYPE_NAMES[self._tensor._dtype]

    def element_type(self) -> int:
        """The number of TensorProto.DataType."""
        return self._tensor._dtype

    def device_name(self) -> str:
        """'cpu'."""
        return "cpu"

    def tensor_size_in_bytes(self) -> int:
        """Bytes of all elements."""
        return self._tensor.nbytes

    def has_value(self) -> bool:
        """True."""
        return True

    def is_tensor(self) -> bool:
        """True."""
        return True

    def is_sparse_tensor(self) -> bool:
        """False."""
        return False

    def is_tensor_sequence(self) -> bool:
        """False."""
        return False

    def as_sparse_tensor(self):
        """NotImplemented: tensors are dense."""
        raise exceptions.NotImplemented("fettle.ort has no SparseTensor: tensors are dense")

    @staticmethod
    def ort_value_from_sparse_tensor(sparse_tensor):
        """NotImplemented: tensors are dense."""
        raise exceptions.NotImplemented("fettle.ort has no SparseTensor: tensors are dense")

    def update_inplace(self, data) -> None:
        """Copies an array of the same shape and type over the elements."""
        given = data.numpy() if isinstance(data, OrtValue) else numpy.asarray(data)
        mine = self.numpy()
        if given.shape != mine.shape or given.dtype != mine.dtype:
            raise exceptions.InvalidArgument(f"expected {mine.dtype} of {mine.shape}, got {given.dtype} of {given.shape}")
        numpy.copyto(mine, given)

    def __array__(self, dtype=None, copy=None):
        return self._tensor.__array__(dtype, copy)

    def __dlpack__(self, *, stream=None, **options):
        return self._tensor.__dlpack__(stream=stream, **options)

    def __dlpack_device__(self):
        return self._tensor.__dlpack_device__()


def copy_tensors(src, dst, stream=None) -> None:
    """Copies the elements of each of `src` to that of `dst`."""
    if len(src) != len(dst):
        raise exceptions.InvalidArgument(f"copy_tensors: {len(src)} sources and {len(dst)} destinations")
    for given, place in zip(src, dst):
        place.update_inplace(given)
