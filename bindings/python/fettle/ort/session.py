"""InferenceSession: ONNX Runtime's over a fettle.Session."""

from __future__ import annotations

import mmap
import os
import threading
import time
import warnings
from typing import Any

import numpy

from .. import errors, onnx_header
from ..session import Session
from ..tensor import Tensor, as_tensor
from . import devices, exceptions, feeds, profile
from .binding import IOBinding
from .options import RunOptions, SessionOptions, warn_of
from .shapes import NodeArg, Overrides
from .values import OrtValue, tensor_of

ModelMetadata = onnx_header.Header


class _Session(Session):
    """Takes what ONNX Runtime takes as an input: also lists, scalars, OrtValues and arrays with gaps."""

    def _adapt(self, name, value) -> Tensor:
        if isinstance(value, OrtValue):
            return value._tensor
        try:
            if isinstance(value, (list, tuple, int, float, bool)):
                wanted = {info.name: info.dtype for info in self.model.inputs}.get(name)
                value = numpy.array(value, dtype=wanted)
            if isinstance(value, (numpy.ndarray, numpy.generic)):
                value = numpy.asarray(value)
                value = value.astype(value.dtype.newbyteorder("="), order="C", copy=False)
        except (TypeError, ValueError, OverflowError) as error:
            raise exceptions.InvalidArgument(f"input '{name}': {error}") from None
        if value is None or isinstance(value, (str, dict)):
            raise exceptions.InvalidArgument(f"input '{name}': expected an array, got {value!r}"[:200])
        try:
            return as_tensor(value)
        except errors.InvalidArgument as error:
            raise exceptions.InvalidArgument(f"input '{name}': {error}") from None


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
        if sess_options is not None and not isinstance(sess_options, SessionOptions):
            raise TypeError(f"sess_options: expected SessionOptions, got {type(sess_options).__name__}")
        self._options = sess_options if sess_options is not None else SessionOptions()
        _warn_of_providers(devices.provider_pairs(providers, provider_options))
        warn_of(self._options._ignored() + sorted(kwargs), 2)
        if self._options._cancelled:
            raise exceptions.ModelLoadCanceled("SessionOptions.set_load_cancellation_flag is set")
        self._sess = self._open()
        self._infer_all = self._sess._infer
        self._overrides = overrides = Overrides(self._options._names, self._options._denotations, self._denotations)
        model = self._sess.model
        self._inputs = [overrides.node_arg(row) for row in model._values(False)]
        self._outputs = [overrides.node_arg(row) for row in model._values(True)]
        warn_of(overrides.unused(), 2)
        self._profile = profile.Profile(self._options.profile_file_prefix) if self._options.enable_profiling else None
        if overrides.used or self._profile is not None:
            self._infer_all = self._checked

    def run(self, output_names, input_feed, run_options=None) -> list:
        """One inference: a list of arrays in the order of `output_names` (None: all outputs).

        Inputs of exactly the model's types, arrays with gaps are copied. Failures are the exceptions of
        `capi.onnxruntime_pybind11_state`, which are fettle's, too: InvalidArgument (a ValueError) names what is missing.
        """
        if type(input_feed) is not dict:
            input_feed = feeds.as_dict(input_feed, self._inputs)
        try:
            if run_options is None:
                return self._infer_all(input_feed, output_names or None, False)
            return self._infer(output_names or None, input_feed, run_options)
        except errors.Error as error:
            raise feeds.refusal(error, input_feed, self._inputs) from None

    def run_with_ort_values(self, output_names, input_dict_ort_values, run_options=None) -> list[OrtValue]:
        """The same with OrtValues on both sides."""
        given = feeds.as_dict(input_dict_ort_values, self._inputs)
        given = {name: tensor_of(value, f"input '{name}'") for name, value in given.items()}
        try:
            return [OrtValue(tensor) for tensor in self._infer(output_names or None, given, run_options, raw=True)]
        except errors.Error as error:
            raise feeds.refusal(error, given, self._inputs) from None

    def run_with_ortvaluevector(self, run_options, feed_names, feeds, fetch_names, fetches, fetch_devices) -> None:
        """The same with values in the order of names; appends the results to `fetches`."""
        for device in fetch_devices or ():
            devices.need_host(device)
        fetches.extend(self.run_with_ort_values(list(fetch_names), dict(zip(feed_names, feeds)), run_options))

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
        return self._read(onnx_header.read_header)

    def get_session_options(self) -> SessionOptions:
        """Those given."""
        return self._options

    def get_providers(self) -> list[str]:
        """["CPUExecutionProvider"]."""
        return [devices.HOST]

    def get_provider_options(self) -> dict:
        """None."""
        return {devices.HOST: {}}

    def set_providers(self, providers=None, provider_options=None) -> None:
        """A warning where they name something else than the CPU."""
        _warn_of_providers(devices.provider_pairs(providers, provider_options))

    def disable_fallback(self) -> None:
        """Nothing to fall back to."""

    def enable_fallback(self) -> None:
        """Nothing to fall back to."""

    def get_input_epdevices(self) -> list[devices.OrtEpDevice]:
        """The host for each input."""
        return devices.get_ep_devices() * len(self._inputs)

    def get_input_memory_infos(self) -> list[devices.OrtMemoryInfo]:
        """The host's memory for each input."""
        return [devices.host_memory() for _ in self._inputs]

    def get_output_memory_infos(self) -> list[devices.OrtMemoryInfo]:
        """The host's memory for each output."""
        return [devices.host_memory() for _ in self._outputs]

    def get_provider_graph_assignment_info(self):
        """NotImplemented: fettle.plan says what computes each node."""
        raise exceptions.NotImplemented("fettle.ort assigns no nodes to providers; fettle.plan says what computes each")

    def get_tuning_results(self) -> list:
        """None: fettle.Session.tune tunes."""
        return []

    def set_tuning_results(self, results, *, error_on_invalid=False) -> None:
        """NotImplemented where there are any: they are for ONNX Runtime's kernels."""
        if results:
            raise exceptions.NotImplemented("fettle.ort uses no tuning results of ONNX Runtime; fettle.Session.tune tunes")

    def set_ep_dynamic_options(self, options) -> None:
        """NotImplemented where there are any."""
        if options:
            raise exceptions.NotImplemented(f"fettle.ort has no dynamic options: {', '.join(map(str, options))}")

    def release_captured_graph(self, graph_annotation_id=0) -> None:
        """None is captured."""

    def create_ortvalue_from_shape_and_type(self, shape, element_type, device_type, device_id=0, vendor_id=-1) -> OrtValue:
        """As OrtValue.ortvalue_from_shape_and_type."""
        return OrtValue.ortvalue_from_shape_and_type(shape, element_type, device_type, device_id, vendor_id)

    def end_profiling(self) -> str:
        """Writes the file of `SessionOptions.enable_profiling`, and says where it is; "" without."""
        if self._profile is None:
            return ""
        done, self._profile = self._profile, None
        return done.end()

    def get_profiling_start_time_ns(self) -> int:
        """When the profile began; 0 without."""
        return 0 if self._profile is None else self._profile.start_ns

    def _open(self) -> _Session:
        try:
            threads = self._options.intra_op_num_threads
            return _Session(self._source, threads=max(threads, 0), **self._options._of_fettle())
        except errors.Error as error:
            parsed = not isinstance(error, errors.InvalidModel) or self._read(onnx_header.is_model)
            raise exceptions.of_load(error, parsed) from None

    def _read(self, function) -> Any:
        """What `function` says of the file's bytes."""
        if isinstance(self._source, bytes) or os.stat(self._source).st_size == 0:
            return function(self._source if isinstance(self._source, bytes) else b"")
        with open(self._source, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return function(data)

    def _denotations(self) -> dict:
        return self._read(onnx_header.read_denotations)

    def _checked(self, given, output_names, raw) -> list:
        """A run whose extents are held to what was set, or which is profiled."""
        tensors = {name: value if isinstance(value, numpy.ndarray) else self._sess._adapt(name, value)
                   for name, value in given.items()}
        self._overrides.check(tensors)
        began = time.time_ns()
        results = self._sess._infer(tensors, output_names, raw)
        if self._profile is not None:
            self._profile.add(began, time.time_ns(), self._sess.steps())
        return results

    def _infer(self, output_names, given, run_options, raw=False) -> list:
        if run_options is None:
            return self._infer_all(given, output_names, raw)
        if not isinstance(run_options, RunOptions):
            raise TypeError(f"run_options: expected RunOptions, got {type(run_options).__name__}")
        warn_of(run_options._ignored(), 3)
        with run_options._lock:
            if run_options.terminate:
                raise errors.Cancelled("RunOptions.terminate is set")
            run_options._running.append(self._sess)
        try:
            return self._infer_all(given, output_names, raw)
        finally:
            with run_options._lock:
                run_options._running.remove(self._sess)


def _warn_of_providers(pairs) -> None:
    others = [name for name, _ in pairs if name != devices.HOST]
    if others:
        warnings.warn(f"fettle.ort: providers are ignored, {', '.join(others)} among them; the config entry "
                      "'fettle.device' chooses a device", exceptions.Ignored, stacklevel=3)
    warn_of([f"{name}'s option {key}" for name, options in pairs if name == devices.HOST for key in options], 3)
