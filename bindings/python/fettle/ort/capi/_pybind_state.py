"""The same names as in onnxruntime_pybind11_state."""

from fettle.ort.capi.onnxruntime_pybind11_state import *  # noqa: F401,F403
from fettle.ort.capi.onnxruntime_pybind11_state import __getattr__  # noqa: F401
