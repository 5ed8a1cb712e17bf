"""Fettle runs ONNX models on the device in front of you, as fast as it measures them to run.

    import fettle
    session = fettle.Session("model.onnx")
    scores = session.run({"image": array})["scores"]
    for text in fettle.Generator("model.gguf").generate("Once upon a time"): print(text, end="")

`fettle.ort` takes the place of onnxruntime, `fettle.backend` is an onnx.backend.
"""

from __future__ import annotations

import atexit as _atexit
import logging as _logging
import os as _os
from typing import Callable as _Callable

import numpy as _numpy

from . import _native, dtypes as _dtypes, errors as _errors
from .errors import *  # noqa: F403
from .errors import Error
from .generate import Answer, Generator, GeneratorFacts, step_answers
from .measure import BenchReport, bench, compare, tune
from .model import Model, ValueInfo
from .program import enhance, plan, quantise, run_program
from .session import Background, Memory, Session, Step, Transfers, TuneReport
from .tensor import Tensor

__version__ = _native.version()
__all__ = [
    "Answer", "Background", "BenchReport", "Generator", "GeneratorFacts", "Memory", "Model", "Session", "Step", "Tensor", "Transfers", "TuneReport", "ValueInfo", "bench",
    "compare", "enhance", "from_dlpack", "plan", "quantise", "run_program", "set_log", "step_answers", "tune",
    "Error", *(cls.__name__ for cls in _errors.BY_CODE.values()),
]  # fmt: skip

from_dlpack = Tensor.from_dlpack

_native.configure(_errors.BY_CODE, _numpy.ndarray, _dtypes.NUMPY, _dtypes.find, Tensor)
_os.register_at_fork(after_in_child=_native.forked)
_LEVELS = ("error", "warn", "info", "debug")


def set_log(function: _Callable[[str, str], object] | None, level: str = "warn") -> None:
    """Sends lines of `level` (error|warn|info|debug) and above to `function(level, line)`, None: nowhere.

    Until it is called, warnings go to logging.getLogger("fettle"). For the whole process. Called from any thread, one line at a time; it must not call Fettle.
    """
    wanted = _LEVELS.index(level)
    _native.set_log(None if function is None else lambda number, line: function(_LEVELS[number], line), wanted)


_atexit.register(_native.set_log, None, 0)


def _warn(level: str, line: str) -> None:
    _logging.getLogger("fettle").log(_logging.ERROR if level == "error" else _logging.WARNING, "%s", line)


set_log(_warn)
