"""Sessions: a model made ready to run."""

from __future__ import annotations

import atexit
import os
import weakref
from typing import Any, Callable, Mapping, NamedTuple, Sequence, Union

import numpy

from . import _native, errors
from .model import Model
from .runs import Runs
from .tensor import Tensor, as_tensor


Path = Union[str, os.PathLike]
ModelLike = Union[Model, str, os.PathLike, bytes, bytearray, memoryview]
#: progress(measured, open, seconds, predicted_ms); False ends the tuning
TuneProgress = Callable[[int, int, float, float], Any]


class Step(NamedTuple):
    """What one step of a run did: its node, operator and kernel, milliseconds, multiply-adds, bytes moved at least."""

    node: str
    op: str
    kernel: str
    ms: float
    macs: int
    bytes: int


class Memory(NamedTuple):
    """Bytes: activations and workspace, the model's constants, their packed forms (shared by a model's sessions)."""

    arena: int
    weights: int
    packed: int


class Transfers(NamedTuple):
    """What went between host and device since the session was made or tuned."""

    copies: int
    copied_bytes: int
    maps: int
    conversions: int


class TuneReport(NamedTuple):
    """`accepted`: the tuned plan is faster and in use; times of whole inferences in ms; entries measured and reused."""

    accepted: bool
    default_ms: float
    tuned_ms: float
    predicted_ms: float
    measured: int
    reused: int


class Background(NamedTuple):
    """How far a tuning in the background is.

    `stage`: none, waiting (for a run's inputs), measuring, verifying, handing-over (to the next run); at the end tuned, kept (the
    plan of before), refused, failed, cancelled, for `reason`. Whole inferences take `before_ms` and `after_ms` (0: not compared yet).
    """

    stage: str
    reason: str
    is_over: bool
    measured: int
    open: int
    worked_seconds: float
    waited_seconds: float
    before_ms: float
    after_ms: float


