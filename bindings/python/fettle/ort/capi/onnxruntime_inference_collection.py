"""The module in which ONNX Runtime has its sessions and values."""

from fettle.ort import (  # noqa: F401
    AdapterFormat, InferenceSession, IOBinding, ModelCompiler, OrtDevice, OrtDeviceVendorId, OrtValue, SparseTensor,
    copy_tensors,
)  # fmt: skip
