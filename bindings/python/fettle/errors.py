"""One class of exceptions for each status of the C interface; all are `fettle.Error`."""

from __future__ import annotations


class Error(Exception):
    """Any failure of Fettle, with the message of the C interface. `code` is the fettle_status."""

    code = 14


class InvalidArgument(Error, ValueError):
    """An argument, an input's type or shape, a closed handle."""

    code = 1


class InvalidModel(Error, ValueError):
    """A file that is not a model."""

    code = 2


class Unsupported(Error):
    """Something that Fettle does not support; for a model, the text names all unsupported operators."""

    code = 3


class NotFound(Error):
    """A missing file, or a name that the model does not have."""

    code = 4


class VersionMismatch(Error):
    """A package of another version."""

    code = 5


class Corrupt(Error):
    """A package whose bytes have changed."""

    code = 6


class InputOutput(Error):
    """A file that cannot be read or written."""

    code = 7


class OutOfMemory(Error):
    """Not enough memory."""

    code = 8


class DeviceUnavailable(Error):
    """The device is absent."""

    code = 9


class DeviceError(Error):
    """The device failed."""

    code = 10


class BuildFailed(Error):
    """A program for the device could not be built."""

    code = 11


class Cancelled(Error):
    """`Session.cancel` ended the call."""

    code = 12


class Busy(Error):
    """Another thread's call uses the session."""

    code = 13


class Internal(Error):
    """A defect of Fettle."""

    code = 14


BY_CODE = {cls.code: cls for cls in Error.__subclasses__()}

__all__ = ["Error", *(cls.__name__ for cls in BY_CODE.values())]
