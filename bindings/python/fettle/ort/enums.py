"""ONNX Runtime's enumerations, with its names and numbers."""

from __future__ import annotations

import enum

_NUMBERS = {
    "GraphOptimizationLevel": {"ORT_DISABLE_ALL": 0, "ORT_ENABLE_BASIC": 1, "ORT_ENABLE_EXTENDED": 2,
                               "ORT_ENABLE_LAYOUT": 3, "ORT_ENABLE_ALL": 99},
    "ExecutionMode": {"ORT_SEQUENTIAL": 0, "ORT_PARALLEL": 1},
    "ExecutionOrder": {"DEFAULT": 0, "PRIORITY_BASED": 1, "MEMORY_EFFICIENT": 2},
    "OrtAllocatorType": {"INVALID": -1, "ORT_DEVICE_ALLOCATOR": 0, "ORT_ARENA_ALLOCATOR": 1},
    "OrtCompileApiFlags": {"NONE": 0, "ERROR_IF_NO_NODES_COMPILED": 1, "ERROR_IF_OUTPUT_FILE_EXISTS": 2},
    "OrtDeviceMemoryType": {"DEFAULT": 0, "HOST_ACCESSIBLE": 5},
    "OrtDeviceVendorId": {"NONE": 0, "AMD": 0x1002, "NVIDIA": 0x10DE, "ARM": 0x13B5, "MICROSOFT": 0x1414,
                          "HUAWEI": 0x19E5, "QUALCOMM": 0x5143, "INTEL": 0x8086},
    "OrtExecutionProviderDevicePolicy": {"DEFAULT": 0, "PREFER_CPU": 1, "PREFER_NPU": 2, "PREFER_GPU": 3,
                                         "MAX_PERFORMANCE": 4, "MAX_EFFICIENCY": 5, "MIN_OVERALL_POWER": 6},
    "OrtHardwareDeviceType": {"CPU": 0, "GPU": 1, "NPU": 2},
    "OrtMemType": {"CPU_INPUT": -2, "CPU_OUTPUT": -1, "CPU": -1, "DEFAULT": 0},
    "OrtMemoryInfoDeviceType": {"CPU": 0, "GPU": 1, "NPU": 3, "FPGA": 2},
    "OrtSparseFormat": {"ORT_SPARSE_UNDEFINED": 0, "ORT_SPARSE_COO": 1, "ORT_SPARSE_CSRC": 2,
                        "ORT_SPARSE_BLOCK_SPARSE": 4},
}  # fmt: skip

NAMES = tuple(_NUMBERS)
globals().update({name: enum.IntEnum(name, rows, module=__name__) for name, rows in _NUMBERS.items()})
