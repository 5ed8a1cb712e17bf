"""ONNX Runtime's exceptions, each also the `fettle.Error` of the same failure, and the warning of what is ignored."""

from __future__ import annotations

import functools

from .. import errors


class Ignored(UserWarning):
    """Something that ONNX Runtime has and that changes nothing here; the text names it."""


class Fail(errors.Error):
    """A run or a load that failed for another reason than those below."""


class InvalidArgument(errors.InvalidArgument):
    """An input, an output's name or an option."""


class NoSuchFile(errors.NotFound):
    """The model's file is not there."""


class NoModel(errors.NotFound):
    """Not raised by Fettle."""


class EngineError(errors.DeviceError):
    """The device failed."""


class RuntimeException(errors.Error):
    """Not enough memory, or a defect of Fettle."""


class InvalidProtobuf(errors.InvalidModel):
    """A file that is not an ONNX model."""


class ModelLoaded(errors.Error):
    """Not raised by Fettle."""


class NotImplemented(errors.Unsupported, NotImplementedError):  # noqa: A001
    """What Fettle does not do; the text says what it does."""


class InvalidGraph(errors.InvalidModel):
    """A model whose graph breaks ONNX's rules."""


class EPFail(errors.DeviceUnavailable):
    """The device is not there."""


class ModelLoadCanceled(errors.Cancelled):
    """`SessionOptions.set_load_cancellation_flag` is set."""


class ModelRequiresCompilation(errors.Error):
    """Not raised by Fettle."""


class NotFound(errors.NotFound):
    """A name that is not there."""


class DeviceReset(errors.DeviceError):
    """Not raised by Fettle."""


NAMES = ("Fail", "InvalidArgument", "NoSuchFile", "NoModel", "EngineError", "RuntimeException", "InvalidProtobuf",
         "ModelLoaded", "NotImplemented", "InvalidGraph", "EPFail", "ModelLoadCanceled", "ModelRequiresCompilation",
         "NotFound", "DeviceReset")

# What ONNX Runtime raises where Fettle raises the class on the left.
_OF_FETTLE = {
    errors.InvalidArgument: InvalidArgument, errors.InvalidModel: InvalidGraph, errors.Unsupported: NotImplemented,
    errors.NotFound: InvalidArgument, errors.VersionMismatch: InvalidProtobuf, errors.Corrupt: InvalidProtobuf,
    errors.InputOutput: Fail, errors.OutOfMemory: RuntimeException, errors.DeviceUnavailable: EPFail,
    errors.DeviceError: EngineError, errors.BuildFailed: EngineError, errors.Cancelled: Fail, errors.Busy: Fail,
    errors.Internal: RuntimeException,
}  # fmt: skip


@functools.lru_cache(maxsize=None)
def _both(theirs: type, ours: type) -> type:
    """A class that `except` finds by either name."""
    if issubclass(theirs, ours):
        return theirs
    return type(theirs.__name__, (theirs, ours), {"__module__": theirs.__module__, "__doc__": theirs.__doc__,
                                                  "code": ours.code, "__reduce__": _reduce})


def _reduce(self):
    theirs, ours = type(self).__bases__
    return _again, (theirs, ours, self.args)


def _again(theirs, ours, arguments):
    return _both(theirs, ours)(*arguments)


def of_run(error: errors.Error) -> errors.Error:
    """What ONNX Runtime calls a failure of a run."""
    ours = type(error)
    return _both(_OF_FETTLE.get(ours, Fail), ours)(*error.args) if ours in _OF_FETTLE else error


def of_load(error: errors.Error, parsed: bool) -> errors.Error:
    """The same of a session that could not be made. `parsed`: the bytes are an ONNX model's."""
    if type(error) is errors.NotFound:
        return NoSuchFile(*error.args)
    if type(error) is errors.InvalidModel and not parsed:
        return InvalidProtobuf(*error.args)
    return of_run(error)
