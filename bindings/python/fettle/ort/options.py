"""SessionOptions and RunOptions, with ONNX Runtime's fields and defaults."""

from __future__ import annotations

import os
import threading
import warnings

from ..session import Session
from . import exceptions
from .devices import HOST
from .enums import ExecutionMode, ExecutionOrder, GraphOptimizationLevel, OrtExecutionProviderDevicePolicy

_POLICY = OrtExecutionProviderDevicePolicy
# Config entries of ONNX Runtime that are options of fettle.Session: (option, its value by the entry's).
_ENTRIES = {"session.set_denormal_as_zero": ("subnormals", {"1": "flush", "0": "keep"})}


class _Options:
    """The class's fields, and no others, so that a misspelt one is an AttributeError, and a wrong type a TypeError."""

    _entries: dict[str, str]
    # Those that do what they say, or are always so.
    _kept: tuple[str, ...] = ()

    def __init__(self) -> None:
        object.__setattr__(self, "_entries", {})

    def __setattr__(self, name: str, value) -> None:
        default = getattr(type(self), name, None)
        if name.startswith("_") or default is None or callable(default):
            raise AttributeError(f"{type(self).__name__} has no field '{name}'")
        kind = type(default)
        if not isinstance(value, kind) and not (kind in (int, bool) and type(value) in (int, bool)):
            raise TypeError(f"{type(self).__name__}.{name}: expected {kind.__name__}, got {value!r}")
        object.__setattr__(self, name, kind(value))

    def _add_entry(self, key: str, value: str) -> None:
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError(f"config entries are two texts, got {key!r} and {value!r}")
        self._entries[key] = value

    def _ignored(self) -> list[str]:
        """What was set and changes nothing here."""
        return [name for name in vars(self) if not name.startswith("_") and name not in self._kept
                and getattr(self, name) != getattr(type(self), name)]


def warn_of(ignored: list[str], stacklevel: int) -> None:
    """One warning that names all."""
    if ignored:
        warnings.warn(f"fettle.ort: these change nothing here: {', '.join(ignored)}", exceptions.Ignored, stacklevel + 1)


