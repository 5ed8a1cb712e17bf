"""InferenceSession: ONNX Runtime's over a fettle.Session."""

from __future__ import annotations

import mmap
import os
import threading
import warnings
from typing import NamedTuple

import numpy

from .. import errors, onnx_header
from ..session import Session
from ..tensor import Tensor, as_tensor
from .binding import IOBinding
from .options import RunOptions, SessionOptions
from .values import TYPE_NAMES, OrtValue

ModelMetadata = onnx_header.Header


class NodeArg(NamedTuple):
    """An input or output: its name, shape (open extents None) and type ('tensor(float)' ...)."""

    name: str
    shape: list[int | None] | None
    type: str


class _Session(Session):
    """Takes what ONNX Runtime takes as an input: also lists, scalars, OrtValues and arrays with gaps."""

    def _adapt(self, name, value) -> Tensor:
        if isinstance(value, OrtValue):
            return value._tensor
        if isinstance(value, (list, tuple, int, float, bool)):
            wanted = {info.name: info.dtype for info in self.model.inputs}.get(name)
            value = numpy.array(value, dtype=wanted)
        if isinstance(value, (numpy.ndarray, numpy.generic)):
            value = numpy.asarray(value)
            value = value.astype(value.dtype.newbyteorder("="), order="C", copy=False)
        return as_tensor(value)


class InferenceSession:
    """A model made ready to run, as onnxruntime.InferenceSession.

    `path_or_bytes`: an .onnx file, a .fettle package, or the bytes of either. `providers` and `provider_options` are
    ignored, with a warning where they name something else than the CPU. Threads may share it.
    """

    def __init__(self, path_or_bytes, sess_options=None, providers=None, provider_options=None, **kwargs):
        self._source: str | bytes
        if isinstance(path_or_bytes, (bytes, bytearray, memoryview)):
            self._source = bytes(path_or_bytes)
        elif isinstance(path_or_bytes, (str, os.PathLike)):
            self._source = os.fspath(path_or_bytes)
        else:
            raise TypeError(f"Unable to load from type '{type(path_or_bytes)}'")
        others = [name for name in map(_provider_name, providers or ()) if name != "CPUExecutionProvider"]
        if others:
            warnings.warn(f"fettle.ort: providers are ignored, {', '.join(others)} among them; the config entry "
                          "'fettle.device' chooses a device", stacklevel=2)
        self._options = sess_options if sess_options is not None else SessionOptions()
        self._sess = _Session(self._source, threads=self._options.intra_op_num_threads, **self._options._of_fettle())
        self._infer_all = self._sess._infer
        model = self._sess.model
        self._inputs = [_node_arg(row) for row in model._values(False)]
        self._outputs = [_node_arg(row) for row in model._values(True)]

    def run(self, output_names, input_feed, run_options=None) -> list:
        """One inference: a list of arrays in the order of `output_names` (None: all outputs).

        Inputs of exactly the model's types, arrays with gaps are copied. fettle.InvalidArgument, NotFound, Cancelled.
        """
        if run_options is None:
            return self._infer_all(input_feed, output_names or None, False)
        return self._infer(output_names or None, input_feed, run_options)

    def run_with_ort_values(self, output_names, input_dict_ort_values, run_options=None) -> list[OrtValue]:
        """The same with OrtValues on both sides."""
        feeds = {name: value._tensor for name, value in input_dict_ort_values.items()}
        return [OrtValue(tensor) for tensor in self._infer(output_names or None, feeds, run_options, raw=True)]

    def run_async(self, output_names, input_feed, callback, user_data, run_options=None) -> None:
        """The same in a thread of its own, which ends with callback(results, user_data, error text or "")."""

        def work():
            try:
                results, message = self.run(output_names, input_feed, run_options), ""
            except errors.Error as error:
                results, message = [], str(error)
            callback(results, user_data, message)

        threading.Thread(target=work).start()

    def io_binding(self) -> IOBinding:
        """Bindings for `run_with_iobinding`."""
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options=None) -> None:
        """One inference on what is bound; `iobinding` has the outputs."""
        iobinding._run(run_options)

    def get_inputs(self) -> list[NodeArg]:
        """What `run` is to be given."""
        return list(self._inputs)

    def get_outputs(self) -> list[NodeArg]:
        """What `run` gives."""
        return list(self._outputs)

    def get_overridable_initializers(self) -> list[NodeArg]:
        """None can be replaced."""
        return []

    def get_modelmeta(self) -> ModelMetadata:
        """What the .onnx file says of itself; empty for packages."""
        if isinstance(self._source, bytes):
            return onnx_header.read_header(self._source)
        with open(self._source, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return onnx_header.read_header(data)

    def get_session_options(self) -> SessionOptions:
        """Those given."""
        return self._options

    def get_providers(self) -> list[str]:
        """["CPUExecutionProvider"]."""
        return ["CPUExecutionProvider"]

    def get_provider_options(self) -> dict:
        """None."""
        return {"CPUExecutionProvider": {}}

    def set_providers(self, providers=None, provider_options=None) -> None:
        """Ignored."""

    def disable_fallback(self) -> None:
        """Ignored."""

    def enable_fallback(self) -> None:
        """Ignored."""

    def end_profiling(self) -> str:
        """No file is written: `fettle bench --profile` shows where time goes."""
        return ""

    def _infer(self, output_names, feeds, run_options, raw=False) -> list:
        if run_options is None:
            return self._infer_all(feeds, output_names, raw)
        with run_options._lock:
            if run_options.terminate:
                raise errors.Cancelled("RunOptions.terminate is set")
            run_options._running.append(self._sess)
        try:
            return self._infer_all(feeds, output_names, raw)
        finally:
            with run_options._lock:
                run_options._running.remove(self._sess)


def _provider_name(provider) -> str:
    return provider if isinstance(provider, str) else provider[0]


def _node_arg(row) -> NodeArg:
    name, dtype, shape = row
    return NodeArg(name, None if shape is None else list(shape), TYPE_NAMES[dtype])
