"""SessionOptions and RunOptions, with ONNX Runtime's fields and defaults."""

from __future__ import annotations

import enum
import threading
import warnings

from ..session import Session


class GraphOptimizationLevel(enum.IntEnum):
    """Ignored: what Fettle's passes do is always exact."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(enum.IntEnum):
    """Ignored: operators run one after another, each on all threads."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(enum.IntEnum):
    """Ignored."""

    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


class _Options:
    """The class's fields, and no others, so that a misspelt one is an AttributeError."""

    _entries: dict[str, str]

    def __init__(self) -> None:
        object.__setattr__(self, "_entries", {})

    def __setattr__(self, name: str, value) -> None:
        if name.startswith("_") or callable(getattr(type(self), name, callable)):
            raise AttributeError(f"{type(self).__name__} has no field '{name}'")
        object.__setattr__(self, name, value)


class SessionOptions(_Options):
    """Options of an InferenceSession.

    `intra_op_num_threads` counts, 0 being all cores. A config entry "fettle.NAME" is the option NAME of fettle.Session
    ("fettle.device", "fettle.precision", "fettle.subnormals" ...). The rest is accepted and changes nothing.
    """

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

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Keeps an entry; those that begin with "fettle." count."""
        self._entries[key] = value

    def get_session_config_entry(self, key: str) -> str:
        """The value of an entry. RuntimeError where there is none, as ONNX Runtime's."""
        if key not in self._entries:
            raise RuntimeError(f"Session config entry '{key}' was not found")
        return self._entries[key]

    def add_free_dimension_override_by_name(self, name: str, extent: int) -> None:
        """Ignored: every new shape is planned when it comes."""

    def add_free_dimension_override_by_denotation(self, denotation: str, extent: int) -> None:
        """Ignored: every new shape is planned when it comes."""

    def add_initializer(self, name, value) -> None:
        """NotImplementedError: initialisers are the model's."""
        raise NotImplementedError("fettle.ort: initialisers cannot be replaced")

    def register_custom_ops_library(self, path) -> None:
        """A note: libraries of operators for ONNX Runtime are of no use here."""
        warnings.warn(f"fettle.ort: custom operators of {path} are ignored", stacklevel=2)

    def _of_fettle(self) -> dict[str, str | int]:
        own = {key[len("fettle.") :]: value for key, value in self._entries.items() if key.startswith("fettle.")}
        return {key: int(value) if value.isdigit() else value for key, value in own.items()}


class RunOptions(_Options):
    """Options of a run. `terminate = True`, from any thread, ends the runs in progress with it and refuses later ones
    (fettle.Cancelled). The rest is accepted and changes nothing."""

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
        """Keeps an entry; none counts."""
        self._entries[key] = value

    def get_run_config_entry(self, key: str) -> str:
        """The value of an entry. RuntimeError where there is none."""
        if key not in self._entries:
            raise RuntimeError(f"Run config entry '{key}' was not found")
        return self._entries[key]
