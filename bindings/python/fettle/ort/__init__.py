"""What programs use of the package onnxruntime: `import fettle.ort as onnxruntime`.

InferenceSession, SessionOptions, RunOptions, IOBinding, OrtValue and what belongs to them, with ONNX Runtime's names,
signatures and defaults. All else that its package has says that it is not here. docs/python.md lists what differs.
"""

from __future__ import annotations

import sys
import warnings

import fettle

from . import absent, enums, exceptions
from .absent import *  # noqa: F401,F403
from .binding import IOBinding
from .devices import OrtDevice, OrtEpDevice, OrtHardwareDevice, OrtMemoryInfo, get_ep_devices
from .enums import *  # noqa: F401,F403
from .exceptions import Ignored
from .options import RunOptions, SessionOptions
from .session import InferenceSession, ModelMetadata
from .shapes import NodeArg
from .values import OrtValue, copy_tensors

__all__ = [
    "IOBinding", "Ignored", "InferenceSession", "ModelMetadata", "NodeArg", "OrtDevice", "OrtEpDevice",
    "OrtHardwareDevice", "OrtMemoryInfo", "OrtValue", "RunOptions", "SessionIOBinding", "SessionOptions",
    "copy_tensors", "cuda_version", "disable_telemetry_events", "enable_telemetry_events", "get_all_providers",
    "get_available_providers", "get_build_info", "get_device", "get_ep_devices", "get_version_string",
    "has_collective_ops", "package_name", "preload_dlls", "print_debug_info", "set_default_logger_severity",
    "set_default_logger_verbosity", "set_global_thread_pool_sizes", "set_seed", "version", *absent.NAMES, *enums.NAMES,
]  # fmt: skip

# The version of ONNX Runtime whose interface this is, which programs ask for; fettle.__version__ is Fettle's.
__version__ = version = "1.31.1"
package_name = "fettle"
cuda_version = ""
import_capi_exception = None
SessionIOBinding = IOBinding


def get_available_providers() -> list[str]:
    """["CPUExecutionProvider"]: other devices are Fettle's (session config entry "fettle.device")."""
    return ["CPUExecutionProvider"]


get_all_providers = get_available_providers


def get_device() -> str:
    """"CPU"."""
    return "CPU"


def get_version_string() -> str:
    """The version of ONNX Runtime whose interface this is."""
    return version


def get_build_info() -> str:
    """Whose build it is."""
    return f"Fettle {fettle.__version__}, by the interface of ONNX Runtime {version}"


def print_debug_info() -> None:
    """Versions and the devices, for reports."""
    print(f"{get_build_info()}\nPython {sys.version}\nproviders: {', '.join(get_available_providers())}")


def has_collective_ops() -> bool:
    """False."""
    return False


def preload_dlls(cuda=True, cudnn=True, msvc=True, directory=None) -> None:
    """Nothing to load: drivers are found when a session asks for their device."""


def disable_telemetry_events() -> None:
    """None are ever sent."""


def enable_telemetry_events() -> None:
    """A warning: none are ever sent."""
    _ignored("telemetry, of which there is none")


def set_default_logger_severity(severity: int) -> None:
    """Sends the log's lines to stderr: 0 all, 1 no debug lines, 2 warnings and errors, 3 errors, 4 none."""
    if severity not in range(5):
        raise exceptions.InvalidArgument(f"severity: expected 0 to 4, got {severity!r}")
    levels = ("debug", "info", "warn", "error")
    fettle.set_log(None if severity == 4 else _to_stderr, levels[min(severity, 3)])


def set_default_logger_verbosity(verbosity: int) -> None:
    """Ignored, with a warning."""
    _ignored("the log's verbosity")


def set_global_thread_pool_sizes(intra_op_num_threads=0, inter_op_num_threads=0) -> None:
    """Ignored, with a warning: sessions have threads of their own."""
    _ignored("the sizes of global thread pools, as sessions have threads of their own")


def set_seed(seed: int) -> None:
    """Ignored, with a warning: a model's random operators are seeded by their attributes."""
    _ignored("the seed, as a model's random operators are seeded by their attributes")


def _ignored(what: str) -> None:
    warnings.warn(f"fettle.ort: this changes nothing here: {what}", Ignored, stacklevel=3)


def _to_stderr(level: str, line: str) -> None:
    print(f"fettle: {level}: {line}", file=sys.stderr)


def __getattr__(name: str):
    raise AttributeError(f"fettle.ort has no '{name}': docs/python.md says what it has of ONNX Runtime {version}")


from .capi import onnxruntime_pybind11_state  # noqa: E402,F401