class SessionOptions(_Options):
    """Options of an InferenceSession.

    `intra_op_num_threads` counts, 0 being all cores. `enable_profiling` writes a file of each run's steps. The extents
    that `add_free_dimension_override_by_name` gives are the only ones that a run takes. A config entry "fettle.NAME" is
    the option NAME of fettle.Session ("fettle.device", "fettle.precision", "fettle.subnormals" ...). A session warns
    (`Ignored`) of all that is set and changes nothing.
    """

    _kept = ("enable_profiling", "intra_op_num_threads", "log_severity_level", "optimized_model_filepath",
             "profile_file_prefix", "use_deterministic_compute")

    enable_cpu_mem_arena = True
    enable_mem_pattern = True
    enable_mem_reuse = True
    enable_profiling = False
    execution_mode = ExecutionMode.ORT_SEQUENTIAL
    execution_order = ExecutionOrder.DEFAULT
    graph_optimization_level = GraphOptimizationLevel.ORT_ENABLE_ALL
    inter_op_num_threads = 0
    intra_op_num_threads = 0
    log_severity_level = -1
    log_verbosity_level = 0
    logid = ""
    optimized_model_filepath = ""
    profile_file_prefix = "onnxruntime_profile_"
    use_deterministic_compute = False
    use_per_session_threads = True

    def __init__(self) -> None:
        super().__init__()
        for name in ("_names", "_denotations", "_providers"):
            object.__setattr__(self, name, {})
        object.__setattr__(self, "_cancelled", False)
        object.__setattr__(self, "_more_ignored", [])

    def __setattr__(self, name: str, value) -> None:
        if name == "optimized_model_filepath" and value:
            raise exceptions.NotImplemented(
                f"fettle.ort writes no optimised .onnx file to {os.fspath(value)!r}: optimized_model_filepath cannot be "
                "set; fettle.Session.tune(package=...) writes a model that is ready to run")
        super().__setattr__(name, value)

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Keeps an entry; those that begin with "fettle." count, and "session.set_denormal_as_zero"."""
        self._add_entry(key, value)

    def get_session_config_entry(self, key: str) -> str:
        """The value of an entry. RuntimeError where there is none, as ONNX Runtime's."""
        if key not in self._entries:
            raise RuntimeError(f"Session config entry '{key}' was not found")
        return self._entries[key]

    def add_free_dimension_override_by_name(self, name: str, extent: int) -> None:
        """Gives a symbol of the inputs' shapes its extent: runs with another are refused."""
        self._names[str(name)] = int(extent)

    def add_free_dimension_override_by_denotation(self, denotation: str, extent: int) -> None:
        """The same for all axes of that denotation ("DATA_BATCH" ...)."""
        self._denotations[str(denotation)] = int(extent)

    def add_initializer(self, name, value) -> None:
        """NotImplemented: initialisers are the model's."""
        raise exceptions.NotImplemented(f"fettle.ort: the initialiser '{name}' cannot be replaced")

    def add_external_initializers(self, names, values) -> None:
        """NotImplemented: external data is read from beside the model's file."""
        raise exceptions.NotImplemented("fettle.ort: initialisers cannot be replaced; external data is read from "
                                        "beside the model's file")

    def add_external_initializers_from_files_in_memory(self, names, buffers, sizes) -> None:
        """NotImplemented, as add_external_initializers."""
        self.add_external_initializers(names, buffers)

    def add_provider(self, name: str, options=None) -> None:
        """As the sessions' argument `providers`: others than the CPU's are ignored with a warning."""
        self._providers[name] = dict(options or {})

    def add_provider_for_devices(self, devices, options=None) -> None:
        """The same for each of `get_ep_devices`."""
        for device in devices:
            self.add_provider(device.ep_name, options)

    def has_providers(self) -> bool:
        """Whether any was added."""
        return bool(self._providers)

    def set_provider_selection_policy(self, policy) -> None:
        """Ignored with a warning where it prefers something else than the CPU."""
        if policy not in (_POLICY.DEFAULT, _POLICY.PREFER_CPU):
            self._more_ignored.append(f"the policy {policy.name}")

    def set_provider_selection_policy_delegate(self, delegate) -> None:
        """NotImplemented."""
        raise exceptions.NotImplemented("fettle.ort: no function can choose providers; the config entry "
                                        "'fettle.device' chooses a device")

    def set_ep_context_data_read_func(self, read_func, max_data_size=0) -> None:
        """NotImplemented."""
        raise exceptions.NotImplemented("fettle.ort reads no models that another provider compiled")

    def clear_ep_context_data_read_func(self) -> None:
        """None is ever set."""

    def set_load_cancellation_flag(self, cancelled: bool) -> None:
        """True: sessions that are made with these options raise ModelLoadCanceled."""
        object.__setattr__(self, "_cancelled", bool(cancelled))

    def register_custom_ops_library(self, path) -> None:
        """A warning: libraries of operators for ONNX Runtime are of no use here."""
        warn_of([f"the custom operators of {path}"], 2)

    def _ignored(self) -> list[str]:
        entries = [key for key in self._entries if not key.startswith("fettle.") and key not in _ENTRIES]
        log = ["log_severity_level"] if 0 <= self.log_severity_level < 2 else []
        return super()._ignored() + log + self._more_ignored + entries + [name for name in self._providers if name != HOST]

    def _of_fettle(self) -> dict[str, str | int]:
        """Options of fettle.Session."""
        own = {name: values[self._entries[key]] for key, (name, values) in _ENTRIES.items()
               if self._entries.get(key) in values}
        given = {key[len("fettle.") :]: value for key, value in self._entries.items() if key.startswith("fettle.")}
        return {**own, **{key: int(value) if value.isdigit() else value for key, value in given.items()}}


class RunOptions(_Options):
    """Options of a run. `terminate = True`, from any thread, ends the runs in progress with it and refuses later ones
    (fettle.Cancelled). A run warns (`Ignored`) of all else that is set."""

    _kept = ("log_severity_level", "only_execute_path_to_fetches", "terminate")

    log_severity_level = -1
    log_verbosity_level = 0
    logid = ""
    only_execute_path_to_fetches = False
    terminate = False
    _running: list[Session]
    _lock: threading.Lock

    def __init__(self) -> None:
        super().__init__()
        object.__setattr__(self, "_running", [])
        object.__setattr__(self, "_lock", threading.Lock())

    def __setattr__(self, name: str, value) -> None:
        super().__setattr__(name, value)
        if name == "terminate" and value:
            with self._lock:
                for session in self._running:
                    session.cancel()

    def add_run_config_entry(self, key: str, value: str) -> None:
        """Keeps an entry; none counts, as a run's warning says."""
        self._add_entry(key, value)

    def get_run_config_entry(self, key: str) -> str:
        """The value of an entry. RuntimeError where there is none."""
        if key not in self._entries:
            raise RuntimeError(f"Run config entry '{key}' was not found")
        return self._entries[key]

    def add_active_adapter(self, adapter) -> None:
        """NotImplemented."""
        raise exceptions.NotImplemented("fettle.ort applies no LoRA adapters; merge them into the model's weights")

    def _ignored(self) -> list[str]:
        return super()._ignored() + list(self._entries)
