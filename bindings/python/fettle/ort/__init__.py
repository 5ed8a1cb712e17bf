"""What programs use of the package onnxruntime: `import fettle.ort as onnxruntime`.

InferenceSession, SessionOptions, RunOptions, IOBinding, OrtValue and what belongs to them, with ONNX Runtime's names,
signatures and defaults. Failures are `fettle.Error`s with Fettle's text. docs/python.md lists what differs.
"""

from __future__ import annotations

from .. import __version__  # noqa: F401
from .binding import IOBinding
from .options import ExecutionMode, ExecutionOrder, GraphOptimizationLevel, RunOptions, SessionOptions
from .session import InferenceSession, ModelMetadata, NodeArg
from .values import OrtDevice, OrtValue

__all__ = [
    "ExecutionMode", "ExecutionOrder", "GraphOptimizationLevel", "IOBinding", "InferenceSession", "ModelMetadata",
    "NodeArg", "OrtDevice", "OrtValue", "RunOptions", "SessionOptions", "get_all_providers", "get_available_providers",
    "get_device", "set_default_logger_severity", "set_default_logger_verbosity", "set_seed",
]  # fmt: skip


def get_available_providers() -> list[str]:
    """["CPUExecutionProvider"]: other devices are Fettle's (session config entry "fettle.device")."""
    return ["CPUExecutionProvider"]


get_all_providers = get_available_providers


def get_device() -> str:
    """"CPU"."""
    return "CPU"


def set_default_logger_severity(severity: int) -> None:
    """Ignored: `fettle.set_log` says where lines go."""


def set_default_logger_verbosity(verbosity: int) -> None:
    """Ignored."""


def set_seed(seed: int) -> None:
    """Ignored: a model's random operators are seeded by their attributes."""
