"""The module of which programs import ONNX Runtime's exceptions.

Absolute imports: the same classes come of it under any name that the package has in sys.modules.
"""

import fettle.ort
from fettle.ort import *  # noqa: F401,F403
from fettle.ort.exceptions import (  # noqa: A004,F401
    DeviceReset, EngineError, EPFail, Fail, InvalidArgument, InvalidGraph, InvalidProtobuf, ModelLoadCanceled,
    ModelLoaded, ModelRequiresCompilation, NoModel, NoSuchFile, NotFound, NotImplemented, RuntimeException,
)  # fmt: skip


def __getattr__(name):
    return getattr(fettle.ort, name)