class Session(_native.Session):
    """A model made ready to run.

    `model`: a Model, a path or bytes. `threads`: the caller included, 0 for all cores. `extra_outputs`: any values of
    the model to return besides its outputs. `reference`: every operator by its scalar reference. `device`:
    auto|cpu|opencl[:PLATFORM[:DEVICE]]; `strict_device`, `precision` (high|normal|low), `memory`, `queue_window`,
    `kernel_ms`, `programs`, `svm`, `when_busy` (wait|fail), `subnormals` (flush|keep), `max_memory`
    (bytes), `max_runs` (of `run_async` at a time; 0: 16), `start` (ready|fast: the CPU answers until the device's programs are
    compiled) are those of fettle_session_options. Raises InvalidArgument, NotFound (an extra output that is none), DeviceUnavailable.

    Threads: any thread may call any method; calls of one session come one after another without holding the GIL, those
    of several sessions run at once. After a fork the child has to make sessions of its own; models may be shared.
    `with` closes it.
    """

    model: Model
    _names: tuple[str, ...]
    _runs: Runs

    def __new__(cls, model: ModelLike, *, threads: int = 0, extra_outputs: Sequence[str] = (), reference: bool = False,
                device: str | None = None, strict_device: bool = False, precision: str | None = None,
                memory: str | None = None, queue_window: int = 0, kernel_ms: float = 0.0, programs: str | None = None,
                svm: str | None = None, when_busy: str | None = None, subnormals: str | None = None,
                max_memory: int = 0, max_runs: int = 0, start: str | None = None):
        if isinstance(model, (bytes, bytearray, memoryview)):
            model = Model(data=model)
        elif not isinstance(model, Model):
            model = Model(model)
        self = super().__new__(cls, model, threads, reference, tuple(extra_outputs), device, strict_device, precision,
                               memory, queue_window, kernel_ms, programs, svm, when_busy, subnormals,
                               max_memory, max_runs, start)
        self.model = model
        self._names = tuple(value.name for value in model.outputs) + tuple(extra_outputs)
        self._runs = Runs(max_runs or 16, when_busy != "fail")
        return self

    def run(self, inputs: Mapping[str, Any] | None = None,
            outputs: Sequence[str] | None = None) -> dict[str, numpy.ndarray]:
        """One inference: {name: array} in, {name: array} out, without copies.

        `inputs`: C-contiguous arrays, tensors or objects with `__dlpack__`, of exactly the model's types; they count
        for this run alone, beside those of `set_input`, and may be read-only. They are kept while the run reads them.
        `outputs`: names, by default all. Arrays that come back are the caller's: later runs do not change them.
        Raises InvalidArgument (types, shapes, missing inputs, arrays with gaps), NotFound (names), Busy, Cancelled.
        """
        names = self._names if outputs is None else tuple(outputs)
        return dict(zip(names, self._infer(_dict(inputs), names, False)))

    def run_tensors(self, inputs: Mapping[str, Any] | None = None,
                    outputs: Sequence[str] | None = None) -> dict[str, Tensor]:
        """As `run`, with values of class Tensor (for types that NumPy lacks, or to hand on by DLPack)."""
        names = self._names if outputs is None else tuple(outputs)
        return dict(zip(names, self._infer(_dict(inputs), names, True)))

    async def run_async(self, inputs: Mapping[str, Any] | None = None,
                        outputs: Sequence[str] | None = None) -> dict[str, numpy.ndarray]:
        """`run` for asyncio: the event loop goes on meanwhile.

        Runs work one after another in the order in which they were begun (which a coroutine does when it is awaited
        first, or made a task of), on a thread of the session's; elements of `inputs` stay as they are until the result is there.
        `max_runs` wait or work at a time: further ones wait for room without holding up the loop, or raise Busy where
        `when_busy` is "fail". Cancelling the task cancels the run: one that waits never works, one that works ends
        after the operator it is in. Raises what `run` does; Cancelled after `cancel()` and `close()`.
        """
        names = self._names if outputs is None else tuple(outputs)
        given = _dict(inputs)
        values = await self._runs.run(lambda deliver: self._start(given, names, False, deliver))
        return dict(zip(names, values))

    def __call__(self, **inputs: Any) -> Any:
        """`session(x=array)`: the output of a model that has one, else a tuple of all."""
        values = self._infer(inputs, self._names, False)
        return values[0] if len(values) == 1 else tuple(values)

    def set_input(self, name: str, value: Any) -> None:
        """An input of this and later runs, kept until it is replaced; its memory is read by each run, nothing is
        copied. NotFound, InvalidArgument."""
        self._set(name, as_tensor(value), False)

    def set_output(self, name: str, value: Any) -> None:
        """Where runs write this output: a Tensor or a writable array of its type and shape; None: anew each time.
        In place for `Tensor.zeros`, a copy into arrays. NotFound, InvalidArgument (read-only memory)."""
        if value is not None and not isinstance(value, Tensor):
            value = Tensor.from_numpy(value, writable=True)
        self._set(name, value, True)

    def tune(self, inputs: Mapping[str, Any] | None = None, *, level: str = "normal", budget: float = 0.0,
             database: Path | None = None, package: Path | None = None, packed_weights: bool = False,
             progress: TuneProgress | None = None) -> TuneReport:
        """Measures for these shapes and goes on with the best plan, or with the default one where nothing is faster.

        `inputs`: set for this and later runs. `level`: none|fast|work-size|normal|wide|full; `budget`: seconds for all
        of it, 0: no limit; `database`: a folder, "" for the user's, None: keeps nothing; `package`: a file to write the
        tuned model to. `progress(measured, open, seconds, predicted_ms)` is called by this thread between
        measurements: returning False ends it with Cancelled, as Ctrl-C does with KeyboardInterrupt. Takes seconds to
        minutes and wants a quiet machine. InvalidArgument, Unsupported, InputOutput.
        """
        for name, value in (inputs or {}).items():
            self.set_input(name, value)
        return TuneReport(*self._tune(level, float(budget), _path(database), _path(package), packed_weights, progress))

    def tune_in_background(self, budget: float = 0.0, share: float = 0.0, *, level: str = "normal",
                           database: Path | None = None) -> None:
        """Tunes while the session serves, on a thread of its own, and goes on with a better plan once there is one.

        `budget`: seconds of work, without what it waits; 0: until the search is at its end. `share`: of one core,
        whatever runs; 0: only while no session of this process runs. `level`, `database`: as of `tune`. It tunes for the
        inputs that are set, where all are, else for those of the next run. `background` says how far it is; `cancel_background`
        ends it, as `close` and the interpreter's end do. InvalidArgument, Unsupported, Busy while one is at work.
        """
        self._tune_in_background(float(budget), float(share), level, _path(database))
        _tuned.add(self)

    @property
    def background(self) -> Background:
        """How far the last tuning in the background is. Never waits."""
        return Background(*self._background())

    def wait_for_background(self, seconds: float) -> bool:
        """Waits for the end of a tuning in the background, for at most so many seconds; whether it is over."""
        return self._wait_for_background(float(seconds))

    def steps(self) -> list[Step]:
        """The steps of the last run, or of the one that `tune` ends with, with kernel and time. Busy while another thread uses the session."""
        return [Step(*row) for row in self._steps()]

    def memory(self) -> Memory:
        """What the session holds, in bytes."""
        return Memory(*self._memory())

    def transfers(self) -> Transfers:
        """What went between host and device."""
        return Transfers(*self._transfers())

    def _adapt(self, name: str, value: Any) -> Tensor:
        """What the fast way of a run refused, as a tensor."""
        return as_tensor(value)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_tuned: weakref.WeakSet[Session] = weakref.WeakSet()


def _finish() -> None:
    """Before the interpreter ends, which no thread of a tuning may outlive."""
    sessions = [session for session in list(_tuned) if not session.closed]
    for session in sessions:
        session.cancel_background()
    for session in sessions:
        session.wait_for_background(60)


atexit.register(_finish)
os.register_at_fork(after_in_child=_tuned.clear)


def _dict(inputs: Mapping[str, Any] | None) -> dict[str, Any]:
    if inputs is None or isinstance(inputs, Mapping):
        return inputs if isinstance(inputs, dict) else dict(inputs or {})
    raise errors.InvalidArgument(f"inputs: expected {{name: array}}, got {type(inputs).__name__}")


def _path(given: Path | None) -> str | None:
    return None if given is None else os.fspath(given)
